"""Records to leaderboard: the scores of every submission, and which of them are complete enough to be ranked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from judge.ranking.derived_values import DerivedValues
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.lambench_scores import corrected_trees, published_release, published_trees
from judge.ranking.leaderboard import Leaderboard, Row, TakenOut, TaskLine
from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged, Results
from judge.ranking.score_keys import ScoreKeys
from judge.ranking.score_trees import ScoreTrees, corrected_terms, published_terms
from judge.ranking.uncertainty import robustness
from judge.records.decisions import Decisions
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Node, RankingEntry, Release, ScoringError, Term, load_release, ranking
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
    lambench, missing_rows, dropped = _lambench_trees(judged, kept, (rules, published), compared)
    others = other_trees(judged, [kept[id] for id in lambench], rules)
    trees = {id: scores | others[id] for id, scores in lambench.items()}
    corrected, as_published = corrected_terms(trees), published_terms(trees)
    cache = cache or IntervalCache()
    keys = ScoreKeys(judged, cache.stamps, dropped)
    rows = {}
    for id in trees:
        row = replace(_row(kept[id], suite, by_unit, corrected[id], as_published[id]), made_from=keys.key(kept[id]))
        rows[id] = replace(row, reference=COMPARED) if id in compared else row
    placed = _placed(rows)
    shown = [line.result for row in placed for line in row.tasks if line.result is not None]
    hardware = {r.provenance.origin.hardware for r in shown if KINDS.traits(r.kind).times and r.verdict is Verdict.OK}
    return Leaderboard(
        suite,
        rules,
        published,
        placed,
        robustness(judged, trees, [row.submission.id for row in placed if row.rank is not None], cache),
        max((r.measured for r in shown), default=None),
        tuple(sorted(hardware)),
        tuple(dict.fromkeys(judged.problems)),
        taken_out,
        missing_rows,
    )


def _lambench_trees(
    judged: Judged,
    ids: Iterable[str],
    rules: tuple[Release, Release],
    compared: Collection[str],
) -> tuple[dict[str, ScoreTrees], tuple[str, ...], Mapping[str, str]]:
    """By submission its trees; one line for each submission without trees, also added to `judged.problems`; and the
    domains that are dropped for all, as in `published_trees`.

    A metric that cannot be scored leaves out the trees of its submission alone.

    Args:
        rules: the corrected and the published release.
        compared: the submissions that are compared only.
    """
    release, published = rules
    corrected: dict[str, dict[str, Node]] = {}
    faults: dict[str, str] = {}
    for id in ids:
        try:
            corrected[id] = corrected_trees(judged, id, release)
        except ScoringError as error:
            faults[id] = str(error)
    try:
        as_published, dropped = published_trees(judged, list(corrected), published, release, compared)
    except ScoringError:  # scored alone, each submission shows whether it is faulty
        for id in list(corrected):
            try:
                published_trees(judged, [id], published, release)
            except ScoringError as error:
                faults[id] = str(error)
                del corrected[id]
        as_published, dropped = published_trees(judged, list(corrected), published, release, compared)
    missing_rows = tuple(f"{fault}: no row without it: judge rejudge {id}" for id, fault in faults.items())
    judged.problems.extend(missing_rows)
    return {id: ScoreTrees(trees, as_published[id]) for id, trees in corrected.items()}, missing_rows, dropped


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


def _row(
    submission: Submission,
    suite: Suite,
    results: Results,
    scores: Mapping[str, Term],
    as_published: Mapping[str, Term],
) -> Row:
    """The row of one submission, not yet ranked."""
    lines = tuple(TaskLine(task, results.get((submission.id, task.name))) for task in suite.tasks)
    drivers = {line.result.provenance.origin.driver for line in lines if line.result is not None}
    isolated = drivers <= {"docker"} and submission.image.driver == "docker"
    return Row(None, submission, scores, as_published, lines, isolated)
