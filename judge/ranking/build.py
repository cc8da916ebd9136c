"""Records to leaderboard: the scores of every submission, and who is complete enough to be ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from judge.ranking.lambench_scores import Trees, corrected_trees, explained_scores, published_release, published_trees
from judge.ranking.leaderboard import Leaderboard, MetricLine, OtherScores, Row, Scores, ScoreTrees, TakenOut, TaskLine
from judge.ranking.other_schemes import other_scores
from judge.ranking.score_inputs import Judged, Results, is_usable
from judge.ranking.uncertainty import firmness
from judge.records.decisions import Standing
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Entry, Release, ScoringError, load_release, ranking
from submissions.records import Submission
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items, Metric
from tasks.suites.suite import Suite, Task

COMPARED = "Judged like any other model and there for comparison: it takes no part in the ranking."


def build_leaderboard(
    suite: Suite,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    load_items: Callable[[Result], Items | None],
    release: Release | None = None,
    problems: Sequence[str] = (),
    standings: Mapping[str, Standing] | None = None,
    references: Collection[str] = (),
) -> Leaderboard:
    """The leaderboard of a suite.

    Args:
        results: at most one of each submission and task; those of other tasks or submissions are passed over.
        load_items: the items table of a result; None where it cannot be read: its runs then count as not measured, and
            there is no interval of its metrics.
        release: of the scoring; `corrected` where None.
        problems: already known, to be shown with those found here.
        standings: by submission; one that was taken out has no row. None: nobody was.
        references: names or ids of submissions that are there for comparison: they have a row, and move no other.

    Raises:
        ScoringError: a suite that names a release or a benchmark that is not known. A metric that cannot be added up
            leaves the row of its submission out: see `Leaderboard.rowless`.
    """
    rules = release or load_release()
    out = _taken_out(submissions, standings or {})
    gone = {one.submission.id for one in out}
    submissions = [s for s in submissions if s.id not in gone]
    ids = {s.id for s in submissions}
    judged = {(r.submission, r.task): r for r in results if r.submission in ids}
    read = Judged(suite, judged, load_items, list(problems))
    published = published_release(suite)
    names = set(references) - ids  # an author may call a model as he likes: what is an id is no name
    apart = {s.id for s in submissions if s.id in references or s.card.name in names}
    trees, as_published, rowless = _reckoned(read, [s.id for s in submissions], (rules, published), apart)
    submissions = [s for s in submissions if s.id in trees]
    others = other_scores(read, submissions, rules)
    corrected, uncorrected = _scored(trees), _scored(as_published)
    rows = {s.id: _row(s, suite, judged, corrected[s.id], uncorrected[s.id], others[s.id]) for s in submissions}
    rows |= {key: replace(rows[key], reference=COMPARED) for key in apart & rows.keys()}
    placed = _placed(rows)
    shown = [line.result for row in placed for line in row.tasks if line.result is not None]
    hardware = {r.provenance.origin.hardware for r in shown if KINDS.traits(r.kind).times and r.verdict is Verdict.OK}
    measured = max((r.measured for r in shown), default=None)
    firm = firmness(read, trees, others, [row.submission.id for row in placed if row.rank is not None])
    found = tuple(dict.fromkeys(read.problems))
    return Leaderboard(suite, rules, published, placed, firm, measured, tuple(sorted(hardware)), found, out, rowless)


def _reckoned(
    read: Judged, keys: Sequence[str], rules: tuple[Release, Release], apart: Collection[str]
) -> tuple[dict[str, Trees], dict[str, Trees], tuple[str, ...]]:
    """By submission its trees, corrected and as published; and a line for each that has none, also in `read.problems`.

    One model's broken metric leaves its own row out, and no other.

    Args:
        rules: the corrected ones, and the published release.
        apart: submissions that are there for comparison.
    """
    corrected, published = rules
    trees: dict[str, Trees] = {}
    faults: dict[str, str] = {}
    for key in keys:
        try:
            trees[key] = corrected_trees(read, key, corrected)
        except ScoringError as error:
            faults[key] = str(error)
    try:
        as_published = published_trees(read, list(trees), published, corrected, apart)
    except ScoringError:  # whose it is can be told from each alone
        for key in list(trees):
            try:
                published_trees(read, [key], published, corrected)
            except ScoringError as error:
                faults[key] = str(error)
                del trees[key]
        as_published = published_trees(read, list(trees), published, corrected, apart)
    rowless = tuple(f"{fault}: no row without it: judge rejudge {key}" for key, fault in faults.items())
    read.problems.extend(rowless)
    return trees, as_published, rowless


def _placed(rows: Mapping[str, Row]) -> tuple[Row, ...]:
    """The rows in their order, each with its rank; those that are there for comparison last, without one."""
    entries = [
        Entry(
            key,
            bool(row.tasks) and not row.shortfalls and not row.reference,
            row.scores.force_field.value,
            row.scores.property_error.value,
        )
        for key, row in rows.items()
    ]
    placed = [replace(rows[key], rank=rank) for key, rank in ranking(entries)]
    return tuple(sorted(placed, key=lambda row: bool(row.reference)))  # which leaves all else in its order


def _taken_out(submissions: Sequence[Submission], standings: Mapping[str, Standing]) -> tuple[TakenOut, ...]:
    events = [(s, standings[s.id].out) for s in submissions if s.id in standings]
    found = [TakenOut(s, str(event.kind), event.time, event.reason) for s, event in events if event]
    return tuple(sorted(found, key=lambda one: (one.when, one.submission.id), reverse=True))


class _Scored(NamedTuple):
    """The trees of a submission, and what they come to."""

    trees: Trees
    scores: Scores


def _scored(trees: Mapping[str, Trees]) -> dict[str, _Scored]:
    return {key: _Scored(trees[key], scores) for key, scores in explained_scores(trees).items()}


def _row(
    submission: Submission,
    suite: Suite,
    judged: Results,
    corrected: _Scored,
    as_published: _Scored,
    others: OtherScores,
) -> Row:
    """The row of one submission, not yet ranked."""
    lines = tuple(_line(task, judged.get((submission.id, task.name))) for task in suite.tasks)
    drivers = {line.result.provenance.origin.driver for line in lines if line.result is not None}
    isolated = drivers <= {"docker"} and submission.image.driver == "docker"
    reckoned_from = ScoreTrees(
        {**corrected.trees.named(), **others.trees}, {**as_published.trees.named(), **others.published_trees}
    )
    return Row(None, submission, corrected.scores, as_published.scores, others, lines, isolated, reckoned_from)


def _line(task: Task, result: Result | None) -> TaskLine:
    metrics = {} if result is None else result.metrics
    return TaskLine(task, result, tuple(MetricLine(n, m, _ratio(m)) for n, m in metrics.items()))


def _ratio(metric: Metric) -> float | None:
    if metric.charged is None or not is_usable(metric.baseline):
        return None
    return metric.charged / (metric.baseline or math.nan)
