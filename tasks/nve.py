"""Dynamics at constant energy: does the total energy stay where it was?

All structures of a dataset run in lock-step from thermal momenta (`tasks.velocities`). Per trajectory the total energy
is fitted by a straight line after its first fifth: the slope [eV/atom/ps] is a model's drift, with its standard error.
A trajectory that blows up is a result, not a refusal. One that cannot be finished in the time of the task is stopped in
good order (`tasks.pace`) and counted as not measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import Field, PositiveFloat, PositiveInt

from tasks.calculator import BatchCalculator
from tasks.dataset import Dataset, Structures
from tasks.frames import Float
from tasks.kind import Observation, Parameters, Watch, Work
from tasks.lockstep import Bounds, LockStep
from tasks.measurement import Items, Measurement, Metric
from tasks.pace import Pace
from tasks.predictions import Cause
from tasks.velocities import thermal_momenta

# Drifts below this are rounding: it stands in for them in the geometric mean.
SMALLEST_SLOPE = 1e-12


class NveParameters(Parameters):
    """How the trajectories are run and read.

    Args:
        sample_every: energies are kept of the start and of every so many steps.
        discard_fraction: of a trajectory's time, left out of the fit at its beginning.
        explode_energy_ev_per_atom, explode_temperature_k: see `tasks.lockstep.Bounds`.
    """

    steps: PositiveInt = 200
    timestep_fs: PositiveFloat = 1.0
    temperature_k: PositiveFloat = 300.0
    seed: int = Field(0, ge=0)
    sample_every: PositiveInt = 1
    discard_fraction: float = Field(0.2, ge=0, lt=1)
    explode_energy_ev_per_atom: PositiveFloat = 10.0
    explode_temperature_k: PositiveFloat = 1e5

    @property
    def n_samples(self) -> int:
        """How many energies are kept of a finished trajectory."""
        return self.steps // self.sample_every + 1

    @property
    def times_ps(self) -> Float:
        """(n_samples,) when [ps]."""
        return np.arange(self.n_samples, dtype=np.float64) * (self.sample_every * self.timestep_fs / 1000.0)


class Slopes(NamedTuple):
    """(n,) each: slopes of straight lines and their standard errors, in y per x."""

    slope: Float
    stderr: Float


def fit_slopes(x: Float, y: Float) -> Slopes:
    """Least-squares slopes of the rows of `y` (n, k) over `x` (k,); NaN for rows with NaN, or with k < 3."""
    if len(x) < 3:
        return Slopes(np.full(len(y), np.nan), np.full(len(y), np.nan))
    centred = x - x.mean()
    spread = float(centred @ centred)
    # Rows relative to their first value: the slope is tiny beside the energy itself.
    relative = y - y[:, :1]
    slope = relative @ centred / spread
    residual = relative - relative.mean(axis=1, keepdims=True) - slope[:, None] * centred
    variance = np.einsum("ij,ij->i", residual, residual) / (len(x) - 2)
    return Slopes(slope, np.sqrt(variance / spread))


class Nve:
    """Energy drift of constant-energy dynamics."""

    name: str = "nve"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = NveParameters

    def observe(
        self, structures: Structures, parameters: NveParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Runs all trajectories.

        Arrays: total_energy, potential, kinetic (n, n_samples) [eV], NaN where not reached; completed_steps (n,);
        final_positions, final_momenta (N, 3) [Å; ASE units] at the last good step; failure (n,).
        """
        frames = structures.frames
        momenta = thermal_momenta(frames, parameters.temperature_k, np.random.default_rng(parameters.seed))
        bounds = Bounds(parameters.explode_energy_ev_per_atom, parameters.explode_temperature_k)
        run = LockStep(frames, momenta, parameters.timestep_fs, model, bounds)
        potential = np.full((len(frames), parameters.n_samples), np.nan)
        kinetic = potential.copy()
        potential[:, 0], kinetic[:, 0] = run.potential, run.kinetic
        pace = Pace(watch, parameters.steps)
        for step in range(1, parameters.steps + 1):
            if not pace.may_go_on(step - 1):
                run.stop(Cause.OVER_TIME)
            if not run.alive.size:
                break
            run.step()
            if step % parameters.sample_every == 0:
                sample = step // parameters.sample_every
                potential[run.alive, sample] = run.potential[run.alive]
                kinetic[run.alive, sample] = run.kinetic[run.alive]
            watch.progress(step, parameters.steps, "steps")
        arrays = {
            "total_energy": potential + kinetic,
            "potential": potential,
            "kinetic": kinetic,
            "completed_steps": run.completed,
            "final_positions": run.positions,
            "final_momenta": run.momenta,
            "failure": run.failure,
        }
        return Observation(arrays)

    def work(self, structures: Structures, parameters: NveParameters) -> Work:
        """Each structure once a step."""
        return Work.of(structures.frames, parameters.steps + 1)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: NveParameters, label_set: str | None
    ) -> Measurement:
        """The geometric mean of |slope| over the trajectories that were completed, and their number."""
        n, n_atoms = len(dataset.frames), dataset.frames.n_atoms.astype(np.float64)
        total = observation.array("total_energy", (n, parameters.n_samples))
        completed = observation.array("completed_steps", (n,), np.int64).astype(np.float64)
        cause = observation.causes(n)
        times = parameters.times_ps
        kept = times >= parameters.discard_fraction * times[-1]
        slopes = fit_slopes(times[kept], total[:, kept] / n_atoms[:, None])
        done = cause == 0
        if not np.isfinite(slopes.slope[done]).all():
            raise ValueError("observation: total_energy of a completed trajectory has gaps, or too few samples to fit")
        slope = np.where(done, np.abs(slopes.slope), np.nan)
        stderr = np.where(done, slopes.stderr, np.nan)
        columns = {"slope": slope, "slope_stderr": stderr, "completed_steps": completed, "n_atoms": n_atoms}
        items = Items(dataset.table.id, dataset.table.group, dataset.clusters, cause, columns)
        failed = int((~done).sum())
        mean = float(np.exp(np.log(np.maximum(slope[done], SMALLEST_SLOPE)).mean())) if done.any() else None
        metrics = {
            "slope_geomean": Metric(mean, "eV/atom/ps", n, failed),
            "n_completed": Metric(float(n - failed), "", n, failed),
        }
        return Measurement(metrics, items)
