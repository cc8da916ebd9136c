"""Intervals from stored items, against a loop that draws clusters; metrics that cannot be resampled are named."""

from __future__ import annotations

import math
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from judge.ranking.build import build_leaderboard
from judge.ranking.cluster_statistics import ScoredResult, cluster_sums_of, scored_results
from judge.ranking.lambench_scores import corrected_trees
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoredTree
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import ScoringError, load_release
from scoring.names import EFFICIENCY, ERRORS
from submissions.records import Submission
from tasks.metrics.measurement import Items, Measurement
from tasks.structures.predictions import Cause, Labels
from tasks.suites.suite import Suite
from tests.tasks.kind_examples import EXAMPLES, PBE, KindExample, example, observed, rattled
from tests.tasks.made_up import observed as answered
from tests.world.board_records import (
    ENERGY,
    FORCE,
    SUITE,
    VIRIAL,
    error,
    frames_metrics,
    good_results,
    items_of,
    refused,
    result,
    runs,
    submission,
    task,
)

A, B, C = submission("alpha"), submission("beta"), submission("gamma")
TASKS = {t.name: t for t in SUITE.tasks}
CRYSTALS = replace(SUITE, tasks=(TASKS["crystals"],))
Tables = Mapping[tuple[str, str], Items | None]


def board(
    suite: Suite,
    models: Sequence[Submission],
    results: Sequence[Result],
    changed: Tables | None = None,
    n_items: int = 0,
) -> Leaderboard:
    """A leaderboard; items have five clusters each, except for `changed` tables by submission and task.

    With `n_items` there are so many, each its own cluster.
    """
    tables = changed or {}

    def items(result: Result) -> Items | None:
        unit = result.submission, result.task
        if unit in tables:
            return tables[unit]
        return items_of(result, n_items, n_items) if n_items else items_of(result, n_clusters=5)

    return build_leaderboard(suite, models, results, items)


def measured(submission: Submission, name: str, measurement: Measurement) -> Result:
    """The result of a measurement."""
    metrics = dict(measurement.metrics)
    kind = name if name in EXAMPLES else "labelled_frames"
    return result(
        submission, task(name.replace("_", "-"), kind, "Inorganic Materials"), metrics, n_items=len(measurement.items)
    )


