"""Sums of errors over groups of items, from which models are ranked for a choice of a reader (`scoring.choice`).

The groups of a metric are disjoint. A cluster is a set of correlated items. A block is a set of clusters of one group;
blocks show how the errors of two models vary together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SumGroup:
    """A group of items, with the sums that all models share.

    Args:
        n_clusters: of correlated items.
        trivial: Σ d.
        trivial_squares: Σₖ dₖ² over clusters.
    """

    elements: tuple[str, ...]
    classes: tuple[str, ...]
    n_items: int
    n_clusters: int
    trivial: float
    trivial_squares: float


@dataclass(frozen=True)
class ReferenceSums:
    """The groups by one label set.

    Args:
        factor: of the ratio: 1 if `trivial` are the trivial model's errors, else what divides by its error.
        floor: the least error that counts.
        block_groups: (b,) the index of the group of each block; empty for hidden items.
        block_trivial: (b,) Σ d of each block.
        dependence: how many times fewer independent items there are than clusters, since these share structures.
    """

    groups: tuple[SumGroup, ...]
    factor: float = 1.0
    floor: float = 0.0
    block_groups: tuple[int, ...] = ()
    block_trivial: tuple[float, ...] = ()
    dependence: float = 1.0


@dataclass(frozen=True)
class ModelSums:
    """The sums of a model by group; r = s / d of the group.

    Args:
        reference: index in `ErrorColumn.references`.
        errors: Σ s.
        spreads: Σₖ (sₖ − r dₖ)².
        slopes: Σₖ (sₖ − r dₖ) dₖ.
        failed: number of failed items.
        block_errors: (b,) Σ s of each block.
    """

    reference: int
    errors: tuple[float, ...]
    spreads: tuple[float, ...]
    slopes: tuple[float, ...]
    failed: tuple[int, ...]
    block_errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class ErrorColumn:
    """A metric of a task.

    Args:
        needs: what a reader may need it for.
        root: whether the metric is a root mean square.
        models: by submission; a model without sums has failed, and counts 1.
    """

    metric: str
    needs: tuple[str, ...]
    root: bool
    references: tuple[ReferenceSums, ...]
    models: Mapping[str, ModelSums]


@dataclass(frozen=True)
class SimulatedRuns:
    """The conditions of the runs of a task of molecular dynamics.

    Args:
        temperatures_k: the lowest and the highest [K]; None if they are not public.
        length_ns: of a run [ns].
    """

    temperatures_k: tuple[float, float] | None
    length_ns: float


@dataclass(frozen=True)
class TaskSums:
    """A task with its columns.

    Args:
        runs: None if no dynamics is run.
    """

    task: str
    columns: tuple[ErrorColumn, ...]
    runs: SimulatedRuns | None = None
