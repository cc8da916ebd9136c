"""Public (φ, ψ) of runs: of public data sets alone, rounded to 1°, beside the reference points in cells.

As trajectories, they tell of the structure that was run. So nothing of a hidden data set is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.public_trajectories import until
from judge.ranking.leaderboard import TaskLine
from tasks.structures.frames import Float
from tasks.trajectories.dihedral_outliers import BackboneMap

CELL = 5
"""Degrees; the side of a cell of reference points."""

MOST_DOTS = 60_000
"""Of all maps of a run: if there are more (φ, ψ), frames are left out evenly."""

_CELLS = 360 // CELL


class PublicBackbone(NamedTuple):
    """The (φ, ψ) of some residues of a run of a public data set.

    Args:
        n_angles, n_outliers: of all frames.
        n_reference: number of reference points.
        near, far: (k, 2) φ and ψ [°] of drawn frames, outliers apart.
        cells: (c, 3) number of a cell in φ and in ψ, from −180° on, and how many reference points it has.
    """

    title: str
    n_residues: int
    n_angles: int
    n_outliers: int
    n_reference: int
    near: NDArray[np.int64]
    far: NDArray[np.int64]
    cells: NDArray[np.int64]


def public_backbones(
    line: TaskLine,
    run: str,
    ended_ps: float,
    read: Callable[[TaskLine, str], Sequence[BackboneMap]],
    public: Collection[str],
) -> list[PublicBackbone]:
    """The (φ, ψ) of a run from the equilibration to its end; empty if it has none, or if it is hidden.

    Args:
        run: its name.
        ended_ps: the time until which it was sound [ps].
        read: reads the stored run; not called for a hidden data set.
        public: names of the public data sets.
    """
    maps = [] if is_hidden(line, public) else [_before(each, ended_ps) for each in read(line, run)]
    every = math.ceil(sum(each.is_outlier.size for each in maps) / MOST_DOTS)
    return [_public(each, every) for each in maps if each.is_outlier.size]


def _before(whole: BackboneMap, ended_ps: float) -> BackboneMap:
    """The frames until a time [ps]."""
    kept = until(whole.times_ps, ended_ps) & np.isfinite(whole.angles).all(axis=(1, 2))
    return whole._replace(times_ps=whole.times_ps[kept], angles=whole.angles[kept], is_outlier=whole.is_outlier[kept])


def _public(backbone: BackboneMap, every: int) -> PublicBackbone:
    degrees, is_far = np.rint(backbone.angles[::every]).astype(np.int64), backbone.is_outlier[::every]
    n_angles, n_outliers = backbone.is_outlier.size, int(backbone.is_outlier.sum())
    return PublicBackbone(
        backbone.title,
        backbone.is_outlier.shape[1],
        n_angles,
        n_outliers,
        len(backbone.reference),
        degrees[~is_far],
        degrees[is_far],
        _cells(backbone.reference),
    )


def _cells(points: Float) -> NDArray[np.int64]:
    """(c, 3) see `PublicBackbone`."""
    numbers = np.floor(np.mod(points + 180.0, 360.0) / CELL).astype(np.int64) % _CELLS  # rounding may give 360 itself
    cells, counts = np.unique(numbers, axis=0, return_counts=True)
    return np.column_stack([cells, counts])
