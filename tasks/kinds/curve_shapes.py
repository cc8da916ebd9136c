"""The shapes of energies over volumes, as columns of items and as metrics; `ScanShape` says what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.averages import Average
from tasks.metrics.contributions import stored_column
from tasks.metrics.group_statistics import mean_with_worst
from tasks.metrics.metric import Metric
from tasks.simulation.curve_distances import ScanShape, scan_shape
from tasks.structures.frames import Float

# Of a single well: its turns, its tortuosity, and the rank correlations of `ScanShape`.
ONE_WELL = ScanShape(1.0, 1.0, -1.0, 1.0, 1.0)
WORST_TORTUOSITY = 10.0
SPEARMAN = {"compression": "compression_spearman", "stiffening": "stiffening_spearman", "tension": "tension_spearman"}


def shapes_of(curves: Sequence[tuple[Float, Float]], cause: NDArray[np.int8]) -> dict[str, Float]:
    """(k,) each: the shape of each curve's volumes and energies, NaN where a point failed."""
    shapes = [ScanShape(*[np.nan] * 5) if c else scan_shape(*curve) for curve, c in zip(curves, cause, strict=True)]
    return dict(zip(ScanShape._fields, np.array(shapes).T, strict=True))


def shape_averages(columns: Mapping[str, Float]) -> list[Average]:
    """The metrics that are means over curves."""
    flips, tortuosity = stored_column(columns, "flips"), stored_column(columns, "tortuosity")
    ones = np.ones(len(flips))
    return [
        Average("flips_error", "", np.abs(flips - ONE_WELL.flips), ones),
        Average("volume_tortuosity", "", tortuosity, ones),
    ]


def shape_metrics(columns: Mapping[str, Float], n_points: int) -> dict[str, Metric]:
    """The metrics of shapes with at most so many points."""
    flips, tortuosity = shape_averages(columns)
    # Energies of n points turn at most n − 2 times.
    metrics = {
        flips.name: flips.metric(None, n_points - 2.0),
        tortuosity.name: tortuosity.metric(None, WORST_TORTUOSITY),
    }
    for field, name in SPEARMAN.items():
        metrics[name] = mean_with_worst(columns[field], -getattr(ONE_WELL, field))
    return metrics
