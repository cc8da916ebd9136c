"""The Monte Carlo barostat against the law of an ideal gas, and its treatment of molecules and of failures."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.units import bar, kB
from scipy import stats

from tasks.simulation.barostat import MonteCarloBarostat
from tasks.simulation.langevin import LangevinRun
from tasks.simulation.velocity_verlet import RunBounds
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

N, T = 20, 300.0
PRESSURE_BAR = kB * T / bar  # kT/P is 1 Å³


class IdealGas:
    """No forces; fails, or answers NaN, for a structure that is larger than `largest` [Å³]."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def __init__(self, largest: float = np.inf, answers_nan: bool = False) -> None:
        self.largest, self.answers_nan = largest, answers_nan

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        large = np.flatnonzero(frames.volumes > self.largest)
        errors = {} if self.answers_nan else {int(i): FrameError(Cause.ERROR, "ValueError", "large") for i in large}
        energy = np.where(self.answers_nan & (frames.volumes > self.largest), np.nan, 0.0)
        return Predictions.checked(frames, energy, np.zeros_like(frames.positions), None, errors)


def gas(replicas: int, volume: float = N + 1.0) -> Frames:
    side = np.cbrt(volume)
    positions = np.random.default_rng(0).random((N, 3)) * side
    return Frames.from_atoms([Atoms(f"Ar{N}", positions=positions, cell=[side] * 3, pbc=True)] * replicas)


def run_of(frames: Frames, model: IdealGas) -> LangevinRun:
    bounds = RunBounds(np.inf, np.inf)
    return LangevinRun(
        frames,
        np.zeros_like(frames.positions),
        1.0,
        model,
        bounds,
        temperature_k=T,
        friction_per_ps=1.0,
        seeds=range(len(frames)),
    )


def volumes_of(run: LangevinRun) -> np.ndarray:
    return np.abs(np.linalg.det(run.cells))


def test_the_volume_of_an_ideal_gas_has_the_gamma_law() -> None:
    replicas = 200
    frames = gas(replicas)
    run = run_of(frames, IdealGas())
    barostat = MonteCarloBarostat(frames, PRESSURE_BAR)
    for _ in range(300):  # equilibration
        run.try_volumes(barostat)
    barostat.adapts = False
    limits = barostat.limit.copy()
    volumes = []
    for step in range(2000):
        run.try_volumes(barostat)
        if step % 10 == 9:
            volumes.append(volumes_of(run))
    np.testing.assert_array_equal(barostat.limit, limits)
    assert np.mean(volumes) == pytest.approx(N + 1, rel=0.01)
    assert np.var(volumes) == pytest.approx(N + 1, rel=0.04)
    assert stats.kstest(volumes[-1], stats.gamma(N + 1).cdf).pvalue > 1e-4


def test_molecules_stay_rigid_and_their_number_counts() -> None:
    frames = gas(2, 1000.0)
    molecules = np.concatenate([np.arange(N) // 4, 100 + np.arange(N) // 4])
    run = run_of(frames, IdealGas())
    barostat = MonteCarloBarostat(frames, 1.0, molecules)
    before = run.positions.reshape(2, N // 4, 4, 3).copy()
    for _ in range(50):
        run.try_volumes(barostat)
    after = run.positions.reshape(2, N // 4, 4, 3)
    assert (volumes_of(run) != frames.volumes).all()
    np.testing.assert_allclose(after - after[:, :, :1], before - before[:, :, :1], atol=1e-10)
    fractional = np.linalg.solve(run.cells.transpose(0, 2, 1), after.mean(axis=2).transpose(0, 2, 1))
    first = np.linalg.solve(frames.cell.transpose(0, 2, 1), before.mean(axis=2).transpose(0, 2, 1))
    np.testing.assert_allclose(fractional, first, atol=1e-12)
    # 5 molecules, not 20 atoms: at the pressure of an ideal gas the mean volume is 6 kT/P.
    frames = gas(100, 6.0)
    run, barostat = run_of(frames, IdealGas()), MonteCarloBarostat(frames, PRESSURE_BAR, np.arange(100 * N) // 4)
    for _ in range(300):
        run.try_volumes(barostat)
    barostat.adapts = False
    volumes = []
    for _ in range(1500):
        run.try_volumes(barostat)
        volumes.append(volumes_of(run))
    assert np.mean(volumes) == pytest.approx(6.0, rel=0.03)


@pytest.mark.parametrize(("answers_nan", "cause"), [(False, Cause.ERROR), (True, Cause.NON_FINITE)])
def test_a_model_that_cannot_answer_a_changed_volume_fails_and_keeps_no_volume(answers_nan: bool, cause: Cause) -> None:
    frames = gas(4)
    run = run_of(frames, IdealGas(largest=frames.volumes[0] + 1e-6, answers_nan=answers_nan))
    barostat = MonteCarloBarostat(frames, PRESSURE_BAR)
    for _ in range(60):
        run.try_volumes(barostat)
    assert (run.failure == cause).all()
    assert not run.alive.size


def test_a_run_with_a_barostat_resumes_with_the_same_bytes() -> None:
    frames = gas(3)

    def go(run: LangevinRun, barostat: MonteCarloBarostat, blocks: range) -> None:
        for block in blocks:
            run.begin_block(block)
            for _ in range(7):
                run.step()
                run.try_volumes(barostat)

    whole, first = run_of(frames, IdealGas()), run_of(frames, IdealGas())
    barostat = MonteCarloBarostat(frames, PRESSURE_BAR)
    go(whole, MonteCarloBarostat(frames, PRESSURE_BAR), range(5))
    go(first, barostat, range(2))
    second = LangevinRun(
        frames,
        np.zeros_like(frames.positions),
        1.0,
        IdealGas(),
        RunBounds(np.inf, np.inf),
        temperature_k=T,
        friction_per_ps=1.0,
        seeds=range(3),
        state=first.state,
    )
    go(second, MonteCarloBarostat(frames, PRESSURE_BAR, state=barostat.state), range(2, 5))
    np.testing.assert_array_equal(second.cells, whole.cells)
    np.testing.assert_array_equal(second.positions, whole.positions)


def test_bad_input_is_named() -> None:
    molecule = Frames.from_atoms([Atoms("Ar")])
    with pytest.raises(ValueError, match="barostat: structure 0 has no volume: make it periodic"):
        MonteCarloBarostat(molecule, 1.0)
    with pytest.raises(ValueError, match="molecules: 3 numbers for 40 atoms: give one for each atom"):
        MonteCarloBarostat(gas(2), 1.0, np.arange(3))
    with pytest.raises(ValueError, match="molecule 0 lies in two structures: number them through"):
        MonteCarloBarostat(gas(2), 1.0, np.tile(np.arange(N), 2))
