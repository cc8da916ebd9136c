"""Mean absolute errors of numbers that each item has one of: moduli, frequencies, volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Crystal
from tasks.metrics.contributions import Charged, Contribution, mean_of, stored_column
from tasks.metrics.failure_cost import charged_mean, failure_cost
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Metric
from tasks.structures.frames import Float


class Property(NamedTuple):
    """A number of an item, as in `Crystal.reference`.

    Args:
        name: with its unit in it (`k_vrh_gpa`); the metric is `<name>_mae`.
        unit: in the field's notation.
        label: for readers.
    """

    name: str
    unit: str
    label: str

    @property
    def metric(self) -> KindMetric:
        """Its mean absolute error."""
        return KindMetric(f"{self.name}_mae", f"{self.label}, mean absolute error", self.unit, scored=True)


def references(crystals: Sequence[Crystal], label_set: str, properties: Sequence[Property]) -> Float:
    """(k, p) the reference of each of k crystals; NaN where it has none.

    Raises:
        ValueError: no crystal has a reference of any of the properties.
    """
    rows = [[crystal.reference[label_set].get(p.name, np.nan) for p in properties] for crystal in crystals]
    found = np.array(rows, np.float64).reshape(len(crystals), len(properties))
    if np.isnan(found).all():
        names = ", ".join(p.name for p in properties)
        raise ValueError(f"table.json: crystals.reference.{label_set}: no crystal has any of {names}")
    return found


def property_metrics(
    properties: Sequence[Property],
    predicted: Float,
    reference: Float,
    trivial: Float,
    stated: Mapping[str, float],
) -> dict[str, Metric]:
    """The mean absolute error of each property that any item has a reference of, over the items that have one.

    Args:
        predicted: (k, p), NaN where an item failed.
        reference: (k, p), NaN where there is none.
        trivial: (k, p) what the trivial model answers: its error is the baseline, and W is ten times that.
        stated: by metric, a baseline that takes its place.
    """
    metrics = {}
    for column, p in enumerate(properties):
        name = f"{p.name}_mae"
        there = np.isfinite(reference[:, column])
        if not there.any():
            continue
        error = np.abs(predicted - reference)[there, column]
        baseline = stated.get(name, float(np.abs(trivial - reference)[there, column].mean()))
        cost = failure_cost(name, baseline)
        mean = charged_mean(error, np.ones(len(error)), cost)
        n_failed = int((~np.isfinite(error)).sum())
        metrics[name] = Metric(mean.value, p.unit, len(error), n_failed, mean.charged, baseline, cost)
    return metrics


def property_items(
    crystals: Sequence[Crystal],
    cause: NDArray[np.int8],
    properties: Sequence[Property],
    predicted: Float,
    reference: Float,
) -> Items:
    """One item a crystal: `<name>`, `<name>_reference` and `<name>_error` of each property.

    A crystal without a cluster stands for itself.
    """
    columns: dict[str, Float] = {}
    for column, p in enumerate(properties):
        columns[p.name] = predicted[:, column]
        columns[f"{p.name}_reference"] = reference[:, column]
        columns[f"{p.name}_error"] = (predicted - reference)[:, column]
    names = ([c.id for c in crystals], [c.group for c in crystals], [c.cluster or c.id for c in crystals])
    return Items(*names, cause, columns)


def property_contributions(
    properties: Sequence[Property], items: Items, metrics: Mapping[str, Charged]
) -> list[Contribution]:
    """Of each property that is among `metrics`, over the items that have a reference of it."""
    found: list[Contribution] = []
    for p in properties:
        there = np.isfinite(stored_column(items, f"{p.name}_reference")).astype(np.float64)
        found += mean_of(metrics, f"{p.name}_mae", np.abs(stored_column(items, f"{p.name}_error")), there)
    return found
