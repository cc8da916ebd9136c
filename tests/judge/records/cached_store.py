"""Stores that count reads, their caches, and changes that may happen between two reads."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from judge.records.attempts import unit_prefix
from judge.records.cache_file import CacheFile
from judge.records.record_cache import RecordCache
from judge.records.records import Claim, End, Result
from sandbox.verdict import FaultCause, Verdict
from submissions.store.interface import Stamped, Store
from submissions.store.local import LocalStore
from tests.world.board_records import NOON, SUITE, good_results, refused, submission

TICK_NS = 20_000_000  # longer than the kernel's
MODELS = [submission(name) for name in ("one", "two", "three")]
RESULTS = [result for number, model in enumerate(MODELS) for result in good_results(model, 0.1 * (number + 1))]


@dataclass
class Remote:
    """A store with only the methods of the interface: its stamps are hashes of the bytes."""

    inner: LocalStore
    n_read: int = field(default=0)

    def get(self, key: str) -> bytes:
        self.n_read += 1
        return self.inner.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.inner.put(key, data)

    def put_if_absent(self, key: str, data: bytes) -> bool:
        return self.inner.put_if_absent(key, data)

    def list(self, prefix: str) -> Iterator[str]:
        return self.inner.list(prefix)

    def stamped(self, prefix: str) -> Iterator[Stamped]:
        return (Stamped(key, hashlib.md5(self.inner.get(key)).hexdigest()) for key in self.inner.list(prefix))

    def delete(self, key: str) -> None:
        self.inner.delete(key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)


class Counted(LocalStore):
    """A local store that counts reads."""

    n_read = 0

    def get(self, key: str) -> bytes:
        self.n_read += 1
        return super().get(key)


STORES: dict[str, Callable[[Path], Counted | Remote]] = {
    "local": Counted,
    "remote": lambda root: Remote(LocalStore(root)),
}


def cache_of(store: Store, folder: Path, contents: str = "here") -> RecordCache:
    return RecordCache(store, CacheFile(folder / "cache.sqlite", contents))


def settle() -> None:
    """Waits until the written files are older than the resolution of the clock."""
    begin = time.time_ns()
    while time.time_ns() <= begin + TICK_NS:
        time.sleep(TICK_NS / 1e9 / 4)


def in_place(store: Store, key: str, data: bytes) -> None:
    """Writes a file in place, as an editor does."""
    root = store.root if isinstance(store, LocalStore) else store.inner.root  # type: ignore[attr-defined]
    path = root / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def act(store: Store, action: str, result: Result, n: int) -> None:
    """A change of a store, by a judge or by hand."""
    prefix = unit_prefix(result.submission, result.task, result.observation_key)
    path = f"results/{result.submission}/{result.task}/{result.result_key}.json"
    model = next(model for model in MODELS if model.id == result.submission)
    claim = Claim(owner="test", host="host", started=NOON)
    end = End(owner="test", ended=NOON, verdict=Verdict.OK, observation=result.provenance.observation)
    ends = {
        "ok": end,
        "crashed": end.model_copy(update={"verdict": Verdict.CRASHED, "observation": None}),
        "fault": end.model_copy(update={"verdict": None, "fault": FaultCause.DISK, "observation": None}),
        "lost": end.model_copy(update={"observation": "0" * 64}),
    }
    match action:
        case "claim":
            store.put_if_absent(f"{prefix}{n}/claim.json", claim.model_dump_json().encode())
            store.put(f"{prefix}{n}/beat.json", str(n).encode())
        case "ok" | "crashed" | "fault" | "lost":
            in_place(store, f"{prefix}{n}/end.json", ends[action].model_dump_json().encode())
        case "result":
            store.put_if_absent(path, result.model_dump_json().encode())
        case "result by hand":
            in_place(store, path, refused(model, SUITE.tasks[n], Verdict.CRASHED).model_dump_json().encode())
        case "other verdict":
            in_place(store, path, result.model_copy(update={"verdict": Verdict.NON_FINITE}).model_dump_json().encode())
        case "no result" | "no claim" | "no end":
            parts = {"no result": path, "no claim": f"{prefix}{n}/claim.json", "no end": f"{prefix}{n}/end.json"}
            store.delete(parts[action])
        case "submission":
            store.put(f"submissions/{model.id}/submission.json", model.model_dump_json().encode())
        case "stray":
            store.put(f"{prefix}old/end.json", b"{")
            store.put(f"results/{model.id}/{result.task}/notes.txt", b"mine")
        case "renamed":
            other = model.model_copy(update={"card": model.card.model_copy(update={"name": f"other {n}"})})
            in_place(store, f"submissions/{model.id}/submission.json", other.model_dump_json().encode())
