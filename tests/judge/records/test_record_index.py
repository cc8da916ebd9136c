"""The index of records: whatever happens to the objects or to the index, what it says is what they say."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.records.attempts import read_histories, unit_prefix
from judge.records.decisions import Rounds
from judge.records.index_file import IndexFile
from judge.records.record_index import RecordIndex, Summary
from judge.records.records import Claim, End, Result
from judge.records.result_selection import ResultFacts, those_that_count
from judge.records.results import load_held, load_results, read_submissions, submission_ids
from sandbox.verdict import FaultCause, Verdict
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.local import LocalStore
from submissions.store.local_tree import Seen, unchanged, walk
from tests.judge.pages.board_records import NOON, SUITE, good_results, refused, save, submission

TICK_NS = 20_000_000  # longer than the kernel's
MODELS = [submission(name) for name in ("one", "two", "three")]
RESULTS = [result for number, model in enumerate(MODELS) for result in good_results(model, 0.1 * (number + 1))]


@dataclass
class Remote:
    """A store of which nothing is known but what every store can do: its stamps are those of the bytes."""

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

    def stamped(self, prefix: str) -> Iterator[tuple[str, str]]:
        return ((key, hashlib.md5(self.inner.get(key)).hexdigest()) for key in self.inner.list(prefix))

    def delete(self, key: str) -> None:
        self.inner.delete(key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)


class Counted(LocalStore):
    """A local store that counts what is read of it."""

    n_read = 0

    def get(self, key: str) -> bytes:
        self.n_read += 1
        return super().get(key)


STORES: dict[str, Callable[[Path], Counted | Remote]] = {
    "local": Counted,
    "remote": lambda root: Remote(LocalStore(root)),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Counted | Remote:
    return STORES[request.param](tmp_path / "store")


def index_of(store: Store, folder: Path, address: str = "here") -> RecordIndex:
    return RecordIndex(store, IndexFile(folder / "index.sqlite", address), TICK_NS)


def no_rounds(ids: list[str]) -> dict[str, Rounds]:
    return {id: {} for id in ids}


def settle() -> None:
    """Waits until what was written is older than the clock is coarse."""
    begin = time.time_ns()
    while time.time_ns() <= begin + TICK_NS:
        time.sleep(TICK_NS / 1e9 / 4)


def check(store: Store, index: RecordIndex) -> None:
    """What the index says is what the objects say, read without it."""
    ids = submission_ids(store)
    facts = index.facts(ids)
    histories = read_histories(store, ids)
    assert {prefix: h for own in facts.values() for prefix, h in own.histories.items()} == histories
    stored = {key for id in ids for key in store.list(f"results/{id}/") if key.endswith(".json")}
    assert {key for own in facts.values() for key in own.stated} == stored
    counting = load_results(store, ids, of_all_suites=True)
    told = those_that_count((r for own in facts.values() for r in own.results), histories, {}, of_all_suites=True)
    assert told == [ResultFacts.of(each.key, result) for each, result in zip(told, counting, strict=True)]
    assert index.summaries(no_rounds(ids)) == list(summaries_without(store, counting))


def summaries_without(store: Store, counting: list[Result]) -> Iterator[Summary]:
    held = load_held(store, submission_ids(store))
    for each in read_submissions(store):
        own = [result for result in counting if result.submission == each.id]
        yield Summary(
            id=each.id,
            name=each.card.name,
            driver=each.image.driver,
            submitted=f"{each.created:%Y-%m-%d %H:%M}",
            created=each.created.timestamp(),
            results=len(own),
            ok=sum(result.verdict is Verdict.OK for result in own),
            held=sum(unit.submission == each.id for unit in held),
        )


def in_place(store: Store, key: str, data: bytes) -> None:
    """Writes as an editor might that knows nothing of stores."""
    root = store.root if isinstance(store, LocalStore) else store.inner.root  # type: ignore[attr-defined]
    path = root / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


UNITS = st.tuples(st.sampled_from(RESULTS), st.integers(1, 3))
ACTIONS = st.one_of(
    st.tuples(st.just("claim"), UNITS),
    st.tuples(st.sampled_from(["ok", "crashed", "fault", "lost"]), UNITS),
    st.tuples(st.sampled_from(["result", "result by hand", "other verdict", "no result", "no claim", "no end"]), UNITS),
    st.tuples(st.sampled_from(["submission", "renamed", "stray", "nothing"]), UNITS),
)


def act(store: Store, action: str, result: Result, n: int) -> None:
    """Something that may happen to a store, by a judge or by hand."""
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


@pytest.mark.parametrize("kind", STORES)
@given(steps=st.lists(st.lists(ACTIONS, max_size=4), max_size=5))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_between_two_calls_is_seen(
    kind: str, tmp_path_factory: pytest.TempPathFactory, steps: list[list[tuple[str, tuple[Result, int]]]]
) -> None:
    root = tmp_path_factory.mktemp("world")
    store = STORES[kind](root / "store")
    save(store, MODELS[:2], RESULTS[:7])
    settle()
    for step in [[], *steps]:
        for action, (result, n) in step:
            act(store, action, result, n)
        check(store, index_of(store, root))
        settle()
        check(store, index_of(store, root))
    shutil.rmtree(root)


def test_what_is_unchanged_is_not_read_again(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    settle()
    rounds = no_rounds(submission_ids(store))
    first = index_of(store, tmp_path).summaries(rounds)
    store.n_read = 0
    assert index_of(store, tmp_path).summaries(rounds) == first
    assert index_of(store, tmp_path).facts(list(rounds))
    assert store.n_read == 0
    act(store, "crashed", RESULTS[0], 1)
    settle()
    assert index_of(store, tmp_path).summaries(rounds) != first
    assert store.n_read == 1  # of all records of that submission the one that changed


def test_what_may_have_changed_unseen_is_read_again(tmp_path: Path) -> None:
    """Two changes within one tick of the clock can leave one stamp: the first must not be believed in."""
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    index = RecordIndex(store, IndexFile(tmp_path / "index.sqlite", "here"))
    index.facts(submission_ids(store))
    assert index.file is not None
    assert index.file.read() == {}
    os.utime(store.root / f"submissions/{MODELS[0].id}/submission.json", (0, 0))  # pretends to be old
    index.facts(submission_ids(store))
    assert index.file.read() == {}


def test_a_record_that_cannot_be_read_is_named_each_time(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    prefix = unit_prefix(RESULTS[3].submission, RESULTS[3].task, RESULTS[3].observation_key)
    in_place(store, f"{prefix}1/end.json", b"{")
    settle()
    for _ in range(2):
        with pytest.raises(StoreError, match=f"{prefix}1/end.json cannot be read"):
            index_of(store, tmp_path).facts([model.id for model in MODELS])
    in_place(store, f"{prefix}1/end.json", End(owner="o", ended=NOON, verdict=Verdict.OK).model_dump_json().encode())
    check(store, index_of(store, tmp_path))


def test_a_submission_that_is_gone_is_named(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    settle()
    ids = submission_ids(store)
    index_of(store, tmp_path).facts(ids)
    store.delete(f"submissions/{ids[0]}/submission.json")
    with pytest.raises(StoreError, match=f"submissions/{ids[0]}/submission.json is gone"):
        index_of(store, tmp_path).facts(ids)


BROKEN = {
    "empty": b"",
    "text": b"not a database at all\n" * 500,
    "cut": None,
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_index_is_made_anew(how: str, tmp_path: Path) -> None:
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    settle()
    check(store, index_of(store, tmp_path))
    path = tmp_path / "index.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if BROKEN[how] is None else BROKEN[how])
    check(store, index_of(store, tmp_path))
    store.n_read = 0
    index_of(store, tmp_path).facts(submission_ids(store))
    assert store.n_read == 0


@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_byte_of_the_index_changes_no_answer(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("world")
    store = Counted(root / "store")
    save(store, MODELS[:1], RESULTS[:2])
    settle()
    index = index_of(store, root)
    ids = submission_ids(store)
    true = index.facts(ids), index.summaries(no_rounds(ids))
    path = root / "index.sqlite"
    whole = bytearray(path.read_bytes())
    for _ in range(5):
        place = data.draw(st.integers(0, len(whole) - 1))
        damaged = whole.copy()
        damaged[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(damaged)
        assert (index.facts(ids), index.summaries(no_rounds(ids))) == true
    shutil.rmtree(root)


def test_the_index_of_another_store_is_not_believed(tmp_path: Path) -> None:
    one, other = Remote(LocalStore(tmp_path / "one")), Remote(LocalStore(tmp_path / "other"))
    save(one, MODELS, RESULTS)
    save(other, MODELS, RESULTS)
    ids = submission_ids(one)
    index_of(one, tmp_path, "one").facts(ids)
    other.n_read = 0
    index_of(other, tmp_path, "other").facts(ids)
    assert other.n_read == len(MODELS) + 2 * len(RESULTS)


def test_an_index_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    settle()
    (tmp_path / "file").write_text("in the way")
    check(store, index_of(store, tmp_path / "file"))


def _check_often(root: Path, begin: float) -> None:
    while time.monotonic() < begin:
        time.sleep(0.001)
    for _ in range(10):
        store = LocalStore(root / "store")
        check(store, index_of(store, root))


def test_processes_at_once_do_no_harm(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    save(store, MODELS, RESULTS)
    context = multiprocessing.get_context("spawn")
    begin = time.monotonic() + 3.0
    processes = [context.Process(target=_check_often, args=(tmp_path, begin)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    settle()
    check(store, index_of(store, tmp_path))


def test_processes_share_the_look_at_a_large_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("submissions.store.local_tree.MIN_PER_PROCESS", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2})
    parts = []
    for number in range(10):
        (tmp_path / f"{number}/below").mkdir(parents=True)
        (tmp_path / f"{number}/below/file").write_text("before")
        found = walk(tmp_path, str(number))
        parts.append(Seen.of({name: stamp.packed() for name, stamp in (found.folders | found.files).items()}))
    assert unchanged(tmp_path, parts) == [True] * 10
    (tmp_path / "2/below/file").unlink()
    (tmp_path / "5/below/other").touch()
    (tmp_path / "9/below/file").write_text("more than before")
    assert unchanged(tmp_path, parts) == [number not in (2, 5, 9) for number in range(10)]


def test_a_record_of_now_reads_as_one_that_says_no_version() -> None:
    """The short way to read a record is taken only where the record says that it is of the present version."""
    fields = json.loads(MODELS[0].model_dump_json())
    fields.pop("schema_version")
    assert Submission.read(json.dumps(fields).encode()) == MODELS[0]
    end = {"owner": "o", "ended": "2025-01-01T00:00:00Z", "verdict": "OK", "host": "there"}
    assert End.read(json.dumps(end).encode()).origin.host == "there"
