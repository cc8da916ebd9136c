"""Reaction paths: barrier, reaction energy and transition state, on the path that the model itself finds.

Both ends of each reaction relax; then a nudged elastic band between them does, and again while its highest image climbs
(`tasks.simulation.reaction_path`). All images of all reactions move in lock-step. With E of the last band:

| quantity | of the model | trivial model |
| --- | --- | --- |
| barrier | the highest E less E of the relaxed reactant; 0 if the reactant is the highest | the best constant |
| reaction energy | E of the relaxed product less E of the relaxed reactant | the best constant |
| distance to the transition state | the highest image from the reference's transition state | that of the first band |

The trivial model has no forces, so that the first band is its path, and answers one barrier, at one image, and one
reaction energy in all reactions: those with the smallest errors. The observation keeps the first bands between the ends
as they are stored. Where such a band meets the reference's transition state within 0.01 Å, as it does if the guess is
that state, the question tells it, and there is no distance.

The distance is a root mean square over the atoms [Å]: of molecules after superposition (never mirrored), with atoms by
their index; of periodic structures along the shortest images, after the mean displacement has been taken away.

A data set may have each of the three for some reactions. The metrics are means of absolute errors over those that do.

Failure cost: a path that has not converged, or on which the model failed, costs W in each of its quantities: ten times
the trivial model's error, at which errors are clipped. In the share of paths that did not converge it counts as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import MinimumEnergyPath
from tasks.datasets.dataset import Dataset, Structures
from tasks.datasets.path_roles import PathRole, path_structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.constant_baseline import best_constant
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.metrics.metric import Metric
from tasks.metrics.profiles import Profile, ProfileCurve
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.lockstep_batches import Done
from tasks.simulation.reaction_path import BandSettings, Ends, ReactionPath, first_band, reaction_paths
from tasks.simulation.trial_builds import build_fault
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import Cause
from tasks.structures.units import Unit, unit_size
from tasks.trajectories.minimum_image import shortest_vectors
from tasks.trajectories.superposition import rmsd

PERCENT = 100.0
TOLD = 0.01  # Å, from an image of the first band to a transition state that it tells
# For estimates of time: steps of an end, and of a band in both of its searches.
USUAL_END_STEPS, USUAL_STEPS = 30, 100
# By quantity, the metric that is the mean of its absolute errors.
METRICS: Mapping[str, str] = {
    "barrier": "barrier_mae",
    "reaction_energy": "reaction_energy_mae",
    "distance": "transition_state_distance",
}
NOT_CONVERGED = "not_converged_percent"


class ReactionPathsParameters(Parameters):
    """How paths are searched.

    Args:
        unit: of barriers and reaction energies.
    """

    band: BandSettings = BandSettings()
    unit: Unit = "eV"


def path_curves(items: Items, parameters: ReactionPathsParameters) -> list[ProfileCurve]:
    """The energy [eV] of each path over the share of its images."""
    names = [f"path_{k:03d}" for k in range(parameters.band.n_images)]
    energies = np.array([stored_column(items.columns, name) for name in names]).T * unit_size(parameters.unit, False)
    share = np.linspace(0.0, 1.0, len(names))
    return [
        ProfileCurve(item, share, energy)
        for item, energy in zip(items.id, energies, strict=True)
        if np.isfinite(energy).any()
    ]


class ReactionPaths:
    """Errors of barriers, reaction energies and transition states of paths that the model finds."""

    name: str = "reaction_paths"
    observe_version: int = 2  # since 2 the observation has the first bands
    measure_version: int = 2  # since 2 the baseline is the best trivial model, and a transition state is not told
    parameters: type[Parameters] = ReactionPathsParameters
    traits: Traits = Traits(
        title="reaction paths",
        about="barriers, reaction energies and transition states on paths that the model finds",
        needs=("energy", "forces"),
        measures=DatasetPart.PATHS,
        import_format="reaction-paths",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("barrier_mae", "Barrier MAE", scored=True),
            KindMetric("reaction_energy_mae", "Reaction energy MAE", scored=True),
            KindMetric("transition_state_distance", "Distance to the transition state", "Å", scored=True),
            KindMetric(NOT_CONVERGED, "Did not converge", "%"),
        ),
        baseline=KindBaseline(
            "Without forces",
            "A trivial model without forces that stays at the first band, and answers the same to every reaction.",
        ),
        profiles=(Profile("path", "Energy along the path", "share of the path", "energy / eV", path_curves),),
    )

    def observe(
        self, structures: Structures, parameters: ReactionPathsParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The last band of each of r reactions with m images: the arrays of `band_arrays`.

        Also first_positions (m, N, 3) [Å] of the first bands between ends that are not relaxed.

        Raises:
            ValueError: the structures of a reaction do not fit each other.
        """
        paths = path_structures(structures)
        reactions = [ends_of(structures.frames, of_role) for of_role in paths]
        log = LoggedAnswers(self, structures, parameters, model, watch)
        try:
            done = reaction_paths(reactions, log, parameters.band, log.watch)
        except ValueError as error:
            raise ValueError(f"{structures.name}: {error}") from None
        first = [[image.positions for image in first_band(ends, parameters.band)] for ends in reactions]
        arrays = band_arrays(reactions, done, parameters.band.n_images)
        return Observation({**arrays, "first_positions": np.concatenate(first, axis=1)})

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The paths without a first band. It is interpolated along straight lines, which is quick."""
        settings = BandSettings(interpolation="linear")
        by_path = path_structures(dataset.structures) if dataset.table.paths else ()
        faults = []
        for row in dataset.table.paths:

            def build(path: int = row.path) -> object:
                return first_band(ends_of(dataset.frames, by_path[path]), settings)

            fault = build_fault(build)
            faults += [f"paths: {row.id}: {fault}"] if fault else []
        return faults

    def work(self, structures: Structures, parameters: ReactionPathsParameters) -> Work:
        """The usual steps of both ends, and of all images between them."""
        reactants = [of_role[PathRole.REACTANT] for of_role in path_structures(structures)]
        band = parameters.band
        steps = min(USUAL_STEPS, band.steps + band.climbing_steps)
        n_calls = 2 * min(USUAL_END_STEPS, band.end_steps) + (band.n_images - 2) * steps
        return Work.of(structures.frames.take(reactants), n_calls)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: ReactionPathsParameters, label_set: str | None
    ) -> Measurement:
        """Errors of the three quantities; one item a reaction.

        Columns: `barrier`, `reaction_energy` [in the parameter `unit`] and `distance` [Å]; of each, `_reference`,
        `_error`, `_count` (1 where there is a reference) and the trivial model's error; `steps`, `residual` [eV/Å],
        `not_converged` (1 or 0), and `path_<k>`, the energy of image k less that of the first.
        """
        rows, chosen = dataset.table.paths, dataset.label_set(label_set)
        paths = path_structures(dataset.structures)
        if not rows or max(row.path for row in rows) >= len(paths):
            raise ValueError(f"{dataset.card.full_name}: table.json: paths: are not those of the structures")
        size, band = unit_size(parameters.unit, False), parameters.band
        bands = read_bands(observation, dataset.frames, paths, band.n_images)
        picked = [bands[row.path] for row in rows]
        failed = observation.causes(len(paths))[[row.path for row in rows]]
        cause = failed.copy()
        cause[(failed == 0) & ~np.array([each.converged for each in picked])] = Cause.NOT_CONVERGED
        first = np.array(
            [
                [distance_between(dataset.frames, paths[row.path], image) for image in images]
                for row, images in zip(rows, first_bands(observation, dataset.frames, paths, rows, band), strict=True)
            ]
        )
        columns = reference_columns(rows, chosen, first, size)
        profiles = np.array([(each.energies - each.energies[0]) / size for each in picked])
        predicted = {
            "barrier": profiles.max(axis=1),
            "reaction_energy": profiles[:, -1],
            "distance": np.array(
                [distance_to(dataset.frames, paths[row.path], each) for row, each in zip(rows, picked, strict=True)]
            ),
        }
        predicted["distance"][columns["distance_count"] == 0] = np.nan
        for name, values in predicted.items():
            columns[name] = np.where(cause == 0, values, np.nan)
            columns[f"{name}_error"] = columns[name] - columns[f"{name}_reference"]
        columns["steps"] = np.array([each.steps for each in picked], np.float64)
        columns["residual"] = np.array([each.residual for each in picked])
        columns["not_converged"] = np.where(failed == 0, cause == Cause.NOT_CONVERGED, np.nan)
        columns |= {f"path_{k:03d}": np.where(failed == 0, profiles[:, k], np.nan) for k in range(band.n_images)}
        averages = averages_of(columns, parameters.unit)
        metrics = {average.name: self._metric(average, dataset, chosen) for average in averages}
        parts = parts_by_group(averages, [row.group for row in rows])
        return Measurement(metrics, items_of(rows, cause, columns), {"items in": parameters.unit}, parts)

    def _metric(self, average: Average, dataset: Dataset, label_set: str) -> Metric:
        if average.baseline is None:
            return average.metric(None, PERCENT)
        trivial = float(average.baseline[average.counts > 0].mean())
        return average.metric(dataset.baselines(label_set).get(average.name, trivial))

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics."""
        return contributions_to(metrics, averages_of(items.columns, ""))


