"""Velocity Verlet over many structures in lock-step: one batch a step for all that are still alive.

The arithmetic is that of ASE's `VelocityVerlet`, operation by operation, so that each trajectory is the one that ASE
would have made of the structure alone. A structure that fails is dropped, with its cause, and the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from ase.units import fs, kB
from numpy.typing import NDArray

from tasks.calculator import BatchCalculator, compute_in_batches
from tasks.frames import Float, Frames, Int
from tasks.predictions import Cause, Predictions
from tasks.velocities import kinetic_energies, masses_of


@dataclass(frozen=True)
class Bounds:
    """Beyond these a trajectory has exploded.

    Args:
        energy_ev_per_atom: |total energy − its value at the start| [eV/atom].
        temperature_k: of the kinetic energy [K].
    """

    energy_ev_per_atom: float
    temperature_k: float


class LockStep:
    """n trajectories with N atoms in all.

    Args:
        momenta: (N, 3) at the start [ASE units, u·Å / (Å·sqrt(u/eV))].

    Attributes:
        positions, momenta, forces: (N, 3) [Å; ASE units; eV/Å] at each structure's last good step.
        potential, kinetic: (n,) [eV] there; NaN where not even the first evaluation succeeded.
        completed: (n,) int64 steps done.
        failure: (n,) int8 codes of `Cause`; 0 while alive.
        alive: the structures that go on.
    """

    def __init__(
        self, frames: Frames, momenta: Float, timestep_fs: float, model: BatchCalculator, bounds: Bounds
    ) -> None:
        n = len(frames)
        self._frames, self._model, self._bounds, self._dt = frames, model, bounds, timestep_fs * fs
        self._masses = masses_of(frames)[:, None]
        self.positions, self.momenta = frames.positions.copy(), momenta.copy()
        self.forces = np.full_like(self.positions, np.nan)
        self.potential, self.kinetic, self._start = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
        self.completed, self.failure = np.zeros(n, np.int64), np.zeros(n, np.int8)
        self._select(np.arange(n, dtype=np.int64))
        if "forces" in model.properties:
            self._evaluate(self.positions, self.momenta, 0.0)
        else:
            self.stop(Cause.UNSUPPORTED)
        self._start = self.potential + self.kinetic

    def step(self) -> None:
        """One time step of all that are alive."""
        atoms = self._atoms
        momenta = self.momenta[atoms] + 0.5 * self._dt * self.forces[atoms]
        positions = self.positions[atoms] + self._dt * momenta / self._masses[atoms]
        self.completed[self._evaluate(positions, momenta, 0.5 * self._dt)] += 1

    def stop(self, cause: Cause) -> None:
        """Ends all that are alive where they are."""
        self.failure[self.alive] = cause
        self._select(self.alive[:0])

    def _select(self, alive: Int) -> None:
        self.alive: Int = alive
        self._atoms = np.flatnonzero(np.isin(self._frames.frame_index, alive))
        self._batch = self._frames.take(alive) if len(alive) < len(self._frames) else self._frames

    def _evaluate(self, positions: Float, momenta: Float, kick: float) -> Int:
        """Asks for the living at new `positions`, adds `kick` × forces to `momenta`; returns who came through."""
        batch = self._batch
        answer = compute_in_batches(self._model, batch.moved(positions), ("energy", "forces"))
        forces = np.full_like(positions, np.nan) if answer.forces is None else answer.forces
        momenta = momenta + kick * forces
        kinetic = kinetic_energies(momenta, self._masses[self._atoms, 0], batch.offsets[:-1])
        cause = self._causes(answer, kinetic)
        good = cause == 0
        good_atoms = good[batch.frame_index]
        reached: Int = self.alive[good]
        atoms = self._atoms[good_atoms]
        self.potential[reached], self.kinetic[reached] = answer.energy[good], kinetic[good]
        self.positions[atoms], self.momenta[atoms] = positions[good_atoms], momenta[good_atoms]
        self.forces[atoms] = forces[good_atoms]
        if len(reached) < len(self.alive):
            self.failure[self.alive] = cause
            self._select(reached)
        return reached

    def _causes(self, answer: Predictions, kinetic: Float) -> NDArray[np.int8]:
        """Codes for the living: the model's own failures, and EXPLODED beyond the bounds."""
        n_atoms = self._batch.n_atoms
        start = self._start[self.alive]
        drift = np.abs(answer.energy + kinetic - start) / n_atoms
        steady = (drift <= self._bounds.energy_ev_per_atom) | np.isnan(start)  # no start at the first evaluation
        cool = kinetic / (1.5 * kB * n_atoms) <= self._bounds.temperature_k
        exploded = (answer.failure == 0) & ~(steady & cool)
        return np.where(exploded, np.int8(Cause.EXPLODED), answer.failure)
