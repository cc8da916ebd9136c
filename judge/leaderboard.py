"""Records to leaderboard: the scores of every submission, and who is complete enough to be ranked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from judge.answers import TIMING, Judged, Results, is_usable
from judge.board import Leaderboard, MetricLine, OtherScores, Row, Scores, TakenOut, TaskLine
from judge.other_schemes import other_scores
from judge.records import MetricRecord, Result
from judge.schemes import corrected_trees, published_release, published_trees
from judge.standing import Standing
from judge.uncertainty import firmness
from sandbox.verdict import Verdict
from scoring import Entry, Release, load_release, ranking
from submissions.records import Submission
from tasks.measurement import Items
from tasks.suite import Suite, Task


def build_leaderboard(
    suite: Suite,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    load_items: Callable[[Result], Items | None],
    release: Release | None = None,
    problems: Sequence[str] = (),
    standings: Mapping[str, Standing] | None = None,
) -> Leaderboard:
    """The leaderboard of a suite.

    Args:
        results: at most one of each submission and task; those of other tasks or submissions are passed over.
        load_items: the items table of a result; None where it cannot be read: its runs then count as not measured, and
            there is no interval of its metrics.
        release: of the scoring; `corrected` where None.
        problems: already known, to be shown with those found here.
        standings: by submission; one that was taken out has no row. None: nobody was.

    Raises:
        ScoringError: a metric that cannot be added up, naming submission, release, task and field; a suite that names
            a release or a benchmark that is not known.
    """
    rules = release or load_release()
    out = _taken_out(submissions, standings or {})
    submissions = [s for s in submissions if s.id not in {one.submission.id for one in out}]
    judged = {(r.submission, r.task): r for r in results if r.submission in {s.id for s in submissions}}
    read = Judged(suite, judged, load_items, list(problems))
    published = published_release(suite)
    as_published = published_trees(read, [s.id for s in submissions], published, rules)
    trees = {s.id: corrected_trees(read, s.id, rules) for s in submissions}
    others = other_scores(read, submissions, rules)
    rows = {
        s.id: _row(s, suite, judged, (trees[s.id].scores(), as_published[s.id].scores()), others[s.id])
        for s in submissions
    }
    entries = [
        Entry(
            key, bool(row.tasks) and not row.shortfalls, row.scores.force_field.value, row.scores.property_error.value
        )
        for key, row in rows.items()
    ]
    placed = tuple(replace(rows[key], rank=rank) for key, rank in ranking(entries))
    shown = [line.result for row in placed for line in row.tasks if line.result is not None]
    hardware = {r.provenance.origin.hardware for r in shown if r.kind == TIMING and r.verdict is Verdict.OK}
    measured = max((r.measured for r in shown), default=None)
    firm = firmness(read, trees, others, [row.submission.id for row in placed if row.rank is not None])
    found = tuple(dict.fromkeys(read.problems))
    return Leaderboard(suite, rules, published, placed, firm, measured, tuple(sorted(hardware)), found, out)


def _taken_out(submissions: Sequence[Submission], standings: Mapping[str, Standing]) -> tuple[TakenOut, ...]:
    events = [(s, standings[s.id].out) for s in submissions if s.id in standings]
    found = [TakenOut(s, str(event.kind), event.time, event.reason) for s, event in events if event]
    return tuple(sorted(found, key=lambda one: (one.when, one.submission.id), reverse=True))


def _row(
    submission: Submission, suite: Suite, judged: Results, scores: tuple[Scores, Scores], others: OtherScores
) -> Row:
    """The row of one submission, not yet ranked."""
    lines = tuple(_line(task, judged.get((submission.id, task.name))) for task in suite.tasks)
    drivers = {line.result.provenance.origin.driver for line in lines if line.result is not None}
    isolated = drivers <= {"docker"} and submission.image.driver == "docker"
    return Row(None, submission, *scores, others, lines, isolated)


def _line(task: Task, result: Result | None) -> TaskLine:
    metrics = {} if result is None else result.metrics
    return TaskLine(task, result, tuple(MetricLine(n, m, _ratio(m)) for n, m in metrics.items()))


def _ratio(metric: MetricRecord) -> float | None:
    if metric.charged is None or not is_usable(metric.baseline):
        return None
    return metric.charged / (metric.baseline or math.nan)
