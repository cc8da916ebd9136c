"""The result of `measure`: metrics, and the items that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from tasks.structures.frames import Float
from tasks.structures.predictions import Cause


@dataclass(frozen=True)
class Metric:
    """One number of a task, and over how many items it stands; stored as it is in `judge.records.records.Result`.

    Args:
        value: over the items that succeeded; None where none did.
        unit: in the field's notation (`meV/atom`), empty for a pure number.
        charged: the penalised value: every error is clipped at `failure_cost`, which also stands for a failed item.
            Nothing that a model can do by failing improves it. None where the metric has no such law (a count, a time).
        baseline: the same metric of the trivial model (composition only, or zero); None where there is none.
        failure_cost: of one failed item, in `unit`.
        n_items: items asked for.
        n_failed: of these, failed.
    """

    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    charged: float | None = None
    baseline: float | None = None
    failure_cost: float | None = None
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


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
class MetricPart:
    """A metric over a part of the items: of one element, of one group. Stored as it is, like `Metric`.

    Args:
        by: `element` or `group`.
        name: which element, which group.
        metric: name of the metric that this is a part of.
        value: over the items that succeeded; None where none did.
    """

    by: str
    name: str
    metric: str
    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")


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
