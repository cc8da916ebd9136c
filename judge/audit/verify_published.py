"""What was published, checked: the chain of manifests, the results and scores that they state, and the pages."""

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
    Broken,
    PublishedScores,
    Stored,
    lost_results,
    manifest_path,
    read_chain,
    sha256,
)
from judge.records.published_submissions import record_path, unlike_published
from judge.records.records import Result
from judge.records.results import read_record
from judge.records.signing import BadSignature, check_signature
from scoring import ScoringError
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from tasks.suites.suite import Suite

REPUBLISH = "judge site publish --anew writes them anew"


class Published(NamedTuple):
    """What was looked at of all that was published, and what of it does not hold.

    Args:
        n_files: of the pages; None where there are none here.
    """

    n_manifests: int
    n_results: int
    n_files: int | None
    broken: tuple[Broken, ...]


def check_published(store: Store, suite: Suite, site: SitePlace, trusted: frozenset[str]) -> Published:
    """What does not hold of the manifests in `store` and the pages in `site`.

    Scores are computed again for the last manifest of `suite`; those before it, and of others, are held by the chain.
    """
    chain = read_chain(store, trusted)
    broken = list(chain.broken)
    lost = [*lost_results(store, chain), *unlike_published(store, chain)]
    broken += lost
    last, n_files = chain.newest(suite.name), None
    if last:
        if not {found.what for found in lost} & {*last.manifest.results, *last.manifest.submissions}:
            broken += check_scores(store, suite, last)
        broken += _selftests(store, last, trusted)
        if not site.may_be_absent():
            n_files = len(last.manifest.files)
            broken += changed_files(site, last)
    elif dict(site.read([FILE]))[FILE] is not None:
        broken.append(Broken(site.path(FILE), f"the store has no manifest of suite {suite.name}: restore manifests/"))
    named = {key for stored in chain.manifests for key in stored.manifest.results}
    return Published(len(chain.manifests), len(named), n_files, tuple(broken))


def check_scores(store: Store, suite: Suite, stored: Stored) -> list[Broken]:
    """The scores of a manifest that do not follow from the results that it names."""
    manifest, what = stored.manifest, manifest_path(stored.manifest.n)
    try:
        results = [read_record(store, key, Result) for key in manifest.results]
        submissions = [read_record(store, record_path(id), Submission) for id in manifest.scores]
        board = build_leaderboard(
            suite, submissions, results, lambda result: load_items(store, result), references=manifest.references
        )
    except (StoreError, ScoringError) as error:
        said = error.remedy if isinstance(error, StoreError) else str(error)
        return [Broken(what, f"its scores cannot be computed again: {said}")]
    if board.release.name != manifest.release:
        why = f"its scores are by release {manifest.release}, this judge's by {board.release.name}: judge site publish"
        return [Broken(what, why)]
    if board.rowless:
        return [Broken(what, f"its scores cannot be computed again: {line}") for line in board.rowless]
    again = published_scores(board)
    return [
        Broken(what, f"scores.{id}: {field} is {said}, and {then} when computed again: judge site publish")
        for id, scores in sorted(manifest.scores.items())
        for field, said, then in _unequal(scores, again[id])
    ]


def _unequal(stated: PublishedScores, again: PublishedScores) -> list[tuple[str, float | None, float | None]]:
    """Fields that differ, with both values."""
    pairs = [(field, getattr(stated, field), getattr(again, field)) for field in PublishedScores.model_fields]
    return [(field, said, then) for field, said, then in pairs if not is_same(said, then)]


def _selftests(store: Store, stored: Stored, trusted: frozenset[str]) -> list[Broken]:
    """The selftests that a manifest names and that are gone, or not signed by a trusted key."""
    there = {sha256(data): (key, data) for key in store.list("selftests/") for data in [store.get(key)]}
    broken = []
    for digest in stored.manifest.selftests:
        if digest not in there:
            broken.append(Broken(manifest_path(stored.manifest.n), f"the selftest {digest[:16]}… is gone: restore it"))
            continue
        key, data = there[digest]
        try:
            check_signature(data, trusted)
        except BadSignature as error:
            broken.append(Broken(key, str(error)))
    return broken


def changed_files(site: SitePlace, last: Stored) -> list[Broken]:
    """The files of the site that are not as its manifest says, or not handed out as a browser needs them."""
    there = dict(site.read([FILE]))[FILE]
    if there is None:
        return [Broken(site.path(FILE), f"is gone: {REPUBLISH}")]
    if there != last.data:
        name = manifest_path(last.manifest.n)
        return [Broken(site.path(FILE), f"is not {name}, the last of suite {last.manifest.suite}: {REPUBLISH}")]
    broken = []
    if dict(site.read([MANIFEST]))[MANIFEST] is None:
        broken.append(Broken(site.path(MANIFEST), f"is gone, or cannot be read: {REPUBLISH}"))
    for name, content in site.read(last.manifest.files):
        if content is None:
            broken.append(Broken(site.path(name), f"is gone: {REPUBLISH}"))
        elif sha256(content) != last.manifest.files[name]:
            broken.append(Broken(site.path(name), f"is not what was published: {REPUBLISH}"))
    served = site.misserved((*last.manifest.files, FILE, MANIFEST))
    return broken + [
        Broken(site.path(n), f"is handed out with other headers than it should: {REPUBLISH}") for n in served
    ]
