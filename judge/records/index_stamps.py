"""The objects that tell something of a submission, and of which submissions they are unchanged since they were seen."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from submissions.store.interface import Store
from submissions.store.local import LocalStore
from submissions.store.local_tree import STAMP_BYTES, Seen

SUBMISSION, RESULT, END, CLAIM = "/submission.json", ".json", "/end.json", "/claim.json"


class Part(NamedTuple):
    """The objects that a submission's row is made from.

    Args:
        stamps: by name; names that are no keys are of folders.
        fresh: whether the stamps may hide a change.
    """

    keys: list[str]
    stamps: dict[str, bytes]
    fresh: bool


class Folders:
    """What of a local store is unchanged."""

    def __init__(self, store: LocalStore, granularity_ns: int) -> None:
        self._store, self._granularity_ns = store, granularity_ns

    def unchanged(self, known: Mapping[str, Seen]) -> frozenset[str]:
        """Those of `known`, by submission, that are as they were seen."""
        same = self._store.unchanged(list(known.values()))
        return frozenset(id for id, is_same in zip(known, same, strict=True) if is_same)

    def part(self, id: str) -> Part:
        """The objects of a submission as they are now."""
        now = time.time_ns()
        found = self._store.walk(*_prefixes(id))
        keys = telling(found.files)
        ended = {key.removesuffix(END) for key in keys}  # what else lies beside an end tells nothing more
        stamps = {name: stamp for name, stamp in found.folders.items() if name not in ended}
        stamps |= {key: found.files[key] for key in keys}
        fresh = any(stamp.changed_ns > now - self._granularity_ns for stamp in stamps.values())
        return Part(keys, {name: stamp.packed() for name, stamp in stamps.items()}, fresh)


class Listing:
    """What of any other store is unchanged: it is listed, whose stamps tell one content from another."""

    def __init__(self, store: Store) -> None:
        stamps: dict[str, dict[str, bytes]] = {}
        for top in ("submissions/", "attempts/", "results/"):
            for key, stamp in store.stamped(top):
                digest = hashlib.blake2b(stamp.encode(), digest_size=STAMP_BYTES).digest()
                stamps.setdefault(key.split("/")[1], {})[key] = digest
        self._stamps = {id: {key: own[key] for key in telling(own)} for id, own in stamps.items()}

    def unchanged(self, known: Mapping[str, Seen]) -> frozenset[str]:
        """Those of `known`, by submission, that are as they were seen."""
        return frozenset(id for id, seen in known.items() if seen == Seen.of(self._stamps.get(id, {})))

    def part(self, id: str) -> Part:
        """The objects of a submission as they were listed."""
        stamps = self._stamps.get(id, {})
        return Part(list(stamps), stamps, fresh=False)


def _prefixes(id: str) -> tuple[str, str, str]:
    return f"submissions/{id}", f"attempts/{id}", f"results/{id}"


def telling(keys: Collection[str]) -> list[str]:
    """Those of `keys` whose records tell something: of each attempt the end, or the claim where there is none."""
    told = []
    for key in sorted(keys):
        room, _, rest = key.partition("/")
        match room:
            case "submissions":
                wanted = rest.count("/") == 1 and key.endswith(SUBMISSION)
            case "results":
                wanted = key.endswith(RESULT)
            case _:
                beside_end = key.endswith(CLAIM) and key.removesuffix(CLAIM) + END in keys
                wanted = key.endswith((END, CLAIM)) and not beside_end and key.split("/")[-2].isdigit()
        if wanted:
            told.append(key)
    return told
