"""Dynamics: the trajectories are those of ASE, the drift is a fit by hand, and one failure is one failure."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.calculators.lj import LennardJones
from ase.md.verlet import VelocityVerlet

from tasks.datasets.dataset import load_dataset
from tasks.kind import Watch
from tasks.kinds.nve import FAILURE_COST, Nve, NveParameters, drift_metrics
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.velocities import thermal_momenta
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions
from tests.tasks.kinds.nve_models import FailsOn, observe, three
from tests.tasks.made_up import make_dataset


def nine_structures(quickstart: Any) -> Frames:
    names = ("nve-crystals@1", "nve-molecules@1", "nve-slabs@1")
    return Frames.concatenate([load_dataset(quickstart / name).frames for name in names])


def test_lock_step_equals_nine_runs_of_ase(quickstart: Any, watch: Watch) -> None:
    frames, parameters = nine_structures(quickstart), NveParameters(steps=60, seed=7)
    seen = observe(frames, InProcessCalculator(EMT()), parameters, watch)
    momenta = thermal_momenta(frames, 300.0, 7)
    assert len(frames) == 9
    assert seen.arrays["completed_steps"].tolist() == [60] * 9
    for i in range(9):
        atoms, where = frames.atoms(i), frames.atom_slice(i)
        atoms.calc = EMT()
        atoms.set_momenta(momenta[where])
        VelocityVerlet(atoms, timestep=1.0 * units.fs).run(60)
        np.testing.assert_allclose(seen.arrays["final_positions"][where], atoms.positions, rtol=0, atol=1e-9)
        np.testing.assert_allclose(seen.arrays["final_momenta"][where], atoms.get_momenta(), rtol=0, atol=1e-8)
        assert seen.arrays["total_energy"][i, -1] == pytest.approx(atoms.get_total_energy(), abs=1e-9)


@pytest.mark.parametrize(
    ("how", "cause"), [("raise", Cause.ERROR), ("nan", Cause.NON_FINITE), ("huge", Cause.EXPLODED)]
)
def test_a_failure_in_one_does_not_end_the_others(how: str, cause: Cause, quickstart: Any, watch: Watch) -> None:
    frames, parameters = nine_structures(quickstart), NveParameters(steps=12, seed=7)
    good = observe(frames, InProcessCalculator(EMT()), parameters, watch)
    bad = observe(frames, InProcessCalculator(FailsOn(5, how)), parameters, watch)
    failed = 8  # O on Pt(100)
    others = np.arange(9) != failed
    assert bad.arrays["failure"].tolist() == [cause if i == failed else 0 for i in range(9)]
    # The first evaluation is no step: the sixth answer is the fifth step's.
    assert bad.arrays["completed_steps"].tolist() == [4 if i == failed else 12 for i in range(9)]
    atoms = others[frames.frame_index]
    np.testing.assert_array_equal(bad.arrays["final_positions"][atoms], good.arrays["final_positions"][atoms])
    np.testing.assert_array_equal(bad.arrays["total_energy"][others], good.arrays["total_energy"][others])
    assert np.isnan(bad.arrays["total_energy"][failed, 5:]).all()
    assert np.isfinite(bad.arrays["final_positions"]).all()


def test_out_of_time_is_told_apart_and_ends_in_good_order(watch: Watch) -> None:
    ticks = iter(range(1000))
    frames = Frames.from_atoms([bulk("Cu", cubic=True), molecule("CO")])
    parameters = NveParameters(steps=50)
    hurried = Watch(lambda: float(next(ticks)), deadline=40.0)
    seen = observe(frames, InProcessCalculator(EMT()), parameters, hurried)
    assert seen.arrays["failure"].tolist() == [Cause.OVER_TIME] * 2
    assert seen.arrays["completed_steps"].tolist() == [3, 3]  # at one tick per step the others would not end in time
    measured = Nve().measure(seen, make_dataset(frames, None), parameters, None)
    assert measured.metrics["slope_geomean"].value is None
    assert measured.metrics["n_completed"].value == 0
    assert np.isnan(measured.items.columns["slope"]).all()


class NoForces(Calculator):
    implemented_properties = ["energy"]  # noqa: RUF012


def test_a_model_without_forces_is_unsupported(watch: Watch) -> None:
    frames = Frames.from_atoms([bulk("Cu", cubic=True)])
    seen = observe(frames, InProcessCalculator(NoForces()), NveParameters(steps=3), watch)
    assert seen.arrays["failure"].tolist() == [Cause.UNSUPPORTED]


class Constant(Calculator):
    """−1 eV for everything, without forces."""

    implemented_properties = ["energy", "forces"]  # noqa: RUF012

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": -1.0, "forces": np.zeros((len(atoms), 3))}


def test_dynamics_without_forces_are_no_conservation_of_energy(watch: Watch) -> None:
    frames, parameters = three(), NveParameters(steps=10)
    measured = Nve().measure(
        observe(frames, InProcessCalculator(Constant()), parameters, watch),
        make_dataset(frames, None),
        parameters,
        None,
    )
    assert measured.items.cause.tolist() == [Cause.NO_FORCES] * 3
    assert measured.items.columns["slope"].tolist() == pytest.approx([0.0] * 3, abs=1e-9)
    assert measured.metrics["slope_geomean"].value is None
    assert measured.metrics["slope_geomean"].charged == pytest.approx(FAILURE_COST)
    assert [measured.metrics[f"n_{name}"].value for name in ("completed", "unstable", "not_measured")] == [0, 0, 0]
    assert measured.notes == {"forces": "in 3 of 3 runs no force acts: charged"}


def test_a_single_atom_rests_and_the_softest_bonds_are_forces(watch: Watch) -> None:
    """Five steps of 1 fs of argon atoms that attract each other; and one atom, whose momentum is taken from it."""
    argon = bulk("Ar", "fcc", 5.3, cubic=True)
    frames, parameters = Frames.from_atoms([Atoms("Ar"), argon]), NveParameters(steps=5)
    model = InProcessCalculator(LennardJones(sigma=3.4, epsilon=0.0104, rc=6.0, smooth=True))
    measured = Nve().measure(observe(frames, model, parameters, watch), make_dataset(frames, None), parameters, None)
    assert measured.items.cause.tolist() == [0, 0]


def test_copper_conserves_energy_and_the_drift_is_the_fit_by_hand(watch: Watch) -> None:
    """32 atoms of EMT copper, 1 fs, 1 ps: under 1e-6 eV/atom/ps."""
    frames = Frames.from_atoms([bulk("Cu", cubic=True).repeat(2)])
    parameters = NveParameters(steps=1000, timestep_fs=1.0, seed=1)
    seen = observe(frames, InProcessCalculator(EMT()), parameters, watch)
    measured = Nve().measure(seen, make_dataset(frames, None), parameters, None)
    slope = measured.metrics["slope_geomean"]
    assert slope.unit == "eV/atom/ps"
    assert slope.value is not None
    assert slope.value < 1e-6
    # By hand, in fs: sum over the steps 200, 210 … 1000 of (t − ⟨t⟩)(E − ⟨E⟩) / sum of (t − ⟨t⟩)².
    fs = np.arange(200, 1001, 10, dtype=np.float64)
    energy = seen.arrays["total_energy"][0, 20:]
    per_fs = ((fs - fs.mean()) * (energy - energy.mean())).sum() / ((fs - fs.mean()) ** 2).sum()
    assert slope.value == pytest.approx(abs(per_fs) / 32 * 1000, rel=1e-6)
    (_, _), covariance = np.polyfit(fs / 1000, (energy - energy.mean()) / 32, 1, cov=True)
    assert measured.items.columns["slope_stderr"][0] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-6)


def test_the_watch_hears_of_progress() -> None:
    heard: list[tuple[int, int, str]] = []
    frames = Frames.from_atoms([bulk("Cu", cubic=True)])
    watch = Watch(time.monotonic, progress=lambda *report: heard.append(report))
    observe(frames, InProcessCalculator(EMT()), NveParameters(steps=3), watch)
    assert heard == [(1, 3, "steps"), (2, 3, "steps"), (3, 3, "steps")]


def test_the_defaults_are_ten_picoseconds_with_an_energy_every_hundred_steps() -> None:
    stated = NveParameters()
    assert (stated.steps, stated.timestep_fs, stated.temperature_k, stated.seed) == (10_000, 1.0, 300.0, 0)
    assert (stated.stride, stated.n_samples, stated.first_fitted) == (100, 101, 20)
    assert stated.times_ps[[20, 100]].tolist() == [2.0, 10.0]


def test_a_run_too_short_to_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match="steps: too few energies"):
        NveParameters(steps=200, sample_every=100)


def test_a_failure_at_the_first_evaluation_does_not_end_the_others(watch: Watch) -> None:
    frames = three()
    seen = observe(frames, InProcessCalculator(FailsOn(0, "raise")), NveParameters(steps=5), watch)
    assert seen.arrays["failure"].tolist() == [0, 0, Cause.ERROR]
    assert seen.arrays["completed_steps"].tolist() == [5, 5, 0]
    measured = Nve().measure(seen, make_dataset(frames, None), NveParameters(steps=5), None)
    assert {name: measured.metrics[name].value for name in ("n_completed", "n_unstable", "n_not_measured")} == {
        "n_completed": 2,
        "n_unstable": 1,
        "n_not_measured": 0,
    }


class Unchecked:
    """A model that answers NaN energies and reports no failure."""

    properties = ("energy", "forces", "stress")
    max_atoms_per_batch = 1000

    def compute(self, frames: Frames, properties: Any) -> Predictions:
        energy = np.where(frames.numbers[frames.offsets[:-1]] == 29, np.nan, 0.0)
        return Predictions(energy, np.zeros((len(frames.numbers), 3)), None, np.zeros(len(frames), np.int8))


def test_not_finite_is_told_from_exploded_whoever_notices(watch: Watch) -> None:
    seen = observe(three(), Unchecked(), NveParameters(steps=5), watch)
    assert seen.arrays["failure"].tolist() == [Cause.NON_FINITE, 0, 0]


def test_what_a_failure_costs() -> None:
    slope = np.array([1e-5, 1e-3, np.nan, np.nan, 1e3])
    cause = np.array([0, 0, Cause.EXPLODED, Cause.OVER_TIME, 0])
    metrics = drift_metrics(slope, cause)
    mean = metrics["slope_geomean"]
    assert mean.value == pytest.approx((1e-5 * 1e-3 * 1e3) ** (1 / 3))
    assert pytest.approx(4.9e-5 * 10**5) == FAILURE_COST
    assert mean.charged == pytest.approx((1e-5 * 1e-3 * FAILURE_COST**3) ** (1 / 5))
    assert (mean.n_items, mean.n_failed) == (5, 2)
    assert [metrics[name].value for name in ("n_completed", "n_unstable", "n_not_measured")] == [3, 1, 1]
    for failed in range(5):  # the law: no failure in place of an answer makes `charged` smaller
        here = np.arange(5) == failed
        worse = drift_metrics(np.where(here, np.nan, slope), np.where(here, Cause.ERROR, cause))
        charged = worse["slope_geomean"].charged
        assert charged is not None
        assert charged >= mean.charged * (1 - 1e-12)
