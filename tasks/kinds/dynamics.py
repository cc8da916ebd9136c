"""Dynamics that the judge drives: structure and thermodynamics of systems, from the trajectories of a model.

Each system of a data set (`tasks.datasets.simulated_systems.SimulatedSystem`) runs in all its replicas, in lock-step
with all others (`tasks.dynamics.simulate`). An item is one analysis of one system; beside them each system has the item
`stability`, the share of its runs that became unstable. Means are over frames after the equilibration and over replicas
(`tasks.dynamics.analyses`); how runs end is in `tasks.dynamics.run_ends`.

**Failure cost.** A run that ended early, or in which no force acts, is charged W in all analyses of its system, however
many replicas are sound: the mean of the others would be that of the lucky ones. W is ten times the trivial model's
error where there is a trivial model: an ideal gas (g(r) = 1, angles in all directions alike), a flat spectrum, or one
that answers zero. For the rest W is declared:

| metric | W | why |
| --- | --- | --- |
| planarity_mae | 0.5 Å | ten times what MLIPAudit 0.1.8 tolerates; a ring of that width is broken |
| mean_rmsd, lowest_rmsd | 20 Å | ten times what MLIPAudit tolerates of a protein |
| tm_error, lowest_tm_error | 1 | the largest value |
| hydrogen_drift_percent | 100 % | the largest value |
| dihedral_outliers_percent | 100 % | the largest value |
| sidechain_outliers_percent | 100 % | the largest value |
| drift_ratio | 10 | ten times what MLIPAudit 0.1.8 tolerates |
| secondary_structure_percent | 100 % | the largest value |
| energy_drift | 4.9 eV/atom/ps | as of the kind *nve* |
| unstable_percent | 100 % | the largest value, which a model without forces has |

A system with runs over their time, or that the model did not answer, has no number of stability, and costs W.

The start tells part of the answer: a model that is harmonic about the first structure keeps its density, its bonds and
the peaks of its g(r), far below the error of an ideal gas. With `start = "drawn"` a run begins at a drawn share of the
volume, 5 to 10 % away on either side, and the barostat has to find the way back in the equilibration. Then the trivial
model is the better of the ideal gas and of an Einstein crystal about the two nearest starts that may be drawn
(`tasks.dynamics.drawn_starts`), in the mean of each measure. With stored starts, as published protocols have them, a
note says what they tell. None of the runs of an Einstein crystal is unstable: stability is a law, and no accuracy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt, model_validator

from tasks.datasets.card import dataset_faults
from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset, Structures
from tasks.datasets.simulated_systems import DensityAnalysis, SimulatedSystem
from tasks.dynamics.analyses import Analysed, analysed, frames_after_equilibration, unmeasured
from tasks.dynamics.analysis_checks import check_analysis, check_escape_distance, check_start
from tasks.dynamics.backbone_maps import backbone_maps
from tasks.dynamics.drawn_starts import FARTHEST, NEAREST, compare_with_kept_starts, scaled, whole_starts
from tasks.dynamics.first_run import first_run
from tasks.dynamics.item_columns import (
    STABILITY,
    AnalysisRow,
    ItemColumns,
    density_curves,
    distribution_curves,
    rdf_curves,
    run_progress,
)
from tasks.dynamics.run_ends import UNSTABLE_CAUSES
from tasks.dynamics.simulate import DynamicsSettings, check_size, simulate
from tasks.dynamics.stored_frames_error import stored_error, stored_progress
from tasks.dynamics.stored_runs import StoredRuns
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.nve import FAILURE_COST
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement, items_of
from tasks.metrics.metric import Metric, MetricPart
from tasks.metrics.profiles import Profile
from tasks.metrics.published_questions import STORED_STARTS
from tasks.metrics.run_progress import SURVIVAL, ProgressOfRuns
from tasks.model.calculator import BatchCalculator
from tasks.observing.drawn_shares import drawn_shares
from tasks.simulation.trial_builds import build_fault
from tasks.structures.frames import Float
from tasks.structures.predictions import Cause

PERCENT = 100.0
DENSITY = "density_mae"


class Measure(NamedTuple):
    """The metric of a measure.

    Args:
        cost: W, if it is declared; None: ten times the trivial model's error.
    """

    metric: KindMetric
    cost: float | None = None


MEASURES: Mapping[str, Measure] = {
    STABILITY: Measure(KindMetric("unstable_percent", "Unstable runs", "%", scored=True, law=True), PERCENT),
    "rdf": Measure(KindMetric("rdf_error", "Mean deviation of g(r)", "", scored=True)),
    "rdf_rmse": Measure(KindMetric("rdf_rmse", "Root mean square deviation of g(r)", "", scored=True)),
    "first_peak": Measure(KindMetric("first_peak_mae", "First peak of g(r), MAE", "Å", scored=True)),
    "density": Measure(KindMetric("density_mape", "Density, mean absolute error", "%", scored=True)),
    "bond_length": Measure(KindMetric("bond_length_mae", "Bond length MAE", "Å", scored=True)),
    "angle": Measure(KindMetric("angle_mae", "Angle MAE", "°", scored=True)),
    "diffusion": Measure(KindMetric("diffusion_mape", "Diffusion, mean absolute error", "%", scored=True)),
    "radius_of_gyration": Measure(KindMetric("radius_of_gyration_mae", "Radius of gyration MAE", "Å", scored=True)),
    "planarity": Measure(KindMetric("planarity_mae", "Ring planarity MAE", "Å"), 0.5),
    "rmsd": Measure(KindMetric("mean_rmsd", "Mean RMSD from the reference structure", "Å"), 20.0),
    "lowest_rmsd": Measure(KindMetric("lowest_rmsd", "Lowest RMSD from the reference structure", "Å"), 20.0),
    "tm_score": Measure(KindMetric("tm_error", "1 − TM-score", ""), 1.0),
    "highest_tm_score": Measure(KindMetric("lowest_tm_error", "1 − highest TM-score", ""), 1.0),
    "hydrogen_drift": Measure(KindMetric("hydrogen_drift_percent", "Time after a hydrogen left", "%"), PERCENT),
    "angular_distribution": Measure(KindMetric("angular_distribution_error", "Deviation of angles", "")),
    "vibrational_spectrum": Measure(KindMetric("vibrational_spectrum_error", "Deviation of vibrational spectra", "")),
    "dihedral_outliers": Measure(KindMetric("dihedral_outliers_percent", "Backbone dihedral outliers", "%"), PERCENT),
    "sidechain_outliers": Measure(KindMetric("sidechain_outliers_percent", "Side chain outliers", "%"), PERCENT),
    "secondary_structure": Measure(
        KindMetric("secondary_structure_percent", "Residues of another secondary structure", "%"), PERCENT
    ),
    "energy_drift": Measure(KindMetric("energy_drift", "Energy drift", "eV/atom/ps"), FAILURE_COST),
    "drift_ratio": Measure(KindMetric("drift_ratio", "Energy drift over kinetic fluctuation", ""), 10.0),
    "temperature": Measure(KindMetric("temperature_error", "Temperature, mean absolute error", "K")),
}


class DynamicsParameters(DynamicsSettings):
    """How systems run.

    Args:
        molecules: what a barostat moves as a whole, if the data set does not state it: each atom, as in crystals, or
            the atoms that bonds hold together at the start.
        variant: a name for a run that is shorter than the full one, beside it in a suite.
        survival: how long runs survive is a metric, too, `survival_percent`: the area below the curve of the share of
            systems whose runs are sound, over the time of a run. A run in which no force acts is sound at no time. What
            ran out of time is in the penalised value alone, as far as it got.
        absolute_density: the mean absolute error of densities is a metric, too.
        start: `stored` begins runs at the structures of the data set; `drawn` at a drawn share of their volumes.
    """

    steps: PositiveInt = 50_000
    store_every: PositiveInt = 100
    molecules: Literal["atoms", "bonded"] = "atoms"
    variant: str = ""
    survival: bool = later(False)
    absolute_density: bool = later(False)
    start: Literal["stored", "drawn"] = later("stored")

    @model_validator(mode="after")
    def _begins(self) -> Self:
        if self.start == "drawn" and (self.ensemble != "npt" or not self.equilibration_steps):
            raise ValueError(
                'start: "drawn" changes the volume, which a barostat has to bring back: set ensemble to "npt", and '
                "equilibration_steps"
            )
        return self


class Dynamics:
    """Structure, thermodynamics and stability in molecular dynamics."""

    name: str = "dynamics"
    observe_version: int = 2
    # Since 3 a hydrogen's drift is a share of the run's intervals, not of its frames; since 4 a note says what stored
    # starts tell.
    measure_version: int = 4
    parameters: type[Parameters] = DynamicsParameters
    traits: Traits = Traits(
        title="molecular dynamics",
        about="g(r), density, geometry and stability in simulations that the judge drives",
        needs=("energy", "forces"),
        measures=DatasetPart.SYSTEMS,
        import_format="dynamics",
        score=ScoreFamily.PROPERTY,
        metrics=(
            *(measure.metric for measure in MEASURES.values()),
            KindMetric(DENSITY, "Density MAE", "g/cm³"),
            KindMetric(SURVIVAL, "Area below the curve of survival", "%", Better.HIGHER),
        ),
        baseline=KindBaseline(
            "Ideal gas, or Einstein crystal",
            "A trivial model: an ideal gas, with g(r) = 1, for radial distribution functions; zero for other values; "
            "and no stable run. Where starts are drawn, the better of this and of an Einstein crystal about them.",
        ),
        draws='With start = "drawn", of each system the share of its volume at which its runs begin.',
        profiles=(
            Profile("rdf", "Radial distribution", "r / Å", "g(r)", rdf_curves),
            Profile("density", "Density", "time / ps", "density / (g/cm³)", density_curves),
            Profile(
                "planarity",
                "Planarity of rings, distribution over frames",
                "distance from the plane / Å",
                "share / %",
                partial(distribution_curves, "planarity"),
            ),
            Profile(
                "bond-length",
                "Bond lengths, distribution over bonds and frames",
                "length − reference / Å",
                "share / %",
                partial(distribution_curves, "bond_length"),
            ),
        ),
        progress=ProgressOfRuns(run_progress, {Cause.UNSTABLE: "an atom escaped"}),
        first_run=first_run,
        backbone_maps=backbone_maps,
    )

    def observe(
        self, structures: Structures, parameters: DynamicsParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Runs all systems: the arrays of `tasks.dynamics.simulate.simulate`.

        Raises:
            ValueError: the trajectories take too much storage, or a barostat cannot be used.
        """
        check_size(structures.name, structures.frames, parameters)
        frames, molecules = whole_starts(structures, parameters.ensemble, parameters.molecules)
        if parameters.start == "drawn":
            shares = drawn_shares(structures, self.observe_version, watch.secret, (NEAREST, FARTHEST), balanced=False)
            frames = scaled(frames, shares, molecules)
        baths = structures.conditions.get("temperature_k")
        return Observation(simulate(frames, parameters, model, watch, structures.frames_sha256, molecules, baths))

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The analyses that are not possible at the start of a run, without those for which a package is missing."""
        faults = []
        for system in dataset.table.systems:
            start = dataset.frames.take([system.structure])
            fault = build_fault(partial(check_escape_distance, system.escape_distance, start))
            faults += [f"systems: {system.id}: {fault}"] if fault else []
            for analysis in system.analyses:
                try:
                    check_start(analysis, start)
                except ModuleNotFoundError:
                    continue
                except ValueError as error:
                    faults.append(f"systems: {system.id}: {analysis.name or analysis.measure}: {error}")
        return faults

    def work(self, structures: Structures, parameters: DynamicsParameters) -> Work:
        """Each structure once a step of its minimisation.

        Each replica once a step, once at the start, and once a change of the volume.
        """
        n = 1 + parameters.steps
        if parameters.ensemble == "npt":
            n += parameters.steps // parameters.barostat_every
        return Work.of(structures.frames, parameters.replicas * n + parameters.minimise_steps)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: DynamicsParameters, label_set: str | None
    ) -> Measurement:
        """The mean error of each measure; an item for each analysis of each system, and one for its stability.

        Columns: `predicted` and `reference` in the unit of the quantity, `error` and that of the trivial model in the
        unit of the metric, `<measure>_count` 1 for the items of a measure; `ended_ps`, until when the first run of the
        system to end was sound, and `progress`, that as a share of the run; `stored_error` as
        `tasks.dynamics.stored_frames_error` has it (of stability its `stored_progress`); of items of g(r) `rdf_*`,
        `rdf_reference_*` and `r_max`; of densities `density_*`; of planarities and bond lengths `share_*`, their
        distribution [%].

        Raises:
            ValueError: there is no system, runs of these parameters cannot be analysed, or the observation is another.
        """
        systems, chosen = dataset.table.systems, dataset.label_set(label_set)
        if not systems:
            raise ValueError(f"{dataset.card.full_name}: table.json: systems: there are none")
        _check(dataset, parameters)
        runs = StoredRuns(observation, dataset, parameters)
        items = [row for system in systems for row in _rows(system)]
        columns = _measured(items, runs, dataset, parameters, chosen)
        if parameters.start == "drawn":
            starts = whole_starts(dataset.structures, parameters.ensemble, parameters.molecules)
            compare_with_kept_starts(columns, items, *starts, chosen)
        groups, stated = np.array([row.group for row in items]), dataset.baselines(chosen)
        metrics: dict[str, Metric] = {}
        parts: list[MetricPart] = []
        for average, cost in averages(columns.arrays):
            members = average.counts > 0
            trivial = None if average.baseline is None else float(average.baseline[members].mean())
            metrics[average.name] = average.metric(stated.get(average.name, trivial), cost)
            parts += parts_by_group([average.over(members)], groups[members].tolist())
        if parameters.absolute_density and "density_count" in columns.arrays:
            densities = _densities(columns.arrays)
            assert densities.baseline is not None
            trivial = float(densities.baseline[densities.counts > 0].mean())
            metrics[DENSITY] = densities.metric(stated.get(DENSITY, trivial))
        if parameters.survival:
            each = columns.arrays[f"{STABILITY}_count"] > 0
            metrics[SURVIVAL] = _survival(columns.arrays["progress"][each], columns.cause[each])
        notes = {"runs": runs.summary} if runs.summary else {}
        if parameters.start == "stored":
            notes[STORED_STARTS] = "Runs begin at the structures of the data set, which springs about them keep."
        return Measurement(metrics, items_of(items, columns.cause, columns.arrays), notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics, by the columns that say which measure an item has."""
        densities = [_densities(items.columns)] if DENSITY in metrics else []
        return contributions_to(metrics, [*(average for average, _ in averages(items.columns)), *densities])


