"""Equations of state: the errors of V0, B0 and B0′ of each curve of energies against those of a reference.

The volumes of a data set lie about those of the reference. So each curve is asked about the minimum that the model
itself has, which is searched from a drawn volume (`tasks.observing.curve_observation`). With `volumes = "published"`
the structures themselves are asked, as a published protocol has it; then a note says that the middle of the volumes is
near the answer.

`tasks.metrics.curve_baselines` has the baselines. They set the scale of the errors.

Further metrics, which no score counts:

- with the parameter `distances`, ε, ν and Δ of the curves (`tasks.simulation.curve_distances`);
- of phases, which are the curves of one group whose references have `e0_per_atom`: `phase_energy_mae`, the energies at
  the minima above that of the phase that is lowest at the reference, and `phase_order_percent`, the pairs of phases in
  the right order;
- with the parameter `shape`, the shape of each energy over the published volumes: how far from one the turns are
  (`flips_error`), the tortuosity, and three rank correlations with the volume. They need no reference.

Where a data set has several references of equal standing, the metrics state how far these lie from their mean.

Failure cost: if any point of a curve fails, the item has that cause. A curve is NOT_CONVERGED if the search finds no
minimum, if the last volumes have none, if it is flat up to rounding, or if its bulk modulus is below 0.05 GPa. Each
costs ten times the baseline of the metric, at which every error is clipped. A group of phases with a failed one has no
pair in order, and the others fail if it is the lowest. In the shape, a curve of which a point fails turns at each
point, has a tortuosity of ten, and is correlated the wrong way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from pydantic import model_validator

from tasks.datasets.card import Curve, CurveReference
from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.curve_phases import phase_columns, phase_energies, phase_metrics
from tasks.kinds.curve_shapes import shape_averages, shape_metrics, shapes_of
from tasks.metrics.averages import Average, contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost, stored_column
from tasks.metrics.curve_baselines import BASELINES, curve_baselines, stated_baseline_faults
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.metrics.metric import EQUAL_REFERENCES, Metric
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import LoggedAnswers
from tasks.observing.curve_observation import ENERGY, curve_faults, curve_work, observe_curves
from tasks.observing.frames_observation import observe_structures, questions, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, probe_results
from tasks.simulation.birch_murnaghan import EquationOfState, fit
from tasks.simulation.curve_distances import curve_distance
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

# Of the median deviation of WIEN2k's PBE from experiment, likewise.
DISTANCES = {
    "epsilon": ("", 1.41),
    "nu": ("", 3.15),
    "delta": ("meV/atom", 15.1),
}
FITTED = ("v0_per_atom", "b0_gpa", "b0_prime")
ERRORS = {**BASELINES, **DISTANCES}
PERCENT, MILLI = 100.0, 1000.0
PUBLISHED = "Asked at the volumes of the data set, whose middle is near the answer."


class EquationOfStateParameters(Parameters):
    """What is measured beside the equation of state.

    Args:
        distances: ε, ν and Δ, too.
        shape: the shape of each energy over its volumes, too.
        references: False: the data set has none. The shape alone is measured, which no score counts.
        volumes: `published`: those of the data set, whose middle is near the answer; `drawn`: about the minimum of the
            model. Without references they are always the published ones.
    """

    distances: bool = later(False)
    shape: bool = later(False)
    references: bool = later(True)
    volumes: Literal["drawn", "published"] = later("drawn")

    @model_validator(mode="after")
    def _measures_something(self) -> Self:
        if not self.references and (self.distances or not self.shape):
            raise ValueError("references: without any, the shape is measured alone: set shape, and leave out distances")
        if self.shape and not self.asks_published:
            raise ValueError('shape: is measured at the volumes of the data set: set volumes to "published"')
        return self

    @property
    def asks_published(self) -> bool:
        """Whether the structures of the data set are asked as they are."""
        return self.volumes == "published" or not self.references

    @property
    def scored(self) -> bool:
        """False without references."""
        return self.references


class EquationOfStateKind:
    """Errors of V0 [%], B0 [%] and B0′."""

    name: str = "equation_of_state"
    observe_version: int = 3  # since 3 a curve is asked about the model's own minimum, from a drawn start
    # Since 3 a flat curve has no equation of state, since 4 stiffening is of steps, since 5 the card's baseline is read
    # for phases, since 6 volumes are those that were asked, and no constant is better than the baseline.
    measure_version: int = 6
    parameters: type[Parameters] = EquationOfStateParameters
    traits: Traits = Traits(
        title="equation of state",
        about="volume, bulk modulus and its derivative, fitted to E(V)",
        measures=DatasetPart.CURVES,
        import_format="acwf",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("v0_mae_percent", "Volume V₀, mean absolute error", "%", scored=True),
            KindMetric("b0_mae_percent", "Bulk modulus B₀, mean absolute error", "%", scored=True),
            KindMetric("b0_prime_mae", "Pressure derivative B₀′, mean absolute error", "", scored=True),
            KindMetric("epsilon", "Distance of the curves, ε", ""),
            KindMetric("nu", "Distance of the parameters, ν", ""),
            KindMetric("delta", "Distance of the energies, Δ", "meV/atom"),
            KindMetric("phase_energy_mae", "Energy above the lowest phase, mean absolute error", "meV/atom"),
            KindMetric("phase_order_percent", "Pairs of phases in the right order", "%", Better.HIGHER),
            KindMetric("flips_error", "Turns of the energy more or less than one", ""),
            KindMetric("volume_tortuosity", "Tortuosity of the energy over the volume", ""),
            KindMetric("compression_spearman", "Rank correlation with the volume, compressed", "", Better.LOWER),
            KindMetric("stiffening_spearman", "Rank correlation of steps and volume, compressed", "", Better.HIGHER),
            KindMetric("tension_spearman", "Rank correlation with the volume, expanded", "", Better.HIGHER),
            *ENERGY_PROBES,
        ),
        draws="Of each curve, the volume at which the search for its minimum begins, and the spacing there.",
        baseline=KindBaseline(
            "PBE against experiment",
            "How far PBE lies from experiment, which every error is divided by: no trivial model has an equation of "
            "state. Where one constant for all crystals is closer to the references, its error.",
            "For equations of state, 1 is an error as large as that of PBE against experiment, or larger.",
        ),
    )

    def observe(
        self, structures: Structures, parameters: EquationOfStateParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Energies and volumes of `observe_curves`, or the energies of the structures themselves.

        Raises:
            ValueError: a structure is not periodic in all directions.
        """
        if parameters.asks_published:
            return observe_structures(structures, self.observe_version, ENERGY, model, watch)
        log = LoggedAnswers(self, structures, parameters, model, watch)
        return Observation(observe_curves(structures, self.observe_version, log, log.watch))

    def work(self, structures: Structures, parameters: EquationOfStateParameters) -> Work:
        """Each structure once, or also as often as a search usually asks before; and each copy."""
        if parameters.asks_published:
            return Work.of(questions(structures, self.observe_version).frames)
        return curve_work(structures)

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: EquationOfStateParameters,
        label_set: str | None,
    ) -> Measurement:
        """One item a curve, with the fitted v0_per_atom [Å³], b0_gpa and b0_prime, and their errors."""
        curves = dataset.table.curves
        if not curves:
            raise ValueError(f"{dataset.card.full_name}: table.json: curves: there are none")
        answer = read_frames(observation, dataset.frames)
        probes = probe_results(observation, dataset.frames, answer)
        per_atom = 1.0 / dataset.frames.n_atoms
        is_drawn = "volume" in observation.arrays
        volumes = observation.array("volume", (len(dataset.frames),)) if is_drawn else dataset.frames.volumes
        volume, energy = volumes * per_atom, answer.energy * per_atom
        points = [np.array(curve.structures) for curve in curves]
        cause = np.array([answer.failure[each].max() for each in points], np.int8)
        metrics: dict[str, Metric] = dict(probes.metrics)
        columns: dict[str, Float] = {}
        if parameters.shape:
            columns |= shapes_of([(volume[i], energy[i]) for i in points], cause)
            metrics |= shape_metrics(columns, max(len(each) for each in points))
        if not parameters.references:
            return Measurement(metrics, items_of(curves, cause, columns), probes.notes)
        chosen = dataset.label_set(label_set)
        fitted = np.full((len(curves), len(EquationOfState._fields)), np.nan)
        for row, each in enumerate(points):
            eos = None if cause[row] else fit(volume[each], energy[each])
            if eos is not None:
                fitted[row] = eos
            elif not cause[row]:
                cause[row] = Cause.NOT_CONVERGED
        references = [curve.reference[chosen] for curve in curves]
        errors = curve_errors(fitted, references, distances=parameters.distances)
        columns |= dict(zip(FITTED, fitted.T[:3], strict=True)) | errors
        columns |= phase_columns(fitted[:, 3], curves, references)
        stated, spread = dataset.baselines(chosen), spread_of_equals(curves, chosen)
        baselines = {name: scale for name, (_, scale) in DISTANCES.items()} | curve_baselines(references) | dict(stated)
        for average in _averages(errors):
            baseline = baselines[average.name]
            metrics[average.name] = replace(average.metric(baseline), reference_uncertainty=spread.get(average.name))
        metrics |= phase_metrics(columns, curves, references, stated)
        notes = {**probes.notes, **_equal_references(curves, chosen), **({} if is_drawn else {"volumes": PUBLISHED})}
        return Measurement(metrics, items_of(curves, cause, columns), notes)

    def build_faults(self, dataset: Dataset) -> list[str]:
        """Curves whose structures are not found without the table, and baselines that a constant reaches."""
        return [*curve_faults(dataset), *stated_baseline_faults(dataset)] if dataset.table.curves else []

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics that are means of errors."""
        averages = _averages(items.columns)
        if "phase_energy_mae" in metrics:
            averages.append(phase_energies(items.columns))
        if "flips_error" in metrics:
            averages += shape_averages(items.columns)
        return contributions_to(metrics, averages)


def curve_errors(fitted: Float, references: Sequence[CurveReference], *, distances: bool = False) -> dict[str, Float]:
    """(k,) each: signed errors of V0 [%], B0 [%] and B0′ of the (k, ≥ 3) `fitted`, and perhaps ε, ν, Δ [meV/atom].

    NaN where `fitted` is.
    """
    reference = np.array([[r.v0_per_atom, r.b0_gpa, r.b0_prime] for r in references])
    difference = fitted[:, :3] - reference
    percent = PERCENT * difference / reference
    errors = {
        "v0_error_percent": percent[:, 0],
        "b0_error_percent": percent[:, 1],
        "b0_prime_error": difference[:, 2],
    }
    if distances:
        apart = np.full((len(fitted), 3), np.nan)
        for row in np.flatnonzero(np.isfinite(fitted[:, :3]).all(axis=1)):
            apart[row] = curve_distance(EquationOfState(*fitted[row, :3]), EquationOfState(*reference[row]))
        errors |= {"epsilon": apart[:, 0], "nu": apart[:, 1], "delta": MILLI * apart[:, 2]}
    return errors


def spread_of_equals(curves: Sequence[Curve], label_set: str) -> dict[str, float]:
    """By metric, its value for the references of equal standing against their mean, the worst of them for each curve.

    Empty if a curve has one reference alone.
    """
    equals = [curve.equals.get(label_set, {}) for curve in curves]
    if not all(equals):
        return {}
    of_curve = np.array([row for row, each in enumerate(equals) for _ in each])
    fitted = np.array([[r.v0_per_atom, r.b0_gpa, r.b0_prime] for each in equals for r in each.values()])
    errors = curve_errors(fitted, [curves[row].reference[label_set] for row in of_curve], distances=True)
    spread = {}
    for average in _averages(errors):
        worst = np.zeros(len(curves))
        np.maximum.at(worst, of_curve, average.sums)
        spread[average.name] = float(worst.mean())
    return spread


def _equal_references(curves: Sequence[Curve], label_set: str) -> dict[str, str]:
    """A note that names the references of equal standing."""
    names = sorted({name for curve in curves for name in curve.equals.get(label_set, {})})
    return {EQUAL_REFERENCES: ", ".join(names)} if names else {}


def _averages(columns: Mapping[str, Float]) -> list[Average]:
    averages = []
    for name, (unit, _) in ERRORS.items():
        column = name.replace("_mae", "_error")
        if column in columns or name in BASELINES:
            error = np.abs(stored_column(columns, column))
            averages.append(Average(name, unit, error, np.ones(len(error))))
    return averages