def ends_of(frames: Frames, of_role: Mapping[PathRole, int]) -> Ends:
    """The structures of a reaction that a search starts from."""
    guess = of_role.get(PathRole.GUESS)
    first, last = (frames.atoms(of_role[role]) for role in (PathRole.REACTANT, PathRole.PRODUCT))
    return Ends(first, last, None if guess is None else frames.atoms(guess))


def band_arrays(
    reactions: Sequence[Ends], done: Sequence[Done[ReactionPath]], n_images: int
) -> dict[str, NDArray[Any]]:
    """The arrays of an observation of r reactions with N atoms in all.

    positions (m, N, 3) [Å] and energies (r, m) [eV] of the m images; residual (r,) [eV/Å], steps (r,), converged (r,),
    failure (r,). NaN where the model failed.
    """
    offsets = np.cumsum([0, *(len(ends.start) for ends in reactions)])
    positions = np.full((n_images, offsets[-1], 3), np.nan)
    energies, residual = np.full((len(reactions), n_images), np.nan), np.full(len(reactions), np.nan)
    steps, converged = np.zeros(len(reactions), np.int64), np.zeros(len(reactions), np.bool_)
    for index, end in enumerate(done):
        if end.value is not None:
            positions[:, offsets[index] : offsets[index + 1]] = end.value.positions
            energies[index], residual[index] = end.value.energies, end.value.residual
            steps[index], converged[index] = end.value.steps, end.value.converged
    failure = np.array([end.cause for end in done], np.int8)
    named = {"positions": positions, "energies": energies, "residual": residual}
    return {**named, "steps": steps, "converged": converged, "failure": failure}


