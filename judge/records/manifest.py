"""Manifests: what was published, signed, each with the hash of the one before.

`manifests/000001.json`, `000002.json`, … in the store; the newest lies beside the pages as `manifest.json`, the same
bytes. The number alone is the name, so that put-if-absent decides between two who publish at once: one gets n, the
other n + 1. `previous` is the sha256 of the stored bytes of the manifest before: whoever kept any one of them can tell
whether something before it was changed, taken out or put in. That the newest are missing the chain cannot tell, but the
pages can.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import ClassVar, Literal, NamedTuple

from pydantic import AwareDatetime, Field, ValidationError

from judge.records.records import Signature
from judge.records.signing import BadSignature, SigningKey, check_signature
from submissions.records import Fields, Record
from submissions.store.interface import Store, StoreError

FOLDER = "manifests/"
FILE = "manifest.json"
MAX_TRIES = 100
_NAME = re.compile(r"manifests/([0-9]{6})\.json")


class PublishedScores(Record):
    """The scores of one submission as they were published, to six digits; None where it has none."""

    force_field: float | None
    property_error: float | None
    efficiency: float | None
    instability: float | None
    rank: int | None


def _manifest_2(fields: Fields) -> Fields:
    """Says who is there for comparison. Version 1 did not; whoever had no rank was taken for one of them."""
    apart = sorted(id for id, scores in fields["scores"].items() if scores["rank"] is None)
    return {**fields, "schema_version": 2, "references": apart}


class Manifest(Record):
    """One publication.

    Args:
        n: from 1, without a gap.
        release: of the scoring.
        files: sha256 by path in the site, but for the manifest and the site's own list of files.
        results: sha256 of the stored bytes by key in the store, of all results that are shown.
        submissions: the same of what all submissions say of themselves, and of their preflights' logs.
        events: the same of every decision about them, so that none can be taken away unnoticed.
        scores: by submission.
        references: the submissions that are there for comparison, and so have no rank.
        selftests: sha256 of the stored records of those that let the results be published; their keys would name hosts.
        previous: sha256 of the stored bytes of manifest n - 1; empty for the first.
    """

    upgrades: ClassVar[Mapping[int, Callable[[Fields], Fields]]] = {1: _manifest_2}
    schema_version: Literal[2] = 2
    n: int = Field(ge=1)
    suite: str
    release: str
    published: AwareDatetime
    judge_version: str
    judge_commit: str
    files: dict[str, str]
    results: dict[str, str]
    submissions: dict[str, str]
    events: dict[str, str]
    scores: dict[str, PublishedScores]
    references: tuple[str, ...] = ()
    selftests: tuple[str, ...]
    previous: str
    signature: Signature | None = None


class Stored(NamedTuple):
    """A manifest, and the bytes that are stored of it."""

    manifest: Manifest
    data: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.data)


class Broken(NamedTuple):
    """A row that does not hold.

    Args:
        what: a result, a manifest or a file.
        why: and the remedy.
        missing: it could only not be looked at, since its data set is not here.
    """

    what: str
    why: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class Chain(NamedTuple):
    """All manifests that can be read, by their number, and what does not hold among them."""

    manifests: tuple[Stored, ...]
    broken: tuple[Broken, ...]

    def newest(self, suite: str) -> Stored | None:
        """The last manifest of a suite."""
        return next((stored for stored in reversed(self.manifests) if stored.manifest.suite == suite), None)


def manifest_path(n: int) -> str:
    """Where manifest `n` lies."""
    return f"{FOLDER}{n:06d}.json"


def sha256(data: bytes) -> str:
    """The sha256 of `data`, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def append(store: Store, key: SigningKey, make: Callable[[int, str], Manifest]) -> Stored:
    """The manifest that was put at the end of the chain, signed.

    Args:
        make: the manifest of that number, after one of that hash.

    Raises:
        StoreError: the store does not answer, or others publish without an end.
    """
    for _ in range(MAX_TRIES):
        last = max((int(match[1]) for name in store.list(FOLDER) if (match := _NAME.fullmatch(name))), default=0)
        before = sha256(store.get(manifest_path(last))) if last else ""
        manifest = key.sign(make(last + 1, before))
        stored = Stored(manifest, manifest.model_dump_json(indent=1).encode())
        if store.put_if_absent(manifest_path(last + 1), stored.data):
            return stored
    raise StoreError(f"store: {FOLDER} grows faster than can be written: see who publishes, then do it again")


