"""The structures of a crystal at any volume, from those that a data set has at some volumes.

Between two neighbours, cell and scaled positions are interpolated linearly, and the cell is scaled to the volume;
beyond the outermost ones, these are scaled. So a structure that a data set has at several volumes without relaxing it
is scaled alike in all directions, and one that was relaxed at each volume changes its shape as it did there.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tasks.datasets.dataset import Structures
from tasks.structures.frames import Float, Frames, Int

# Two cells, as shares of their size, and two sets of scaled positions are the same within this.
SAME_SHAPE = 1e-4


def curve_numbers(structures: Structures) -> Int:
    """(n,) the number of the curve of each structure, from 0 on, in the order of the first ones.

    It is the condition `curve`, if the data set has it. Else one curve are structures in a row with the same atoms and
    with increasing, or decreasing, volumes; if the first two have one shape, all have it.
    """
    if "curve" in structures.conditions:
        first, inverse = np.unique(structures.conditions["curve"], return_index=True, return_inverse=True)[1:]
        return np.asarray(np.argsort(np.argsort(first))[inverse], np.int64)
    frames = structures.frames
    number = np.zeros(len(frames), np.int64)
    start = 0
    for i in range(1, len(frames)):
        if not _continues(frames, start, i):
            start = i
        number[i] = number[i - 1] + (start == i)
    return number


def _continues(frames: Frames, start: int, i: int) -> bool:
    """Whether structure i belongs to the curve that begins with `start` and has all structures between them."""
    first, this = (frames.numbers[frames.atom_slice(j)] for j in (start, i))
    volumes = frames.volumes  # NaN without three periodic directions
    step = np.sign(volumes[start + 1] - volumes[start])
    if not (np.array_equal(first, this) and step != 0 and np.sign(volumes[i] - volumes[i - 1]) == step):
        return False
    return i == start + 1 or not _same_shape(frames, start, start + 1) or _same_shape(frames, start, i)


def _same_shape(frames: Frames, a: int, b: int) -> bool:
    one, other = (frames.cell[i] / np.cbrt(frames.volumes[i]) for i in (a, b))
    if not (np.abs(one - other) < SAME_SHAPE).all():
        return False
    apart = _scaled_positions(frames, a) - _scaled_positions(frames, b)
    return bool((np.abs(apart - np.round(apart)) < SAME_SHAPE).all())


def _scaled_positions(frames: Frames, index: int) -> Float:
    return np.asarray(frames.positions[frames.atom_slice(index)] @ np.linalg.inv(frames.cell[index]))


class CurveStructures:
    """One crystal at the volumes of a data set.

    Args:
        frames: k of the same atoms, periodic in all directions, in any order.

    Attributes:
        volumes: (k,) [Å³] of the cells, in ascending order.
        middle: [Å³] between the smallest and the largest.
    """

    def __init__(self, frames: Frames) -> None:
        order = np.argsort(frames.volumes, kind="stable")
        self._frames = frames.take(order)
        self.volumes = self._frames.volumes
        self.middle = float(self.volumes[0] + self.volumes[-1]) / 2
        scaled = [_scaled_positions(self._frames, 0)]
        for i in range(1, len(frames)):  # each atom's image nearest to that in the structure before
            here = _scaled_positions(self._frames, i)
            scaled.append(here - np.round(here - scaled[-1]))
        self._scaled = np.array(scaled)

    def at(self, volumes: Float) -> Frames:
        """The crystal at the m `volumes` [Å³] of its cell."""
        i = np.clip(np.searchsorted(self.volumes, volumes, side="right") - 1, 0, max(len(self.volumes) - 2, 0))
        j = np.minimum(i + 1, len(self.volumes) - 1)
        width = self.volumes[j] - self.volumes[i]
        share = np.clip((volumes - self.volumes[i]) / np.where(width > 0, width, 1.0), 0.0, 1.0)[:, None, None]
        cell = (1 - share) * self._frames.cell[i] + share * self._frames.cell[j]
        scaled = (1 - share) * self._scaled[i] + share * self._scaled[j]
        cell *= np.cbrt(volumes / np.abs(np.linalg.det(cell)))[:, None, None]
        positions = np.einsum("mai,mij->maj", scaled, cell)
        return self._frames.take(i).moved(positions.reshape(-1, 3), cell)


def curve_rows(numbers: Int, least: int) -> list[Int]:
    """The rows of each curve that has at least so many structures."""
    order = np.argsort(numbers, kind="stable")
    cuts = np.flatnonzero(np.diff(numbers[order])) + 1
    bounds = [0, *cuts.tolist(), len(numbers)]
    return [order[a:b] for a, b in pairwise(bounds) if b - a >= least]
