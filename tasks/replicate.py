"""Larger cells from small ones, and the same cell with its atoms moved a little."""

from __future__ import annotations

import numpy as np

from tasks.frames import Float, Frames


def repeats(cell: Float, pbc: tuple[bool, ...], n_atoms: int, max_atoms: int) -> tuple[int, int, int]:
    """How often to repeat a `cell` (3, 3) [Å] of `n_atoms` along each axis to stay within `max_atoms`.

    The periodic axis that is shortest after replication grows first, until no axis can grow.
    """
    lengths = np.linalg.norm(cell, axis=1)
    counts = [1, 1, 1]
    axes = [axis for axis in range(3) if pbc[axis]]
    while axes:
        axis = min(axes, key=lambda i: (round(counts[i] * lengths[i], 6), i))
        atoms = n_atoms * int(np.prod(counts)) // counts[axis] * (counts[axis] + 1)
        if atoms > max_atoms:
            axes.remove(axis)
        else:
            counts[axis] += 1
    return counts[0], counts[1], counts[2]


def replicated(frames: Frames, index: int, max_atoms: int) -> Frames:
    """Structure `index` of `frames` alone, replicated to at most `max_atoms` atoms."""
    pbc = tuple(bool(p) for p in frames.pbc[index])
    atoms = frames.atoms(index)
    larger = atoms.repeat(repeats(frames.cell[index], pbc, len(atoms), max_atoms))
    larger.info |= atoms.info
    return Frames.from_atoms([larger])


def rattled(frames: Frames, stddev: float, rng: np.random.Generator) -> Frames:
    """`frames` with every coordinate moved by a normal deviate of `stddev` [Å]."""
    return frames.moved(frames.positions + rng.normal(0.0, stddev, frames.positions.shape))