def read_bands(
    observation: Observation, frames: Frames, paths: Sequence[Mapping[PathRole, int]], n_images: int
) -> list[ReactionPath]:
    """The bands of all reactions, NaN where the model failed."""
    offsets = np.cumsum([0, *(frames.n_atoms[of_role[PathRole.REACTANT]] for of_role in paths)])
    positions = observation.array("positions", (n_images, int(offsets[-1]), 3))
    energies = observation.array("energies", (len(paths), n_images))
    residual = observation.array("residual", (len(paths),))
    steps, converged = (observation.array(n, (len(paths),), t) for n, t in (("steps", np.int64), ("converged", bool)))
    return [
        ReactionPath(positions[:, start:end], energies[i], bool(converged[i]), float(residual[i]), int(steps[i]))
        for i, (start, end) in enumerate(pairwise(offsets))
    ]


def first_bands(
    observation: Observation,
    frames: Frames,
    paths: Sequence[Mapping[PathRole, int]],
    rows: Sequence[MinimumEnergyPath],
    band: BandSettings,
) -> list[Float]:
    """(m, N, 3) [Å] of the m images of the first band of each of `rows`."""
    offsets = np.cumsum([0, *(frames.n_atoms[of_role[PathRole.REACTANT]] for of_role in paths)])
    positions = observation.array("first_positions", (band.n_images, int(offsets[-1]), 3))
    return [positions[:, offsets[row.path] : offsets[row.path + 1]] for row in rows]