def clustered_frames(n_frames: int, size: int) -> KindExample:
    """Labelled frames in clusters of `size`, some of them harder than others."""
    rng, structures = np.random.default_rng(3), rattled(n_frames)
    hard = np.repeat(rng.uniform(0.3, 3.0, n_frames // size), size)
    forces = np.concatenate([h * rng.normal(size=(len(a), 3)) for h, a in zip(hard, structures, strict=True)])
    made = example("labelled_frames", structures, {}, labels=Labels(hard * rng.normal(size=n_frames), forces))
    clusters = tuple(f"trajectory {i // size}" for i in range(n_frames))
    dataset = replace(
        made.dataset,
        card=made.dataset.card.model_copy(update={"cluster_column": "cluster"}),
        table=made.dataset.table.model_copy(update={"cluster": clusters}),
    )
    return made._replace(dataset=dataset)


@pytest.mark.parametrize(
    "name", ["labelled_frames", "energy_differences", "energy_profiles", "efficiency", "compression"]
)
def test_clusters_give_the_stored_metrics_back(name: str) -> None:
    """Also for a model with failed items."""
    for fails in ({}, {2: Cause.ERROR, 5: Cause.NON_FINITE}):
        measurement, _ = observed(EXAMPLES[name](), fails)
        stored = measured(A, name, measurement)
        suite = Suite("one", "1", "One", (task(stored.task, name, stored.domain),))
        judged = Judged(suite, {(A.id, stored.task): stored}, lambda _, m=measurement: m.items, [])
        trees = corrected_trees(judged, A.id, load_release())
        wanted = {leaf.key for key in (*ERRORS, EFFICIENCY) for leaf in trees[key].leaves}
        scored = scored_results(judged, A.id, [ScoredTree.of(trees[key]) for key in (*ERRORS, EFFICIENCY)])
        statistics = [sums for each in scored for sums in cluster_sums_of(judged, each)]
        assert {sums.key for sums in statistics} == wanted
        for sums in statistics:
            assert sums.value == pytest.approx(stored.metrics[sums.metric].charged, rel=1e-9)
            if name == "efficiency":  # the only one without a trivial model
                assert sums.baseline is None
                continue
            assert sums.baseline is not None
            baseline = sums.of_means(sums.baseline.sum() / sums.counts.sum())
            assert float(baseline) == pytest.approx(stored.metrics[sums.metric].baseline, rel=1e-9)
        assert judged.problems == []


@pytest.mark.parametrize("fails", [{}, {7: Cause.ERROR}])
def test_the_interval_of_a_metric_is_that_of_a_loop_over_resampled_clusters(fails: dict[int, Cause]) -> None:
    measurement, _ = observed(clustered_frames(80, 4), fails)
    stored = measured(A, "frames", measurement)
    suite = Suite("one", "1", "One", (task("frames", "labelled_frames", stored.domain),))
    shown = build_leaderboard(suite, [A], [stored], lambda _: measurement.items)
    assert shown.problems == ()
    interval = shown.robustness.intervals["force_field"][A.id].metrics["frames", FORCE]
    square, count = (measurement.items.columns[f"force_{name}"] for name in ("sq", "count"))
    cost = stored.metrics[FORCE].failure_cost
    assert cost is not None
    failed = measurement.items.cause != Cause.NONE
    charged = np.where(failed, 0.0, np.fmin(square / count, cost**2) * count)
    clusters = np.array(measurement.items.cluster)
    members = [np.flatnonzero(clusters == name) for name in sorted(set(clusters))]
    assert len(members) == 20
    totals = np.array([(charged[each].sum(), count[each][~failed[each]].sum()) for each in members])
    lost = np.array([count[each][failed[each]].sum() for each in members])

    def log_odds(total: np.ndarray) -> tuple[float, float]:
        """Of a mean square below its largest value, with the standard error of a ratio."""
        sums, counts = total.T
        mean = sums.sum() / counts.sum()
        error = math.sqrt(((sums - mean * counts) ** 2).sum()) / counts.sum()
        return math.log(mean / (cost**2 - mean)), error * (1 / mean + 1 / (cost**2 - mean))

    (here, error), rng = log_odds(totals), np.random.default_rng(11)
    squares = (totals[:, 0] - totals[:, 0].sum() / totals[:, 1].sum() * totals[:, 1]) ** 2
    kurtosis = (squares**2).mean() / squares.mean() ** 2
    raised = error * math.sqrt(20 / 19) * (1 + math.sqrt((kurtosis - 1) / 80))
    drawn = []
    for _ in range(4000):
        picks = rng.integers(0, len(members), len(members))
        there, its_error = log_odds(totals[picks])
        odds, answered = math.exp(here - raised * (there - here) / its_error), totals[picks, 1].sum()
        added = lost[picks].sum()
        drawn.append((cost**2 * odds / (1 + odds) * answered + cost**2 * added) / (answered + added))
    low, high = np.sqrt(np.quantile(drawn, [0.025, 0.975]))
    width = high - low
    assert interval.low == pytest.approx(low, abs=0.08 * width)
    assert interval.high == pytest.approx(high, abs=0.08 * width)
    if not fails:  # a failed item outweighs all others
        # Frames of one trajectory resemble one another: drawn one by one, they give too narrow an interval.
        picks = rng.integers(0, 80, (2000, 80))
        single = np.sqrt(charged[picks].sum(axis=1) / count[picks].sum(axis=1))
        assert np.ptp(np.quantile(single, [0.025, 0.975])) < 0.8 * width


def test_a_baseline_that_the_card_states_is_not_redrawn() -> None:
    made = EXAMPLES["energy_differences"]()
    card = made.dataset.card.model_copy(update={"baselines": {PBE: {"barrier_mae": 0.7}}})
    measurement, _ = observed(made._replace(dataset=replace(made.dataset, card=card)), {})
    assert measurement.metrics["barrier_mae"].baseline == 0.7
    stored = measured(A, "energy_differences", measurement)
    suite = Suite("one", "1", "One", (task(stored.task, "energy_differences", stored.domain),))
    judged = Judged(suite, {(A.id, stored.task): stored}, lambda _: measurement.items, [])
    scored = ScoredResult(stored, {"barrier_mae": stored.metrics["barrier_mae"]}, "energy_differences")
    (sums,) = cluster_sums_of(judged, scored)
    assert sums.baseline is None
    assert sums.relative is None


def test_a_model_that_answers_as_the_trivial_one_is_worth_exactly_its_error() -> None:
    """In every redraw, so that its interval is a point; the raw error has a width."""
    made = clustered_frames(80, 4)
    frames = made.dataset.frames
    trivial = answered(np.zeros(len(frames)), forces=np.zeros((len(frames.numbers), 3)))
    measurement = made.kind.measure(trivial, made.dataset, made.parameters, PBE)
    stored = measured(A, "frames", measurement)
    suite = Suite("one", "1", "One", (task("frames", "labelled_frames", stored.domain),))
    uncertainty = build_leaderboard(suite, [A], [stored], lambda _: measurement.items).robustness.intervals[
        "force_field"
    ][A.id]
    assert uncertainty.score[:2] == pytest.approx((1.0, 1.0))
    raw = uncertainty.metrics["frames", FORCE]
    assert raw.low < 0.95 * raw.high


def test_an_interval_holds_its_score_and_reaches_all_scores() -> None:
    shown = board(SUITE, [A, B], good_results(A, 0.2) + good_results(B, 0.4))
    for name, by_model in shown.robustness.intervals.items():
        for key in (A.id, B.id):
            uncertainty = by_model[key]
            if name != "instability":  # both runs are below the tolerance in every draw
                assert uncertainty.score.low < uncertainty.value < uncertainty.score.high, name
    assert shown.problems == ()


def test_lost_items_are_named_and_leave_no_interval() -> None:
    given = good_results(A, 0.2)
    shown = board(SUITE, [A], given, {(A.id, "barriers"): None})
    assert shown.problems == (f"results/{A.id}/barriers: the items table cannot be read: no interval",)
    uncertainty = shown.robustness.intervals["property_error"][A.id]
    assert not uncertainty.score.known
    assert uncertainty.score.n_held >= 1
    assert shown.rows[0].scores["property_error"].value == pytest.approx(0.2)
    assert shown.robustness.intervals["force_field"][A.id].score.known


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: replace(table, columns={"error": table.columns["error"]}), "mae: the items do not give it"),
        (lambda table: replace(table, columns={"count": table.columns["count"]}), "items: column error: is missing"),
        (
            lambda table: replace(table, columns={**table.columns, "error": 2 * table.columns["error"]}),
            "mae: the items give 0.4, stored is 0.2 eV: measure it again",
        ),
    ],
)
def test_items_of_another_version_leave_no_interval_of_that_model_alone(change, message: str) -> None:  # type: ignore[no-untyped-def]
    """No fault in one model's items changes the intervals of another model."""
    given = good_results(A, 0.2) + good_results(B, 0.3)
    table = change(items_of(next(r for r in given if r.task == "barriers")))
    shown, whole = board(SUITE, [A, B], given, {(A.id, "barriers"): table}), board(SUITE, [A, B], given)
    intervals = shown.robustness.intervals["property_error"]
    assert not intervals[A.id].score.known
    assert intervals[B.id].score == whole.robustness.intervals["property_error"][B.id].score
    assert intervals[B.id].score.known
    assert shown.robustness.intervals["force_field"] == whole.robustness.intervals["force_field"]
    assert len(shown.problems) == 1
    assert all(p.startswith(f"results/{A.id}/barriers: no interval: ") and message in p for p in shown.problems)


