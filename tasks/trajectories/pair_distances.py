"""Distances between all pairs of atoms, of many frames of one molecule at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float, Frames, Int
from tasks.trajectories.trajectory import frame_slices


class MoleculeFrames(NamedTuple):
    """All frames of one molecule with its atoms in one order.

    Args:
        indices: (f,) of the frames, in their order.
        numbers: (n,) atomic numbers.
        positions: (f, n, 3) [Å].
    """

    indices: Int
    numbers: Int
    positions: Float


def molecules_of(frames: Frames, chosen: Sequence[int] | Int) -> list[MoleculeFrames]:
    """The frames `chosen` by molecule: those of one have the same atomic numbers in the same order."""
    groups: dict[bytes, list[int]] = {}
    numbers, offsets = frames.numbers, frames.offsets.tolist()
    for index in np.asarray(chosen, np.int64).tolist():
        groups.setdefault(numbers[offsets[index] : offsets[index + 1]].tobytes(), []).append(index)
    molecules = []
    for members in groups.values():
        indices = np.array(members, np.int64)
        positions = frames.positions[frames.atom_indices(indices)].reshape(len(indices), -1, 3)
        molecules.append(MoleculeFrames(indices, numbers[frames.atom_slice(members[0])], positions))
    return molecules


def pair_distances(positions: Float) -> Float:
    """(f, p) distances [Å] of the p = n(n−1)/2 pairs of atoms of `positions` (f, n, 3), as `numpy.triu_indices`."""
    first, second = np.triu_indices(positions.shape[1], 1)
    distances = np.empty((len(positions), len(first)))
    for chosen in frame_slices(len(positions), 3 * max(len(first), 1)):
        axes = np.ascontiguousarray(positions[chosen].transpose(2, 0, 1))
        distances[chosen] = np.sqrt(sum((axis[:, first] - axis[:, second]) ** 2 for axis in axes))
    return distances
