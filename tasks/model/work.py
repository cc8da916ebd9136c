"""The work of a model in a task: which structures are sent to it, and how often. Estimates of time follow from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tasks.structures.frames import Float, Frames


@dataclass(frozen=True, eq=False)
class Work:
    """k structures that are sent to a model.

    Args:
        n_atoms: (k,) their numbers of atoms.
        density: (k,) atoms per Å³ of structures with three periodic directions, 0 of others.
        times: (k,) how often each is sent; estimates need not be whole.
    """

    n_atoms: Float
    density: Float
    times: Float

    @classmethod
    def of(cls, frames: Frames, times: ArrayLike = 1.0) -> Work:
        """The work of sending each of n `frames` that many times; `times` is one number or (n,)."""
        every = np.broadcast_to(np.asarray(times, np.float64), len(frames))
        n_atoms = frames.n_atoms.astype(np.float64)
        return cls(n_atoms, density_of(frames), every)

    @classmethod
    def none(cls) -> Work:
        """No work."""
        return cls(np.zeros(0), np.zeros(0), np.zeros(0))

    def __add__(self, other: Work) -> Work:
        return Work(
            np.concatenate([self.n_atoms, other.n_atoms]),
            np.concatenate([self.density, other.density]),
            np.concatenate([self.times, other.times]),
        )

    @property
    def frames(self) -> float:
        """The number of structures; one that is sent twice counts twice."""
        return float(self.times.sum())

    @property
    def atoms(self) -> float:
        """The atoms of these structures."""
        return float(self.times @ self.n_atoms)


def density_of(frames: Frames) -> Float:
    """(n,) atoms per Å³ of structures with three periodic directions, 0 of others."""
    return np.where(frames.periodic, frames.n_atoms / frames.volumes, 0.0)
