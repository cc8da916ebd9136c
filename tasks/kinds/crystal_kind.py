"""The shared part of kinds that measure properties of crystals: one item per crystal, one error per property."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.metrics.averages import contributions_to
from tasks.metrics.constant_baseline import best_trivial
from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import (
    CrystalProperty,
    property_averages,
    property_measurement,
    references,
    uncertainties,
)
from tasks.simulation.trial_builds import cell_fault
from tasks.structures.frames import Float


class CrystalValues(NamedTuple):
    """The p properties of n structures.

    Args:
        cause: (n,) codes of `Cause`.
        predicted: (n, p) from the model's answers; NaN where a structure failed.
        trivial: (n, p) of the trivial model, whose error is the baseline; or (m, n, p) of m trivial models: of them and
            of the best constant, the one with the smallest error of each property.
    """

    cause: NDArray[np.int8]
    predicted: Float
    trivial: Float


class CrystalKind(ABC):
    """A kind whose items are the crystals of a data set, with references of `properties` in `Crystal.reference`."""

    properties: tuple[CrystalProperty, ...]

    def measured(self, parameters: Any) -> tuple[CrystalProperty, ...]:
        """The properties that a task with these parameters measures, in the order of `values`."""
        return self.properties

    @abstractmethod
    def values(self, observation: Observation, dataset: Dataset, parameters: Any) -> CrystalValues:
        """The properties of all structures of `dataset`.

        Raises:
            ValueError: the observation does not fit the data set or the parameters.
        """

    def trivial(self, values: CrystalValues, dataset: Dataset, reference: Float) -> Float:
        """(k, p) of the trivial model for the k crystals with `reference` (k, p), NaN where there is none."""
        rows = [crystal.structure for crystal in dataset.table.crystals]
        if values.trivial.ndim == 2:
            return values.trivial[rows]
        return best_trivial(values.trivial[:, rows], reference)

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The crystals whose cell cannot be relaxed or strained."""
        faults = [(row.id, cell_fault(dataset.frames.atoms(row.structure))) for row in dataset.table.crystals]
        return [f"crystals: {id}: {fault}" for id, fault in faults if fault]

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """The mean absolute error of each property; one item a crystal, as in `property_measurement`."""
        crystals, chosen = dataset.table.crystals, dataset.label_set(label_set)
        if not crystals:
            raise ValueError(f"{dataset.card.full_name}: table.json: crystals: there are none")
        values, properties = self.values(observation, dataset, parameters), self.measured(parameters)
        rows = np.array([crystal.structure for crystal in crystals])
        reference = references(crystals, chosen, properties)
        return property_measurement(
            properties,
            crystals,
            values.cause[rows],
            values.predicted[rows],
            reference,
            self.trivial(values, dataset, reference),
            dataset.baselines(chosen),
            uncertainties(crystals, chosen, properties),
        )

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics."""
        return contributions_to(metrics, property_averages(self.properties, items.columns))