def averages(columns: Mapping[str, Float]) -> list[tuple[Average, float | None]]:
    """The mean |error| of each measure that has items, and W if it is declared."""
    error, trivial = stored_column(columns, "error"), stored_column(columns, baseline_column("error"))
    result = []
    for name, (metric, cost) in MEASURES.items():
        if f"{name}_count" in columns:
            counts = columns[f"{name}_count"]
            baseline = None if np.isnan(trivial[counts > 0]).any() else trivial
            average = Average(metric.name, metric.unit or "", np.abs(error), counts, errors=error, baseline=baseline)
            result.append((average, cost))
    return result


def _measured(
    rows: Sequence[AnalysisRow], runs: StoredRuns, dataset: Dataset, settings: DynamicsParameters, label_set: str
) -> ItemColumns:
    columns = ItemColumns(rows)
    duration = settings.steps * settings.timestep_fs / 1000
    n_intervals = frames_after_equilibration(settings) - 1
    for k, row in enumerate(rows):
        ends = runs.ends(row.structure)
        columns.arrays["ended_ps"][k] = ends.ended_ps.min()
        columns.arrays["progress"][k] = ends.ended_ps.min() / duration
        columns.cause[k] = ends.first_cause
        if isinstance(row.analysis, DensityAnalysis):
            columns.put_densities(k, runs.densities(row.structure))
        before, whole = runs.until_the_end(row.structure), None
        if row.analysis is None:
            columns.put(k, _stability(ends.cause))
            columns.arrays["stored_error"][k] = stored_progress(before, settings.n_stored - 1)
            continue
        if columns.cause[k]:
            start = dataset.frames.take([row.structure])
            baths = dataset.structures.conditions.get("temperature_k")
            bath = settings.temperature_k if baths is None else float(baths[row.structure])
            columns.put(k, unmeasured(row.analysis, start, label_set, bath))
        else:
            result = analysed(row.analysis, runs.of(row.structure), label_set)
            columns.cause[k] = 0 if np.isfinite(result.error) else Cause.UNSTABLE
            columns.put(k, result)
            whole = result.error if settings.replicas == 1 else None
        columns.arrays["stored_error"][k] = stored_error(row.analysis, before, label_set, n_intervals, whole)
    return columns


