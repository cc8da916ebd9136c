"""Langevin dynamics against the closed forms of a harmonic oscillator and of a free particle."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.units import fs, kB
from scipy import stats

from tasks.model.calculator import InProcessCalculator
from tasks.simulation.langevin import LangevinRun
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import LockstepRun, RunBounds
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties

ANY = RunBounds(np.inf, np.inf)
N, T, MASS, SPRING = 400, 300.0, 39.95, 1.0  # argon; eV/Å²
OMEGA = np.sqrt(SPRING / MASS)


class Springs:
    """Each atom on a spring to the origin."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 100_000

    def __init__(self, spring: float) -> None:
        self.spring = spring

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        energy = np.add.reduceat(0.5 * self.spring * (frames.positions**2).sum(axis=1), frames.offsets[:-1])
        return Predictions.checked(frames, energy, -self.spring * frames.positions, None, {})


def run_of(spring: float, timestep_fs: float, friction_per_ps: float, seed: int = 0) -> LangevinRun:
    frames = Frames.from_atoms([Atoms(f"Ar{N}", positions=np.zeros((N, 3)))])
    draw = np.random.default_rng(seed)
    momenta = draw.standard_normal((N, 3)) * np.sqrt(MASS * kB * T)
    positions = draw.standard_normal((N, 3)) * np.sqrt(kB * T / spring if spring else 0.0)
    return LangevinRun(
        frames.moved(positions),
        momenta,
        timestep_fs,
        Springs(spring),
        ANY,
        temperature_k=T,
        friction_per_ps=friction_per_ps,
        seeds=[seed],
    )


@pytest.mark.parametrize("share", [0.1, 1.0, 1.7])
def test_an_oscillator_has_its_mean_squares_at_every_time_step(share: float) -> None:
    timestep_fs = share / OMEGA / fs
    run = run_of(SPRING, timestep_fs, 0.5 * OMEGA * 1000 * fs)
    x, v = [], []
    for step in range(6000):
        run.step()
        if step % 30 == 29:
            x.append(run.positions.copy())
            v.append(run.momenta / MASS)
    width, speed = kB * T / SPRING, (kB * T / MASS) * (1 - share**2 / 4)
    n = np.size(x)
    tolerance = 4 * np.sqrt(2 / n) * 1.5  # the samples are nearly independent
    assert np.square(x).mean() == pytest.approx(width, rel=tolerance)
    assert np.square(v).mean() == pytest.approx(speed, rel=tolerance)
    assert stats.kstest(np.ravel(x[-1]) / np.sqrt(width), "norm").pvalue > 1e-4


def test_a_free_particle_forgets_its_velocity_and_diffuses_as_it_must() -> None:
    timestep_fs, friction_per_ps = 20.0, 10.0
    run = run_of(0.0, timestep_fs, friction_per_ps)
    velocities, positions = [run.momenta / MASS], [run.positions.copy()]
    for _ in range(3000):
        run.step()
        velocities.append(run.momenta / MASS)
        positions.append(run.positions.copy())
    v, x = np.array(velocities), np.array(positions)
    decay = np.exp(-friction_per_ps * timestep_fs / 1000)
    for lag in (1, 3, 10):
        assert (v[lag:] * v[:-lag]).mean() / (kB * T / MASS) == pytest.approx(decay**lag, abs=0.01)
    dt = timestep_fs * fs
    expected = (kB * T * dt / (2 * MASS)) / np.tanh(friction_per_ps * timestep_fs / 2000)
    lag = 200
    measured = ((x[lag::lag] - x[:-lag:lag]) ** 2).mean() / (2 * lag * dt)
    # Over a finite time the mean square is less by the time that the velocity takes to forget.
    short = 1 - (1 - decay**lag) / (lag * np.sinh(friction_per_ps * timestep_fs / 1000))
    assert measured == pytest.approx(expected * short, rel=4 * np.sqrt(2 / (15 * 3 * N)))


def test_kinetic_energies_have_three_degrees_of_freedom_an_atom() -> None:
    run = run_of(0.0, 50.0, 40.0)
    kinetic = []
    for _ in range(500):
        run.step()
        run.step()
        kinetic.append(run.kinetic[0])
    independent = np.array(kinetic[::2]) * 2 / (kB * T)
    assert stats.kstest(independent, stats.chi2(3 * N).cdf).pvalue > 1e-4


def test_without_friction_the_trajectory_is_that_of_velocity_verlet() -> None:
    frames = Frames.from_atoms([bulk("Cu", cubic=True) * (2, 2, 2)])
    momenta = thermal_momenta(frames, T, 1)
    model = InProcessCalculator(EMT())  # type: ignore[no-untyped-call]
    run = LangevinRun(frames, momenta, 2.0, model, ANY, temperature_k=T, friction_per_ps=0.0, seeds=[0])
    verlet = LockstepRun(frames, momenta, 2.0, model, ANY)
    for _ in range(50):
        run.step()
        verlet.step()
    np.testing.assert_allclose(run.positions, verlet.positions, rtol=0, atol=1e-10)


def trajectory(run: LangevinRun, blocks: range) -> Float:
    for block in blocks:
        run.begin_block(block)
        for _ in range(5):
            run.step()
        run.refresh()
    return run.positions


def test_a_run_that_resumes_at_a_block_has_the_same_bytes_and_replicas_do_not_depend_on_each_other() -> None:
    crystal = Frames.from_atoms([bulk("Cu", cubic=True)])
    model = Springs(SPRING)

    def fresh(seeds: list[int], state: dict[str, np.ndarray] | None = None) -> LangevinRun:
        frames = crystal.take([0] * len(seeds))
        momenta = thermal_momenta(frames, T, seeds)
        return LangevinRun(
            frames, momenta, 2.0, model, ANY, temperature_k=T, friction_per_ps=5.0, seeds=seeds, state=state
        )

    whole = trajectory(fresh([1, 2, 3]), range(6))
    first = fresh([1, 2, 3])
    trajectory(first, range(4))
    np.testing.assert_array_equal(trajectory(fresh([1, 2, 3], first.state), range(4, 6)), whole)
    np.testing.assert_array_equal(trajectory(fresh([2]), range(6)), whole[4:8])
    assert not np.array_equal(whole[:4], whole[4:8])


def test_seeds_are_one_for_each_trajectory() -> None:
    frames, settings = Frames.from_atoms([bulk("Cu")]), {"temperature_k": T, "friction_per_ps": 1.0}
    with pytest.raises(ValueError, match="seeds: 2 for 1 trajectories: give one for each"):
        LangevinRun(frames, np.zeros((1, 3)), 1.0, Springs(1.0), ANY, **settings, seeds=[1, 2])
