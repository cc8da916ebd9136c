"""Labelled frames: energy, forces and stress of each frame against a reference. Arrays throughout, no loop over frames.

A model's energies are compared after a shift by a constant per element, since different codes count from different
zeros: fitted by unweighted least squares to the total energies of all frames that succeeded, then held.

The errors, with n atoms in the frame and V its volume:

    energy   (E_pred − E_ref − shift) / n              eV/atom
    force    every component of F_pred − F_ref         eV/Å
    virial   −V (σ_pred − σ_ref) / n, nine components  eV/atom

`charged` clips each frame's root mean square (or mean absolute) error at W, ten times the metric's baseline, and
charges a failed frame W. The baseline is the error of the model that knows the composition alone, by the same
functions: the fitted constants for energy, zero forces and zero virial. That failing never helps is true of energies
with the shift held: a frame that fails has no part in the fit, and leaving an outlier out can bring the others closer.

Broken down (`parts`): every RMSE by the structures' group, and by element: of energy and virial over the frames that
contain it, of forces over its atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.breakdowns import Averaged, part_of, parts_by_group
from tasks.metrics.contributions import Charged, Contribution, mean_of, stored_column
from tasks.metrics.failure_cost import ChargedMean, charged_mean, failure_cost
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement, Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import asked_work, observe_structures, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, FORCE_PROBES, probed
from tasks.structures.composition import composition, composition_energy
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions


class LabelledFramesParameters(Parameters):
    """There is nothing to choose."""


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of one property, by frame.

    Args:
        count: (n,) labelled components; 0 where the frame has no such label.
        absolute: (n,) Σ |error| over them; NaN where there is a label and no answer.
        square: (n,) Σ error², likewise.
    """

    count: Float
    absolute: Float
    square: Float

    @property
    def labelled(self) -> Bool:
        """(n,) frames with such a label."""
        return self.count > 0

    @property
    def failed(self) -> Bool:
        """(n,) frames with a label and no answer."""
        return self.labelled & np.isnan(self.square)


def energy_errors(counts: Float, labels: Float, predicted: Float) -> Errors:
    """Errors per atom after the shift.

    Args:
        counts: (n, k) atoms of each element as from `composition`.
        labels, predicted: (n,) [eV], NaN where missing.
    """
    difference = predicted - labels
    shift = composition_energy(counts, difference, np.isfinite(difference))
    error = (difference - shift) / counts.sum(axis=1)
    return _errors(~np.isnan(labels), 1.0, np.abs(error), error**2)


def force_errors(frames: Frames, labels: Float, predicted: Float) -> Errors:
    """Errors of force components; `labels` and `predicted` (N, 3) [eV/Å], NaN where missing."""
    starts = frames.offsets[:-1]
    labelled = ~np.isnan(labels[:, 0])
    error = predicted - labels
    error[~labelled] = 0.0
    square = np.add.reduceat(np.einsum("ij,ij->i", error, error), starts)
    np.abs(error, out=error)
    count = 3.0 * np.add.reduceat(labelled.astype(np.float64), starts)
    return _errors(count > 0, count, np.add.reduceat(error.sum(axis=1), starts), square)


def virial_errors(frames: Frames, labels: Float, predicted: Float) -> Errors:
    """Errors per atom of the virial's nine components; `labels` and `predicted` (n, 6) [eV/Å³], NaN where missing."""
    error = -(frames.volumes / frames.n_atoms)[:, None] * (predicted - labels)
    twice = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])  # each shear stands for two of the nine
    return _errors(~np.isnan(labels[:, 0]), 9.0, np.abs(error) @ twice, error**2 @ twice)


def _errors(labelled: Bool, count: Float | float, absolute: Float, square: Float) -> Errors:
    zero = np.zeros(len(labelled))
    return Errors(np.where(labelled, count, 0.0), np.where(labelled, absolute, zero), np.where(labelled, square, zero))


