"""Manifests: a signed list of what was published, with the hash of the manifest before it.

The store holds `manifests/000001.json`, `000002.json`, …; the newest is also published as `manifest.json` beside the
pages, with the same bytes. The name is the number alone: if two judges publish at once, put-if-absent gives n to one
and n + 1 to the other. `previous` is the sha256 of the stored bytes of the manifest before. Anyone who keeps a manifest
can detect a change to any earlier one. The chain does not show that the newest manifests are missing; the pages do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import ClassVar, Literal, NamedTuple

from pydantic import AwareDatetime, Field, ValidationError

from judge.records.records import Signature
from judge.records.signing import BadSignature, SigningKey, check_signature
from submissions.records import Fields, Record, Upgrades
from submissions.store.interface import Store, StoreError

FOLDER = "manifests/"
FILE = "manifest.json"
MAX_TRIES = 100
_NAME = re.compile(r"manifests/([0-9]{6})\.json")


class ManifestScores(Record):
    """The published scores of one submission, to six digits; None for a score that it does not have."""

    force_field: float | None
    property_error: float | None
    efficiency: float | None
    instability: float | None
    rank: int | None


def _manifest_2(fields: Fields) -> Fields:
    """States the reference rows. Version 1 did not; submissions without a rank were taken for references."""
    unranked = sorted(id for id, scores in fields["scores"].items() if scores["rank"] is None)
    return {**fields, "schema_version": 2, "references": unranked}


class Manifest(Record):
    """One publication.

    Args:
        n: from 1, without a gap.
        release: of the scoring.
        files: sha256 by path in the site, without the manifest and the site's own list of files.
        results: sha256 of the stored bytes of every result shown, by key in the store.
        submissions: the same of all submissions' records and preflight logs.
        events: the same of every decision about them: a decision that is deleted later is missed.
        scores: by submission.
        references: submissions shown for comparison; they have no rank.
        selftests: sha256 of the stored selftest records that allow the results to be published (keys would name hosts).
        previous: sha256 of the stored bytes of manifest n - 1; empty for the first.
    """

    upgrades: ClassVar[Upgrades] = {1: _manifest_2}
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
    scores: dict[str, ManifestScores]
    references: tuple[str, ...] = ()
    selftests: tuple[str, ...]
    previous: str
    signature: Signature | None = None


class StoredManifest(NamedTuple):
    """A manifest and its stored bytes."""

    manifest: Manifest
    data: bytes

    @property
    def sha256(self) -> str:
        return sha256(self.data)


class Defect(NamedTuple):
    """Something stored or published that does not pass verification.

    Args:
        what: a result, a manifest or a file.
        why: the reason and the remedy.
        missing: it could not be verified, because its data set is not on this machine.
    """

    what: str
    why: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class ManifestChain(NamedTuple):
    """All manifests that can be read, by number, and the defects found among them."""

    manifests: tuple[StoredManifest, ...]
    defects: tuple[Defect, ...]

    def newest(self, suite: str) -> StoredManifest | None:
        """The last manifest of a suite."""
        return next((stored for stored in reversed(self.manifests) if stored.manifest.suite == suite), None)


def manifest_path(n: int) -> str:
    """The key of manifest `n`."""
    return f"{FOLDER}{n:06d}.json"


def sha256(data: bytes) -> str:
    """The sha256 of `data`, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def append(store: Store, key: SigningKey, make: Callable[[int, str], Manifest]) -> StoredManifest:
    """The new manifest at the end of the chain, signed.

    Args:
        make: makes the manifest from its number and the hash of the manifest before.

    Raises:
        StoreError: the store does not answer, or other judges publish all the time.
    """
    for _ in range(MAX_TRIES):
        last = max((int(match[1]) for name in store.list(FOLDER) if (match := _NAME.fullmatch(name))), default=0)
        previous = sha256(store.get(manifest_path(last))) if last else ""
        manifest = key.sign(make(last + 1, previous))
        stored = StoredManifest(manifest, manifest.model_dump_json(indent=1).encode())
        if store.put_if_absent(manifest_path(last + 1), stored.data):
            return stored
    raise StoreError(f"store: {FOLDER} grows faster than can be written: see who publishes, then do it again")


def read_chain(store: Store, trusted: Collection[str]) -> ManifestChain:
    """All manifests of the store, with checked signatures, numbers and links to the manifest before.

    Args:
        trusted: public keys.
    """
    manifests: list[StoredManifest] = []
    defects: list[Defect] = []
    n, previous = 0, ""
    for key in store.list(FOLDER):
        match = _NAME.fullmatch(key)
        if not match:
            defects.append(Defect(key, "is no manifest: look at it, then delete it"))
            continue
        defects += [Defect(manifest_path(gap), "is gone: restore it") for gap in range(n + 1, int(match[1]))]
        expected = previous if n + 1 == int(match[1]) else None  # after a gap there is nothing to compare with
        n, data = int(match[1]), store.get(key)
        stored, why = _read(data, n, expected, trusted)
        if stored:
            manifests.append(stored)
        if why:
            defects.append(Defect(key, why))
        previous = sha256(data)
    return ManifestChain(tuple(manifests), tuple(defects))


def newest_manifest(store: Store, suite: str, trusted: Collection[str]) -> Manifest | None:
    """The last manifest of `suite` with a trusted signature; None if there is none. Older manifests are not read.

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


def _read(data: bytes, n: int, previous: str | None, trusted: Collection[str]) -> tuple[StoredManifest | None, str]:
    """The manifest in `data`, or None if it cannot be read; and the defect's reason, empty if there is none.

    Args:
        previous: hash that it must state; None: not known.
    """
    try:
        manifest = Manifest.read(data)
    except ValidationError:
        return None, "cannot be read: restore it"
    stored = StoredManifest(manifest, data)
    try:
        check_signature(data, trusted)
    except BadSignature as error:
        return stored, f"{error}; restore it, or trust who signed it"
    if manifest.n != n:
        return stored, f"says that it is number {manifest.n}: restore it"
    if previous is not None and manifest.previous != previous:
        return stored, "does not follow from the manifest before it, which is another than it names: restore both"
    return stored, ""


def lost_results(store: Store, chain: ManifestChain) -> list[Defect]:
    """The published results that are gone or changed, each once."""
    return _lost(store, chain, lambda manifest: manifest.results)


def lost_files(store: Store, chain: ManifestChain) -> list[Defect]:
    """The published records of submissions, preflight logs and decisions that are gone or changed, each once."""
    return _lost(store, chain, lambda manifest: {**manifest.submissions, **manifest.events})


def _lost(store: Store, chain: ManifestChain, digests_in: Callable[[Manifest], dict[str, str]]) -> list[Defect]:
    first_named: dict[tuple[str, str], int] = {}
    for stored in chain.manifests:
        for key, digest in digests_in(stored.manifest).items():
            first_named.setdefault((key, digest), stored.manifest.n)
    defects = []
    for (key, digest), n in sorted(first_named.items(), key=lambda entry: (entry[1], entry[0])):
        try:
            is_same = sha256(store.get(key)) == digest
        except KeyError:
            defects.append(Defect(key, f"was published ({manifest_path(n)}) and is gone: restore it"))
            continue
        except StoreError as error:
            defects.append(Defect(key, error.remedy))
            continue
        if not is_same:
            defects.append(Defect(key, f"is not what was published ({manifest_path(n)}): restore it"))
    return defects
