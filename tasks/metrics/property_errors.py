"""Mean absolute errors of properties, one number per item: moduli, frequencies, volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Crystal
from tasks.metrics.averages import Average
from tasks.metrics.contributions import baseline_column, stored_column
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Measurement, items_of
from tasks.structures.frames import Float


class CrystalProperty(NamedTuple):
    """A number of a crystal, as in `Crystal.reference`.

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


def references(crystals: Sequence[Crystal], label_set: str, properties: Sequence[CrystalProperty]) -> Float:
    """(k, p) the reference of each of k crystals; NaN where it has none.

    Raises:
        ValueError: no crystal has a reference of any of the properties.
    """
    rows = [[crystal.reference[label_set].get(p.name, np.nan) for p in properties] for crystal in crystals]
    values = np.array(rows, np.float64).reshape(len(crystals), len(properties))
    if np.isnan(values).all():
        names = ", ".join(p.name for p in properties)
        raise ValueError(f"table.json: crystals.reference.{label_set}: no crystal has any of {names}")
    return values


def uncertainties(crystals: Sequence[Crystal], label_set: str, properties: Sequence[CrystalProperty]) -> Float:
    """(k, p) the stated uncertainty of each reference; NaN where none is stated."""
    rows = [[crystal.uncertainty.get(label_set, {}).get(p.name, np.nan) for p in properties] for crystal in crystals]
    return np.array(rows, np.float64).reshape(len(crystals), len(properties))


def property_averages(properties: Sequence[CrystalProperty], columns: Mapping[str, Float]) -> list[Average]:
    """The mean absolute error of each property, over the items that have a reference of it.

    Without a column for it, the trivial model answers zero, so that its error is the reference.
    """
    averages = []
    for p in properties:
        has_reference = np.isfinite(stored_column(columns, f"{p.name}_reference")).astype(np.float64)
        absolute = np.abs(stored_column(columns, f"{p.name}_error"))
        trivial = columns.get(baseline_column(f"{p.name}_error"), columns[f"{p.name}_reference"])
        averages.append(Average(f"{p.name}_mae", p.unit, absolute, has_reference, baseline=np.abs(trivial)))
    return averages


def property_measurement(
    properties: Sequence[CrystalProperty],
    crystals: Sequence[Crystal],
    cause: NDArray[np.int8],
    predicted: Float,
    reference: Float,
    trivial: Float,
    stated: Mapping[str, float],
    uncertainty: Float | None = None,
) -> Measurement:
    """One item a crystal, with columns `<name>`, `<name>_reference` and `<name>_error` of each property, and the MAEs.

    A property without any reference has no metric.

    Args:
        cause: (k,) codes of `Cause`.
        predicted: (k, p), NaN where an item failed.
        reference: (k, p), NaN where there is none.
        trivial: (k, p) the answers of the trivial model, whose error is the baseline.
        stated: by metric, a baseline in place of that error.
        uncertainty: (k, p) of the references, NaN where it is not known.
    """
    columns: dict[str, Float] = {}
    for column, p in enumerate(properties):
        columns[p.name] = predicted[:, column]
        columns[f"{p.name}_reference"] = reference[:, column]
        columns[f"{p.name}_error"] = (predicted - reference)[:, column]
        if trivial.any():
            columns[baseline_column(f"{p.name}_error")] = np.abs(trivial - reference)[:, column]
    metrics = {}
    uncertain = np.full(reference.shape, np.nan) if uncertainty is None else uncertainty
    for column, average in enumerate(property_averages(properties, columns)):
        known = average.counts > 0
        if known.any():
            error = np.abs(trivial - reference)[known, column]
            metric = average.metric(stated.get(average.name, float(error.mean())))
            mean = float(uncertain[known, column].mean())
            metrics[average.name] = replace(metric, reference_uncertainty=mean if np.isfinite(mean) else None)
    return Measurement(metrics, items_of(crystals, cause, columns))