def frame_errors(frames: Frames, counts: Float, labels: Labels, answer: Predictions) -> dict[str, Errors]:
    """The errors of each property that has labels, by its metrics' stem; `counts` as from `composition`."""
    nothing = np.array(np.nan)
    n, total = len(frames), len(frames.numbers)
    found = {}
    if labels.energy is not None:
        found["energy"] = energy_errors(counts, labels.energy, answer.energy)
    if labels.forces is not None:
        forces = np.broadcast_to(nothing, (total, 3)) if answer.forces is None else answer.forces
        found["force"] = force_errors(frames, labels.forces, forces)
    if labels.stress is not None:
        stress = np.broadcast_to(nothing, (n, 6)) if answer.stress is None else answer.stress
        found["virial"] = virial_errors(frames, labels.stress, stress)
    return found


def composition_only(frames: Frames) -> Predictions:
    """The model that knows the composition alone: its energy is all shift, and it has neither forces nor stress."""
    n, total = len(frames), len(frames.numbers)
    zero = np.array(0.0)
    forces, stress = np.broadcast_to(zero, (total, 3)), np.broadcast_to(zero, (n, 6))
    return Predictions(np.zeros(n), forces, stress, np.zeros(n, np.int8))


# Stem of the property: names of its two metrics, and their unit.
METRICS = {
    "energy": ("energy_rmse_per_atom", "energy_mae_per_atom", "eV/atom"),
    "force": ("force_rmse", "force_mae", "eV/Å"),
    "virial": ("virial_rmse_per_atom", "virial_mae_per_atom", "eV/atom"),
}


def root_mean_square(name: str, unit: str, errors: Errors, baseline: float) -> Metric:
    """RMSE over all components of the frames that succeeded."""
    cost = failure_cost(name, baseline)
    mean = charged_mean(errors.square, errors.count, cost**2)
    value = None if mean.value is None else mean.value**0.5
    return _metric(unit, errors, ChargedMean(value, mean.charged**0.5), baseline, cost)


def mean_absolute(name: str, unit: str, errors: Errors, baseline: float) -> Metric:
    """MAE over all components of the frames that succeeded."""
    cost = failure_cost(name, baseline)
    return _metric(unit, errors, charged_mean(errors.absolute, errors.count, cost), baseline, cost)


def _metric(unit: str, errors: Errors, mean: ChargedMean, baseline: float, cost: float) -> Metric:
    n_items, n_failed = int(errors.labelled.sum()), int(errors.failed.sum())
    return Metric(mean.value, unit, n_items, n_failed, mean.charged, baseline, cost)


