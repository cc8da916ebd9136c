"""Molecular dynamics of structures and their replicas: at constant energy, temperature, or temperature and pressure.

The structures may be relaxed first, each once for all its replicas, in lock-step too. A run whose relaxation failed
ends at its start, with that cause.

All trajectories run in lock-step, one batch a step. With each stored frame the run saves its state in the watch's
checkpoint, if half a minute has passed. An interrupted run continues from there; for a calculator without memory from
step to step, all bytes are those of a run without interruption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from ase import Atoms
from ase.units import kB
from numpy.typing import NDArray
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tasks.datasets.card_parts import later
from tasks.kind import Parameters, Watch
from tasks.model.calculator import BatchCalculator
from tasks.observing.checkpoints import RunCheckpoint
from tasks.observing.time_budget import TimeBudget
from tasks.simulation.barostat import MonteCarloBarostat
from tasks.simulation.langevin import LangevinRun
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.simulation.relaxation import Freedom, LastIterate, Relaxation, last_iterate
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import LockstepRun, RunBounds
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Cause

VERSION = "dynamics 3"
MAX_STORED_BYTES = 200_000_000
Arrays = dict[str, NDArray[Any]]


class DynamicsSettings(Parameters):
    """How trajectories run, and what is kept of them.

    Args:
        minimise_steps: of the optimiser (FIRE) before the run, in the cell of the start; 0: none.
        minimise_fmax: it stops earlier if no force is larger [eV/Å].
        ensemble: nve: velocity Verlet; nvt: BAOAB Langevin; npt: the same with a Monte Carlo barostat.
        end_temperature_k: the heat bath goes there from `temperature_k` in a straight line; None: it stays.
        end_pressure_bar: the barostat goes there from `pressure_bar` in a straight line; None: it stays.
        friction_per_ps: of the heat bath.
        barostat_every: steps between two changes of the volume.
        equilibration_steps: left out by analyses; the barostat adapts during them alone.
        adapts_throughout: the barostat adapts to the end, as published protocols have it.
        store_every: steps between two stored frames.
        replicas: of each structure; replica r has the seed `seed` + r.
        explode_energy_ev_per_atom, explode_temperature_k: see `tasks.simulation.velocity_verlet.RunBounds`.
    """

    minimise_steps: NonNegativeInt = 0
    minimise_fmax: PositiveFloat = 0.01
    ensemble: Literal["nve", "nvt", "npt"] = "nvt"
    steps: PositiveInt
    store_every: PositiveInt
    timestep_fs: PositiveFloat = 1.0
    temperature_k: PositiveFloat = 300.0
    end_temperature_k: PositiveFloat | None = None
    friction_per_ps: PositiveFloat = 1.0
    pressure_bar: float = 1.01325
    barostat_every: PositiveInt = 25
    equilibration_steps: NonNegativeInt = 0
    adapts_throughout: bool = False
    replicas: PositiveInt = 1
    seed: int = Field(0, ge=0)
    explode_energy_ev_per_atom: PositiveFloat = 10.0
    explode_temperature_k: PositiveFloat = 1e5
    end_pressure_bar: float | None = later(None)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.steps % self.store_every or self.equilibration_steps >= self.steps:
            raise ValueError("steps: must be a multiple of store_every, and more than equilibration_steps")
        if self.ensemble == "nve" and self.end_temperature_k is not None:
            raise ValueError("end_temperature_k: there is no heat bath at constant energy: leave it out")
        if self.ensemble != "npt" and self.end_pressure_bar is not None:
            raise ValueError('end_pressure_bar: there is a barostat in ensemble = "npt" alone: leave it out')
        return self

    @property
    def n_stored(self) -> int:
        """The stored frames of a finished trajectory, with the first."""
        return self.steps // self.store_every + 1

    def temperature_at(self, step: int) -> float:
        """Of the heat bath [K]."""
        end = self.temperature_k if self.end_temperature_k is None else self.end_temperature_k
        return self.temperature_k + (end - self.temperature_k) * step / self.steps

    def pressure_at(self, step: int) -> float:
        """Of the barostat [bar]."""
        end = self.pressure_bar if self.end_pressure_bar is None else self.end_pressure_bar
        return self.pressure_bar + (end - self.pressure_bar) * step / self.steps


def check_size(name: str, frames: Frames, settings: DynamicsSettings) -> None:
    """The trajectories can be stored.

    Raises:
        ValueError: they take more than 200 MB.
    """
    size = 12 * len(frames.numbers) * settings.replicas * settings.n_stored
    if size > MAX_STORED_BYTES:
        least = -(-size * settings.store_every // MAX_STORED_BYTES)
        raise ValueError(f"{name}: the trajectories take {size / 1e6:.0f} MB: set store_every to {least} or more")


class StoredFrames:
    """What is kept of t trajectories with N atoms in all, at f stored steps; NaN where one had ended before.

    Attributes:
        positions: (f, N, 3) [Å], float32, not wrapped into the cell.
        cells: (f, t, 3, 3) [Å].
        potential, kinetic: (t, f) [eV].
        hottest: (t, f) the highest temperature [K] of all steps after the stored frame before.
        largest_force: (t, f) the largest component of a force [eV/Å].
        step: the last stored step.
    """

    NAMES = ("positions", "cells", "potential", "kinetic", "hottest", "largest_force")

    def __init__(self, frames: Frames, settings: DynamicsSettings, stored: Mapping[str, NDArray[Any]] | None) -> None:
        n, f, self._every = len(frames), settings.n_stored, settings.store_every
        self._frames = frames
        self._degrees = 1.5 * kB * frames.n_atoms
        self.positions = np.full((f, len(frames.numbers), 3), np.nan, np.float32)
        self.cells = np.full((f, n, 3, 3), np.nan)
        self.potential, self.kinetic, self.hottest, self.largest_force = (np.full((n, f), np.nan) for _ in range(4))
        self.step = 0
        if stored is not None:
            for name in self.NAMES:
                setattr(self, name, np.array(stored[f"stored_{name}"]))
            self.step = int(stored["step"][0])

    @property
    def state(self) -> Arrays:
        named: Arrays = {f"stored_{name}": getattr(self, name) for name in self.NAMES}
        return {**named, "step": np.array([self.step])}

    def see(self, step: int, run: LockstepRun) -> None:
        """Takes note of a step, which need not be stored."""
        alive, index = run.alive, -(-step // self._every)
        hottest = np.fmax(self.hottest[alive, index], run.kinetic[alive] / self._degrees[alive])
        self.hottest[alive, index] = hottest

    def store(self, step: int, run: LockstepRun, cells: Float) -> None:
        """Stores the trajectories that are alive after `step`."""
        self.step, index, alive = step, step // self._every, run.alive
        atoms = self._frames.atom_indices(alive)
        self.positions[index, atoms] = run.positions[atoms]
        self.cells[index, alive] = cells[alive]
        self.potential[alive, index], self.kinetic[alive, index] = run.potential[alive], run.kinetic[alive]
        largest = np.maximum.reduceat(np.abs(run.forces).max(axis=1), self._frames.offsets[:-1])
        self.largest_force[alive, index] = largest[alive]


def simulate(
    frames: Frames,
    settings: DynamicsSettings,
    model: BatchCalculator,
    watch: Watch,
    frames_sha256: str,
    molecules: Int | None = None,
    temperatures: Float | None = None,
) -> Arrays:
    """The arrays of `StoredFrames`, and `completed_steps`, `failure` (t,), of t = structures × replicas.

    The replicas of a structure follow each other.

    Args:
        frames_sha256: of the data set: a checkpoint of other structures is not used.
        molecules: (N,) see `tasks.simulation.barostat.MonteCarloBarostat`.
        temperatures: (n,) [K] of the structures, in place of those of the settings.

    Raises:
        ValueError: the settings change the temperature, which is that of each structure.
    """
    if temperatures is not None and settings.end_temperature_k is not None:
        raise ValueError("end_temperature_k: the data set states the temperature of each system: leave it out")
    checkpoint = RunCheckpoint(watch, VERSION, frames_sha256, settings)
    causes = np.zeros(len(frames), np.int8)
    if settings.minimise_steps and checkpoint.stored is None:
        frames, causes = _minimised(frames, settings, model, watch)
    replicas = np.repeat(np.arange(len(frames)), settings.replicas)
    copies = frames.take(replicas)
    budget = TimeBudget(watch, settings.steps, checkpoint.used_s)
    kept = StoredFrames(copies, settings, checkpoint.stored)
    baths = settings.temperature_k if temperatures is None else temperatures[replicas]
    run = _run(copies, settings, model, checkpoint.stored, baths)
    run.drop(causes[replicas[run.alive]])
    barostat = None
    if settings.ensemble == "npt":
        numbers = None if molecules is None else _copied(molecules, frames, settings.replicas)
        barostat = MonteCarloBarostat(copies, settings.pressure_bar, numbers, checkpoint.stored)
    if checkpoint.stored is None:
        kept.see(0, run)
        kept.store(0, run, copies.cell)
    for step in range(kept.step + 1, settings.steps + 1):
        if not budget.allows_step(step - 1):
            run.stop(Cause.OVER_TIME)
        if not run.alive.size:
            break
        if isinstance(run, LangevinRun) and temperatures is None:
            run.temperature_k = settings.temperature_at(step)
        _step(step, run, settings, barostat)
        kept.see(step, run)
        if step % settings.store_every == 0:
            kept.store(step, run, run.cells if isinstance(run, LangevinRun) else copies.cell)
            run.refresh()
            checkpoint.keep({**run.state, **(barostat.state if barostat else {}), **kept.state})
        watch.progress(step, settings.steps, "steps")
    arrays: Arrays = {name: getattr(kept, name) for name in StoredFrames.NAMES}
    return {**arrays, "completed_steps": run.completed, "failure": run.failure}


def _minimised(
    frames: Frames, settings: DynamicsSettings, model: BatchCalculator, watch: Watch
) -> tuple[Frames, NDArray[np.int8]]:
    """The last iterates, and (n,) codes of `Cause`; a structure that failed stays as it was."""
    if "forces" not in model.properties:
        return frames, np.full(len(frames), Cause.UNSUPPORTED, np.int8)
    relaxation = Relaxation(optimizer="FIRE", fmax=settings.minimise_fmax, max_steps=settings.minimise_steps)

    def job(atoms: Atoms) -> Job[LastIterate]:
        return Job(len(atoms), lambda part: last_iterate(atoms, part, relaxation, Freedom("fixed")))

    jobs = [job(frames.atoms(i)) for i in range(len(frames))]
    ends = run_concurrently(jobs, model, replace(watch, failed_share=1.0), "relaxations")
    positions = frames.positions.copy()
    for index, end in enumerate(ends):
        if end.value is not None:
            positions[frames.atom_slice(index)] = end.value.atoms.positions
    return frames.moved(positions), np.array([end.cause for end in ends], np.int8)


def _run(
    copies: Frames,
    settings: DynamicsSettings,
    model: BatchCalculator,
    stored: Mapping[str, NDArray[Any]] | None,
    temperature_k: float | Float,
) -> LockstepRun:
    seeds = (np.arange(len(copies)) % settings.replicas + settings.seed).tolist()
    momenta = thermal_momenta(copies, temperature_k, seeds)
    bounds = RunBounds(settings.explode_energy_ev_per_atom, settings.explode_temperature_k)
    if settings.ensemble == "nve":
        return LockstepRun(copies, momenta, settings.timestep_fs, model, bounds, stored)
    return LangevinRun(
        copies,
        momenta,
        settings.timestep_fs,
        model,
        bounds,
        temperature_k=temperature_k,
        friction_per_ps=settings.friction_per_ps,
        seeds=seeds,
        state=stored,
    )


def _step(step: int, run: LockstepRun, settings: DynamicsSettings, barostat: MonteCarloBarostat | None) -> None:
    if isinstance(run, LangevinRun) and (step - 1) % settings.store_every == 0:
        run.begin_block((step - 1) // settings.store_every)
    run.step()
    if barostat is not None and isinstance(run, LangevinRun) and step % settings.barostat_every == 0:
        barostat.pressure_bar = settings.pressure_at(step)
        barostat.adapts = settings.adapts_throughout or step <= settings.equilibration_steps
        run.try_volumes(barostat)


def _copied(molecules: Int, frames: Frames, replicas: int) -> Int:
    """The numbers of the molecules of the replicas, none of which has a number of another."""
    indices = frames.atom_indices(np.repeat(np.arange(len(frames)), replicas))
    copy = np.repeat(np.tile(np.arange(replicas), len(frames)), np.repeat(frames.n_atoms, replicas))
    return np.asarray(molecules[indices] + copy * (int(molecules.max()) + 1))
