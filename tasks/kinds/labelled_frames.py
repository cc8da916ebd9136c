"""Labelled frames: energy, forces and stress of each frame against a reference. Arrays throughout, no loop over frames.

A model's energies are compared after a shift by a constant per element, since different codes count from different
zeros. The constants are fitted by unweighted least squares to the total energies of all frames that succeeded. The
penalised values may have another shift, where a frame is worth the failure cost (`tasks.metrics.charged_shift`).

The errors, with n atoms in the frame and V its volume:

    energy   (E_pred − E_ref − shift) / n              eV/atom
    force    every component of F_pred − F_ref         eV/Å
    virial   −V (σ_pred − σ_ref) / n, nine components  eV/atom

The penalised value clips each frame's root mean square (or mean absolute) error at W, ten times the metric's baseline,
and counts W for a failed frame. The baseline is the error of the model that knows the composition alone, by the same
functions: the fitted constants for energy, zero forces and zero virial.

The breakdowns (`parts`) are every RMSE by the structures' group and by element: of energy and virial over the frames
that contain the element, of forces over its atoms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.charged_shift import clipped_sum, penalised_errors
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.failure_cost import COST_IN_BASELINES
from tasks.metrics.group_statistics import over_groups
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric, MetricPart
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, FORCE_PROBES, probe_results
from tasks.structures.composition import composition, composition_energy
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Labels, Predictions


class LabelledFramesParameters(Parameters):
    """What is measured beside the errors.

    Args:
        force_slope: how far the forces are too soft, too: 1 − a of the line F = a F_ref through zero over all
            components of a group, mean of its size over groups.
        mae_parts: the breakdown by group has mean absolute errors, too.
    """

    force_slope: bool = later(False)
    mae_parts: bool = later(False)


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


def energy_sums(counts: Float, labels: Float, predicted: Float, average: Average, failure_cost: float) -> Float | None:
    """(n,) the sums of `average`, one of energy, under the shift of its penalised value; None: they are the same.

    Args:
        counts, labels, predicted: as of `energy_errors`.
        failure_cost: of the metric [eV/atom].
    """
    labelled, power = average.counts > 0, 2 if average.root else 1
    counts, differences = counts[labelled], (predicted - labels)[labelled]
    fit_charge = clipped_sum(average.sums[labelled], failure_cost**power, 1)
    errors = penalised_errors(counts, differences / counts.sum(axis=1), fit_charge, failure_cost, power)
    if errors is None:
        return None
    sums = np.zeros(len(labelled))
    sums[labelled] = errors**power
    return sums


def _errors(labelled: Bool, count: Float | float, absolute: Float, square: Float) -> Errors:
    zero = np.zeros(len(labelled))
    return Errors(np.where(labelled, count, 0.0), np.where(labelled, absolute, zero), np.where(labelled, square, zero))


def frame_errors(frames: Frames, counts: Float, labels: Labels, answer: Predictions) -> dict[str, Errors]:
    """The errors of each property that has labels, by its metrics' stem; `counts` as from `composition`."""
    nothing = np.array(np.nan)
    n, total = len(frames), len(frames.numbers)
    errors = {}
    if labels.energy is not None:
        errors["energy"] = energy_errors(counts, labels.energy, answer.energy)
    if labels.forces is not None:
        forces = np.broadcast_to(nothing, (total, 3)) if answer.forces is None else answer.forces
        errors["force"] = force_errors(frames, labels.forces, forces)
    if labels.stress is not None:
        stress = np.broadcast_to(nothing, (n, 6)) if answer.stress is None else answer.stress
        errors["virial"] = virial_errors(frames, labels.stress, stress)
    return errors


def slope_error(frames: Frames, groups: Sequence[str], reference: Float, answer: Predictions) -> Metric | None:
    """The mean of |1 − a| over groups; None if no group has forces.

    A group with a failed frame counts ten times the error of the model without forces, at which every one is clipped.
    """
    forces = np.full_like(reference, np.nan) if answer.forces is None else answer.forces
    names = np.repeat(np.array(groups), frames.n_atoms)
    known = np.isfinite(reference).all(axis=1)
    pairs = []
    for name in dict.fromkeys(groups):
        atoms = known & (names == name)
        pairs.append((forces[atoms].ravel(), reference[atoms].ravel()))

    def deviation(predicted: Float, theirs: Float) -> float | None:
        size = float(theirs @ theirs)
        return min(abs(1.0 - float(predicted @ theirs) / size), COST_IN_BASELINES) if size else None

    return over_groups(deviation, pairs, COST_IN_BASELINES)