class LabelledFrames:
    """Energy, force and virial errors over frames."""

    name: str = "labelled_frames"
    observe_version: int = 2
    measure_version: int = 2
    parameters: type[Parameters] = LabelledFramesParameters
    traits: Traits = Traits(
        title="labelled frames",
        about="energy, forces and virial of each structure against the reference",
        measures=DatasetPart.LABELS,
        import_format="deepmd",
        score=ScoreFamily.FORCE_FIELD,
        metrics=(
            KindMetric("energy_rmse_per_atom", "Energy RMSE", "eV/atom"),
            KindMetric("energy_mae_per_atom", "Energy MAE", "eV/atom"),
            KindMetric("force_rmse", "Force RMSE", "eV/Å"),
            KindMetric("force_mae", "Force MAE", "eV/Å"),
            KindMetric("virial_rmse_per_atom", "Virial RMSE", "eV/atom"),
            KindMetric("virial_mae_per_atom", "Virial MAE", "eV/atom"),
            *ENERGY_PROBES,
            *FORCE_PROBES,
        ),
        baseline=KindBaseline("Composition only", "A trivial model that knows the composition alone."),
    )

    def observe(
        self, structures: Structures, parameters: LabelledFramesParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Energy, forces and stress of each frame, whichever of them are labelled: labels may come later."""
        return observe_structures(structures, self.observe_version, ALL_PROPERTIES, model, watch)

    def work(self, structures: Structures, parameters: LabelledFramesParameters) -> Work:
        """Each frame once, and of a hidden data set some of them in other guises."""
        return asked_work(structures, self.observe_version)

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: LabelledFramesParameters,
        label_set: str | None,
    ) -> Measurement:
        """Two metrics for each property that has labels; one item a frame, with its sums."""
        frames, stated = dataset.frames, dataset.baselines(label_set)
        answer = read_frames(observation, frames)
        labels, counts = dataset.labels(label_set), composition(frames)
        found = frame_errors(frames, counts, labels, answer)
        trivial = frame_errors(frames, counts, labels, composition_only(frames))
        if not found:
            raise ValueError(f"{dataset.card.full_name}: labels.safetensors: there are no labels of {label_set}")
        metrics = {}
        columns = {"n_atoms": frames.n_atoms.astype(np.float64)}
        for stem, errors in found.items():
            rmse, mae, unit = METRICS[stem]
            base = trivial[stem]
            by_rmse = float(np.sqrt(base.square.sum() / base.count.sum()))
            by_mae = float(base.absolute.sum() / base.count.sum())
            metrics[rmse] = root_mean_square(rmse, unit, errors, stated.get(rmse, by_rmse))
            metrics[mae] = mean_absolute(mae, unit, errors, stated.get(mae, by_mae))
            columns |= {f"{stem}_count": errors.count, f"{stem}_abs": errors.absolute, f"{stem}_sq": errors.square}
        items = Items(dataset.table.id, dataset.table.group, dataset.clusters, answer.failure, columns)
        averaged = [Averaged(METRICS[s][0], METRICS[s][2], e.square, e.count, root=True) for s, e in found.items()]
        parts = [
            *parts_by_group(averaged, dataset.table.group),
            *parts_by_element(frames, counts, labels, answer, averaged),
        ]
        probes = probed(observation, frames, answer)
        notes = {**_silences(found, answer), **probes.notes}
        return Measurement({**metrics, **probes.metrics}, items, notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics; with the energy shift held."""
        found: list[Contribution] = []
        for stem, (rmse, mae, _) in METRICS.items():
            if rmse in metrics or mae in metrics:
                count, square, absolute = (stored_column(items, f"{stem}_{of}") for of in ("count", "sq", "abs"))
                found += mean_of(metrics, rmse, square, count, root=True)
                found += mean_of(metrics, mae, absolute, count)
        return found


def _silences(found: Mapping[str, Errors], answer: Predictions) -> dict[str, str]:
    """By property, how many frames that were answered have no answer of it: each is charged, none fails as a whole."""
    notes = {}
    for stem, errors in found.items():
        silent = int((errors.failed & answer.ok).sum())
        if silent:
            notes[stem] = f"not answered for {silent} of {int(errors.labelled.sum())} labelled frames: charged"
    return notes


def parts_by_element(
    frames: Frames, counts: Float, labels: Labels, answer: Predictions, averaged: Sequence[Averaged]
) -> list[MetricPart]:
    """The RMSE of each property by element: of forces over its atoms, of the others over the frames that have it."""
    elements = np.unique(frames.numbers)
    parts = [
        part_of("element", chemical_symbols[z], metric, column > 0)
        for metric in averaged
        for z, column in zip(elements, counts.T, strict=True)
    ]
    if labels.forces is None:
        return parts
    forces = np.broadcast_to(np.nan, labels.forces.shape) if answer.forces is None else answer.forces
    error = forces - labels.forces
    square = np.einsum("ij,ij->i", error, error)
    there = np.isfinite(square)
    sums = np.bincount(frames.numbers[there], square[there], 119)
    atoms = np.bincount(frames.numbers[there], minlength=119)
    by_element = {chemical_symbols[z]: float(np.sqrt(sums[z] / (3 * atoms[z]))) for z in elements if atoms[z]}
    metric = METRICS["force"][0]
    return [replace(p, value=by_element.get(p.name)) if p.metric == metric else p for p in parts]
