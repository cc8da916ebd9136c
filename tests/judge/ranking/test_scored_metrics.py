"""The metrics that count for a model: those of its label set and kind, whichever other models were judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.ranking.build import build_leaderboard
from sandbox.verdict import Verdict
from tasks.kinds.equation_of_state import EquationOfStateParameters
from tasks.metrics.metric import Metric
from tasks.suites.suite import Suite, load_suite
from tests.judge.ranking.small_board import QUIET, TASKS, A, B, board, replaced, row
from tests.world.board_records import (
    SUITE,
    error,
    frames_metrics,
    good_results,
    refused,
    result,
    task,
)
from tests.world.world import World


def test_a_model_without_stress_is_penalised_if_the_task_has_virials() -> None:
    without = result(A, TASKS["crystals"], frames_metrics(0.5))
    results = replaced(good_results(A, 0.5), without)
    # The result of another model shows that the task has virials.
    shown = board([A, B], results + good_results(B, 0.5))
    domain = row(shown, A).scores["force_field"].part("Inorganic Materials")
    assert domain is not None
    assert domain.value == pytest.approx(0.9 * 0.5 + 0.1)
    stated = result(A, TASKS["crystals"], {**frames_metrics(0.5), "virial_rmse_per_atom": error(None)})
    alone = row(board([A], replaced(results, stated)), A).scores["force_field"].part("Inorganic Materials")
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


def test_the_only_model_judged_is_penalised_for_a_missing_stress(world: World) -> None:
    """Judged on labels with virials: energy and forces are exact, and so at the floor."""
    model = world.submit("emt", WITHOUT_STRESS)
    world.evaluate(tasks=("copper",))
    shown = build_leaderboard(load_suite(world.settings.suite), [model], world.results(), lambda _: None)
    domain = row(shown, model).scores["force_field"].part("Inorganic Materials")
    assert domain is not None
    virial = domain.part("virial")
    assert virial is not None
    assert (virial.share, virial.value) == (pytest.approx(0.1), 1.0)


def test_a_metric_without_a_baseline_is_named() -> None:
    odd = result(A, TASKS["barriers"], {"mae": error(0.1, "eV", baseline=None)})
    shown = board([A], replaced(good_results(A, 0.5), odd))
    assert shown.problems == (f"results/{A.id}/barriers: metrics.mae: no baseline to compare with",)


def test_only_the_labels_of_a_models_label_set_count() -> None:
    """PBE has virials and ωB97M-V has none: a model with ωB97M-V labels needs none, whoever else is judged."""
    without_virial = [result(B, TASKS["crystals"], frames_metrics(0.1), label_set="wB97M-V")]
    with_virial = [result(A, TASKS["crystals"], frames_metrics(0.1, virial=True), label_set="PBE")]
    alone = row(board([B], without_virial), B).scores["force_field"].part("Inorganic Materials")
    beside = row(board([A, B], without_virial + with_virial), B).scores["force_field"].part("Inorganic Materials")
    assert alone is not None
    assert alone.value == pytest.approx(0.1)
    assert beside == alone


def test_quantities_are_those_of_a_models_own_label_set() -> None:
    hybrid = [result(B, TASKS["barriers"], {"mae": error(0.1)}, label_set="wB97M-V")]
    pbe = [result(A, TASKS["barriers"], {"mae": error(0.1), "off_percent": error(0.1)}, label_set="PBE")]
    assert row(board([A, B], hybrid + pbe), B).scores["property_error"].value == pytest.approx(0.1)


def test_a_refused_model_is_not_asked_for_fewer_metrics() -> None:
    """With a label set of its own, the metrics of other models count; without any metric, all metrics of the kind."""
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
    judged = result(A, TASKS["barriers"], {name: error(value) for name, value in metrics.items()})
    shown = board([A], replaced(good_results(A, 0.5), judged))
    assert row(shown, A).scores["property_error"].value == pytest.approx(expected)
    assert shown.problems == ()


def test_a_share_without_a_baseline_is_no_column() -> None:
    """The trivial model is within the tolerance everywhere, so there is no baseline for the share."""
    judged = result(A, TASKS["barriers"], {"mae": error(0.25), "off_percent": error(0.0, "%", baseline=None)})
    shown = board([A], replaced(good_results(A, 0.5), judged))
    assert row(shown, A).scores["property_error"].value == pytest.approx(0.25)


def test_a_task_of_which_no_metric_is_scored_is_named() -> None:
    shown = board([A], replaced(good_results(A, 0.5), result(A, TASKS["barriers"], {"rmse": error(0.1)})))
    assert row(shown, A).scores["property_error"].value is None
    assert shown.problems == (
        f"results/{A.id}/barriers: metrics: none is scored: none is called mae or *_mae or *off_percent",
    )


def test_a_task_without_references_counts_nowhere() -> None:
    """Scans of the volume have no metric that is an error: with or without a result, every score is as without them."""
    scans = task("scans", "equation_of_state", "Inorganic Materials", shape=True, references=False)
    assert isinstance(scans.parameters, EquationOfStateParameters)
    suite = replace(SUITE, tasks=(*SUITE.tasks, scans))
    shape = {"flips_error": Metric(0.1, "", 5, charged=0.1)}
    results = good_results(A, 0.5)
    plain = row(board([A], results), A)
    for more in ([], [result(A, scans, shape)]):
        shown = build_leaderboard(suite, [A], [*results, *more], lambda r: QUIET if r.kind == "nve" else None)
        found = row(shown, A)
        assert {key: term.value for key, term in found.scores.items()} == {
            key: term.value for key, term in plain.scores.items()
        }
        assert not any("scans: metrics" in problem for problem in shown.problems)