def composition_only(frames: Frames) -> Predictions:
    """The model that knows the composition alone: its energy is all shift, and it has neither forces nor stress."""
    n, total = len(frames), len(frames.numbers)
    zero = np.array(0.0)
    forces, stress = np.broadcast_to(zero, (total, 3)), np.broadcast_to(zero, (n, 6))
    return Predictions(np.zeros(n), forces, stress, np.zeros(n, np.int8))


FORCE_SLOPE = "force_slope_error"
# Column of the sums of an energy metric under the shift of its penalised value, where that shift is another.
_PENALISED = "{}_penalised"
# Stem of the property: names of its two metrics, and their unit.
METRICS = {
    "energy": ("energy_rmse_per_atom", "energy_mae_per_atom", "eV/atom"),
    "force": ("force_rmse", "force_mae", "eV/Å"),
    "virial": ("virial_rmse_per_atom", "virial_mae_per_atom", "eV/atom"),
}


def averages(stem: str, errors: Errors, trivial: Errors | None = None) -> tuple[Average, Average]:
    """RMSE and MAE of one property over all components, and of the trivial model."""
    rmse, mae, unit = METRICS[stem]
    by_square, by_absolute = (None, None) if trivial is None else (trivial.square, trivial.absolute)
    return (
        Average(rmse, unit, errors.square, errors.count, root=True, baseline=by_square),
        Average(mae, unit, errors.absolute, errors.count, baseline=by_absolute),
    )


