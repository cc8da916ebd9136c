"""Records to rows: what feeds which score, who is ranked, and that nothing missing ever helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from judge.ranking.build import build_leaderboard
from judge.ranking.lambench_scores import corrected_trees
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.other_schemes import other_trees
from judge.ranking.score_inputs import Judged
from judge.ranking.score_trees import ScoreTrees, corrected_terms
from judge.records.records import Result
from sandbox.verdict import Verdict
from scoring import Term, load_release
from scoring.names import COMPATIBLE, ML_PEG, MLIPAUDIT
from submissions.records import Submission
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, load_suite
from tests.world.board_records import (
    SUITE,
    error,
    frames_metrics,
    good_metrics,
    good_results,
    items_of,
    refused,
    result,
    runs,
    submission,
    task,
)
from tests.world.world import World

TASKS = {task.name: task for task in SUITE.tasks}
QUIET = runs([1e-9, 1e-9])
A, B = submission("alpha"), submission("beta")


def board(submissions: Sequence[Submission], results: Sequence[Result], items: Items | None = QUIET) -> Leaderboard:
    return build_leaderboard(SUITE, submissions, results, lambda of: items if of.kind == "nve" else items_of(of))


def row(shown: Leaderboard, of: Submission) -> Row:
    return next(row for row in shown.rows if row.submission.id == of.id)


def replaced(results: list[Result], new: Result) -> list[Result]:
    return [new if old.task == new.task and old.submission == new.submission else old for old in results]


def test_every_score_from_its_tasks() -> None:
    scores = row(board([A], good_results(A, 0.25), runs([4.9e-3, 1e-9])), A).scores
    assert scores["force_field"].value == pytest.approx(0.25)
    assert scores["property_error"].value == pytest.approx(0.25)
    assert scores["efficiency"].value == pytest.approx(1.25)
    assert scores["instability"].value == pytest.approx((2 + 0) / 2)
    assert scores["instability-0.0005"].value == pytest.approx(math.log10(9.8) / 2)
    assert [part.name for part in scores["force_field"].parts] == ["Inorganic Materials", "Molecules"]


def test_ranked_by_force_field_error() -> None:
    shown = board([A, B], good_results(A, 0.3) + good_results(B, 0.2))
    assert [(r.submission.card.name, r.rank) for r in shown.rows] == [("beta", 1), ("alpha", 2)]


def test_a_task_without_an_ok_leaves_the_row_unranked_and_below() -> None:
    failed = result(A, TASKS["molecules"], {}, Verdict.TIME_LIMIT, sentence="Make it faster.")
    missing = [r for r in good_results(A, 0.01) if r.task != "barriers"]
    shown = board([A, B], replaced(missing, failed) + good_results(B, 0.9))
    assert [(r.submission.card.name, r.rank) for r in shown.rows] == [("beta", 1), ("alpha", None)]
    assert row(shown, A).shortfalls == {"TIME_LIMIT": ["molecules"], "NOT JUDGED": ["barriers"]}
    scores = row(shown, A).scores
    assert scores["force_field"].value == pytest.approx((0.01 + 1.0) / 2)
    assert (scores["force_field"].covered, scores["force_field"].total) == (1, 2)
    assert scores["property_error"].value is None


def test_no_metric_of_a_failed_task_counts() -> None:
    failed = result(A, TASKS["molecules"], frames_metrics(0.001), Verdict.TOO_MANY_FAILURES)
    scores = row(board([A], replaced(good_results(A, 0.5), failed)), A).scores
    assert scores["force_field"].value == pytest.approx((0.5 + 1.0) / 2)


def test_a_model_without_stress_is_charged_where_the_task_has_virials() -> None:
    without = result(A, TASKS["crystals"], frames_metrics(0.5))
    results = replaced(good_results(A, 0.5), without)
    # Alone it is not known that the task has virials; another model's result tells.
    shown = board([A, B], results + good_results(B, 0.5))
    domain = row(shown, A).scores["force_field"].part("Inorganic Materials")
    assert domain is not None
    assert domain.value == pytest.approx(0.9 * 0.5 + 0.1)
    said = result(A, TASKS["crystals"], {**frames_metrics(0.5), "virial_rmse_per_atom": error(None)})
    alone = row(board([A], replaced(results, said)), A).scores["force_field"].part("Inorganic Materials")
    assert alone == domain


WITHOUT_STRESS = """
from ase.calculators.emt import EMT