def test_a_metric_without_its_failure_cost_is_named() -> None:
    old = {"mae": replace(error(0.2, "eV"), failure_cost=None)}
    given = [r for r in good_results(A, 0.2) if r.task != "barriers"] + [result(A, TASKS["barriers"], old)]
    shown = board(SUITE, [A], given)
    assert shown.problems == (
        f"results/{A.id}/barriers: no interval: metrics: mae: has no failure cost: measure it again",
    )


def test_only_ranked_submissions_have_ranks_and_groups() -> None:
    failed = [r for r in good_results(C, 0.01) if r.task != "speed"]
    shown = board(SUITE, [A, B, C], good_results(A, 0.5) + good_results(B, 0.1) + failed, n_items=40)
    uncertainties = shown.robustness.intervals["force_field"]
    assert {key: uncertainties[key].rank for key in uncertainties} == {A.id: 2, B.id: 1, C.id: None}
    assert {key: uncertainties[key].group for key in uncertainties} == {A.id: 2, B.id: 1, C.id: None}
    assert not uncertainties[C.id].rank_interval.known
    assert uncertainties[C.id].score.known
    for moves in (shown.robustness.weights, shown.robustness.without):
        assert all(set(by_model) == {A.id, B.id} for by_model in moves.values())


def test_no_interval_depends_on_another_submission() -> None:
    """Ranked or not: a submission without dynamics has other runs than the others, and is resampled alone."""
    few = [r for r in good_results(B, 0.4) if r.task != "crystals"]
    given, extra = good_results(A, 0.2) + few, [refused(C, t, Verdict.CRASHED, n_items=9) for t in SUITE.tasks]
    table: Tables = {(model.id, "drift"): runs([1e-4, 3e-4, 1e-3]) for model in (A, B)}
    before, after = board(SUITE, [A, B], given, table), board(SUITE, [A, B, C], given + extra, table)
    more = board(SUITE, [A, B, C], given + good_results(C, 0.9), {**table, (C.id, "drift"): runs([1e-4, 1e-5, 1e-6])})
    for other in (after, more):
        for name, by_model in before.robustness.intervals.items():
            for key in (A.id, B.id):
                old, new = by_model[key], other.robustness.intervals[name][key]
                assert (old.score, old.metrics, old.nodes) == (
                    new.score,
                    new.metrics,
                    new.nodes,
                )
                assert old.score == new.score or (math.isnan(old.score.low) and math.isnan(new.score.low))
        assert other.robustness.intervals["instability"][A.id].score.known


