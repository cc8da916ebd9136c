"""The result of `measure`: metrics, and the items that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause


@dataclass(frozen=True, eq=False)
class Items:
    """One row an item (a frame, a reaction, an element's curve, a trajectory), in columns.

    Args:
        id: the item's name in its dataset.
        group: under which it is reported (reaction type, structure group).
        cluster: items of one cluster are correlated (one trajectory, one parent structure) and are resampled together.
        cause: (k,) int8 codes of `Cause`.
        columns: (k,) float64 each: the counts and sums that the metrics are functions of; NaN where failed.
    """

    id: Sequence[str]
    group: Sequence[str]
    cluster: Sequence[str]
    cause: NDArray[np.int8]
    columns: Mapping[str, Float]

    def __post_init__(self) -> None:
        size = len(self.id)
        sizes = {"group": len(self.group), "cluster": len(self.cluster), "cause": len(self.cause)}
        sizes |= {name: len(column) for name, column in self.columns.items()}
        for name, rows in sizes.items():
            if rows != size:
                raise ValueError(f"items: column {name} has {rows} rows, not {size}")

    def __len__(self) -> int:
        return len(self.id)

    def failures(self) -> dict[Cause, int]:
        """How many items failed, by cause."""
        codes, counts = np.unique(self.cause[self.cause != 0], return_counts=True)
        return {Cause(int(code)): int(count) for code, count in zip(codes, counts, strict=True)}


class TableRow(Protocol):
    """The names that every item of a data set's table has."""

    @property
    def id(self) -> str: ...

    @property
    def group(self) -> str: ...

    @property
    def cluster(self) -> str: ...


def items_of(rows: Sequence[TableRow], cause: NDArray[np.int8], columns: Mapping[str, Float]) -> Items:
    """The items of k rows of a table; a row without a cluster stands for itself."""
    names = ([row.id for row in rows], [row.group for row in rows], [row.cluster or row.id for row in rows])
    return Items(*names, cause, columns)


@dataclass(frozen=True)
class Measurement:
    """Metrics by name, and the items that they are computed from.

    Args:
        parts: the same metrics by group and by element.
    """

    metrics: Mapping[str, Metric]
    items: Items
    notes: Mapping[str, str] = field(default_factory=dict)
    parts: Sequence[MetricPart] = ()
