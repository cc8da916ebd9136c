"""Trajectories by GFN2-xTB: forces, seeds, temperature, and runs that continue."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from tasks.simulation.start_geometries import start_geometries
from tasks.simulation.thermal_trajectory import (
    BLOCK,
    Checkpoint,
    ThermalFrames,
    ThermalSettings,
    TrajectoryError,
    thermal_trajectory,
)
from tasks.simulation.xtb import XTBCalculator, one_thread
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause

WATER = start_geometries()["water"]
SETTINGS = ThermalSettings(60, 10, 20, 500.0, 0.5, 2.0)


def run(seed: int = 1, settings: ThermalSettings = SETTINGS, **options: object) -> ThermalFrames:
    with one_thread():
        return thermal_trajectory(WATER, settings, seed, XTBCalculator(), **options)


def test_forces_are_the_slope_of_the_energy() -> None:
    model, start = XTBCalculator(), start_geometries()["ethanol"]
    moved = start.positions + 0.03 * np.random.default_rng(0).standard_normal(start.positions.shape)
    answer = model.compute(start.moved(moved), ("energy", "forces"))
    for atom, axis in ((0, 0), (2, 1), (8, 2)):
        step = np.zeros_like(moved)
        step[atom, axis] = 1e-3
        up, down = (model.compute(start.moved(moved + s * step), ("energy",)).energy[0] for s in (1, -1))
        assert (down - up) / 2e-3 == pytest.approx(answer.forces[atom, axis], abs=2e-4)


def test_start_geometries_are_minima_and_neutral_singlets() -> None:
    model = XTBCalculator()
    for name, start in start_geometries().items():
        answer = model.compute(start, ("energy", "forces"))
        assert np.abs(answer.forces).max() < 5e-4, name
        assert (start.charge[0], start.multiplicity[0]) == (0, 1)


def test_a_seed_makes_the_same_frames_and_another_one_others() -> None:
    first, again, other = run(), run(), run(seed=2)
    np.testing.assert_array_equal(first.positions, again.positions)
    np.testing.assert_array_equal(first.forces, again.forces)
    assert np.abs(first.positions - other.positions).max() > 0.01
    frames = Frames.from_atoms([Atoms(WATER.numbers, positions, info={"spin": 1}) for positions in first.positions])
    answer = XTBCalculator().compute(frames, ("energy", "forces"))
    np.testing.assert_allclose(answer.energy, first.energy, atol=1e-9)
    np.testing.assert_allclose(answer.forces, first.forces.reshape(-1, 3), atol=1e-9)


def test_a_run_continues_with_the_same_frames() -> None:
    kept: list[Checkpoint] = []
    whole = run(keep=kept.append)
    assert [int(state["completed"][0]) for state in kept] == [0, BLOCK]
    continued = run(checkpoint=kept[1])
    np.testing.assert_array_equal(continued.positions, whole.positions)
    np.testing.assert_array_equal(continued.energy, whole.energy)


def test_frames_lie_every_so_many_steps() -> None:
    fine = run(settings=ThermalSettings(41, 1, 0, 500.0, 0.5, 2.0))
    coarse = run(settings=ThermalSettings(11, 3, 10, 500.0, 0.5, 2.0))
    np.testing.assert_array_equal(coarse.positions, fine.positions[10::3])


def test_the_mean_temperature_is_that_of_the_bath() -> None:
    made = run(settings=ThermalSettings(1500, 4, 400, 500.0, 0.5, 20.0))
    assert made.temperature.mean() == pytest.approx(500.0, rel=0.15)


def test_a_failed_calculation_is_one_line_with_its_step() -> None:
    on_each_other = WATER.moved(np.zeros_like(WATER.positions))
    with pytest.raises(TrajectoryError, match=r"^step 0: no energy: Too close interatomic distances"):
        thermal_trajectory(on_each_other, SETTINGS, 1, XTBCalculator())
    with pytest.raises(TrajectoryError, match=r"^step [0-9]+: (no energy: |the molecule has exploded)"):
        thermal_trajectory(WATER, ThermalSettings(50, 10, 0, 5000.0, 5.0, 2.0), 1, XTBCalculator())


def test_charges_that_do_not_converge_fail_the_structure() -> None:
    start = start_geometries()["aspirin"]
    answer = XTBCalculator().compute(start.moved(30 * start.positions), ("energy", "forces"))
    assert answer.failure[0] == Cause.NOT_CONVERGED
    assert np.isnan(answer.forces).all()
