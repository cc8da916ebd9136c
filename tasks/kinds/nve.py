"""Dynamics at constant energy: the drift of the total energy.

All structures of a data set run in lock-step from thermal momenta (`tasks.simulation.velocities`). A straight line is
fitted to the total energy of each trajectory after its first fifth: the slope [eV/atom/ps] is the drift, with its
standard error. The defaults are LAMBench's (nve_md.py at commit 53663f0, calculator_tasks.yml at commit 05a089b): 10 ps
in steps of 1 fs from 300 K, one energy every 100 steps. Its slopes are per 1000 ASE time units; these are per ps.

A trajectory ends early in one of three ways. It *fails*: the model raised, or its answer is not finite. It *explodes*:
total energy or temperature leave the stated bounds, which is a result of the model. Or it is *over its time*: at its
speed it could not finish (`tasks.observing.time_budget`); it is not measured, and never counts as unstable.

A run in which no force acts has no drift, for any energies. Its kinetic energy stays constant, which no
interacting structure does once its atoms move. It is NO_FORCES, a result of the model, and costs as much as a failure.

The drift tells whether a model conserves energy, not whether it knows chemistry: there is nothing to draw. A model that
is harmonic about the first structure has no drift, and is not stopped here.

**Failure cost.** There is no trivial model, so W is declared: 4.9 eV/atom/ps, five decades above the drift of 4.9e-5
eV/atom/ps that counts as zero (LAMBench's 5e-4 per 1000 ASE time units), where the instability score is worst
(`scoring.instability`). In the penalised `slope_geomean` every slope is clipped at W, and every trajectory without a
slope counts W: also those over their time, since the value holds for the worst case, and being slow must not look
stable. `n_unstable` and `n_not_measured` tell them apart.

The items also hold the deviation of the total energy from its start, at each tenth of the run: `drift_curves`.

With each energy a run saves its state in the watch's checkpoint, if half a minute has passed. An interrupted run
resumes from there with the same bits as without interruption, and the time that it used before counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric
from tasks.metrics.run_progress import ProgressOfRuns, RunProgress
from tasks.model.calculator import BatchCalculator
from tasks.observing.checkpoints import RunCheckpoint
from tasks.observing.time_budget import TimeBudget
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import LockstepRun, RunBounds
from tasks.structures.frames import Bool, Float, Int
from tasks.structures.predictions import Cause
from tasks.trajectories.straight_lines import fit_slopes

# Drifts below this are rounding: in the geometric mean they count as this.
SMALLEST_SLOPE = 1e-12
FAILURE_COST = 4.9  # eV/atom/ps, see above
# If the kinetic energy changes by no more than this share, no force acts: bonds change it by a share of 1e-4 in 1 fs.
SMALLEST_CHANGE = 1e-6
# Columns of the items: the deviation of the total energy [eV/atom], at the start and at each tenth of the run.
DRIFT_COLUMNS = tuple(f"drift_{tenth:02d}" for tenth in range(11))


class NveParameters(Parameters):
    """How the trajectories run, and how the drift is fitted.

    Args:
        seed: of the initial momenta of each structure.
        sample_every: steps between the energies that are kept, besides the first; None: a hundredth of the run.
        discard_fraction: of the time of a trajectory, left out of the fit at its beginning.
        explode_energy_ev_per_atom, explode_temperature_k: see `tasks.simulation.velocity_verlet.RunBounds`.
    """

    steps: PositiveInt = 10_000
    timestep_fs: PositiveFloat = 1.0
    temperature_k: PositiveFloat = 300.0
    seed: int = Field(0, ge=0)
    sample_every: PositiveInt | None = None
    discard_fraction: float = Field(0.2, ge=0, lt=1)
    explode_energy_ev_per_atom: PositiveFloat = 10.0
    explode_temperature_k: PositiveFloat = 1e5

    @model_validator(mode="after")
    def _can_be_fitted(self) -> Self:
        if self.n_samples - self.first_fitted < 3:
            raise ValueError("steps: too few energies are left to fit: take more steps, or sample_every smaller")
        return self

    @property
    def stride(self) -> int:
        """Steps from one energy that is kept to the next."""
        return self.sample_every or max(1, self.steps // 100)

    @property
    def n_samples(self) -> int:
        """The energies that are kept of a finished trajectory."""
        return self.steps // self.stride + 1

    @property
    def first_fitted(self) -> int:
        """Index of the first energy in the fit."""
        return math.ceil(self.discard_fraction * (self.n_samples - 1) - 1e-9)

    @property
    def times_ps(self) -> Float:
        """(n_samples,) the times of the kept energies [ps]."""
        return np.arange(self.n_samples, dtype=np.float64) * (self.stride * self.timestep_fs / 1000.0)

    @property
    def tenths(self) -> Int:
        """(11,) indices of the energies at the start, and at each tenth of the run or last before it."""
        return np.asarray(np.arange(len(DRIFT_COLUMNS), dtype=np.int64) * self.steps // (10 * self.stride))


class DriftCurves(NamedTuple):
    """The deviation of the total energy of k trajectories from its start.

    Args:
        times_ps: (11,) the times [ps]: the start, and each tenth of the run or the last kept energy before it.
        deviation: (k, 11) [eV/atom], 0 at the start; NaN where a trajectory had ended before that tenth.
        ids: (k,) of the structures.
    """

    times_ps: Float
    deviation: Float
    ids: tuple[str, ...]


def drift_curves(items: Items, parameters: NveParameters) -> DriftCurves | None:
    """The curves in the items of `Nve.measure`; None if an older version measured the items, without curves."""
    if any(name not in items.columns for name in DRIFT_COLUMNS):
        return None
    deviation = np.stack([items.columns[name] for name in DRIFT_COLUMNS], axis=1)
    return DriftCurves(parameters.times_ps[parameters.tenths], deviation, tuple(items.id))


def run_progress(items: Items, parameters: NveParameters) -> list[RunProgress]:
    """How far each trajectory got; empty if an older version measured the items."""
    steps = items.columns.get("completed_steps", np.zeros(0)).tolist()
    return [
        RunProgress(name, n / parameters.steps, n * parameters.timestep_fs / 1000.0, Cause(cause))
        for name, n, cause in zip(items.id, steps, items.cause.tolist(), strict=False)
    ]


class EnergyRecord:
    """The potential and kinetic energies (n, n_samples) [eV] of n trajectories so far, NaN where not reached.

    Args:
        stored: `state` of an interrupted run; None for a fresh start.
    """

    def __init__(self, n: int, parameters: NveParameters, stored: Mapping[str, NDArray[Any]] | None) -> None:
        self._stride = parameters.stride
        unknown = np.full((n, parameters.n_samples), np.nan)
        stored = stored or {"sampled_potential": unknown, "sampled_kinetic": unknown, "step": np.zeros(1, np.int64)}
        self.potential, self.kinetic = np.array(stored["sampled_potential"]), np.array(stored["sampled_kinetic"])
        self.step = int(stored["step"][0])

    def record(self, step: int, run: LockstepRun) -> None:
        """Records the energies of the trajectories that are alive after `step`."""
        self.step = step
        self.potential[run.alive, step // self._stride] = run.potential[run.alive]
        self.kinetic[run.alive, step // self._stride] = run.kinetic[run.alive]

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        step = np.array([self.step])
        return {"sampled_potential": self.potential, "sampled_kinetic": self.kinetic, "step": step}


class Nve:
    """Energy drift of constant-energy dynamics."""

    name: str = "nve"
    observe_version: int = 2
    measure_version: int = 4  # since 4 dynamics without forces are a result of their own
    parameters: type[Parameters] = NveParameters
    traits: Traits = Traits(
        title="constant-energy dynamics",
        about="drift of the total energy in molecular dynamics that the judge drives",
        needs=("energy", "forces"),
        import_format="structures",
        score=ScoreFamily.INSTABILITY,
        metrics=(
            KindMetric("slope_geomean", "Energy drift, geometric mean", "eV/atom/ps"),
            KindMetric("slope", "Energy drift", "eV/atom/ps"),  # of one run, as scores show it
            KindMetric("n_completed", "Runs completed", "", Better.HIGHER),
            KindMetric("n_unstable", "Runs that blew up", ""),
            KindMetric("n_not_measured", "Runs not finished in time", ""),
        ),
        progress=ProgressOfRuns(run_progress),
    )

    def observe(
        self, structures: Structures, parameters: NveParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Runs all trajectories, from the watch's checkpoint if there is one of this run.

        Arrays: total_energy, potential, kinetic (n, n_samples) [eV], NaN where not reached; completed_steps (n,);
        final_positions, final_momenta (N, 3) [Å; ASE units] at the last good step; failure (n,).
        """
        frames = structures.frames
        checkpoint = RunCheckpoint(watch, f"nve {self.observe_version}", structures.frames_sha256, parameters)
        budget = TimeBudget(watch, parameters.steps, checkpoint.used_s)
        momenta = thermal_momenta(frames, parameters.temperature_k, parameters.seed)
        bounds = RunBounds(parameters.explode_energy_ev_per_atom, parameters.explode_temperature_k)
        run = LockstepRun(frames, momenta, parameters.timestep_fs, model, bounds, checkpoint.stored)
        energies = EnergyRecord(len(frames), parameters, checkpoint.stored)
        if checkpoint.stored is None:
            energies.record(0, run)
        for step in range(energies.step + 1, parameters.steps + 1):
            if not budget.allows_step(step - 1):
                run.stop(Cause.OVER_TIME)
            if not run.alive.size:
                break
            run.step()
            if step % parameters.stride == 0:
                energies.record(step, run)
                run.refresh()
                checkpoint.keep({**run.state, **energies.state})
            watch.progress(step, parameters.steps, "steps")
        arrays = {
            "total_energy": energies.potential + energies.kinetic,
            "potential": energies.potential,
            "kinetic": energies.kinetic,
            "completed_steps": run.completed,
            "final_positions": run.positions,
            "final_momenta": run.momenta,
            "failure": run.failure,
        }
        return Observation(arrays)

    def work(self, structures: Structures, parameters: NveParameters) -> Work:
        """Each structure once a step, and once at the start."""
        return Work.of(structures.frames, parameters.steps + 1)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: NveParameters, label_set: str | None
    ) -> Measurement:
        """The geometric mean of |slope| over the completed trajectories, and the numbers of the others.

        Columns: slope, slope_stderr [eV/atom/ps], also of NO_FORCES, completed_steps, n_atoms, and `DRIFT_COLUMNS`, of
        incomplete trajectories up to their end.
        """
        n, n_atoms = len(dataset.frames), dataset.frames.n_atoms.astype(np.float64)
        total = observation.array("total_energy", (n, parameters.n_samples))
        completed = observation.array("completed_steps", (n,), np.int64).astype(np.float64)
        cause = observation.causes(n).copy()
        fitted = slice(parameters.first_fitted, None)
        slopes = fit_slopes(parameters.times_ps[fitted], total[:, fitted] / n_atoms[:, None])
        done = cause == 0
        if not np.isfinite(slopes.slope[done]).all():
            raise ValueError("observation: total_energy of a completed trajectory has gaps, or too few samples to fit")
        cause[done & without_forces(observation.array("kinetic", (n, parameters.n_samples)))] = Cause.NO_FORCES
        free = f"in {(cause == Cause.NO_FORCES).sum()} of {n} runs no force acts: charged"
        notes = {"forces": free} if Cause.NO_FORCES in cause else {}
        slope = np.where(done, np.abs(slopes.slope), np.nan)
        stderr = np.where(done, slopes.stderr, np.nan)
        columns = {"slope": slope, "slope_stderr": stderr, "completed_steps": completed, "n_atoms": n_atoms}
        deviation = _deviations(total, completed, n_atoms, parameters)
        columns |= dict(zip(DRIFT_COLUMNS, deviation.T, strict=True))
        items = Items(dataset.table.id, dataset.table.group, dataset.clusters, cause, columns)
        return Measurement(drift_metrics(np.where(cause == 0, slope, np.nan), cause), items, notes)