class LabelledFrames(AsksEachStructure):
    """Energy, force and virial errors over frames."""

    name: str = "labelled_frames"
    observe_version: int = 2
    measure_version: int = 6  # since 6 the shift of the penalised errors of energy is fitted without each frame, too
    parameters: type[Parameters] = LabelledFramesParameters
    asks_for = ALL_PROPERTIES
    traits: Traits = Traits(
        title="labelled frames",
        about="energy, forces and virial of each structure against the reference",
        also_uses=("forces", "stress"),
        measures=DatasetPart.LABELS,
        import_format="deepmd",
        score=ScoreFamily.FORCE_FIELD,
        metrics=(
            *(
                KindMetric(name, f"{stem.capitalize()} {mean}", unit)
                for stem, (rmse, mae, unit) in METRICS.items()
                for name, mean in ((rmse, "RMSE"), (mae, "MAE"))
            ),
            KindMetric(FORCE_SLOPE, "Slope of the forces, mean absolute deviation from 1", ""),
            *ENERGY_PROBES,
            *FORCE_PROBES,
        ),
        baseline=KindBaseline("Composition only", "A trivial model that knows the composition alone."),
    )

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: LabelledFramesParameters,
        label_set: str | None,
    ) -> Measurement:
        """Two metrics for each property that has labels; one item a frame, with the sums of its errors."""
        frames, stated = dataset.frames, dataset.baselines(label_set)
        answer = read_frames(observation, frames)
        labels, counts = dataset.labels(label_set), composition(frames)
        by_property = frame_errors(frames, counts, labels, answer)
        trivial = frame_errors(frames, counts, labels, composition_only(frames))
        if not by_property:
            raise ValueError(f"{dataset.card.full_name}: labels.safetensors: there are no labels of {label_set}")
        metrics: dict[str, Metric] = {}
        columns = {"n_atoms": frames.n_atoms.astype(np.float64)}
        for stem, errors in by_property.items():
            rmse, mae = averages(stem, errors)
            base = trivial[stem]
            by_rmse = float(np.sqrt(base.square.sum() / base.count.sum()))
            by_mae = float(base.absolute.sum() / base.count.sum())
            metrics[rmse.name] = rmse.metric(stated.get(rmse.name, by_rmse))
            metrics[mae.name] = mae.metric(stated.get(mae.name, by_mae))
            columns |= {f"{stem}_count": errors.count, f"{stem}_abs": errors.absolute, f"{stem}_sq": errors.square}
            columns[baseline_column(f"{stem}_abs")] = base.absolute
            columns[baseline_column(f"{stem}_sq")] = base.square
        if labels.energy is not None:
            for average in averages("energy", by_property["energy"]):
                metric = metrics[average.name]
                sums = energy_sums(counts, labels.energy, answer.energy, average, metric.failure_cost or np.nan)
                if sums is not None:
                    columns[_PENALISED.format(average.name)] = sums
                    charged = average._replace(sums=sums).metric(metric.baseline).charged
                    metrics[average.name] = replace(metric, charged=charged)
        if parameters.force_slope and labels.forces is not None:
            slope = slope_error(frames, dataset.table.group, labels.forces, answer)
            metrics |= {} if slope is None else {FORCE_SLOPE: slope}
        items = Items(dataset.table.id, dataset.table.group, dataset.clusters, answer.failure, columns)
        rmses = [averages(stem, errors)[0] for stem, errors in by_property.items()]
        maes = [averages(stem, errors)[1] for stem, errors in by_property.items()] if parameters.mae_parts else []
        parts = [
            *parts_by_group([*rmses, *maes], dataset.table.group),
            *parts_by_element(frames, counts, labels, answer, rmses),
        ]
        probes = probe_results(observation, frames, answer)
        notes = {**_silences(by_property, answer), **probes.notes}
        return Measurement({**metrics, **probes.metrics}, items, notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics; the energy shift is held."""
        stems = [stem for stem, names in METRICS.items() if not metrics.keys().isdisjoint(names[:2])]
        measured = (
            averages(stem, _stored_errors(items.columns, stem), _stored_baseline(items.columns, stem)) for stem in stems
        )
        return contributions_to(
            metrics,
            (
                a._replace(sums=items.columns.get(_PENALISED.format(a.name), a.sums))
                for a in chain.from_iterable(measured)
            ),
        )


def _stored_errors(columns: Mapping[str, Float], stem: str) -> Errors:
    return Errors(*(stored_column(columns, f"{stem}_{column}") for column in ("count", "abs", "sq")))


def _stored_baseline(columns: Mapping[str, Float], stem: str) -> Errors | None:
    """The errors of the trivial model; None if an older version measured the items."""
    absolute, square = (columns.get(baseline_column(f"{stem}_{column}")) for column in ("abs", "sq"))
    if absolute is None or square is None:
        return None
    return Errors(stored_column(columns, f"{stem}_count"), absolute, square)


def _silences(by_property: Mapping[str, Errors], answer: Predictions) -> dict[str, str]:
    """By property, how many answered frames lack it: each has the failure cost, and none fails as a whole."""
    notes = {}
    for stem, errors in by_property.items():
        silent = int((errors.failed & answer.ok).sum())
        if silent:
            notes[stem] = f"not answered for {silent} of {int(errors.labelled.sum())} labelled frames: charged"
    return notes


def parts_by_element(
    frames: Frames, counts: Float, labels: Labels, answer: Predictions, rmses: Sequence[Average]
) -> list[MetricPart]:
    """The RMSE of each property by element: of forces over its atoms, of the others over the frames that contain it."""
    elements = np.unique(frames.numbers)
    parts = [
        rmse.part("element", chemical_symbols[z], column > 0)
        for rmse in rmses
        for z, column in zip(elements, counts.T, strict=True)
    ]
    if labels.forces is None:
        return parts
    forces = np.broadcast_to(np.nan, labels.forces.shape) if answer.forces is None else answer.forces
    error = forces - labels.forces
    square = np.einsum("ij,ij->i", error, error)
    answered = np.isfinite(square)
    sums = np.bincount(frames.numbers[answered], square[answered], 119)
    atoms = np.bincount(frames.numbers[answered], minlength=119)
    by_element = {chemical_symbols[z]: float(np.sqrt(sums[z] / (3 * atoms[z]))) for z in elements if atoms[z]}
    metric = METRICS["force"][0]
    return [replace(p, value=by_element.get(p.name)) if p.metric == metric else p for p in parts]
