"""Velocity Verlet over many structures in lock-step: one batch a step for all trajectories that are alive.

The arithmetic is that of ASE's `VelocityVerlet`, operation by operation, so that each trajectory is the one that ASE
gives for the structure alone. A structure that fails is dropped, with its cause, and the others continue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from ase.units import fs, kB
from numpy.typing import NDArray

from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.simulation.velocities import kinetic_energies, masses_of
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Cause, Predictions


@dataclass(frozen=True)
class RunBounds:
    """The bounds beyond which a trajectory has exploded.

    Args:
        energy_ev_per_atom: |total energy − its value at the start| [eV/atom].
        temperature_k: of the kinetic energy [K].
    """

    energy_ev_per_atom: float
    temperature_k: float


# The attributes that define the state of a run, besides the model.
STATE = ("positions", "momenta", "forces", "potential", "kinetic", "start", "completed", "failure")


class LockstepRun:
    """n trajectories with N atoms in all.

    Args:
        momenta: (N, 3) at the start [ASE units, u·Å / (Å·sqrt(u/eV))].
        state: of an interrupted run, which this one continues. If the model answers the same structures with the same
            bits, the trajectories have the same bits as without interruption.

    Attributes:
        positions, momenta, forces: (N, 3) [Å; ASE units; eV/Å] at the last good step of each structure.
        potential, kinetic: (n,) [eV] at that step; NaN if the first evaluation failed.
        start: (n,) total energy [eV] at the first evaluation.
        completed: (n,) int64 steps done.
        failure: (n,) int8 codes of `Cause`; 0 while alive.
        alive: (k,) indices of the structures that are still alive.
    """

    def __init__(
        self,
        frames: Frames,
        momenta: Float,
        timestep_fs: float,
        model: BatchCalculator,
        bounds: RunBounds,
        state: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        n = len(frames)
        self._frames, self._model, self._bounds, self._dt = frames, model, bounds, timestep_fs * fs
        self._masses = np.repeat(masses_of(frames), 3).reshape(-1, 3)  # (N, 1) would be broadcast, slowly
        self.positions, self.momenta = frames.positions.copy(), momenta.copy()
        self.forces = np.full_like(self.positions, np.nan)
        self.potential, self.kinetic, self.start = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
        self.completed, self.failure = np.zeros(n, np.int64), np.zeros(n, np.int8)
        if state is None:
            self._begin()
        else:
            for name in STATE:
                setattr(self, name, np.array(state[name]))
            self._select(np.flatnonzero(self.failure == 0))

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The arrays that another run needs to continue this one."""
        return {name: getattr(self, name) for name in STATE}

    def _begin(self) -> None:
        self._select(np.arange(len(self._frames), dtype=np.int64))
        if "forces" in self._model.properties:
            self._evaluate(self.positions, self.momenta, 0.0)
        else:
            self.stop(Cause.UNSUPPORTED)
        self.start = self.potential + self.kinetic

    def step(self) -> None:
        """One time step of all trajectories that are alive."""
        atoms = self._atoms
        momenta = self.momenta[atoms] + 0.5 * self._dt * self.forces[atoms]
        positions, momenta = self._drift(self.positions[atoms], momenta, self._living_masses)
        self.completed[self._evaluate(positions, momenta, 0.5 * self._dt)] += 1

    def _drift(self, positions: Float, momenta: Float, masses: Float) -> tuple[Float, Float]:
        """Positions and momenta (M, 3) after a time step without forces; masses (M, 3) [u]."""
        return positions + self._dt * momenta / masses, momenta

    def refresh(self) -> None:
        """Makes the model drop what it keeps from step to step, as if it were started again here.

        A calculator that gets one structure again and again, with moved atoms, keeps its neighbour list until an atom
        has moved far. So the order of its sums, and with it the last bit, depends on when it was started. It makes a
        new list after any other structure, and the last structure of a step goes before the first one of the next. If
        the two are the same, the model is asked about another one in between: the same without one atom.
        """
        if self.alive.size and _identity(self._frames, self.alive[0]) == _identity(self._frames, self.alive[-1]):
            atoms = self._frames.atoms(int(self.alive[0]))
            if len(atoms) > 1:
                self._model.compute(Frames.from_atoms([atoms[:-1]]), ("energy", "forces"))

    def stop(self, cause: Cause) -> None:
        """Ends all trajectories that are alive, with that cause."""
        self.failure[self.alive] = cause
        self._select(self.alive[:0])

    def _select(self, alive: Int) -> None:
        self.alive: Int = alive
        if len(alive) < len(self._frames):
            self._atoms: Int | slice = np.flatnonzero(np.isin(self._frames.frame_index, alive))
            self._batch = self._frames.take(alive)
        else:
            self._atoms, self._batch = slice(None), self._frames  # arrays of all atoms need not be copied
        self._living_masses = self._masses[self._atoms]

    def _evaluate(self, positions: Float, momenta: Float, kick: float) -> Int:
        """Evaluates the living at new `positions` and adds `kick` × forces to `momenta`.

        Returns:
            (k,) indices of those that survive.
        """
        batch = self._batch
        answer = compute_in_batches(self._model, batch.moved(positions), ("energy", "forces"))
        forces = np.full_like(positions, np.nan) if answer.forces is None else answer.forces
        momenta = momenta + kick * forces
        kinetic = kinetic_energies(momenta, self._living_masses[:, 0], batch.offsets[:-1])
        cause = self._causes(answer, kinetic)
        if not cause.any():
            self._keep(self.alive, self._atoms, answer.energy, kinetic, positions, momenta, forces)
            return self.alive
        survives = cause == 0
        kept = survives[batch.frame_index]
        survivors: Int = self.alive[survives]
        atoms = self._living_atoms[kept]
        new = (answer.energy[survives], kinetic[survives], positions[kept], momenta[kept], forces[kept])
        self._keep(survivors, atoms, *new)
        self.drop(cause)
        return survivors

    @property
    def _living_atoms(self) -> Int:
        """(M,) the atoms of the living."""
        return np.arange(len(self.positions))[self._atoms]

    def _keep(
        self,
        structures: Int,
        atoms: Int | slice,
        potential: Float,
        kinetic: Float,
        positions: Float,
        momenta: Float,
        forces: Float,
    ) -> None:
        self.potential[structures], self.kinetic[structures] = potential, kinetic
        self.positions[atoms], self.momenta[atoms], self.forces[atoms] = positions, momenta, forces

    def drop(self, cause: NDArray[np.int8]) -> None:
        """Ends those of the living (k,) that have a cause."""
        if cause.any():
            self.failure[self.alive] = cause
            self._select(self.alive[cause == 0])

    def _causes(self, answer: Predictions, kinetic: Float) -> NDArray[np.int8]:
        """(k,) codes of the living: the failures of the model, NON_FINITE, and EXPLODED beyond the bounds."""
        n_atoms, total = self._batch.n_atoms, answer.energy + kinetic
        start = self.start[self.alive]
        steady = (np.abs(total - start) / n_atoms <= self._bounds.energy_ev_per_atom) | np.isnan(start)  # the first
        cool = kinetic / (1.5 * kB * n_atoms) <= self._bounds.temperature_k
        cause = np.where(steady & cool, np.int8(0), np.int8(Cause.EXPLODED))
        cause[~np.isfinite(total)] = Cause.NON_FINITE
        return np.where(answer.failure != 0, answer.failure, cause)


def _identity(frames: Frames, index: int) -> tuple[bytes, ...]:
    """The arrays of structure `index` that no step changes."""
    constant = (frames.numbers[frames.atom_slice(index)], frames.cell[index], frames.pbc[index])
    state = (frames.charge[index], frames.multiplicity[index])
    return tuple(part.tobytes() for part in (*constant, *state))
