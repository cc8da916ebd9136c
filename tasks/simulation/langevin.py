"""Langevin dynamics over many structures in lock-step, at constant volume or with a barostat.

A step is BAOAB: half a kick, half a drift, friction and noise for the whole step, half a drift, the forces, half a
kick (B. Leimkuhler and C. Matthews, Appl. Math. Res. Express 2013, 34, doi:10.1093/amrx/abs010). For a harmonic
oscillator the mean square of the position is kT/k at every time step.

The noise of a trajectory depends on its seed and on the block of steps alone, not on the other trajectories, and a run
resumes at the beginning of any block with the same noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ase.units import fs, kB
from numpy.typing import NDArray

from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.simulation.barostat import MonteCarloBarostat
from tasks.simulation.velocity_verlet import LockstepRun, RunBounds
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause


class LangevinRun(LockstepRun):
    """n trajectories in contact with a heat bath.

    Args:
        temperature_k: of the bath, one or (n,) by trajectory; the attribute may change between steps.
        friction_per_ps: 0 for none: then a step is one of velocity Verlet, but for rounding.
        seeds: (n,) of the noise of each trajectory.

    Attributes:
        cells: (n, 3, 3) [Å].
    """

    def __init__(
        self,
        frames: Frames,
        momenta: Float,
        timestep_fs: float,
        model: BatchCalculator,
        bounds: RunBounds,
        *,
        temperature_k: float | Float,
        friction_per_ps: float,
        seeds: Sequence[int],
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        if len(seeds) != len(frames):
            raise ValueError(f"seeds: {len(seeds)} for {len(frames)} trajectories: give one for each")
        self.temperature_k = temperature_k
        self._friction = friction_per_ps / (1000 * fs)
        self._seeds = tuple(seeds)
        self.begin_block(0)
        current = frames if state is None else frames.moved(frames.positions, state["cells"])
        super().__init__(current, momenta, timestep_fs, model, bounds, state)

    @property
    def cells(self) -> Float:
        return self._frames.cell

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {**super().state, "cells": self.cells}

    def begin_block(self, block: int) -> None:
        """Draws from here on what this block of steps draws. Called before the first step of each block.

        No stream is that of a seed alone, which momenta are drawn from: numpy takes `seed` for `(seed, 0, 0)`.
        """
        self._noise = [np.random.default_rng((seed, block, 1)) for seed in self._seeds]
        self._trials = [np.random.default_rng((seed, block, 2)) for seed in self._seeds]

    def _drift(self, positions: Float, momenta: Float, masses: Float) -> tuple[Float, Float]:
        kept = np.exp(-self._friction * self._dt)
        kick = np.sqrt((1 - kept**2) * kB * self._bath(self._batch.frame_index)) * np.sqrt(masses)
        half = 0.5 * self._dt / masses
        positions = positions + half * momenta
        momenta = kept * momenta + kick * self._drawn()
        return positions + half * momenta, momenta

    def _bath(self, of: NDArray[np.int64] | None = None) -> float | Float:
        """The temperature of the bath; by trajectory (m, 1) of the living ones `of`, or (k,) of all these."""
        if isinstance(self.temperature_k, float):
            return self.temperature_k
        living = self.temperature_k[self.alive]
        return living if of is None else living[of][:, None]

    def _drawn(self) -> Float:
        """(M, 3) standard normal numbers for the atoms of the living."""
        drawn = [self._noise[i].standard_normal((n, 3)) for i, n in zip(self.alive, self._batch.n_atoms, strict=True)]
        return drawn[0] if len(drawn) == 1 else np.concatenate(drawn)

    def try_volumes(self, barostat: MonteCarloBarostat) -> None:
        """Tries one change of the volume of each trajectory that is alive.

        A trajectory of which the model cannot answer the changed structure ends with that cause: if the change were
        only refused, a model could keep its first volume by failing.
        """
        alive, atoms = self.alive, self._living_atoms
        if not alive.size:
            return
        trial = barostat.propose(self.cells, self.positions, [self._trials[i] for i in alive], alive)
        moved = self._batch.moved(trial.positions[atoms], trial.cells[alive])
        answer = compute_in_batches(self._model, moved, ("energy", "forces"))
        cause = np.where(np.isfinite(answer.energy), np.int8(0), np.int8(Cause.NON_FINITE))
        cause = np.where(answer.failure != 0, answer.failure, cause)
        rise = np.where(cause == 0, answer.energy - self.potential[alive], np.inf)
        accepted = barostat.decide(trial, rise, self._bath(), [self._trials[i] for i in alive], alive)
        chosen = accepted[self._batch.frame_index]
        self.positions[atoms[chosen]] = moved.positions[chosen]
        if answer.forces is not None:
            self.forces[atoms[chosen]] = answer.forces[chosen]
        self.potential[alive[accepted]] = answer.energy[accepted]
        cells = self.cells.copy()
        cells[alive[accepted]] = trial.cells[alive[accepted]]
        self._frames = self._frames.moved(self._frames.positions, cells)
        self._select(alive)
        self.drop(cause)
