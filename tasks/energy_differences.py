"""Energy differences: Σ coefficient × E(structure) against a reference, item by item.

Barriers, binding, conformers, tautomers: whatever is a sum of energies. A structure that fails fails every item that
uses it. The baseline is the model that answers zero to everything; W is ten times the baseline of the metric.
"""

from __future__ import annotations

import numpy as np

from tasks.calculator import BatchCalculator
from tasks.charge import charged_mean, failure_cost
from tasks.dataset import Dataset, Structures
from tasks.frames_observation import observe_frames, read_frames
from tasks.kind import Observation, Parameters, Watch, Work
from tasks.measurement import Items, Measurement, Metric


class EnergyDifferencesParameters(Parameters):
    """There is nothing to choose."""


class EnergyDifferences:
    """Errors of energy differences [eV]."""

    name: str = "energy_differences"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = EnergyDifferencesParameters

    def observe(
        self, structures: Structures, parameters: EnergyDifferencesParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The energy of each structure."""
        return observe_frames(structures.frames, ("energy",), model, watch)

    def work(self, structures: Structures, parameters: EnergyDifferencesParameters) -> Work:
        """Each structure once."""
        return Work.of(structures.frames)

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EnergyDifferencesParameters,
        label_set: str | None,
    ) -> Measurement:
        """MAE and RMSE; one item a difference, with `predicted`, `reference` and `error` [eV].

        The cause of a failed item is that of one of its failed structures, the one with the highest code.
        """
        rows, chosen = dataset.table.differences, dataset.label_set(label_set)
        if not rows:
            raise ValueError(f"{dataset.card.full_name}: table.json: differences: there are none")
        answer = read_frames(observation, dataset.frames)
        reference = np.array([row.reference[chosen] for row in rows])
        item = np.array([i for i, row in enumerate(rows) for _ in row.terms])
        structure = np.array([term.structure for row in rows for term in row.terms])
        coefficient = np.array([term.coefficient for row in rows for term in row.terms])
        # A failed structure's energy is NaN, and so is every sum that it enters.
        predicted = np.bincount(item, coefficient * answer.energy[structure], len(rows))
        cause = np.zeros(len(rows), np.int8)
        np.maximum.at(cause, item, answer.failure[structure])
        predicted[cause != 0] = np.nan
        error = predicted - reference
        columns = {"predicted": predicted, "reference": reference, "error": error}
        items = Items(
            [row.id for row in rows], [row.group for row in rows], [row.cluster for row in rows], cause, columns
        )
        ones, failed, stated = np.ones(len(rows)), int((cause != 0).sum()), dataset.baselines(chosen)
        base_mae = stated.get("mae", float(np.abs(reference).mean()))
        base_rmse = stated.get("rmse", float(np.sqrt((reference**2).mean())))
        cost_mae, cost_rmse = failure_cost("mae", base_mae), failure_cost("rmse", base_rmse)
        mae = charged_mean(np.abs(error), ones, cost_mae)
        mse = charged_mean(error**2, ones, cost_rmse**2)
        rmse = None if mse.value is None else mse.value**0.5
        metrics = {
            "mae": Metric(mae.value, "eV", len(rows), failed, mae.charged, base_mae, cost_mae),
            "rmse": Metric(rmse, "eV", len(rows), failed, mse.charged**0.5, base_rmse, cost_rmse),
        }
        return Measurement(metrics, items)
