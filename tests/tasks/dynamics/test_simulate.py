"""Runs of dynamics: what is kept, bytes after an interruption at any moment, ends that are results, bad input."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.md.verlet import VelocityVerlet
from numpy.typing import NDArray

from tasks.dynamics.simulate import DynamicsSettings, check_size, simulate
from tasks.kind import Watch
from tasks.model.calculator import InProcessCalculator
from tasks.observing import checkpoints
from tasks.simulation.velocities import thermal_momenta
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties

NVE = DynamicsSettings(ensemble="nve", steps=20, store_every=5, timestep_fs=2.0)


class Springs:
    """Each pair of neighbours in the order of the atoms on a spring; keeps nothing from step to step."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 10_000

    def __init__(self, stop_after: float = np.inf, nan_after: float = np.inf) -> None:
        self.calls, self._stop_after, self._nan_after = 0, stop_after, nan_after

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.calls += 1
        if self.calls > self._stop_after:
            raise KeyboardInterrupt
        away = frames.positions - np.rint(frames.positions)
        energy = np.add.reduceat(5.0 * (away**2).sum(axis=1), frames.offsets[:-1])
        energy[(frames.n_atoms == 27) & (self.calls > self._nan_after)] = np.nan
        return Predictions.checked(frames, energy, -10.0 * away, None, {})


class Memory:
    """A checkpoint in memory."""

    arrays: Mapping[str, NDArray[Any]] | None = None

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        return self.arrays

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays = {name: np.array(array) for name, array in arrays.items()}


def cube() -> Frames:
    positions = np.indices((3, 3, 3)).reshape(3, -1).T * 3.0
    return Frames.from_atoms([Atoms("Ar27", positions=positions, cell=[9.0] * 3, pbc=True), bulk("Cu", cubic=True)])


def run(settings: DynamicsSettings, model: Any, checkpoint: Memory | None = None) -> dict[str, NDArray[Any]]:
    return simulate(cube(), settings, model, Watch(time.monotonic, checkpoint=checkpoint), "sha")


def test_constant_energy_is_ases_velocity_verlet_step_by_step() -> None:
    crystal = bulk("Cu", cubic=True) * (2, 2, 2)
    frames = Frames.from_atoms([crystal])
    model = InProcessCalculator(EMT())  # type: ignore[no-untyped-call]
    settings = NVE.model_copy(update={"store_every": 1})
    kept = simulate(frames, settings, model, Watch(time.monotonic), "sha")
    atoms = crystal.copy()
    atoms.calc = EMT()  # type: ignore[no-untyped-call]
    atoms.set_momenta(thermal_momenta(frames, 300.0, [0]))
    energies = []
    dynamics = VelocityVerlet(atoms, 2.0 * units.fs)
    for step in range(21):
        energies.append((atoms.get_potential_energy(), atoms.get_kinetic_energy()))
        np.testing.assert_array_equal(kept["positions"][step], atoms.positions.astype(np.float32))
        dynamics.run(1)
    np.testing.assert_allclose(np.stack([kept["potential"][0], kept["kinetic"][0]], axis=1), energies, atol=1e-10)
    assert kept["completed_steps"].tolist() == [20]


@pytest.mark.parametrize("ensemble", ["nve", "nvt", "npt"])
def test_a_run_that_is_interrupted_anywhere_ends_with_the_same_bytes(
    ensemble: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "SAVE_EVERY_S", 0.0)
    settings = DynamicsSettings(
        ensemble=ensemble,  # type: ignore[arg-type]
        steps=30,
        store_every=5,
        replicas=2,
        equilibration_steps=10,
        barostat_every=3,
        end_temperature_k=None if ensemble == "nve" else 600.0,
    )
    whole, model = run(settings, counting := Springs()), counting.calls
    for stop_after in (1, 7, 16, model - 1):
        memory = Memory()
        with pytest.raises(KeyboardInterrupt):
            run(settings, Springs(stop_after), memory)
        again = run(settings, Springs(), memory)
        for name, array in whole.items():
            np.testing.assert_array_equal(again[name], array, err_msg=name)
    assert whole["positions"].shape == (7, 2 * 31, 3)
    assert whole["positions"].dtype == np.float32
    assert np.isfinite(whole["hottest"]).all()
    temperatures = whole["kinetic"] / (1.5 * units.kB * np.repeat([27, 4], 2)[:, None])
    assert (whole["hottest"] >= temperatures - 1e-9).all()
    if ensemble == "npt":
        assert len(np.unique(whole["cells"][:, 0, 0, 0])) > 1


