"""Publishing: proposes what may be published, with the reasons against it, and publishes pages and manifest.

First, files that no reader sees yet are written (in a folder all files beside their final names, in a bucket the
assets). Then the manifest gets its number in the store. Then pages, manifest and `index.html` are put in place. A
failure before that leaves the present pages unchanged. A judge that dies after it leaves a manifest without its pages;
`judge verify` reports this, and publishing again corrects it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pydantic import ValidationError

from judge.disclosure.published_scores import published_scores as published_scores
from judge.disclosure.published_scores import shown_results
from judge.disclosure.redaction import tells_of_single_labels
from judge.evaluation.current_results import current_results
from judge.evaluation.host_selftest import last_selftest, unproven
from judge.publishing.destination import SitePlace
from judge.publishing.site_files import NOT_FOUND, not_found_page, site_files
from judge.publishing.site_sources import known_sources
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import read_board
from judge.records.few_items import LEAST_ITEMS
from judge.records.items_file import result_path
from judge.records.manifest import (
    FILE,
    Manifest,
    ManifestChain,
    StoredManifest,
    append,
    manifest_path,
    read_chain,
    sha256,
)
from judge.records.published_submissions import SubmissionFiles, misnamed, submission_files, unlike_published
from judge.records.records import Result
from judge.records.signing import BadSignature, SigningKey, check_signature
from judge.records.store_snapshot import StoreSnapshot
from judge.version import judge_commit, judge_version
from judge.workspace import Workspace
from sandbox.events import Event, emit
from sandbox.verdict import FaultCause, JudgeFault
from submissions.store.interface import Store, StoreError
from tasks.datasets.card import Card
from tasks.suites.suite import Suite


@dataclass(frozen=True)
class Proposal:
    """The content of a publication.

    Args:
        files: content by path in the site, without the manifest.
        results: sha256 of the stored bytes of every result shown, by key in the store.
        stated: the same of all submissions, their logs, and the decisions about them.
        selftests: sha256 of the stored selftest records of the results' hosts and engines.
        refusals: the reasons why it may not be published, a line each.
        problems: what could not be scored, a line each, for the maintainer.
        published: every path in the site that any publication of this suite ever used.
    """

    board: Leaderboard
    files: Mapping[str, bytes]
    results: Mapping[str, str]
    stated: SubmissionFiles
    selftests: tuple[str, ...]
    refusals: tuple[str, ...]
    problems: tuple[str, ...]
    published: frozenset[str]


def propose(workspace: Workspace, suite: Suite, now: datetime) -> Proposal:
    """The content of a publication of the store, with the reasons against it. Nothing is written.

    Args:
        now: time of the publication, from which the age of selftests is counted.

    Raises:
        DatasetError: one line that names file and field.
        StoreError: the store does not answer, or was changed meanwhile.
    """
    store, settings, trusted = StoreSnapshot(workspace.store), workspace.settings, workspace.trusted
    reported: list[str] = []
    chain = read_chain(store, trusted)
    stated = submission_files(store)
    current = current_results(workspace.with_store(store), suite)
    board = read_board(store, suite, reported.append, current, trusted, settings.references)
    shown = shown_results(board)
    stored = {result_path(r.submission, r.task, r.result_key): r for r in shown}
    content = {key: _as_read(store, key, result) for key, result in stored.items()}
    # Records that cannot be read or scored at all: a row is missing.
    refusals = [line for line in reported if line not in board.problems or line in board.missing_rows]
    refusals += [str(defect) for defect in (*chain.defects, *unlike_published(store, chain), *misnamed(store))]
    refusals += _unsigned(stored, content, trusted)
    refusals += unproven(store, shown, settings.selftest_max_age_days, now, settings.allow_process)
    selftests = _selftests(store, shown)
    datasets = {task.dataset for task in suite.tasks} | {result.provenance.dataset for result in shown}
    refusals += _unsigned_selftests(selftests, trusted)
    sources = known_sources(settings, suite, datasets, chain, now)
    refusals += _revealing(shown, sources.cards, now)
    pages = site_files(store, board, sources)
    if not store.is_unchanged("submissions/"):
        raise StoreError("store: a submission or a decision was added meanwhile: run it again")
    return Proposal(
        board=board,
        files={**pages, NOT_FOUND: not_found_page(settings.site_url)},
        results={key: sha256(data) for key, data in sorted(content.items())},
        stated=stated,
        selftests=tuple(sorted(map(sha256, selftests.values()))),
        refusals=tuple(dict.fromkeys(refusals)),
        problems=tuple(line for line in board.problems if line not in board.missing_rows),
        published=_published(chain, suite),
    )


def _published(chain: ManifestChain, suite: Suite) -> frozenset[str]:
    manifests = [stored.manifest for stored in chain.manifests if stored.manifest.suite == suite.name]
    return frozenset({FILE for _ in manifests}.union(*(manifest.files for manifest in manifests)))


def publish_site(
    store: Store, proposal: Proposal, place: SitePlace, key: SigningKey, now: datetime, rewritten: Collection[str] = ()
) -> StoredManifest:
    """The manifest of the files that are in `place` now.

    Args:
        rewritten: names that are put again even if they exist.

    Raises:
        JudgeFault: DISK, the pages cannot be written; STORE.
    """
    try:
        with place.staged(proposal.files, rewritten) as site:
            stored = append(store, key, partial(manifest_of, proposal, now))
            site.add(FILE, stored.data)
            site.show()
    except OSError as error:
        raise JudgeFault(
            FaultCause.DISK, f"{place.path()} cannot be written ({error.strerror}): correct it, or set publish_to"
        ) from error
    emit(Event.PUBLISHED, key=manifest_path(stored.manifest.n), count=len(proposal.files))
    return stored


def manifest_of(proposal: Proposal, now: datetime, n: int, previous: str) -> Manifest:
    """The manifest of `proposal`, not yet signed."""
    return Manifest(
        n=n,
        suite=proposal.board.suite.name,
        release=proposal.board.release.name,
        published=now,
        judge_version=judge_version(),
        judge_commit=judge_commit(),
        files={name: sha256(content) for name, content in sorted(proposal.files.items())},
        results=dict(proposal.results),
        submissions=proposal.stated.submissions,
        events=proposal.stated.events,
        scores=published_scores(proposal.board),
        references=tuple(sorted(row.submission.id for row in proposal.board.references)),
        selftests=proposal.selftests,
        previous=previous,
    )


def _as_read(store: Store, key: str, result: Result) -> bytes:
    """The stored bytes of a result on the board.

    Raises:
        StoreError: the result is gone, or was changed.
    """
    with suppress(KeyError, ValidationError):
        data = store.get(key)
        if Result.read(data) == result:
            return data
    raise StoreError(f"store: {key} was changed meanwhile, or lies under another name: see judge verify --all")


def _unsigned(stored: Mapping[str, Result], content: Mapping[str, bytes], trusted: Collection[str]) -> list[str]:
    """A line for each submission and reason why signatures of its results are not valid."""
    tasks: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key, result in stored.items():
        try:
            check_signature(content[key], trusted)
        except BadSignature as error:
            tasks[result.submission, str(error)].append(result.task)
    lines = []
    for (submission, why), names in tasks.items():
        remedy = "" if "judge keys" in why else f"; judge it again: judge rejudge {submission}"
        lines.append(f"{submission}: {', '.join(names)}: {why}{remedy}")
    return lines


def _revealing(results: Iterable[Result], cards: Mapping[str, Card], now: datetime) -> list[str]:
    """A line for each hidden data set that has so few items that published metrics would reveal single labels."""
    named = {
        (result.task, result.provenance.dataset)
        for result in results
        if tells_of_single_labels(result, cards.get(result.provenance.dataset), now.date())
    }
    return [
        f"{task}: {dataset} is hidden, and numbers over fewer than {LEAST_ITEMS} items would reveal single labels: "
        "make it larger, or leave the task out of the suite"
        for task, dataset in sorted(named)
    ]


def _selftests(store: Store, results: Iterable[Result]) -> dict[str, bytes]:
    """The stored selftest records for `results`, by key: those that the results name, and the newest of each host and
    engine.
    """
    origins = [result.provenance.origin for result in results]
    newest = [
        last_selftest(store, host, engine) for host, engine in sorted({(o.host, o.engine) for o in origins if o.engine})
    ]
    keys = {origin.selftest for origin in origins if origin.selftest} | {key for key, _ in filter(None, newest)}
    return {key: store.get(key) for key in sorted(keys) if store.exists(key)}


def _unsigned_selftests(selftests: Mapping[str, bytes], trusted: Collection[str]) -> list[str]:
    """A line for each selftest without a valid signature by a trusted key: it proves nothing."""
    lines = []
    for key, data in selftests.items():
        try:
            check_signature(data, trusted)
        except BadSignature as error:
            lines.append(f"{key}: {error}; or run judge selftest again")
    return lines