def _stability(cause: NDArray[np.int8]) -> Analysed:
    """The share of unstable runs [%], NaN if one was not measured; the trivial model has none that is stable."""
    unstable = np.isin(cause, UNSTABLE_CAUSES)
    share = PERCENT * float(unstable.mean()) if (unstable | (cause == 0)).all() else np.nan
    return Analysed(share, 0.0, share, PERCENT)


def _densities(columns: Mapping[str, Float]) -> Average:
    """The mean absolute error of densities [g/cm³]; an ideal gas has none."""
    counts, reference = stored_column(columns, "density_count"), stored_column(columns, "reference")
    error = stored_column(columns, "predicted") - reference
    trivial = np.where(counts > 0, reference, 0.0)
    return Average(DENSITY, "g/cm³", np.abs(error), counts, errors=error, baseline=trivial)


def _survival(shares: Float, cause: NDArray[np.int8]) -> Metric:
    """The mean share of a run until which a system was sound (k,), in percent: of what failed, as far as it got.

    How long a system would have survived that ran out of time is not known: it counts in the penalised value alone.
    """
    known = shares[cause != Cause.OVER_TIME]
    value = PERCENT * float(known.mean()) if known.size else None
    return Metric(value, "%", len(shares), int((shares < 1.0).sum()), PERCENT * float(shares.mean()))


def _rows(system: SimulatedSystem) -> list[AnalysisRow]:
    cluster = system.cluster or system.id
    named = [(analysis.name or analysis.measure, analysis) for analysis in system.analyses]
    return [
        AnalysisRow(f"{system.id}/{name}", system.group, cluster, system.structure, analysis)
        for name, analysis in [(STABILITY, None), *named]
    ]


def _check(dataset: Dataset, settings: DynamicsParameters) -> None:
    """Checks that runs of these settings can be analysed."""
    where = f"{dataset.card.full_name}: table.json: systems"
    for system in dataset.table.systems:
        start = dataset.frames.take([system.structure])
        with dataset_faults(f"{where}: {system.id}"):
            check_escape_distance(system.escape_distance, start)
        for analysis in system.analyses:
            place = f"{where}: {system.id}: {analysis.name or analysis.measure}"
            check_analysis(place, analysis, start, settings)
