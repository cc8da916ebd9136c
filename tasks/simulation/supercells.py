"""Supercells with a number of atoms between bounds, and random displacements of atoms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tasks.structures.frames import Float, Frames, Int

Counts = tuple[int, int, int]
SINGLE: Counts = (1, 1, 1)
# The search for the largest cell that fits tries cells at most so much more elongated than the most compact cell
# of no more atoms.
ELONGATED = 2.0


def repeats(cell: Float, pbc: Sequence[bool], n_atoms: int, min_atoms: int, max_atoms: int) -> Counts:
    """The repeats of a `cell` (3, 3) [Å] of `n_atoms` along each axis that give from `min_atoms` to `max_atoms`.

    Of all ways the one whose edges differ least, then the one of most atoms; a shorter axis is never repeated less
    often than a longer one. If no way has so many atoms, the one of most atoms within `max_atoms`, then the most
    compact. Only periodic axes are repeated.
    """
    counts, elongation = _ways(cell, pbc, max_atoms // n_atoms)
    atoms = n_atoms * counts.prod(axis=1)
    if (atoms >= min_atoms).any():
        counts, elongation, atoms = (a[atoms >= min_atoms] for a in (counts, elongation, atoms))
        best = np.lexsort((-atoms, elongation))[0]
    else:
        best = np.lexsort((elongation, -atoms))[0]
    return _as_counts(counts[best])


def smaller_repeats(cell: Float, pbc: Sequence[bool], counts: Counts) -> list[Counts]:
    """All compact ways to repeat `cell` (3, 3) to fewer atoms than `counts` gives, from small to large."""
    ways, elongation = _ways(cell, pbc, int(np.prod(counts)) - 1)
    cells = ways.prod(axis=1)
    order = np.lexsort((elongation, cells))
    ways, elongation, cells = ways[order], elongation[order], cells[order]
    compact = np.concatenate([[True], np.diff(cells) > 0]) & (elongation <= ELONGATED * _least_so_far(elongation))
    return [_as_counts(way) for way in ways[compact & (cells < np.prod(counts))]]


def largest_that_fits(sizes: Sequence[Counts], fits: Callable[[Counts], bool]) -> Counts | None:
    """The last of `sizes`, which ascend, that fits, by bisection; None if the first does not fit."""
    fitting, too_large = -1, len(sizes)
    while too_large - fitting > 1:
        middle = (fitting + too_large) // 2
        if fits(sizes[middle]):
            fitting = middle
        else:
            too_large = middle
    return sizes[fitting] if fitting >= 0 else None


def part_of(counts: Counts) -> Counts:
    """The repeats of a part; `counts` is a whole multiple of them.

    Every even count is halved; if none is even, the largest is divided by its smallest divisor. The only part of
    (1, 1, 1) is itself.
    """
    if any(count % 2 == 0 for count in counts):
        return _as_counts([count // 2 if count % 2 == 0 else count for count in counts])
    part = list(counts)
    axis = int(np.argmax(part))
    part[axis] //= next((d for d in range(3, part[axis] + 1) if part[axis] % d == 0), 1)
    return _as_counts(part)


def replicated(frames: Frames, index: int, counts: Counts) -> Frames:
    """Structure `index` of `frames` alone, repeated `counts` times along its axes."""
    atoms = frames.atoms(index)
    larger = atoms.repeat(counts)
    larger.info |= atoms.info
    return Frames.from_atoms([larger])


def displacements(n_atoms: int, stddev: float, rng: np.random.Generator) -> Float:
    """(n_atoms, 3) normal deviates of `stddev` [Å]."""
    return np.asarray(rng.normal(0.0, stddev, (n_atoms, 3)))


def rattled(frames: Frames, stddev: float, rng: np.random.Generator) -> Frames:
    """`frames` with every coordinate moved by a normal deviate of `stddev` [Å]."""
    return frames.moved(frames.positions + displacements(len(frames.numbers), stddev, rng))


def spread_over(per_atom: Float, part: Counts, counts: Counts) -> Float:
    """(N, 3) the rows `per_atom` (m, 3) of a `part` for each of its images in the whole of `counts`."""
    folds = [c // p for c, p in zip(counts, part, strict=True)]
    return np.tile(per_atom.reshape(*part, -1, 3), (*folds, 1, 1)).reshape(-1, 3)


def _ways(cell: Float, pbc: Sequence[bool], max_cells: int) -> tuple[Int, Float]:
    """(k, 3) counts of at most `max_cells` cells, at least one row, and (k,) the longest edge over the shortest."""
    lengths = np.linalg.norm(cell, axis=1)
    axes = sorted((axis for axis in range(3) if pbc[axis]), key=lambda axis: lengths[axis])
    counts = np.ones((1, 3), np.int64)
    if not axes:
        return counts, np.ones(1)
    descending = _products(max(1, max_cells), len(axes))
    counts = np.ones((len(descending), 3), np.int64)
    counts[:, axes] = descending
    edges = counts[:, axes] * lengths[axes]
    return counts, np.round(edges.max(axis=1) / edges.min(axis=1), 6)


@lru_cache(maxsize=256)
def _products(most: int, n_axes: int) -> Int:
    """(k, n_axes) integers that descend in each row and whose product is at most `most`."""
    rows = [
        (a, b, c)
        for c in range(1, most + 1 if n_axes > 2 else 2)
        for b in range(c, most // c + 1 if n_axes > 1 else 2)
        for a in range(b, most // (b * c) + 1)
    ]
    return np.array(rows, np.int64)[:, :n_axes]


def _least_so_far(values: Float) -> Float:
    return np.asarray(np.minimum.accumulate(values))


def _as_counts(row: Sequence[int] | Int) -> Counts:
    return int(row[0]), int(row[1]), int(row[2])
