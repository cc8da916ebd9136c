"""Records to leaderboard: the scores of every submission, and which of them are complete enough to be ranked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from judge.ranking.derived_values import DerivedValues
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.lambench_scores import published_release
from judge.ranking.leaderboard import Leaderboard, Row, TakenOut, TaskLine
from judge.ranking.score_inputs import Judged, Results
from judge.ranking.submission_scores import Scorer, SubmissionScores
from judge.ranking.uncertainty import robustness
from judge.records.decisions import Decisions
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import RankingEntry, Release, load_release, ranking
from scoring.names import FORCE_FIELD, PROPERTY_ERROR
from submissions.records import Submission
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.suites.suite import Suite

COMPARED = "Judged like any other model and there for comparison: it takes no part in the ranking."


def build_leaderboard(
    suite: Suite,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    load_items: Callable[[Result], Items | None],
    release: Release | None = None,
    problems: Sequence[str] = (),
    decisions_by_id: Mapping[str, Decisions] | None = None,
    references: Collection[str] = (),
    cache: IntervalCache | None = None,
    derived: DerivedValues | None = None,
) -> Leaderboard:
    """The leaderboard of a suite.

    Args:
        results: at most one of each submission and task; those of other tasks or submissions are ignored.
        load_items: the items table of a result; None if it cannot be read: its runs then count as not measured, and
            its metrics have no intervals.
        release: of the scoring; `corrected` if None.
        problems: already known; those found here are added.
        decisions_by_id: by submission; a removed submission has no row. None: none is removed.
        references: names or ids of submissions that are compared only: they have a row, and change no other.
        cache: of intervals, which changes no number; it is closed by the caller.
        derived: values of the same results and items, likewise.

    Raises:
        ScoringError: the suite names a release or a benchmark that is not known. A metric that cannot be scored
            leaves out the row of its submission alone: see `Leaderboard.missing_rows`.
    """
    rules, published = release or load_release(), published_release(suite)
    taken_out = _taken_out(submissions, decisions_by_id or {})
    removed = {event.submission.id for event in taken_out}
    kept = {s.id: s for s in submissions if s.id not in removed}
    by_unit = {(r.submission, r.task): r for r in results if r.submission in kept}
    judged = Judged(suite, by_unit, load_items, list(problems), derived)
    names = set(references) - kept.keys()  # an author may choose any name for a model: an id is not a name
    compared = {s.id for s in kept.values() if s.id in references or s.card.name in names}
    cache = cache or IntervalCache()
    scorer = Scorer(judged, kept, rules, published, compared, cache)
    scores = scorer.scores()
    missing_rows = tuple(f"{fault}: no row without it: judge rejudge {id}" for id, fault in scorer.faults.items())
    judged.problems.extend(missing_rows)
    rows = {id: _row(kept[id], suite, by_unit, scores[id]) for id in scores}
    rows |= {id: replace(rows[id], reference=COMPARED) for id in rows if id in compared}
    placed = _placed(rows)
    shown = [line.result for row in placed for line in row.tasks if line.result is not None]
    hardware = {r.provenance.origin.hardware for r in shown if KINDS.traits(r.kind).times and r.verdict is Verdict.OK}
    return Leaderboard(
        suite,
        rules,
        published,
        placed,
        robustness(judged, scores, [row.submission.id for row in placed if row.rank is not None], cache),
        max((r.measured for r in shown), default=None),
        tuple(sorted(hardware)),
        tuple(dict.fromkeys(judged.problems)),
        taken_out,
        missing_rows,
    )


def _placed(rows: Mapping[str, Row]) -> tuple[Row, ...]:
    """The rows from best to worst, each with its rank; last the rows that are compared only, without a rank."""
    entries = [
        RankingEntry(
            id,
            bool(row.tasks) and not row.shortfalls and not row.reference,
            row.scores[FORCE_FIELD].value,
            row.scores[PROPERTY_ERROR].value,
        )
        for id, row in rows.items()
    ]
    placed = [replace(rows[id], rank=rank) for id, rank in ranking(entries)]
    return tuple(sorted(placed, key=lambda row: bool(row.reference)))  # a stable sort keeps the order otherwise


def _taken_out(submissions: Sequence[Submission], decisions_by_id: Mapping[str, Decisions]) -> tuple[TakenOut, ...]:
    events = [(s, decisions_by_id[s.id].removal) for s in submissions if s.id in decisions_by_id]
    taken_out = [TakenOut(s, str(event.kind), event.time, event.reason) for s, event in events if event]
    return tuple(sorted(taken_out, key=lambda event: (event.when, event.submission.id), reverse=True))


def _row(submission: Submission, suite: Suite, results: Results, scores: SubmissionScores) -> Row:
    """The row of one submission, not yet ranked."""
    lines = tuple(TaskLine(task, results.get((submission.id, task.name))) for task in suite.tasks)
    drivers = {line.result.provenance.origin.driver for line in lines if line.result is not None}
    isolated = drivers <= {"docker"} and submission.image.driver == "docker"
    corrected, as_published = scores.corrected, scores.as_published
    return Row(None, submission, corrected, as_published, lines, isolated, made_from=scores.made_from)