def test_the_same_records_give_the_same_numbers_in_any_order() -> None:
    given = good_results(A, 0.2) + good_results(B, 0.25) + good_results(C, 0.3)[1:]
    first, second = board(SUITE, [A, B, C], given), board(SUITE, [C, A, B], given[::-1])
    assert repr(first.robustness) == repr(second.robustness)
    assert first.problems == second.problems


def _check_moves_of_another_process() -> None:
    with pytest.MonkeyPatch.context() as patch:
        _check_moves(patch)


def _check_moves(patch: pytest.MonkeyPatch) -> None:
    given = good_results(A, 0.2) + good_results(B, 0.25)
    alone = board(SUITE, [A, B], given)
    patch.setattr("judge.parallel.LEAST", 1)
    patch.setattr("judge.parallel._processors", lambda: 2)
    shown = board(SUITE, [A, B], given)
    assert repr(shown.robustness) == repr(alone.robustness)

    def fails(*_: object, **__: object) -> None:
        raise ScoringError(f"weights in process {os.getpid()}")

    patch.setattr("judge.ranking.rank_moves.random_weights", fails)
    shown = board(SUITE, [A, B], given)
    assert "uncertainty of the force-field error: weights in process" in shown.problems[0]
    assert str(os.getpid()) not in shown.problems[0]
    assert shown.robustness.intervals == alone.robustness.intervals
    assert shown.robustness.weights["force_field"] == {}


