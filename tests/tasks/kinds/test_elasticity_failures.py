"""Elasticity: the cost of failures, the early end of a run, and the number of questions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from ase import units
from ase.build import bulk
from ase.calculators.emt import EMT
from pydantic import ValidationError

from tasks.kind import Observation, Watch
from tasks.kinds.elasticity import USUAL_ION_STEPS, USUAL_STEPS, Elasticity, ElasticityParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation, relaxed
from tasks.structures.predictions import Cause
from tests.tasks.made_up_crystals import Argon, Counting, StresslessArgon, make_crystals, silicon

KIND = Elasticity()
TIGHT = Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=200)
SMALL = (-0.001, 0.001)
COPPER, ARGON, SILICON = bulk("Cu", a=3.6), bulk("Ar", a=5.25), bulk("Si", a=5.43)


def small(ions: Any) -> ElasticityParameters:
    """Strains within the linear response."""
    return ElasticityParameters(relaxation=TIGHT, normal_strains=SMALL, shear_strains=SMALL, ions=ions)


def test_each_failure_is_counted_by_its_cause_and_charged(run: Any) -> None:
    """Face-centred argon is stable, body-centred is not (its forces vanish by symmetry); EMT has no uranium."""
    reference = [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 2
    dataset = make_crystals([ARGON, bulk("Ar", "bcc", a=4.2)], reference)
    measured = run(KIND, dataset, InProcessCalculator(Argon()), small("clamped"))
    assert measured.items.cause.tolist() == [0, Cause.UNSTABLE]
    for name in ("k_vrh_gpa", "g_vrh_gpa"):
        metric, stated = measured.metrics[f"{name}_mae"], reference[0][name]
        error = abs(measured.items.columns[name][0] - stated)
        assert (metric.n_items, metric.n_failed, metric.baseline) == (2, 1, stated)
        assert metric.value == pytest.approx(error)
        assert metric.charged == pytest.approx((error + 10 * stated) / 2)
    dataset = make_crystals([bulk("U", "fcc", a=4.5), COPPER], reference)
    one_step = small("clamped").model_copy(update={"relaxation": Relaxation(max_steps=1)})
    measured = run(KIND, dataset, InProcessCalculator(EMT()), one_step)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED, Cause.NOT_CONVERGED]
    assert measured.metrics["k_vrh_gpa_mae"].value is None
    assert measured.metrics["k_vrh_gpa_mae"].charged == pytest.approx(30.0)


class FailsUnderShear(Argon):
    """Argon of a model that raises for a cell that is not a rhombohedron of edges alike."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        if np.ptp(atoms.cell.lengths()) > 1e-3:
            raise RuntimeError("what a strange cell")
        super().calculate(atoms, *args, **kwargs)


