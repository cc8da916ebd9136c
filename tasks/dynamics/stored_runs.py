"""The stored runs of the systems of a data set, by structure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from ase.units import kB
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.dynamics.analyses import SystemRuns, frames_after_equilibration
from tasks.dynamics.run_ends import RunEnds, escape_distance, run_ends, trajectory_of
from tasks.dynamics.simulate import DynamicsSettings
from tasks.kind import Observation
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause
from tasks.trajectories.thermodynamics import densities

N_TENTHS = 10


class StoredRuns:
    """The runs of an observation.

    Raises:
        ValueError: the observation is not of these structures and settings.
    """

    def __init__(self, observation: Observation, dataset: Dataset, settings: DynamicsSettings) -> None:
        frames = dataset.frames
        self._settings = settings
        self._copies = frames.take(np.repeat(np.arange(len(frames)), settings.replicas))
        self._arrays = checked_arrays(observation, self._copies, settings)
        distances = np.full(len(frames), np.inf)
        for system in dataset.table.systems:
            distances[system.structure] = escape_distance(frames, system.structure, system.escape_distance)
        each = np.repeat(distances, settings.replicas).tolist()
        stated = dataset.structures.conditions.get("temperature_k")
        self._baths = None if stated is None else np.repeat(stated, settings.replicas).tolist()
        self._ends = run_ends(self._copies, self._arrays, settings, each, self._baths)

    def ends(self, structure: int) -> RunEnds:
        """The ends of the replicas of a structure."""
        runs = self._slice(structure)
        return RunEnds(self._ends.cause[runs], self._ends.ended_ps[runs])

    @property
    def summary(self) -> str:
        """How many runs ended in which way; empty if all were sound."""
        codes, counts = np.unique(self._ends.cause[self._ends.cause != 0], return_counts=True)
        words = ", ".join(f"{n} {Cause(int(code)).word}" for code, n in zip(codes, counts, strict=True))
        return f"of {len(self._copies)} runs {words}: charged" if words else ""

    def of(self, structure: int) -> SystemRuns:
        """The sound runs of a structure after the equilibration."""
        settings = self._settings
        first = settings.n_stored - frames_after_equilibration(settings)
        return self._runs(self._slice(structure), first, settings.n_stored)

    def until_the_end(self, structure: int) -> SystemRuns | None:
        """The stored frames of the first replica, before it ended; None if it has none after the equilibration."""
        run = self._slice(structure)[:1]
        first = self._settings.n_stored - frames_after_equilibration(self._settings)
        n_frames = int(np.isfinite(self._arrays["potential"][run]).sum())
        return self._runs(run, first, n_frames) if n_frames > first else None

    def _runs(self, chosen: NDArray[np.int64], first: int, end: int) -> SystemRuns:
        """The stored frames from `first` to before `end`."""
        settings = self._settings
        trajectories = [trajectory_of(self._copies, run, self._arrays, settings, end) for run in chosen]
        kinetic, potential = (self._arrays[name][chosen, first:end] for name in ("kinetic", "potential"))
        temperatures = kinetic / (1.5 * kB * trajectories[0].n_atoms)
        steps = [frame * settings.store_every for frame in range(first, end)]
        target = float(np.mean([settings.temperature_at(step) for step in steps]))
        target = target if self._baths is None else float(self._baths[chosen[0]])
        after = [t.segment(t.times_ps[first], t.times_ps[-1]) for t in trajectories]
        return SystemRuns(after, kinetic + potential, temperatures, target)

    def densities(self, structure: int) -> Float:
        """(11,) densities [g/cm³] at the start and at each tenth of the run, or in the last stored frame before it.

        The mean over replicas; NaN from the tenth on that one of them did not reach.
        """
        each = np.full((self._settings.replicas, N_TENTHS + 1), np.nan)
        tenths = np.arange(N_TENTHS + 1) * self._settings.steps // (N_TENTHS * self._settings.store_every)
        for row, run in enumerate(self._slice(structure)):
            n_frames = int(np.isfinite(self._arrays["potential"][run]).sum())
            if n_frames:
                values = densities(trajectory_of(self._copies, run, self._arrays, self._settings, n_frames))
                each[row, tenths < n_frames] = values[tenths[tenths < n_frames]]
        return np.asarray(each.mean(axis=0))

    def _slice(self, structure: int) -> NDArray[np.int64]:
        return np.arange(structure * self._settings.replicas, (structure + 1) * self._settings.replicas)


def checked_arrays(observation: Observation, copies: Frames, settings: DynamicsSettings) -> Mapping[str, NDArray[Any]]:
    """The arrays of `tasks.dynamics.simulate.simulate`, with their shapes checked."""
    t, f = len(copies), settings.n_stored
    arrays: dict[str, NDArray[Any]] = {
        "positions": observation.array("positions", (f, len(copies.numbers), 3), np.float32),
        "cells": observation.array("cells", (f, t, 3, 3)),
        "completed_steps": observation.array("completed_steps", (t,), np.int64),
        "failure": observation.causes(t),
    }
    return arrays | {
        name: observation.array(name, (t, f)) for name in ("potential", "kinetic", "hottest", "largest_force")
    }