def without_forces(kinetic: Float) -> Bool:
    """(n,) whether the kinetic energies (n, k) [eV] of completed runs are constant; false for an atom at rest."""
    return np.asarray((kinetic[:, 0] > 0) & (np.ptp(kinetic, axis=1) <= SMALLEST_CHANGE * kinetic[:, 0]))


def _deviations(total: Float, completed: Float, n_atoms: Float, parameters: NveParameters) -> Float:
    """(n, 11) the values of `DRIFT_COLUMNS`, from total energies (n, n_samples) [eV] and completed steps (n,)."""
    deviation = (total[:, parameters.tenths] - total[:, :1]) / n_atoms[:, None]
    # A run may end between the last kept energy and the tenth that it stands for.
    reached = 10 * completed[:, None] >= np.arange(len(DRIFT_COLUMNS)) * parameters.steps
    return np.where(reached, deviation, np.nan)


def drift_metrics(slope: Float, cause: NDArray[np.int8]) -> dict[str, Metric]:
    """The metrics of n trajectories, from (n,) |slope| [eV/atom/ps], NaN where not completed, and codes of `Cause`."""
    n, done, late = len(slope), cause == 0, cause == Cause.OVER_TIME
    unstable = ~np.isin(cause, (Cause.NONE, Cause.OVER_TIME, Cause.NO_FORCES))
    failed = int((~done).sum())
    value = _geometric_mean(slope[done]) if done.any() else None
    charged = _geometric_mean(np.fmin(slope, FAILURE_COST))  # fmin takes W where the slope is NaN: NaN loses
    return {
        "slope_geomean": Metric(value, "eV/atom/ps", n, failed, charged, failure_cost=FAILURE_COST),
        "n_completed": Metric(float(n - failed), "", n, failed),
        "n_unstable": Metric(float(unstable.sum()), "", n, failed),
        "n_not_measured": Metric(float(late.sum()), "", n, failed),
    }


def _geometric_mean(slopes: Float) -> float:
    return float(np.exp(np.log(np.maximum(slopes, SMALLEST_SLOPE)).mean()))
