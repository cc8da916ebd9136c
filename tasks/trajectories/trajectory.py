"""A trajectory as arrays, and the checks that every analyser begins with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import Bool, Float, Int

# Numbers that an analyser holds in one temporary array: 16 MiB, whatever the length of the trajectory.
CHUNK_SIZE = 2**21


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The stored frames of one run: f frames of N atoms.

    Positions may be NaN, so that `tasks.trajectories.stability` can say when; other analysers refuse such frames.

    Args:
        positions: (f, N, 3) [Å], not wrapped into the cell.
        cells: (f, 3, 3) [Å], rows are the vectors; zero where there is none.
        pbc: (3,) periodic directions.
        numbers: (N,) atomic numbers.
        times_ps: (f,) increasing [ps].
        velocities: (f, N, 3) [sqrt(eV/u), the unit of ASE], or None.
        energies: (f,) potential energies [eV], or None.

    Raises:
        ValueError: an array of another shape, a cell that is missing or not finite, times that do not increase.
    """

    positions: Float
    cells: Float
    pbc: Bool
    numbers: Int
    times_ps: Float
    velocities: Float | None = None
    energies: Float | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.positions)
        if len(shape) != 3 or shape[2] != 3 or 0 in shape:
            raise ValueError(f"positions must have shape (frames, atoms, 3) and not be empty, not {shape}")
        shapes = {"cells": (shape[0], 3, 3), "pbc": (3,), "numbers": shape[1:2], "times_ps": shape[:1]}
        shapes |= {"positions": shape, "velocities": shape, "energies": shape[:1]}
        for name, expected in shapes.items():
            self._store(name, expected)
        if not np.isfinite(self.cells).all():
            raise ValueError("cells must be finite: cut the trajectory before the first frame that is not")
        if (np.abs(self.cells).sum(axis=2) == 0)[:, self.pbc].any():
            raise ValueError("pbc: a periodic direction needs a cell vector in every frame")
        if self.numbers.min() < 1 or self.numbers.max() > 118:
            raise ValueError("numbers must be atomic numbers from 1 to 118")
        if not (np.isfinite(self.times_ps).all() and (np.diff(self.times_ps) > 0).all()):
            raise ValueError("times_ps must be finite and increase from frame to frame")

    def _store(self, name: str, expected: tuple[int, ...]) -> None:
        """Stores the array `name` read-only, in its type."""
        value = getattr(self, name)
        if value is None:
            return
        dtype = {"pbc": np.bool_, "numbers": np.int64}.get(name, np.float64)
        array: NDArray[Any] = np.asarray(value, dtype).view()
        if array.shape != expected:
            raise ValueError(f"{name} must have shape {expected}, not {array.shape}")
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def n_atoms(self) -> int:
        return len(self.numbers)

    def finite_positions(self) -> Float:
        """(f, N, 3) the positions [Å].

        Raises:
            ValueError: one is not finite.
        """
        finite = np.isfinite(self.positions).all(axis=(1, 2))
        if not finite.all():
            first = int(np.argmin(finite))
            when = f"frame {first} ({self.times_ps[first]:g} ps)"
            raise ValueError(f"positions: {when} is not finite: analyse only the frames before it")
        return self.positions

    def volumes(self) -> Float:
        """(f,) volumes of the cells [Å³].

        Raises:
            ValueError: the trajectory is not periodic in all three directions, or a cell has no volume.
        """
        volumes = np.abs(np.linalg.det(self.cells))
        if not self.pbc.all() or not (volumes > 0).all():
            raise ValueError("pbc: density, pressure and g(r) need three periodic directions and cells with a volume")
        return np.asarray(volumes)

    def atom_indices(self, name: str, atoms: Sequence[int] | Int) -> Int:
        """(n,) `atoms` as indices.

        Raises:
            ValueError: none is given, one is outside the structure or given twice; the line begins with `name`.
        """
        indices = index_array(name, atoms, self.n_atoms)
        if indices.ndim != 1:
            raise ValueError(f"{name} must be a list of atoms, not an array of shape {indices.shape}")
        if len(np.unique(indices)) < len(indices):
            raise ValueError(f"{name}: an atom is given twice: name each atom once")
        return indices

    def time_step_ps(self, fewest_frames: int) -> float:
        """The time from one frame to the next [ps].

        Raises:
            ValueError: there are fewer frames than `fewest_frames`, or they are not equally spaced.
        """
        if len(self) < fewest_frames:
            raise ValueError(f"times_ps: {len(self)} frames, at least {fewest_frames} are needed: run longer")
        steps = np.diff(self.times_ps)
        mean = float(steps.mean())
        if np.abs(steps - mean).max() > 1e-3 * mean:
            raise ValueError("times_ps: the frames are not equally spaced: analyse frames with one interval")
        return mean

    def segment(self, start_ps: float, end_ps: float) -> Trajectory:
        """The frames from `start_ps` to `end_ps`, both included.

        Raises:
            ValueError: there is no frame in between.
        """
        rounding = 1e-9 * max(abs(float(self.times_ps[-1])), 1.0)
        kept = (self.times_ps >= start_ps - rounding) & (self.times_ps <= end_ps + rounding)
        if not kept.any():
            stored = f"{self.times_ps[0]:g} to {self.times_ps[-1]:g} ps"
            raise ValueError(f"segment: no frame from {start_ps:g} to {end_ps:g} ps: the trajectory has {stored}")
        first, end = int(np.argmax(kept)), len(kept) - int(np.argmax(kept[::-1]))
        return self._frames(slice(first, end))

    def first_frames(self, n_frames: int) -> Trajectory:
        """The first `n_frames` frames, at least one."""
        return self._frames(slice(0, n_frames))

    def of_atoms(self, atoms: Sequence[int] | Int) -> Trajectory:
        """The same run of some of its atoms, in their order.

        Raises:
            ValueError: none is given, one is outside the structure or given twice.
        """
        chosen = self.atom_indices("atoms", atoms)
        velocities = None if self.velocities is None else self.velocities[:, chosen]
        return replace(
            self,
            positions=self.positions[:, chosen],
            numbers=self.numbers[chosen],
            velocities=velocities,
            energies=None,
        )

    def _frames(self, frames: slice) -> Trajectory:
        """The same trajectory with some of its frames."""
        per_frame = ("positions", "cells", "times_ps", "velocities", "energies")
        arrays = {name: getattr(self, name) for name in per_frame}
        return replace(self, **{name: array[frames] for name, array in arrays.items() if array is not None})


def index_array(name: str, atoms: Sequence[int] | Int, n_atoms: int) -> Int:
    """`atoms` as an array of int64.

    Raises:
        ValueError: none is given, or one is outside a structure of `n_atoms` atoms; the line begins with `name`.
    """
    indices = np.asarray(atoms)
    if indices.size == 0:
        raise ValueError(f"{name}: no atom is given: name at least one")
    if indices.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, not {indices.dtype}")
    outside = indices[(indices < 0) | (indices >= n_atoms)]
    if outside.size:
        raise ValueError(f"{name}: there is no atom {outside[0]}: the structure has atoms 0 to {n_atoms - 1}")
    return indices.astype(np.int64)


def frame_slices(n_frames: int, size_of_frame: int, largest: int = CHUNK_SIZE) -> Iterator[slice]:
    """Consecutive slices of frames of at most `largest` numbers each, or of one frame."""
    length = max(1, largest // max(size_of_frame, 1))
    for start in range(0, n_frames, length):
        yield slice(start, min(start + length, n_frames))