class WithoutStress(EMT):
    implemented_properties = ["energy", "forces"]
    def calculate(self, *args):
        super().calculate(*args)
        self.results.pop("stress", None)

def make_calculator():
    return WithoutStress()
"""


def test_the_only_model_judged_is_charged_for_the_stress_that_it_lacks(world: World) -> None:
    """Judged for real on labels that have virials: energy and forces are exact, and so at the floor."""
    model = world.submit("emt", WITHOUT_STRESS)
    world.evaluate(tasks=("copper",))
    shown = build_leaderboard(load_suite(world.settings.suite), [model], world.results(), lambda _: None)
    domain = row(shown, model).scores["force_field"].part("Inorganic Materials")
    assert domain is not None
    virial = domain.part("virial")
    assert virial is not None
    assert (virial.share, virial.value) == (pytest.approx(0.1), 1.0)


@pytest.mark.parametrize("charged", [math.nan, math.inf, None])
def test_nan_loses(charged: float | None) -> None:
    bad = result(A, TASKS["barriers"], {"mae": error(charged, "eV")})
    scores = row(board([A], replaced(good_results(A, 0.5), bad)), A).scores
    assert scores["property_error"].value in (1.0, None)


def test_failing_a_slow_frame_does_not_look_fast() -> None:
    time = Metric(value=1.0, unit="µs/atom", n_items=20, n_failed=1)
    failing = result(A, TASKS["speed"], {"time_mean": time})
    scores = row(board([A], replaced(good_results(A, 0.5), failing)), A).scores
    assert scores["efficiency"].value is None
    assert scores["efficiency"].covered == 0


def test_causes_of_failed_runs() -> None:
    items = runs([1e-9, math.nan, math.nan, math.nan], [Cause.NONE, Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING])
    score = row(board([A], good_results(A, 0.5), items), A).scores["instability"]
    assert score.value == pytest.approx((0 + 5 + 5) / 3)
    assert score.at_worst == pytest.approx((0 + 5 + 5 + 5) / 4)
    assert (score.covered, score.total) == (2, 4)


def test_a_lost_items_table_is_named_and_not_held_against_the_model() -> None:
    shown = board([A], good_results(A, 0.5), None)
    assert row(shown, A).scores["instability"].value is None
    assert shown.problems == (f"results/{A.id}/drift: the items table cannot be read: no instability from it",)


def test_a_metric_without_a_baseline_is_named() -> None:
    odd = result(A, TASKS["barriers"], {"mae": error(0.1, "eV", baseline=None)})
    shown = board([A], replaced(good_results(A, 0.5), odd))
    assert shown.problems == (f"results/{A.id}/barriers: metrics.mae: no baseline to compare with",)


def test_what_ran_without_a_container_is_marked() -> None:
    shown = board([A, B], good_results(A, 0.5, driver="process") + good_results(B, 0.5))
    assert [r.submission.card.name for r in shown.not_isolated] == ["alpha"]


def test_order_of_records_does_not_matter() -> None:
    results = good_results(A, 0.5) + good_results(B, 0.5)
    assert board([A, B], results).rows == board([B, A], results[::-1]).rows


def test_results_of_other_tasks_and_submissions_are_passed_over() -> None:
    stray = result(B, TASKS["crystals"], good_metrics(0.1)["crystals"])
    gone = good_results(A, 0.5)[0].model_copy(update={"task": "dropped"})
    shown = board([A], [*good_results(A, 0.5), stray, gone])
    assert [r.submission.id for r in shown.rows] == [A.id]
    assert row(shown, A).n_ok == len(SUITE.tasks)


def test_nothing_judged_yet() -> None:
    shown = board([A], [])
    assert row(shown, A).rank is None
    assert all(
        term.value is None
        for term in (
            row(shown, A).scores["force_field"],
            row(shown, A).scores["property_error"],
            row(shown, A).scores["efficiency"],
            row(shown, A).scores["instability"],
        )
    )
    assert board([], []).rows == ()


DRIFTS = Suite("drifts", "1", "Two drifts", tuple(task(n, "nve", "Inorganic Materials") for n in ("one", "two")))
ONE, TWO = DRIFTS.tasks


def stability(*of_a: Result, others: Sequence[Result] = (), **items: Items) -> Term:
    """The instability of A over the two drifts, `items` by task."""
    shown = build_leaderboard(DRIFTS, [A, B], [*of_a, *others], lambda r: items.get(r.task))
    return row(shown, A).scores["instability"]


def test_hanging_does_not_erase_unstable_runs() -> None:
    """As it is when a limit ends the session: no observation, no items, and not even their number."""
    blown = runs([math.nan] * 2, [Cause.EXPLODED] * 2)
    honest = stability(result(A, ONE, {}), result(A, TWO, {}), one=blown, two=QUIET)
    assert (honest.value, honest.covered, honest.total) == (2.5, 4, 4)
    hanging = refused(A, ONE, Verdict.TIME_LIMIT)
    alone = stability(hanging, result(A, TWO, {}), two=QUIET)
    assert (alone.value, alone.at_worst) == (0.0, pytest.approx(5 / 3))
    assert (alone.covered, alone.total) == (2, 3)
    known = stability(hanging, result(A, TWO, {}), others=[result(B, ONE, {})], two=QUIET)
    assert (known.value, known.at_worst, known.covered, known.total) == (0.0, 2.5, 2, 4)
    told = stability(refused(A, ONE, Verdict.TIME_LIMIT, n_items=6), result(A, TWO, {}), two=QUIET)
    assert (told.at_worst, told.total) == (5 * 6 / 8, 8)


def test_a_crash_in_dynamics_is_worst_in_every_run() -> None:
    crashed = refused(A, ONE, Verdict.CRASHED, n_items=2)
    term = stability(crashed, result(A, TWO, {}), two=QUIET)
    assert (term.value, term.at_worst, term.covered, term.total) == (2.5, None, 2, 4)


@pytest.mark.parametrize(
    ("cause", "verdict", "value", "covered"),
    [
        (Cause.NON_FINITE, Verdict.NON_FINITE, 5.0, 2),
        (Cause.ERROR, Verdict.TOO_MANY_FAILURES, 5.0, 2),
        (Cause.UNSUPPORTED, Verdict.UNSUPPORTED, None, 0),
    ],
)
def test_runs_that_all_failed_are_worst_and_elements_nobody_knows_are_missing(
    cause: Cause, verdict: Verdict, value: float | None, covered: int
) -> None:
    suite = Suite("drift", "1", "One drift", (ONE,))
    shown = build_leaderboard(suite, [A], [result(A, ONE, {}, verdict)], lambda _: runs([math.nan] * 2, [cause] * 2))
    term = shown.rows[0].scores["instability"]
    assert (term.value, term.covered, term.total) == (value, covered, 2)
    assert shown.problems == ()


def test_a_model_is_asked_only_for_labels_of_its_own_label_set() -> None:
    """PBE has virials and ωB97M-V has none: who is held against the latter owes none, whoever else is judged."""
    own = [result(B, TASKS["crystals"], frames_metrics(0.1), label_set="wB97M-V")]
    with_virial = [result(A, TASKS["crystals"], frames_metrics(0.1, virial=True), label_set="PBE")]
    alone = row(board([B], own), B).scores["force_field"].part("Inorganic Materials")
    beside = row(board([A, B], own + with_virial), B).scores["force_field"].part("Inorganic Materials")
    assert alone is not None
    assert alone.value == pytest.approx(0.1)
    assert beside == alone


def test_quantities_are_those_of_a_models_own_label_set() -> None:
    own = [result(B, TASKS["barriers"], {"mae": error(0.1)}, label_set="wB97M-V")]
    both = [result(A, TASKS["barriers"], {"mae": error(0.1), "off_percent": error(0.1)}, label_set="PBE")]
    assert row(board([A, B], own + both), B).scores["property_error"].value == pytest.approx(0.1)


def test_to_be_refused_is_never_to_be_asked_less() -> None:
    """Of a label set that nobody else has, what others are asked; of a kind that nobody has metrics of, all it has."""
    metrics = {name: error(0.2) for name in ("k_vrh_gpa_mae", "g_vrh_gpa_mae")}
    suite = Suite("two", "1", "Two", (TASKS["barriers"], task("moduli", "elasticity", "Molecules")))
    barriers, moduli = suite.tasks
    judged = result(A, barriers, {"mae": error(0.1)})
    alone = [judged, refused(A, moduli, Verdict.TIME_LIMIT, label_set="PBE")]
    beside = [*alone, result(B, moduli, metrics, label_set="r2SCAN")]
    for results in (alone, beside):
        shown = row(build_leaderboard(suite, [A, B], results, lambda _: None), A)
        assert shown.scores["property_error"].value == pytest.approx((0.1 + 1 + 1) / 3)


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({"binding_mae": 0.1, "strain_mae": 0.3, "binding_rmse": 0.9, "strain_rmse": 0.9}, 0.2),
        ({"mae": 0.1, "rmse": 0.9, "off_percent": 0.5, "off_percent:ring_mae": 0.9}, 0.3),
        ({"barrier_mae": 0.1, "reaction_energy_mae": 0.2, "barrier_off_percent": 0.6}, 0.3),
        ({"barrier_height_mae": 0.1, "reaction_energy_mae": 0.3}, 0.2),
    ],
)
def test_every_quantity_is_scored_whatever_it_is_called(metrics: dict[str, float], expected: float) -> None:
    found = result(A, TASKS["barriers"], {name: error(value) for name, value in metrics.items()})
    shown = board([A], replaced(good_results(A, 0.5), found))
    assert row(shown, A).scores["property_error"].value == pytest.approx(expected)
    assert shown.problems == ()


def test_a_share_without_a_baseline_is_no_column() -> None:
    """Zero is within the tolerance everywhere: there is nothing to compare the share with."""
    found = result(A, TASKS["barriers"], {"mae": error(0.25), "off_percent": error(0.0, "%", baseline=None)})
    shown = board([A], replaced(good_results(A, 0.5), found))
    assert row(shown, A).scores["property_error"].value == pytest.approx(0.25)


def test_a_task_of_which_no_metric_is_scored_is_named() -> None:
    shown = board([A], replaced(good_results(A, 0.5), result(A, TASKS["barriers"], {"rmse": error(0.1)})))
    assert row(shown, A).scores["property_error"].value is None
    assert shown.problems == (
        f"results/{A.id}/barriers: metrics: none is scored: none is called mae or *_mae or *off_percent",
    )


def test_dynamics_that_ran_out_of_time_are_not_measured_and_never_unstable() -> None:
    slow = result(A, TASKS["drift"], {}, Verdict.TIME_LIMIT)
    for items in (runs([math.nan, math.nan], [Cause.OVER_TIME, Cause.OVER_TIME]), None):
        shown = row(board([A], replaced(good_results(A, 0.25), slow), items), A)
        assert shown.scores["instability"].value is None
        assert shown.scores["instability"].covered == 0
        assert shown.rank is None


LAWFUL = replace(
    SUITE,
    tasks=(
        *(t for t in SUITE.tasks if t.name != "barriers"),
        replace(TASKS["barriers"], mlipaudit="reactivity"),
        replace(task("complexes", "energy_differences", "Molecules"), mlipaudit="noncovalent_interactions"),
        replace(task("more-barriers", "energy_differences", "Catalysis"), mlipaudit="reactivity"),
    ),
)
MODELS = (A, B, submission("gamma"))


def drawn(rng: np.random.Generator) -> list[Result]:
    """Results of three models, each error a random share of the baseline, in eV where it is one of energies."""
    made = []
    for of in MODELS:
        for own in LAWFUL.tasks:
            relative = float(rng.uniform(0.02, 0.6))
            metrics = good_metrics(relative).get(own.name, {"mae": error(relative, "eV")})
            made.append(result(of, own, metrics, notes={"items in": "eV"}))
    return made


def costs(results: Sequence[Result], of: Submission, drift: Items) -> dict[str, float]:
    """Every corrected score of a model, turned so that less is better; infinite where there is none."""
    judged = Judged(
        LAWFUL, {(r.submission, r.task): r for r in results}, lambda r: drift if r.kind == "nve" else items_of(r), []
    )
    trees = ScoreTrees(corrected_trees(judged, of.id, load_release()))
    trees |= other_trees(judged, MODELS, load_release())[of.id]
    found = corrected_terms({"": trees})[""]
    found.pop(COMPATIBLE, None)  # beside the score, over whatever elements a model says that it knows
    ordered = {name: t.value if t.at_worst is None else t.at_worst for name, t in found.items()}
    more_is_better = {"efficiency", ML_PEG, MLIPAUDIT}
    turned = {n: math.inf if v is None else -v if n in more_is_better else v for n, v in ordered.items()}
    return {ML_PEG: math.inf, MLIPAUDIT: math.inf} | turned


def worsened(own: Result, by: str, rng: np.random.Generator) -> list[Result]:
    """The result of one task in place of `own`, that may not be better in anything."""
    if by == "missing":
        return []
    if by in set(Verdict):
        refusal = refused(MODELS[0], LAWFUL_TASKS[own.task], Verdict(by), n_items=own.n_items, label_set=own.label_set)
        return [refusal if rng.random() < 0.5 else own.model_copy(update={"verdict": Verdict(by)})]
    name = str(rng.choice(sorted(own.metrics)))
    old = own.metrics[name]
    charged = {"no number": None, "larger": (old.charged or 0.0) * (1.0 + rng.exponential())}[by]
    changed = replace(old, charged=charged, n_failed=old.n_failed + (charged is None))
    return [own.model_copy(update={"metrics": {**own.metrics, name: changed}})]


LAWFUL_TASKS = {t.name: t for t in LAWFUL.tasks}
FAILING = (Verdict.CRASHED, Verdict.TIME_LIMIT, Verdict.UNSUPPORTED, Verdict.TOO_MANY_FAILURES)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_that_gets_worse_in_one_task_improves_any_corrected_score(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given, drift = drawn(rng), runs((1e-5 * rng.exponential(size=4)).tolist())
    before = costs(given, A, drift)
    assert all(math.isfinite(cost) for cost in before.values())
    n_worse = 0
    for own in [r for r in given if r.submission == A.id]:
        rest = [r for r in given if r is not own]
        for by in ("larger", "no number", "missing", *FAILING):
            if own.kind == "nve" and by in ("larger", "no number"):
                continue  # its metrics are not scored: see the next
            after = costs(rest + worsened(own, by, rng), A, drift)
            for name, cost in after.items():
                assert cost >= before[name] - 1e-12, (own.task, by, name)
            n_worse += after != before
    assert n_worse > 30


@pytest.mark.parametrize("cause", [Cause.EXPLODED, Cause.OVER_TIME, Cause.MISSING, Cause.ERROR])
def test_a_run_that_fails_or_drifts_more_never_improves_the_instability(cause: Cause) -> None:
    rng = np.random.default_rng(1)
    given, slopes = drawn(rng), (1e-4 * rng.exponential(size=4)).tolist()
    before = costs(given, A, runs(slopes))
    for place in range(4):
        causes = [cause if i == place else Cause.NONE for i in range(4)]
        failed = [math.nan if i == place else s for i, s in enumerate(slopes)]
        drifting = [30 * s if i == place else s for i, s in enumerate(slopes)]
        for items in (runs(failed, causes), runs(drifting)):
            after = costs(given, A, items)
            assert all(after[name] >= cost - 1e-12 for name, cost in before.items())
            assert after["instability"] > before["instability"]


def test_a_verdict_other_than_ok_improves_nothing_for_the_only_model_there_is() -> None:
    """Nobody else's result tells what is asked: what is known of the task is its kind."""
    given = [r for r in drawn(np.random.default_rng(2)) if r.submission == A.id]
    before = costs(given, A, QUIET)
    for own in given:
        rest = [r for r in given if r is not own]
        for verdict in FAILING:
            after = costs([*rest, refused(A, LAWFUL_TASKS[own.task], verdict, n_items=own.n_items)], A, QUIET)
            assert all(after[name] >= cost - 1e-12 for name, cost in before.items()), (own.task, verdict)


def test_the_order_of_records_changes_no_score_of_any_scheme() -> None:
    given = drawn(np.random.default_rng(3))
    for of in MODELS:
        assert costs(given, of, QUIET) == costs(given[::-1], of, QUIET)