def read_chain(store: Store, trusted: Collection[str]) -> Chain:
    """All manifests of the store, checked: signatures, numbers, and that each names the one before.

    Args:
        trusted: public keys.
    """
    manifests: list[Stored] = []
    broken: list[Broken] = []
    n, previous = 0, ""
    for key in store.list(FOLDER):
        match = _NAME.fullmatch(key)
        if not match:
            broken.append(Broken(key, "is no manifest: look at it, then delete it"))
            continue
        broken += [Broken(manifest_path(gap), "is gone: restore it") for gap in range(n + 1, int(match[1]))]
        before = previous if n + 1 == int(match[1]) else None  # that after a gap has nothing to be compared with
        n, data = int(match[1]), store.get(key)
        stored, why = _read(data, n, before, trusted)
        if stored:
            manifests.append(stored)
        if why:
            broken.append(Broken(key, why))
        previous = sha256(data)
    return Chain(tuple(manifests), tuple(broken))


def newest_manifest(store: Store, suite: str, trusted: Collection[str]) -> Manifest | None:
    """The last manifest of `suite` that somebody trusted signed; None where there is none. Older ones are not read.

    Raises:
        StoreError: the store does not answer.
    """
    for key in sorted((key for key in store.list(FOLDER) if _NAME.fullmatch(key)), reverse=True):
        data = store.get(key)
        with suppress(ValidationError, BadSignature):
            manifest = Manifest.read(data)
            check_signature(data, trusted)
            if manifest.suite == suite:
                return manifest
    return None


def _read(data: bytes, n: int, before: str | None, trusted: Collection[str]) -> tuple[Stored | None, str]:
    """The manifest in `data`, None where it cannot be read, and why it does not hold, empty where it does."""
    try:
        manifest = Manifest.read(data)
    except ValidationError:
        return None, "cannot be read: restore it"
    stored = Stored(manifest, data)
    try:
        check_signature(data, trusted)
    except BadSignature as error:
        return stored, f"{error}; restore it, or trust who signed it"
    if manifest.n != n:
        return stored, f"says that it is number {manifest.n}: restore it"
    if before is not None and manifest.previous != before:
        return stored, "does not follow from the manifest before it, which is another than it names: restore both"
    return stored, ""


def lost_results(store: Store, chain: Chain) -> list[Broken]:
    """The results that a manifest names and that are gone, or are no longer what was published, each once."""
    return _lost(store, chain, lambda manifest: manifest.results)


def lost_files(store: Store, chain: Chain) -> list[Broken]:
    """The same of submissions, logs of preflights and decisions."""
    return _lost(store, chain, lambda manifest: {**manifest.submissions, **manifest.events})


def _lost(store: Store, chain: Chain, of: Callable[[Manifest], dict[str, str]]) -> list[Broken]:
    named: dict[tuple[str, str], int] = {}
    for stored in chain.manifests:
        for key, digest in of(stored.manifest).items():
            named.setdefault((key, digest), stored.manifest.n)
    broken = []
    for (key, digest), n in sorted(named.items(), key=lambda entry: (entry[1], entry[0])):
        try:
            same = sha256(store.get(key)) == digest
        except KeyError:
            broken.append(Broken(key, f"was published ({manifest_path(n)}) and is gone: restore it"))
            continue
        except StoreError as error:
            broken.append(Broken(key, error.remedy))
            continue
        if not same:
            broken.append(Broken(key, f"is not what was published ({manifest_path(n)}): restore it"))
    return broken