@pytest.mark.parametrize("ions", ["clamped", "relaxed"])
def test_one_failed_strain_fails_its_crystal(ions: str, run: Any) -> None:
    dataset = make_crystals([ARGON], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
    measured = run(KIND, dataset, InProcessCalculator(FailsUnderShear()), small(ions))
    assert measured.items.cause.tolist() == [Cause.ERROR]
    assert np.isnan(measured.items.columns["k_vrh_gpa"]).all()


def test_a_model_without_stress_is_not_asked_at_all(run: Any) -> None:
    model = Counting(StresslessArgon())
    dataset = make_crystals([ARGON] * 2, [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 2)
    measured = run(KIND, dataset, model)
    assert measured.items.cause.tolist() == [Cause.UNSUPPORTED] * 2
    assert model.calls == []


@pytest.mark.parametrize("ions", ["clamped", "relaxed"])
def test_strained_cells_of_all_crystals_are_asked_together(ions: str, watch: Watch) -> None:
    crystals = [ARGON, bulk("Ar", a=5.3), bulk("Ar", a=5.2)]
    dataset = make_crystals(crystals, [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 3)
    settings = small(ions).model_copy(update={"normal_strains": (-0.01, 0.01), "shear_strains": (-0.01, 0.01)})
    model = Counting(Argon())
    together = KIND.observe(dataset.structures, settings, model, watch)
    # Atoms of a Bravais lattice have no forces in any cell: with relaxed ions each is sent once, and for its stress.
    calls = [call for call in model.calls if len(call) > 3]
    assert calls == [(1,) * 39] * (1 if ions == "clamped" else 2)
    for index, crystal in enumerate(crystals):
        single = make_crystals([crystal], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
        alone = KIND.observe(single.structures, settings, InProcessCalculator(Argon()), watch)
        assert together.arrays["stress"][index].tobytes() == alone.arrays["stress"][0].tobytes()


def test_it_stops_early_and_in_good_order(watch: Watch) -> None:
    reference = [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}] * 4
    dataset = make_crystals([bulk("U", "fcc", a=4.5)] * 3 + [COPPER], reference)
    model = Counting(EMT())
    picky = Watch(time.monotonic, failed_share=0.5)
    observation = KIND.observe(dataset.structures, small("clamped"), model, picky)
    assert observation.arrays["failure"].tolist() == [Cause.UNSUPPORTED] * 3 + [Cause.MISSING]
    assert len(model.calls) == 1
    # One crystal is relaxed already when the others fail: its strained cells are not sent either.
    sheared = bulk("Ar", a=5.25)
    sheared.set_cell(sheared.cell.array @ np.diag([1.0, 1.0, 1.1]), scale_atoms=True)
    ready = relaxed(ARGON, InProcessCalculator(Argon()), TIGHT)
    model = Counting(FailsUnderShear())
    dataset = make_crystals([ready, sheared, sheared, sheared], reference)
    observation = KIND.observe(dataset.structures, small("clamped"), model, picky)
    assert observation.arrays["failure"].tolist() == [Cause.MISSING] + [Cause.ERROR] * 3
    assert len(model.calls) == 1
    model = Counting(Argon())
    dataset = make_crystals([ARGON] * 2, reference[:2])
    late = Watch(model.now, deadline=3.0)
    observation = KIND.observe(dataset.structures, small("relaxed"), model, late)
    assert observation.arrays["failure"].tolist() == [Cause.OVER_TIME] * 2
    assert np.isnan(observation.arrays["stress"]).all()


def test_what_is_asked_is_about_what_is_estimated(watch: Watch) -> None:
    start = bulk("Si", a=5.5)
    start.rattle(0.05, seed=1)
    dataset = make_crystals([start], [{"k_vrh_gpa": 100.0, "g_vrh_gpa": 60.0}])
    for ions, ask in (("clamped", 13), ("relaxed", 13 * (1 + USUAL_ION_STEPS))):
        settings = ElasticityParameters(normal_strains=(-0.01, 0.01), shear_strains=(-0.06, 0.06), ions=ions)
        model = Counting(silicon())
        KIND.observe(dataset.structures, settings, model, watch)
        work = KIND.work(dataset.structures, settings)
        assert (work.frames, work.atoms) == (USUAL_STEPS + ask, 2 * (USUAL_STEPS + ask))
        assert 0.3 < sum(map(len, model.calls)) / work.frames < 1.5


def test_an_observation_of_other_strains_is_refused(watch: Watch) -> None:
    dataset = make_crystals([ARGON], [{"k_vrh_gpa": 3.0, "g_vrh_gpa": 2.0}])
    observation = KIND.observe(dataset.structures, small("clamped"), InProcessCalculator(Argon()), watch)
    other = small("clamped").model_copy(update={"normal_strains": (-0.002, 0.002)})
    with pytest.raises(ValueError, match="strain is not that of the parameters"):
        KIND.measure(observation, dataset, other, None)


@pytest.mark.parametrize("amounts", [(), (0.01,), (0.01, 0.01), (0.01, 0.5), (float("nan"), 0.01)])
def test_strains_that_give_no_slope_or_no_cell_are_refused(amounts: Any) -> None:
    with pytest.raises(ValidationError):
        ElasticityParameters(shear_strains=amounts)


def test_no_failure_improves_what_is_charged() -> None:
    """Isotropic crystals from exact moduli to ones far beyond the cost of a failure, and one that is unstable."""
    settings = small("clamped")
    scale = np.array([1.0, 1.01, 2.0, 50.0, 1e6, -1.0])
    n, strains = len(scale), settings.strains
    base = np.full((6, 6), 0.0)
    base[:3, :3] = 60.0
    base[np.arange(6), np.arange(6)] = [120.0] * 3 + [30.0] * 3
    stress = scale[:, None, None] * (strains @ base) * units.GPa
    dataset = make_crystals([ARGON] * n, [{"k_vrh_gpa": 80.0, "g_vrh_gpa": 30.0}] * n)
    rest = {"cell": np.ones((n, 3, 3)), "positions": np.zeros((n, 3)), "strain": strains}

    def charged(failing: int | None, cause: Cause) -> tuple[float, float]:
        stresses, failure = stress.copy(), np.zeros(n, np.int8)
        if failing is not None:
            stresses[failing], failure[failing] = np.nan, cause
        stored = Observation({**rest, "stress": stresses, "failure": failure})
        metrics = KIND.measure(stored, dataset, settings, None).metrics
        values = metrics["k_vrh_gpa_mae"].charged, metrics["g_vrh_gpa_mae"].charged
        assert values[0] is not None
        assert values[1] is not None
        return values[0], values[1]

    whole = charged(None, Cause.NONE)
    for index in range(n):
        for cause in (Cause.NONE, Cause.ERROR):  # with NONE: NaN where the model claims success
            failed = charged(index, cause)
            assert failed[0] >= whole[0]
            assert failed[1] >= whole[1]
    assert charged(0, Cause.ERROR)[0] > whole[0]