def test_another_process_gives_the_same_moves_and_an_error_is_named() -> None:
    """In a process without threads: those that other tests left may hold a lock, which a fork would keep."""
    process = multiprocessing.get_context("spawn").Process(target=_check_moves_of_another_process)
    process.start()
    process.join(timeout=120)
    assert process.exitcode == 0


def test_models_of_different_label_sets_are_ranked_under_other_weights_too() -> None:
    """PBE has virials and ωB97M-V none: the weights of the label types differ, and are not drawn."""
    of_pbe = [result(A, TASKS["crystals"], frames_metrics(0.2, virial=True), label_set="PBE")]
    of_hybrid = [result(B, TASKS["crystals"], frames_metrics(0.3), label_set="wB97M-V")]
    rest = [r for model, x in ((A, 0.2), (B, 0.3)) for r in good_results(model, x) if r.task != "crystals"]
    shown = board(SUITE, [A, B], of_pbe + of_hybrid + rest)
    assert shown.problems == ()
    assert set(shown.robustness.weights["force_field"]) == {A.id, B.id}
    assert shown.robustness.weights["force_field"][A.id].rank == 1
    assert set(shown.robustness.without["force_field"][B.id].without) == {"crystals", "molecules"}
    assert shown.robustness.intervals["force_field"][B.id].score.known


def test_random_weights_move_a_rank_that_depends_on_them() -> None:
    """A is better in energies by as much as B is in forces, so the weights decide which of them leads."""
    better_energies = {ENERGY: error(0.1), FORCE: error(0.3, "eV/Å"), VIRIAL: error(0.2)}
    better_forces = {ENERGY: error(0.31), FORCE: error(0.1, "eV/Å"), VIRIAL: error(0.2)}
    shown = board(
        CRYSTALS, [A, B], [result(A, TASKS["crystals"], better_energies), result(B, TASKS["crystals"], better_forces)]
    )
    ranges = shown.robustness.weights["force_field"]
    assert (ranges[A.id].rank, ranges[B.id].rank) == (1, 2)
    assert all((r.best, r.worst, r.low, r.high) == (1, 2, 1, 2) for r in ranges.values())


def test_ml_peg_has_an_interval_from_the_same_clusters() -> None:
    """One metric: 1 - error / baseline of the task, so its interval is 1 minus the interval of the error."""
    suite = replace(SUITE, tasks=(TASKS["barriers"],))
    barriers = result(A, TASKS["barriers"], {"mae": error(0.3, "eV")})
    shown = board(suite, [A], [barriers])
    uncertainty = shown.robustness.intervals["ml-peg"][A.id]
    errors = shown.robustness.intervals["property_error"][A.id].score
    assert uncertainty.value == pytest.approx(0.7)
    assert uncertainty.score.known
    assert (uncertainty.score.low, uncertainty.score.high) == pytest.approx((1 - errors.high, 1 - errors.low))


def test_a_run_out_of_time_is_no_way_to_a_better_rank() -> None:
    """A's score leaves the other run out; its rank counts 5 for it."""
    slow = runs([1e-9, math.nan], [Cause.NONE, Cause.OVER_TIME])
    mild = runs([1e-9, 1e-4])
    changed = {(A.id, "drift"): slow, (B.id, "drift"): mild}
    shown = board(SUITE, [A, B], [*good_results(A, 0.2), *good_results(B, 0.3)], changed)
    uncertainties = shown.robustness.intervals["instability"]
    assert uncertainties[A.id].value == 0.0 < uncertainties[B.id].value
    assert {key: moves.rank for key, moves in uncertainties.items()} == {A.id: 2, B.id: 1}
    assert {key: moves.rank for key, moves in shown.robustness.weights["instability"].items()} == {A.id: 2, B.id: 1}
    assert {key: moves.rank for key, moves in shown.robustness.without["instability"].items()} == {A.id: 2, B.id: 1}
