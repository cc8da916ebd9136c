"""Verifies what was published: the chain of manifests, the results and scores that they state, and the pages."""

from __future__ import annotations

from typing import NamedTuple

from judge.audit.tolerance import is_same
from judge.publishing.destination import SitePlace
from judge.publishing.folder import MANIFEST
from judge.publishing.publish import published_scores
from judge.ranking.build import build_leaderboard
from judge.ranking.load import load_items
from judge.records.manifest import (
    FILE,
    Defect,
    ManifestScores,
    StoredManifest,
    lost_results,
    manifest_path,
    read_chain,
    sha256,
)
from judge.records.published_submissions import record_path, unlike_published
from judge.records.records import Result
from judge.records.signing import BadSignature, check_signature
from scoring import ScoringError
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record
from tasks.suites.suite import Suite

REPUBLISH = "judge site publish --anew writes them again"


class PublicationCheck(NamedTuple):
    """The verification of everything that was published.

    Args:
        n_files: of the pages; None if there are none on this machine.
    """

    n_manifests: int
    n_results: int
    n_files: int | None
    defects: tuple[Defect, ...]


def check_published(store: Store, suite: Suite, site: SitePlace, trusted: frozenset[str]) -> PublicationCheck:
    """The verification of the manifests in `store` and the pages in `site`.

    Scores are computed again for the last manifest of `suite`. The chain of hashes protects the earlier manifests and
    those of other suites.
    """
    chain = read_chain(store, trusted)
    defects = list(chain.defects)
    lost = [*lost_results(store, chain), *unlike_published(store, chain)]
    defects += lost
    last, n_files = chain.newest(suite.name), None
    if last:
        if not {defect.what for defect in lost} & {*last.manifest.results, *last.manifest.submissions}:
            defects += check_scores(store, suite, last)
        defects += _selftests(store, last, trusted)
        if not site.may_be_absent():
            n_files = len(last.manifest.files)
            defects += changed_files(site, last)
    elif dict(site.read([FILE]))[FILE] is not None:
        defects.append(Defect(site.path(FILE), f"the store has no manifest of suite {suite.name}: restore manifests/"))
    named = {key for stored in chain.manifests for key in stored.manifest.results}
    return PublicationCheck(len(chain.manifests), len(named), n_files, tuple(defects))


def check_scores(store: Store, suite: Suite, stored: StoredManifest) -> list[Defect]:
    """The scores of a manifest that do not follow from its results."""
    manifest, key = stored.manifest, manifest_path(stored.manifest.n)
    try:
        results = [read_record(store, key, Result) for key in manifest.results]
        submissions = [read_record(store, record_path(id), Submission) for id in manifest.scores]
        board = build_leaderboard(
            suite, submissions, results, lambda result: load_items(store, result), references=manifest.references
        )
    except (StoreError, ScoringError) as error:
        reason = error.remedy if isinstance(error, StoreError) else str(error)
        return [Defect(key, f"its scores cannot be computed again: {reason}")]
    if board.release.name != manifest.release:
        why = f"its scores are by release {manifest.release}, this judge's by {board.release.name}: judge site publish"
        return [Defect(key, why)]
    if board.missing_rows:
        return [Defect(key, f"its scores cannot be computed again: {line}") for line in board.missing_rows]
    recomputed = published_scores(board)
    return [
        Defect(key, f"scores.{id}: {field} is {stated}, and {value} when computed again: judge site publish")
        for id, scores in sorted(manifest.scores.items())
        for field, stated, value in _unequal(scores, recomputed[id])
    ]


def _unequal(stated: ManifestScores, recomputed: ManifestScores) -> list[tuple[str, float | None, float | None]]:
    """The fields that differ, with both values."""
    pairs = [(field, getattr(stated, field), getattr(recomputed, field)) for field in ManifestScores.model_fields]
    return [(field, first, second) for field, first, second in pairs if not is_same(first, second)]


def _selftests(store: Store, stored: StoredManifest, trusted: frozenset[str]) -> list[Defect]:
    """The selftests of a manifest that are gone or not signed by a trusted key."""
    stored_selftests = {sha256(data): (key, data) for key in store.list("selftests/") for data in [store.get(key)]}
    defects = []
    for digest in stored.manifest.selftests:
        if digest not in stored_selftests:
            defects.append(Defect(manifest_path(stored.manifest.n), f"the selftest {digest[:16]}… is gone: restore it"))
            continue
        key, data = stored_selftests[digest]
        try:
            check_signature(data, trusted)
        except BadSignature as error:
            defects.append(Defect(key, str(error)))
    return defects


def changed_files(site: SitePlace, last: StoredManifest) -> list[Defect]:
    """The files of the site that differ from its manifest, or that are served with wrong headers."""
    manifest = dict(site.read([FILE]))[FILE]
    if manifest is None:
        return [Defect(site.path(FILE), f"is gone: {REPUBLISH}")]
    if manifest != last.data:
        name = manifest_path(last.manifest.n)
        return [Defect(site.path(FILE), f"is not {name}, the last of suite {last.manifest.suite}: {REPUBLISH}")]
    defects = []
    if dict(site.read([MANIFEST]))[MANIFEST] is None:
        defects.append(Defect(site.path(MANIFEST), f"is gone, or cannot be read: {REPUBLISH}"))
    for name, content in site.read(last.manifest.files):
        if content is None:
            defects.append(Defect(site.path(name), f"is gone: {REPUBLISH}"))
        elif sha256(content) != last.manifest.files[name]:
            defects.append(Defect(site.path(name), f"is not what was published: {REPUBLISH}"))
    misserved = site.misserved((*last.manifest.files, FILE, MANIFEST))
    return defects + [Defect(site.path(name), f"is served with wrong headers: {REPUBLISH}") for name in misserved]
