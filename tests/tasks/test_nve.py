"""Dynamics: the trajectories are ASE's, the drift is what a fit by hand says, and one failure is one failure."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from ase import units
from ase.build import bulk, fcc111, molecule
from ase.calculators.calculator import Calculator, all_changes
from ase.calculators.emt import EMT
from ase.md.verlet import VelocityVerlet

from tasks.calculator import InProcessCalculator
from tasks.dataset import load_dataset
from tasks.frames import Frames
from tasks.kind import Observation, Watch
from tasks.nve import Nve, NveParameters, fit_slopes
from tasks.predictions import Cause
from tasks.velocities import kinetic_energies, masses_of, thermal_momenta
from tests.tasks.made_up import make_dataset


def nine_structures(quickstart: Any) -> Frames:
    names = ("nve-crystals@1", "nve-molecules@1", "nve-slabs@1")
    return Frames.concatenate([load_dataset(quickstart / name).frames for name in names])


def observe(frames: Frames, model: Any, parameters: NveParameters, watch: Watch) -> Observation:
    return Nve().observe(make_dataset(frames, None).structures, parameters, model, watch)


def test_lock_step_equals_nine_runs_of_ase(quickstart: Any, watch: Watch) -> None:
    frames, parameters = nine_structures(quickstart), NveParameters(steps=200, seed=7)
    seen = observe(frames, InProcessCalculator(EMT()), parameters, watch)
    momenta = thermal_momenta(frames, 300.0, np.random.default_rng(7))
    assert len(frames) == 9
    assert seen.arrays["completed_steps"].tolist() == [200] * 9
    for i in range(9):
        atoms, where = frames.atoms(i), frames.atom_slice(i)
        atoms.calc = EMT()
        atoms.set_momenta(momenta[where])
        VelocityVerlet(atoms, timestep=1.0 * units.fs).run(200)
        np.testing.assert_allclose(seen.arrays["final_positions"][where], atoms.positions, rtol=0, atol=1e-9)
        np.testing.assert_allclose(seen.arrays["final_momenta"][where], atoms.get_momenta(), rtol=0, atol=1e-8)
        assert seen.arrays["total_energy"][i, -1] == pytest.approx(atoms.get_total_energy(), abs=1e-9)


class FailsOn(EMT):
    """EMT that fails at platinum, after some calls."""

    def __init__(self, after: int, how: str) -> None:
        super().__init__()
        self.left, self.how = after, how

    def calculate(self, atoms: Any = None, properties: Any = None, system_changes: Any = all_changes) -> None:
        super().calculate(atoms, properties, all_changes)
        if atoms is None or "Pt" not in atoms.symbols:
            return
        self.left -= 1
        if self.left < 0 and self.how == "raise":
            raise RuntimeError("no more platinum")
        if self.left < 0:
            self.results["forces"] = self.results["forces"] * (np.nan if self.how == "nan" else 1e6)


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
    assert seen.arrays["completed_steps"].tolist() == [4, 4]  # at one tick a step the rest would not end in time
    measured = Nve().measure(seen, make_dataset(frames, None), parameters, None)
    assert measured.metrics["slope_geomean"].value is None
    assert measured.metrics["n_completed"].value == 0
    assert np.isnan(measured.items.columns["slope"]).all()


class NoForces(Calculator):
    implemented_properties = ["energy"]  # noqa: RUF012


def test_a_model_without_forces_is_unsupported(watch: Watch) -> None:
    frames = Frames.from_atoms([bulk("Cu", cubic=True)])
    seen = observe(frames, InProcessCalculator(NoForces()), NveParameters(steps=2), watch)
    assert seen.arrays["failure"].tolist() == [Cause.UNSUPPORTED]


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
    # By hand, in fs: sum over the steps 200 … 1000 of (t − ⟨t⟩)(E − ⟨E⟩) / sum of (t − ⟨t⟩)².
    fs = np.arange(200, 1001, dtype=np.float64)
    energy = seen.arrays["total_energy"][0, 200:]
    per_fs = ((fs - fs.mean()) * (energy - energy.mean())).sum() / ((fs - fs.mean()) ** 2).sum()
    assert slope.value == pytest.approx(abs(per_fs) / 32 * 1000, rel=1e-6)
    (_, _), covariance = np.polyfit(fs / 1000, (energy - energy.mean()) / 32, 1, cov=True)
    assert measured.items.columns["slope_stderr"][0] == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-6)


def test_a_known_drift_is_found() -> None:
    times = np.linspace(0.0, 1.0, 11)
    slopes = fit_slopes(times, np.array([5.0 + 0.25 * times, -3.0 - 1e-5 * times]))
    np.testing.assert_allclose(slopes.slope, [0.25, -1e-5], rtol=1e-9)
    np.testing.assert_allclose(slopes.stderr, 0.0, atol=1e-12)


def test_momenta_are_thermal_without_drift_or_rotation() -> None:
    free = [molecule("CO"), molecule("C6H6"), molecule("H2O")]
    frames = Frames.from_atoms([bulk("Cu", cubic=True).repeat(8), *free, fcc111("Pt", (2, 2, 2), vacuum=5.0)])
    momenta = thermal_momenta(frames, 300.0, np.random.default_rng(0))
    masses = masses_of(frames)
    np.testing.assert_array_equal(masses, np.concatenate([frames.atoms(i).get_masses() for i in range(5)]))
    kinetic = kinetic_energies(momenta, masses, frames.offsets[:-1])
    # 2048 atoms: the temperature's standard deviation is 300 K · sqrt(2 / 6144) = 5.4 K.
    assert kinetic[0] / (1.5 * units.kB * 2048) == pytest.approx(300.0, abs=20.0)
    for i in range(5):
        where = frames.atom_slice(i)
        np.testing.assert_allclose(momenta[where].sum(axis=0), 0.0, atol=1e-9)
        if i in (1, 2, 3):
            atoms = frames.atoms(i)
            arm = atoms.positions - atoms.get_center_of_mass()
            np.testing.assert_allclose(np.cross(arm, momenta[where]).sum(axis=0), 0.0, atol=1e-9)


def test_a_lone_atom_stays_where_it_is() -> None:
    frames = Frames.from_atoms([molecule("H")])
    assert not thermal_momenta(frames, 300.0, np.random.default_rng(0)).any()


def test_the_watch_hears_of_progress() -> None:
    heard: list[tuple[int, int, str]] = []
    frames = Frames.from_atoms([bulk("Cu", cubic=True)])
    watch = Watch(time.monotonic, progress=lambda *report: heard.append(report))
    observe(frames, InProcessCalculator(EMT()), NveParameters(steps=3), watch)
    assert heard == [(1, 3, "steps"), (2, 3, "steps"), (3, 3, "steps")]