def test_the_first_steps_are_as_hot_as_the_bath() -> None:
    """The noise of the first block is not that of the momenta, by which a gas would have 337 K after one step."""
    gas = Frames.from_atoms([Atoms("Ar2000", positions=np.zeros((2000, 3)))])

    class Nothing(Springs):
        def compute(self, frames: Frames, properties: Properties) -> Predictions:
            return Predictions.checked(frames, np.zeros(1), np.zeros(frames.positions.shape), None, {})

    for seed in (0, 7, 42):
        settings = DynamicsSettings(ensemble="nvt", steps=5, store_every=1, friction_per_ps=2.0, seed=seed)
        kept = simulate(gas, settings, Nothing(), Watch(time.monotonic), "sha")
        temperatures = kept["kinetic"][0] / (1.5 * units.kB * 2000)
        assert temperatures == pytest.approx(300.0, abs=15.0)  # standard deviation 5.5 K
        assert np.abs(np.diff(temperatures)).max() < 6.0  # of steps of 1 fs in a bath of 2/ps: 0.5 K


def test_replicas_differ_and_keep_their_molecules_apart() -> None:
    settings = DynamicsSettings(ensemble="npt", steps=10, store_every=5, replicas=2, barostat_every=1)
    molecules = np.concatenate([np.arange(27) // 9, 3 + np.zeros(4, np.int64)])
    kept = simulate(cube(), settings, Springs(), Watch(time.monotonic), "sha", molecules)
    assert (kept["failure"] == 0).all()
    first, second = kept["positions"][-1, :27], kept["positions"][-1, 27:54]
    assert not np.allclose(first, second)


def test_the_end_of_a_trajectory_is_a_result_with_its_time_and_the_others_go_on() -> None:
    settings = NVE.model_copy(update={"ensemble": "nvt", "explode_temperature_k": 1e9})
    kept = run(settings, Springs(nan_after=8))
    assert kept["failure"].tolist() == [Cause.NON_FINITE, 0]
    assert kept["completed_steps"].tolist() == [7, 20]
    assert np.isfinite(kept["positions"][1]).all()
    assert np.isnan(kept["positions"][2, :27]).all()
    assert np.isfinite(kept["hottest"][0, :3]).all()  # also of the steps after the last stored frame
    assert np.isnan(kept["hottest"][0, 3:]).all()
    hot = run(NVE.model_copy(update={"explode_temperature_k": 10.0}), Springs())
    assert (hot["failure"] == Cause.EXPLODED).all()


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="steps: must be a multiple of store_every, and more than equilibration_steps"):
        DynamicsSettings(steps=10, store_every=3)
    with pytest.raises(ValueError, match="end_temperature_k: there is no heat bath at constant energy: leave it out"):
        DynamicsSettings(ensemble="nve", steps=10, store_every=5, end_temperature_k=100.0)
    settings = DynamicsSettings(steps=600_000, store_every=1)
    with pytest.raises(ValueError, match="water: the trajectories take 223 MB: set store_every to 2 or more"):
        check_size("water", cube(), settings)


MINIMISED = NVE.model_copy(update={"minimise_steps": 100, "minimise_fmax": 1e-4, "replicas": 2})


def test_runs_begin_at_the_minimum_which_all_replicas_share() -> None:
    """The copper atoms, at 1.805 Å of their cube, go to the nearest whole numbers."""
    kept = run(MINIMISED, Springs())
    start = kept["positions"][0]
    np.testing.assert_array_equal(start[54:58], start[58:])
    np.testing.assert_allclose(start[54:58], np.rint(cube().positions[27:]), atol=1e-4)
    assert np.abs(cube().positions[27:] - start[54:58]).max() > 0.1
    assert (kept["completed_steps"] == 20).all()


def test_a_minimisation_of_few_steps_counts_with_its_last_iterate() -> None:
    """FIRE of 3 steps moves the atoms, and the run goes on from there although nothing has converged."""
    kept = run(MINIMISED.model_copy(update={"minimise_steps": 3}), Springs())
    moved = np.abs(kept["positions"][0, 54:58] - cube().positions[27:]).max()
    assert 1e-3 < moved < 0.19
    assert (kept["failure"] == 0).all()


@pytest.mark.parametrize("stop_after", [1, 20, 60, 75])
def test_a_minimised_run_that_is_interrupted_ends_with_the_same_bytes(
    stop_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "SAVE_EVERY_S", 0.0)
    whole = run(MINIMISED, counting := Springs())
    assert counting.calls > 75
    memory = Memory()
    with pytest.raises(KeyboardInterrupt):
        run(MINIMISED, Springs(stop_after), memory)
    again = run(MINIMISED, Springs(), memory)
    for name, array in whole.items():
        np.testing.assert_array_equal(again[name], array, err_msg=name)


def test_a_run_whose_minimisation_failed_ends_at_its_start_and_the_others_go_on() -> None:
    far = cube()
    positions = far.positions.copy()
    positions[:27] += 0.3
    settings = MINIMISED.model_copy(update={"replicas": 1})
    kept = simulate(far.moved(positions), settings, Springs(nan_after=3), Watch(time.monotonic), "sha")
    assert kept["failure"].tolist() == [Cause.NON_FINITE, 0]
    assert kept["completed_steps"].tolist() == [0, 20]
