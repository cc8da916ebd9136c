"""The result of `measure`: metrics, and the items that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.metric import Metric, MetricPart
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause


class ItemTerms(NamedTuple):
    """The structures that items are sums of; (t,) each, one entry a summand.

    Args:
        item: index of the item.
        structure: index of the structure in the data set.
    """

    item: NDArray[np.int64]
    structure: NDArray[np.int64]
    coefficient: Float

    def fit(self, n_items: int) -> bool:
        """Whether these can be the terms of so many items."""
        one_axis = self.item.shape == self.structure.shape == self.coefficient.shape == (len(self.item),)
        return one_axis and bool(((self.item >= 0) & (self.item < n_items)).all())

    def shared(self, clusters: Sequence[str]) -> bool:
        """Whether any structure is in items of several clusters."""
        names = np.unique(np.array(clusters), return_inverse=True)[1][self.item]
        pairs = np.unique(np.stack([self.structure, names]), axis=1)
        return bool(len(np.unique(pairs[0])) < pairs.shape[1])


@dataclass(frozen=True, eq=False)
class Items:
    """One row an item (a frame, a reaction, an element's curve, a trajectory), in columns.

    Args:
        id: the item's name in its dataset.
        group: under which it is reported (reaction type, structure group).
        cluster: items of one cluster are correlated (one trajectory, one parent structure) and are resampled together.
        cause: (k,) int8 codes of `Cause`.
        columns: (k,) float64 each: the counts and sums that the metrics are functions of; NaN where failed.
        terms: the structures of each item, if items share structures across clusters; None: they share none, or an
            older version measured them.
    """

    id: Sequence[str]
    group: Sequence[str]
    cluster: Sequence[str]
    cause: NDArray[np.int8]
    columns: Mapping[str, Float]
    terms: ItemTerms | None = None

    def __post_init__(self) -> None:
        size = len(self.id)
        sizes = {"group": len(self.group), "cluster": len(self.cluster), "cause": len(self.cause)}
        sizes |= {name: len(column) for name, column in self.columns.items()}
        for name, rows in sizes.items():
            if rows != size:
                raise ValueError(f"items: column {name} has {rows} rows, not {size}")
        if self.terms is not None and not self.terms.fit(size):
            raise ValueError("items: terms: they are not of these items")

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


def items_of(
    rows: Sequence[TableRow], cause: NDArray[np.int8], columns: Mapping[str, Float], terms: ItemTerms | None = None
) -> Items:
    """The items of k rows of a table; a row without a cluster stands for itself. Terms are kept if they are shared."""
    names = ([row.id for row in rows], [row.group for row in rows], [row.cluster or row.id for row in rows])
    return Items(*names, cause, columns, terms if terms is not None and terms.shared(names[2]) else None)


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
