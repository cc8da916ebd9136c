"""Runs that begin at drawn volumes, and what an Einstein crystal about such a start gets without chemistry.

In an Einstein crystal each atom is bound to its place by a spring (A. Einstein, Ann. Phys. 327, 180 (1907)): it
vibrates by a Gaussian of one width in each direction, and the cell stays as it is. Of several widths, the same for all
atoms, the one counts with the smallest mean error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets import pair_analyses as pairs
from tasks.datasets import simulated_systems as systems
from tasks.datasets.dataset import Structures
from tasks.dynamics.analyses import SystemRuns, analysed
from tasks.dynamics.item_columns import AnalysisRow, ItemColumns
from tasks.metrics.contributions import baseline_column
from tasks.simulation.molecules import molecules_of, whole_molecules
from tasks.structures.frames import Float, Frames, Int
from tasks.trajectories.trajectory import Trajectory

# How far the volumes of drawn starts are from the stored ones, in the logarithm.
NEAREST, FARTHEST = 0.05, 0.10
WIDTHS = (0.02, 0.05, 0.1, 0.2, 0.4)  # Å
N_FRAMES = 8
# What a model that keeps its start knows something of; of the others it answers zero, as the trivial model does.
KEPT = (
    pairs.RadialDistributionAnalysis,
    pairs.RadialDistributionRmseAnalysis,
    pairs.FirstPeakAnalysis,
    systems.DensityAnalysis,
    systems.BondLengthAnalysis,
    systems.AngleAnalysis,
    systems.GyrationAnalysis,
    systems.AngularDistributionAnalysis,
)


class KeptStart(NamedTuple):
    """An analysis of a system whose structure a model keeps.

    Args:
        start: the stored structure, its molecules whole.
        molecules: (N,) see `scaled`.
    """

    analysis: systems.AnyAnalysis
    start: Frames
    molecules: Int | None


def whole_starts(structures: Structures, ensemble: str, molecules: str) -> tuple[Frames, Int | None]:
    """The structures with their molecules whole, and (N,) the number of each atom's molecule, for a barostat.

    Args:
        ensemble, molecules: as in the parameters of `tasks.kinds.dynamics`.
    """
    frames = structures.frames
    if ensemble != "npt":
        return frames, None
    stated = structures.conditions.get("molecule")
    if stated is None and molecules == "atoms":
        return frames, None
    number = molecules_of(frames) if stated is None else stated
    return whole_molecules(frames, number), number


def scaled(frames: Frames, shares: Float, molecules: Int | None) -> Frames:
    """The structures at `shares` (n,) of their volumes.

    Args:
        molecules: (N,) the number of each atom's molecule, which moves with its centroid as it is; None: each atom is
            one.
    """
    scale = np.cbrt(shares)
    centroids = frames.positions
    if molecules is not None:
        number = np.unique(molecules, return_inverse=True)[1]
        sums = np.stack([np.bincount(number, weights=axis) for axis in frames.positions.T], axis=1)
        centroids = (sums / np.bincount(number)[:, None])[number]
    positions = frames.positions + (scale[frames.frame_index] - 1.0)[:, None] * centroids
    return frames.moved(positions, frames.cell * scale[:, None, None])


def compare_with_kept_starts(
    columns: ItemColumns, rows: Sequence[AnalysisRow], frames: Frames, molecules: Int | None, label_set: str
) -> None:
    """Puts the errors of an Einstein crystal in place of the trivial model's, for each measure with a smaller mean.

    Args:
        frames: the stored structures, their molecules whole.
        molecules: (N,) see `scaled`.
    """
    trivial = columns.arrays[baseline_column("error")]
    for measure in {row.measure for row in rows}:
        members = [k for k, row in enumerate(rows) if row.measure == measure]
        starts = []
        for row in (rows[k] for k in members):
            if isinstance(row.analysis, KEPT):
                own = None if molecules is None else molecules[frames.atom_slice(row.structure)]
                starts.append(KeptStart(row.analysis, frames.take([row.structure]), own))
        if starts and (errors := einstein_errors(starts, label_set)).mean() < trivial[members].mean():
            trivial[members] = errors


def einstein_errors(starts: Sequence[KeptStart], label_set: str) -> Float:
    """(k,) the mean |error| of an Einstein crystal about the two nearest starts that may be drawn, for k analyses.

    Infinite if it has no error in one of them.
    """
    errors = np.array([[_error(each, width, label_set) for each in starts] for width in WIDTHS])
    errors[np.isnan(errors)] = np.inf
    return np.asarray(errors[np.argmin(errors.mean(axis=1))])


def _error(kept: KeptStart, width: float, label_set: str) -> float:
    shares = np.exp([-NEAREST, NEAREST])
    starts = [scaled(kept.start, np.array([share]), kept.molecules) for share in shares]
    return float(np.mean([abs(analysed(kept.analysis, _runs(each, width), label_set).error) for each in starts]))


def _runs(start: Frames, width: float) -> SystemRuns:
    """Frames of an Einstein crystal, which do not depend on each other."""
    moves = width * np.random.default_rng(0).standard_normal((N_FRAMES, *start.positions.shape))
    cells = np.repeat(start.cell, N_FRAMES, axis=0)
    times = np.arange(N_FRAMES, dtype=np.float64)
    trajectory = Trajectory(start.positions + moves, cells, start.pbc[0], start.numbers, times)
    none = np.zeros((1, N_FRAMES))
    return SystemRuns([trajectory], none, none, 0.0)