def reference_columns(rows: Sequence[MinimumEnergyPath], label_set: str, first: Float, size: float) -> dict[str, Float]:
    """The references of the three quantities, which of them there are, and the trivial model's errors.

    Args:
        first: (k, m) distances [Å] of the images of the first bands from the transition states, NaN where there are
            none.
        size: of the unit of energies [eV].
    """
    stated = [row.reference[label_set] for row in rows]
    references = {
        name: np.array([np.nan if value is None else value / size for value in values])
        for name, values in (
            ("barrier", [reference.barrier for reference in stated]),
            ("reaction_energy", [reference.reaction_energy for reference in stated]),
        )
    }
    columns: dict[str, Float] = {}
    known = np.isfinite(first).all(axis=1) & (first.min(axis=1) > TOLD)
    image = int(np.argmin(first[known].mean(axis=0))) if known.any() else 0
    references["distance"] = np.where(known, 0.0, np.nan)
    for name, values in references.items():
        has_one = np.isfinite(values)
        columns[f"{name}_reference"] = values
        columns[f"{name}_count"] = has_one.astype(np.float64)
        errors = first[:, image] if name == "distance" else np.abs(values - best_constant(values[:, None]))
        columns[baseline_column(name)] = np.where(has_one, errors, 0.0)
    return columns


def averages_of(columns: Mapping[str, Float], unit: str) -> list[Average]:
    """The metrics that the columns of the items have, each as a mean over items."""
    averages = []
    for name, metric in METRICS.items():
        counts = stored_column(columns, f"{name}_count")
        if not counts.any():
            continue
        error = stored_column(columns, f"{name}_error")
        baseline = stored_column(columns, baseline_column(name))
        of = "Å" if name == "distance" else unit
        averages.append(Average(metric, of, np.abs(error), counts, errors=error, baseline=baseline))
    share = stored_column(columns, "not_converged")
    return [*averages, Average(NOT_CONVERGED, "%", share, np.ones(len(share)), scale=PERCENT)]


def distance_to(frames: Frames, of_role: Mapping[PathRole, int], path: ReactionPath) -> float:
    """[Å] from the highest image to the reference's transition state; NaN if there is none of the two."""
    if not np.isfinite(path.energies).all():
        return np.nan
    return distance_between(frames, of_role, path.positions[int(np.argmax(path.energies))])


def distance_between(frames: Frames, of_role: Mapping[PathRole, int], positions: Float) -> float:
    """[Å] from `positions` (N, 3) to the reference's transition state; NaN if there is none."""
    if PathRole.TRANSITION_STATE not in of_role:
        return np.nan
    state = of_role[PathRole.TRANSITION_STATE]
    reference, pbc = frames.positions[frames.atom_slice(state)], np.asarray(frames.pbc[state])
    if not pbc.any():
        return float(rmsd(positions[None], reference)[0])
    return _periodic_distance(positions, reference, frames.cell[state], pbc)


def _periodic_distance(positions: Float, reference: Float, cell: Float, pbc: Bool) -> float:
    vectors = shortest_vectors((positions - reference)[None], np.asarray(cell)[None], pbc)[0]
    vectors = vectors - vectors.mean(axis=0)
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))
