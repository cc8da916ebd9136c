"""Copies of structures in a data set: which ones there are, and labels of one structure that contradict each other.

A copy has the atoms of another structure in the same order and places, its cell and its state. Copies are no
independent samples: if each counts as one, intervals are too narrow, by √3 if each structure is there three times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.structures.frames import MOMENTS, Bool, Float, Frames, Int

SAME_WITHIN = 1e-5  # Å: of each coordinate and component of the cell, as files with five digits have them
# Structures are sorted by each of some projections of their coordinates, and compared with so many that follow.
PROJECTIONS, LOOK_AHEAD = 3, 2
SEED = 9
_ODD = np.uint64(0x9E3779B97F4A7C15)


class Copies(NamedTuple):
    """The copies among n structures.

    Args:
        first: (n,) the first structure that each is a copy of: itself, if there is none before it.
    """

    first: Int

    @property
    def n_different(self) -> int:
        """The number of different structures."""
        return len(np.unique(self.first))

    @property
    def later(self) -> Int:
        """The structures that are copies of an earlier one."""
        return np.flatnonzero(self.first != np.arange(len(self.first)))

    @property
    def most(self) -> tuple[int, int]:
        """The structure with most copies, and how many times it is there."""
        structures, counts = np.unique(self.first, return_counts=True)
        k = int(np.argmax(counts))
        return int(structures[k]), int(counts[k])


def find_copies(frames: Frames, conditions: Mapping[str, NDArray[Any]] | None = None) -> Copies:
    """The copies among `frames`.

    Args:
        conditions: one row a structure or an atom; structures with others, or other moments, are no copies.
    """
    n = len(frames)
    projections, reach = _projections(frames)
    moments = {} if frames.initial_magmoms is None else {MOMENTS: frames.initial_magmoms}
    keys = _exact_keys(frames, {**(conditions or {}), **moments})
    first = np.arange(n, dtype=np.int64)
    for projection in projections.T:
        order = np.lexsort((projection, keys))
        for ahead in range(1, min(LOOK_AHEAD, n - 1) + 1):
            one, other = order[:-ahead], order[ahead:]
            near = (keys[one] == keys[other]) & (np.abs(projection[one] - projection[other]) <= reach[one])
            one, other = one[near], other[near]
            near = (np.abs(projections[one] - projections[other]) <= reach[one][:, None]).all(axis=1)
            near &= first[one] != first[other]
            one, other = one[near], other[near]
            same = _are_same(frames, one, other)
            _join(first, one[same], other[same])
    return Copies(first)


def _projections(frames: Frames) -> tuple[Float, Float]:
    """(n, PROJECTIONS) random projections of the coordinates [Å], and (n,) how far those of copies may be apart."""
    rng = np.random.default_rng(SEED)
    weights = rng.normal(size=(int(frames.n_atoms.max()), 3, PROJECTIONS))
    cell_weights = rng.normal(size=(9, PROJECTIONS))
    cells = _periodic_cells(frames).reshape(len(frames), 9)
    values = cells @ cell_weights
    for start, stop in frames.batches(500_000):
        part = frames.between(start, stop)
        weighted = part.positions[:, None] @ weights[_places(part)]
        values[start:stop] += np.add.reduceat(weighted[:, 0], part.offsets[:-1])
    sums = np.cumsum(np.abs(weights).max(axis=2).sum(axis=1)) + np.abs(cell_weights).sum()
    return values, SAME_WITHIN * sums[frames.n_atoms - 1]


def _places(frames: Frames) -> Int:
    """(N,) the number of each atom in its structure, from 0."""
    return np.arange(len(frames.numbers)) - np.repeat(frames.offsets[:-1], frames.n_atoms)


def _periodic_cells(frames: Frames) -> Float:
    """(n, 3, 3) the cells, without vectors along which a structure is not periodic."""
    return np.where(frames.pbc[:, :, None], frames.cell, 0.0)


def _exact_keys(frames: Frames, conditions: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
    """(n,) numbers that are equal where elements, periodic directions, state and conditions are."""
    with np.errstate(over="ignore"):
        places = (_places(frames).astype(np.uint64) + np.uint64(1)) * _ODD
        keys = np.add.reduceat(
            frames.numbers.astype(np.uint64) * (places ^ (places >> np.uint64(29))), frames.offsets[:-1]
        )
        for column in (frames.n_atoms, frames.charge, frames.multiplicity, *frames.pbc.T.astype(np.int64)):
            keys = (keys ^ (keys >> np.uint64(31))) * _ODD + column.astype(np.uint64)
    if conditions:
        rows = [_condition_row(frames, conditions, i) for i in range(len(frames))]
        known = {row: np.uint64(k) for k, row in enumerate(dict.fromkeys(rows))}
        with np.errstate(over="ignore"):
            keys = keys * _ODD + np.array([known[row] for row in rows])
    return keys


def _condition_row(frames: Frames, conditions: Mapping[str, NDArray[Any]], index: int) -> bytes:
    parts = []
    for name in sorted(conditions):
        array = conditions[name]
        rows = array[frames.atom_slice(index)] if len(array) == len(frames.numbers) else array[index]
        parts.append(np.ascontiguousarray(rows).tobytes())
    return b"".join(parts)


def _are_same(frames: Frames, one: Int, other: Int) -> Bool:
    """(k,) whether the structures at `one` and `other` (k,), which have equal keys, are the same."""
    if not one.size:
        return np.zeros(0, np.bool_)
    fields = [getattr(frames, name) for name in ("n_atoms", "charge", "multiplicity")]
    same = np.logical_and.reduce([field[one] == field[other] for field in fields])
    same &= (frames.pbc[one] == frames.pbc[other]).all(axis=1)
    cells = _periodic_cells(frames)
    same &= (np.abs(cells[one] - cells[other]) <= SAME_WITHIN).all(axis=(1, 2))
    chosen = np.flatnonzero(same)
    if chosen.size:
        here, there = frames.atom_indices(one[chosen]), frames.atom_indices(other[chosen])
        atoms = (np.abs(frames.positions[here] - frames.positions[there]) <= SAME_WITHIN).all(axis=1)
        atoms &= frames.numbers[here] == frames.numbers[there]
        starts = np.concatenate([[0], np.cumsum(frames.n_atoms[one[chosen]])[:-1]])
        same[chosen] = np.logical_and.reduceat(atoms, starts)
    return np.asarray(same)


def _join(first: Int, one: Int, other: Int) -> None:
    """Joins the copies of each pair; `first` then holds the smallest index of each set."""
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        a, b = _root(first, a), _root(first, b)
        first[max(a, b)] = min(a, b)
    for i in np.flatnonzero(first != np.arange(len(first))).tolist():
        first[i] = _root(first, i)


def _root(first: Int, index: int) -> int:
    while first[index] != index:
        index = int(first[index])
    return index
