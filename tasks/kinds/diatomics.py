"""Diatomics: energy and force of two atoms over their distance, one item a pair of elements, in twelve measures.

The measures are those of Matbench Discovery (commit 2c7f9fc). They see the distances of a window alone: from
`shortest` = 0.9 covalent radii to `longest_in_vdw_radii` = 3.1 van der Waals radii (S. Alvarez, Dalton Trans. 42, 8617
(2013), doi:10.1039/c3dt50599e), at most `longest` = 6 Å. Radii of two elements are averaged. With E(r) and the force
F(r) that drives the atoms apart:

    tortuosity            Σ |ΔE| / (E(first) − min E + E(last) − min E): 1 for one well
    energy_flips          sign changes of ΔE, leaving out |ΔE| < `smallest_step`: 1 for one well
    energy_jump           Σ (|ΔE| before + |ΔE| after) over these, the well included [eV]
    force_flips           sign changes of F, leaving out |F| < `smallest_force`: 1 for one well
    force_variation       Σ |ΔF| [eV/Å]
    force_jump            as energy_jump, of F, leaving out nothing [eV/Å]

and against a reference, if it is smooth: not with jumps of `reference_jump` and `reference_flips` flips, or more.

    curve_energy_mae      over 200 even distances of the common range, linearly interpolated, E less its last [eV]
    curve_force_mae       over the same distances and all six components: a third of |ΔF| [eV/Å]
    wall_distance_mae     of the distances at which E, going inwards from its minimum, exceeds it by each of
                          `wall_heights`; one that the model does not reach counts with the whole distance, and one that
                          the reference does not reach does not count [Å]. This window begins at `wall_from` = 0.8 radii
    pair_bond_length_mae  of the vertex of the parabola through the five points about the lowest one [Å]
    well_depth_mae        of E(last) − min E [eV]
    wavenumber_mae        of the harmonic vibration in that parabola [cm⁻¹]

The last three need a reference that is bound by `least_depth`, the last one also a parabola that opens upwards. A pair
without a reference has the first six. `value` is the published number: the mean over the elements that have the
measure.

Failure cost: a pair fails if the model fails at any distance of its window. Then, or if a measure is not defined for
the model (no forces, no vibration, a flat curve, a failure on the wall above the window), it counts W, at which each
measure of each pair is clipped: so one hole in one curve cannot be the whole mean. For the six errors W is ten times
the baseline: the error of the best model without chemistry. That one has no interaction (its minimum is its first
distance, and its wavenumber 0); or, with four pairs or more, the same well for all, at one place between the shortest
and the longest distance that are asked; or, with two or three pairs, which are too few for a fit, a well at two
covalent radii (`tasks.kinds.equal_wells`). For the six others W is declared, as there is no
trivial model: tortuosity 10, 20 flips, jumps of 15 eV, as `tasks.physicality` has them, and 2000 eV/Å of the forces,
ten times the mean variation of PBE over 92 elements. A failure beyond the window fails nothing, and never stops a task:
deep inside the wall no model has to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np
from ase.data import chemical_symbols
from pydantic import Field, PositiveFloat, PositiveInt

from tasks.datasets.card_parts import Positive
from tasks.datasets.dataset import Dataset, Structures
from tasks.datasets.diatomic_pairs import FEWEST_POINTS, Diatomic, bond_vectors
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch
from tasks.kinds.diatomic_curves import (
    DistanceCurve,
    Turns,
    curve_errors,
    is_jumpy,
    own_measures,
    reference_curve,
    wall_error,
    well_errors,
    well_of,
)
from tasks.kinds.equal_wells import WELLS, EqualWell, take_if_better, typical_bond
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.constant_baseline import FEWEST_REFERENCES
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.metrics.metric import Metric, MetricPart
from tasks.metrics.profiles import Profile, ProfileCurve
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import AsksEachStructure, read_frames
from tasks.observing.probe_errors import ENERGY_PROBES, FORCE_PROBES, probe_results
from tasks.simulation.diatomics import (
    LONGEST,
    LONGEST_IN_VDW_RADII,
    SHORTEST_IN_COVALENT_RADII,
    SMALLEST_FORCE,
    SMALLEST_STEP,
    pair_window,
)
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties

# By measure with a reference: its unit.
ERRORS: Mapping[str, str] = {
    "curve_energy_mae": "eV",
    "curve_force_mae": "eV/Å",
    "wall_distance_mae": "Å",
    "pair_bond_length_mae": "Å",
    "well_depth_mae": "eV",
    "wavenumber_mae": "cm⁻¹",
}
# By measure without one: its unit, and W.
OWN: Mapping[str, tuple[str, float]] = {
    "tortuosity": ("", 10.0),
    "energy_flips": ("", 20.0),
    "energy_jump": ("eV", 15.0),
    "force_flips": ("", 20.0),
    "force_variation": ("eV/Å", 2000.0),
    "force_jump": ("eV/Å", 2000.0),
}
# Of the errors by element, the one that a periodic table shows.
BY_ELEMENT = "curve_energy_mae"
# The well that is the best is found by so many pairs, if there are more.
COMPARED_PAIRS = 20
# Of one pair a well at two covalent radii may be right by luck.
FEWEST_PAIRS = 2
# Above the last point [eV]: higher points of the wall are not drawn.
HIGHEST_DRAWN = 10.0


class DiatomicsParameters(Parameters):
    """Windows and thresholds.

    Args:
        shortest, wall_from: beginning of the window, and of that of the wall, in covalent radii.
        longest_in_vdw_radii: end of both windows.
        longest: [Å] their end at most.
        smallest_step: [eV] below which a change of the energy is none.
        smallest_force: [eV/Å] below which a force has no sign.
        wall_heights: [eV] above the minimum.
        least_depth: [eV] from which a reference is bound.
        reference_jump, reference_flips: of the energy, at which a reference is not compared with.
    """

    shortest: PositiveFloat = SHORTEST_IN_COVALENT_RADII
    wall_from: PositiveFloat = 0.8
    longest_in_vdw_radii: PositiveFloat = LONGEST_IN_VDW_RADII
    longest: PositiveFloat = LONGEST
    smallest_step: PositiveFloat = SMALLEST_STEP
    smallest_force: PositiveFloat = SMALLEST_FORCE
    wall_heights: Annotated[tuple[Positive, ...], Field(min_length=1)] = (1.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    least_depth: PositiveFloat = 0.05
    reference_jump: PositiveFloat = 1.5
    reference_flips: PositiveInt = 3


class JudgedPair(NamedTuple):
    """A pair with its windows and its reference.

    Args:
        numbers: atomic numbers.
        r: (n,) of its structures [Å].
        window, wall: (low, high) [Å].
        reference: None if there is none, or if it is not compared with.
    """

    pair: Diatomic
    numbers: tuple[int, int]
    r: Float
    window: tuple[float, float]
    wall: tuple[float, float]
    reference: DistanceCurve | None


class Diatomics(AsksEachStructure):
    """Measures of the energy and the force of pairs of atoms over their distance."""

    name: str = "diatomics"
    observe_version: int = 1
    # Since 2 the baseline is the best model without chemistry, since 3 also of two or three pairs.
    measure_version: int = 3
    asks_for: Properties = ("energy", "forces")
    parameters: type[Parameters] = DiatomicsParameters
    traits: Traits = Traits(
        title="diatomics",
        about="energy and force of two atoms over their distance, for every element",
        also_uses=("forces",),
        measures=DatasetPart.PAIRS,
        import_format="diatomics",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("curve_energy_mae", "Pair energy MAE", "eV", scored=True),
            KindMetric("curve_force_mae", "Pair force MAE", "eV/Å", scored=True),
            KindMetric("wall_distance_mae", "Repulsive wall of pairs, MAE", "Å", scored=True),
            KindMetric("pair_bond_length_mae", "Bond length of pairs, MAE", "Å", scored=True),
            KindMetric("well_depth_mae", "Well depth of pairs, MAE", "eV", scored=True),
            KindMetric("wavenumber_mae", "Vibration of pairs, MAE", "cm⁻¹", scored=True),
            KindMetric("tortuosity", "Tortuosity of pair energies", ""),
            KindMetric("energy_flips", "Turns of pair energies", "", Better.NEITHER),
            KindMetric("energy_jump", "Jumps of pair energies", "eV"),
            KindMetric("force_flips", "Sign changes of pair forces", "", Better.NEITHER),
            KindMetric("force_variation", "Total variation of pair forces", "eV/Å", Better.NEITHER),
            KindMetric("force_jump", "Jumps of pair forces", "eV/Å"),
            *ENERGY_PROBES,
            *FORCE_PROBES,
        ),
        baseline=KindBaseline(
            "Without chemistry",
            "The best model without interaction, or with the same well at one place between the distances asked; "
            "of two or three pairs, with a well at two covalent radii.",
        ),
        profiles=(Profile("pair", "Energy of pairs", "r / Å", "energy / eV", lambda items, _: pair_curves(items)),),
    )

    def observe(
        self, structures: Structures, parameters: Parameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The answers to all structures. Failures never stop it, as most distances are beyond every window."""
        return super().observe(structures, parameters, model, replace(watch, failed_share=1.0))

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: DiatomicsParameters,
        label_set: str | None,
    ) -> Measurement:
        """The twelve measures; one item a pair.

        Columns: each measure (NaN where it failed, or where there is none), `<measure>_counted` (1 where it counts),
        the trivial model's errors, and the curve as `pair_curves` reads it.
        """
        chosen = dataset.label_set(label_set)
        if not dataset.table.pairs:
            raise ValueError(f"{dataset.card.full_name}: table.json: pairs: there are none")
        where = f"{dataset.card.full_name}: table.json: pairs"
        pairs = [judged_pair(pair, dataset.frames, chosen, parameters, where) for pair in dataset.table.pairs]
        answer = read_frames(observation, dataset.frames)
        curves = [curve_of(each, dataset.frames, answer) for each in pairs]
        cause = np.zeros(len(pairs), np.int8)
        rows = []
        for row, (each, curve) in enumerate(zip(pairs, curves, strict=True)):
            inside = curve.inside(each.window)
            cause[row] = answer.failure[list(each.pair.structures)][inside].max()
            if not cause[row] and not np.isfinite(curve.energy[inside]).all():
                cause[row] = Cause.NON_FINITE
            rows.append({} if cause[row] else measures_of(each, curve, parameters))
        columns = {name: np.array([row.get(name, np.nan) for row in rows]) for name in (*ERRORS, *OWN)}
        columns |= trivial_columns(pairs, parameters)
        columns |= drawn_columns(pairs, curves)
        stated = dataset.baselines(chosen)
        averages = averages_of(columns)
        metrics = {average.name: _metric(average, stated.get(average.name)) for average in averages}
        parts = parts_by_group(averages, [each.pair.group for each in pairs]) + parts_by_element(averages, pairs)
        probes = probe_results(observation, dataset.frames, answer)
        items = items_of(dataset.table.pairs, cause, columns)
        return Measurement({**metrics, **probes.metrics}, items, probes.notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics but those of the probes."""
        return contributions_to(metrics, averages_of(items.columns))


def judged_pair(
    pair: Diatomic, frames: Frames, label_set: str, parameters: DiatomicsParameters, where: str
) -> JudgedPair:
    """A pair with its windows.

    Raises:
        ValueError: too few of its distances, or of those of its reference, are in the window; it begins with `where`.
    """
    first = int(frames.offsets[pair.structures[0]])
    numbers = int(frames.numbers[first]), int(frames.numbers[first + 1])
    ends = (parameters.longest_in_vdw_radii, parameters.longest)
    window, wall = (pair_window(numbers, low, *ends) for low in (parameters.shortest, parameters.wall_from))
    r = np.linalg.norm(bond_vectors(frames, pair.structures), axis=1)
    reference = reference_curve(pair.reference[label_set]) if label_set in pair.reference else None
    none = np.zeros(len(r))
    for name, curve in (("structures", DistanceCurve(r, none, none)), (f"reference.{label_set}", reference)):
        if curve is not None and (n := int(curve.inside(window).sum())) < FEWEST_POINTS:
            low, high = window
            raise ValueError(
                f"{where}: {pair.id}: {name}: {n} distances from {low:.3f} to {high:.3f} Å, at least {FEWEST_POINTS} "
                "are needed"
            )
    most = Turns(parameters.reference_flips, parameters.reference_jump)
    if reference is not None and is_jumpy(reference.between(window), parameters.smallest_step, most):
        reference = None
    return JudgedPair(pair, numbers, r, window, wall, reference)


def curve_of(judged: JudgedPair, frames: Frames, answer: Predictions) -> DistanceCurve:
    """The answers to the structures of a pair."""
    structures = list(judged.pair.structures)
    energy = np.where(answer.failure[structures] == 0, answer.energy[structures], np.nan)
    force = np.full(len(structures), np.nan)
    if answer.forces is not None:
        first = frames.offsets[structures]
        apart = (answer.forces[first + 1] - answer.forces[first]) / 2.0
        force = (apart * bond_vectors(frames, structures)).sum(axis=1) / judged.r
    return DistanceCurve(judged.r, energy, force)


def measures_of(judged: JudgedPair, curve: DistanceCurve, parameters: DiatomicsParameters) -> dict[str, float]:
    """The measures of a pair that the model answered in the whole window."""
    own = own_measures(curve.between(judged.window), parameters.smallest_step, parameters.smallest_force)
    return own | errors_of(judged, curve, parameters)


def errors_of(judged: JudgedPair, curve: DistanceCurve, parameters: DiatomicsParameters) -> dict[str, float]:
    """The measures against the reference; empty without one, NaN where one is not defined."""
    if judged.reference is None:
        return {}
    inner, right = curve.between(judged.window), judged.reference.between(judged.window)
    wall, right_wall = curve.between(judged.wall), judged.reference.between(judged.wall)
    return {
        **curve_errors(inner, right),
        "wall_distance_mae": wall_error(wall, right_wall, parameters.wall_heights),
        **well_errors(inner, right, judged.numbers, parameters.least_depth),
    }


def trivial_columns(pairs: Sequence[JudgedPair], parameters: DiatomicsParameters) -> dict[str, Float]:
    """Which measures count of each pair, and the errors of the best model without chemistry.

    An error counts where a model without interaction has one: where the reference has the quantity.
    """
    columns = {f"{name}_counted": np.ones(len(pairs)) for name in OWN}
    rows = [_trivial(judged, parameters) for judged in pairs]
    for name in ERRORS:
        errors = np.array([row.get(name, np.nan) for row in rows])
        columns[f"{name}_counted"] = np.isfinite(errors).astype(np.float64)
        columns[baseline_column(name)] = errors
    judged = [row for row, each in enumerate(pairs) if each.reference is not None]
    if len(judged) < FEWEST_PAIRS:
        return columns

    def errors_by(curve: Callable[[JudgedPair], DistanceCurve], chosen: Sequence[int]) -> dict[str, Float]:
        found = [errors_of(pairs[row], curve(pairs[row]), parameters) for row in chosen]
        return {name: np.array([errors[name] for errors in found]) for name in ERRORS}

    def errors_in(well: EqualWell, chosen: Sequence[int]) -> dict[str, Float]:
        return errors_by(lambda each: well.curve(each.r), chosen)

    if len(judged) < FEWEST_REFERENCES:
        typical = errors_by(lambda each: typical_bond(each.r, each.window[0] / parameters.shortest), judged)
        for name in ERRORS:
            take_if_better(columns[baseline_column(name)], judged, typical[name])
        return columns
    some = judged[:: max(1, len(judged) // COMPARED_PAIRS)]
    tried = [errors_in(well, some) for well in WELLS]
    for name in ERRORS:
        column = columns[baseline_column(name)]
        counted = np.isfinite(column[some])
        if counted.any():
            means = np.array([np.where(np.isfinite(e[name]), e[name], np.inf)[counted].mean() for e in tried])
            take_if_better(column, judged, errors_in(WELLS[int(np.argmin(means))], judged)[name])
    return columns


def _trivial(judged: JudgedPair, parameters: DiatomicsParameters) -> dict[str, float]:
    if judged.reference is None:
        return {}
    none = np.zeros(len(judged.r))
    errors = errors_of(judged, DistanceCurve(judged.r, none, none), parameters)
    if np.isfinite(errors["well_depth_mae"]):
        well = well_of(judged.reference.between(judged.window))
        errors["wavenumber_mae"] = well.wavenumber(judged.numbers)
    return errors


def averages_of(columns: Mapping[str, Float]) -> list[Average]:
    """The metrics that any pair has, as means over the pairs for which they count."""
    averages = []
    for name, unit in [*ERRORS.items(), *((name, unit) for name, (unit, _) in OWN.items())]:
        counts = stored_column(columns, f"{name}_counted")
        if counts.any():
            baseline = stored_column(columns, baseline_column(name)) if name in ERRORS else None
            averages.append(Average(name, unit, stored_column(columns, name), counts, baseline=baseline))
    return averages


def _metric(average: Average, stated: float | None) -> Metric:
    if average.baseline is None:
        return average.metric(None, OWN[average.name][1])
    return average.metric(stated or float(average.baseline[average.counts > 0].mean()))


def parts_by_element(averages: Sequence[Average], pairs: Sequence[JudgedPair]) -> list[MetricPart]:
    """The error of each pair of two equal atoms, in the measure that a periodic table shows."""
    first, second = np.array([judged.numbers for judged in pairs]).T
    elements = np.unique(first[first == second])
    return [
        average.part("element", chemical_symbols[z], (first == z) & (second == z))
        for average in averages
        if average.name == BY_ELEMENT
        for z in elements
    ]


DRAWN = ("distance", "energy", "reference")


def drawn_columns(pairs: Sequence[JudgedPair], curves: Sequence[DistanceCurve]) -> dict[str, Float]:
    """The drawn curves: columns `distance_00` [Å], `energy_00` and `reference_00` [eV] …, NaN at their ends.

    Energies count from the last distance of the window.
    """
    rows = [_drawn(judged, curve) for judged, curve in zip(pairs, curves, strict=True)]
    n = max(row.shape[1] for row in rows)
    table = np.array([np.pad(row, ((0, 0), (0, n - row.shape[1])), constant_values=np.nan) for row in rows])
    return {f"{name}_{k:02d}": table[:, i, k] for i, name in enumerate(DRAWN) for k in range(n)}


def _drawn(judged: JudgedPair, curve: DistanceCurve) -> Float:
    """(3, k) distances, energies and those of the reference, in the window of the wall."""
    wall = curve.between(judged.wall)
    right = np.full(len(wall.r), np.nan)
    if judged.reference is not None:
        reference = judged.reference.between(judged.wall)
        right = np.interp(wall.r, reference.r, reference.energy - reference.energy[-1], left=np.nan, right=np.nan)
    return np.array([wall.r, wall.energy - wall.energy[-1], right])


def pair_curves(items: Items) -> list[ProfileCurve]:
    """The energy of each pair over its distance, without the higher part of the wall."""
    n = sum(name.startswith("distance_") for name in items.columns)
    table = np.array([[stored_column(items.columns, f"{name}_{k:02d}") for k in range(n)] for name in DRAWN])
    curves = []
    for row, item in enumerate(items.id):
        r, *energies = table[:, np.isfinite(table[0, :, row]), row]
        energy, reference = (np.where(each <= HIGHEST_DRAWN, each, np.nan) for each in energies)
        if np.isfinite(energy).any():
            curves.append(ProfileCurve(item, r, energy, reference))
    return curves
