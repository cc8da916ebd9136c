"""Relaxed structures: their geometries, cells and energy differences against references, and what did not converge.

The judge relaxes every structure with the model, all at once. The last iterate counts: energies and geometries are
those of the structure at which the optimiser ended. Structures that are not periodic in all directions, and structures
with fixed atoms, keep their cell; of the others the parameters say what of the cell may change. A crystal is relaxed at
its condition `pressure_gpa`.

Reference geometries are labels (`tasks.datasets.geometries`), and differences are rows of `table.json` as in
`tasks.kinds.energy_differences`: lattice, adsorption, vacancy and formation energies, each a sum of the potential
energies of relaxed structures; with `enthalpy`, of their enthalpies E + p V. A data set has one of them, or both.

Items are the structures, then the differences. A column `…_count` states which items a metric is over:

| metric | items |
| --- | --- |
| `rmsd` [Å]: mean over structures of the root mean square distance of the atoms | with a reference geometry |
| `volume_mape` [%]: mean of \\|V/V_ref − 1\\| | those of them whose cell may change |
| with `extent`: `lattice_constant_mae` [Å] of the different lengths, `volume_mae` [Å³/atom], or | " |
| `area_mae` [Å²/atom] of the first two vectors, or `length_mae` [Å/atom] of the first | " |
| `mae`, `rmse`, or `<quantity>_mae` …, in the unit of the parameters | differences |
| `not_converged_percent` (also by group), `mean_steps` | all structures |

Distances of a molecule are those after the best superposition, atom by atom in their order, never mirrored. Those of a
periodic structure are `tasks.trajectories.periodic_matching`; those of one with fixed atoms are over the others, where
they stand.

A start near its reference tells the answer. So the parameters `rattle` and `strain` draw the starts from the secret of
the store (`tasks.kinds.relaxed_starts`), and the observation keeps them. Energies cannot be read from a start. A suite
that keeps the starts of a published protocol states that, and a note beside the numbers says what a model without
forces achieves there.

Failure cost: a structure that fails, or has not converged within the steps, costs ten times the baseline in every
metric that it enters, and fails each difference that it is in. The baseline is the model without any force: it leaves
each structure at its start, and answers zero to differences; where these are total energies, or gain atoms in another
way, each atom has the energy that fits the references best (`tasks.metrics.atom_energies`). A card may state another
baseline; of geometries a larger one counts only where starts are as published. If the starts are the references, there
is no baseline without `rattle` and `strain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

import numpy as np
from pydantic import NonNegativeFloat, model_validator

from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset, Structures
from tasks.datasets.geometries import Geometries
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.difference_statistics import Statistic
from tasks.kinds.relaxed_geometries import (
    ComparedAtoms,
    Comparison,
    Extent,
    Matching,
    ReferenceGeometries,
    end_arrays,
    fixed_atoms,
    free_cells,
    read_ends,
    with_enthalpies,
)
from tasks.kinds.relaxed_items import (
    NOT_CONVERGED,
    RMSD,
    STEPS,
    SYMMETRY,
    VOLUME,
    averages,
    difference_statistics,
    kept_symmetry,
    mean_steps,
    metric_of,
    published_starts,
    relaxed_items,
    uncertain_metrics,
)
from tasks.kinds.relaxed_starts import StartDraw, drawn_starts, read_starts, start_arrays
from tasks.metrics.averages import Average, contributions_to, parts_by_group
from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.failure_cost import SMALLEST_BASELINE
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.lockstep_batches import Done, Job, run_concurrently
from tasks.simulation.relaxation import Freedom, LastIterate, Relaxation, last_iterate
from tasks.simulation.trial_builds import build_fault, cell_fault
from tasks.structures.frames import Bool, Frames
from tasks.structures.predictions import Cause, Property
from tasks.structures.units import Unit

USUAL_STEPS = 60  # for estimates of time


class RelaxedStructuresParameters(Parameters):
    """How structures are relaxed, and compared with references.

    Args:
        cell: of crystals: `full` changes it as a whole, `hydrostatic` its volume alone.
        strains: with a full cell, the strains that may change, in the order xx, yy, zz, yz, xz, xy; None: all.
        keep_symmetry: whether crystals keep the space group of their start.
        rattle: random displacement of each free atom of the start [Å], drawn from the secret, the same for every model.
        strain: random strain of the start of each cell that may relax, drawn likewise: the volume, and of a full cell
            the shape within the space group.
        start: `published` keeps the stored starts although they may tell the references, and says so in a note.
        unit: of the differences, and of baselines of them that the card states.
        matching: `superposition` superposes periodic structures, too (a molecule in a box).
        rmsd_of: the atoms that are compared with a reference geometry.
        extent: of the cells that may change, compared as a metric of its own.
        symmetry: the share of crystals that end in the space group of their reference (within 0.05 Å) is a metric, too.
        enthalpy: whether the differences are of enthalpies, at each crystal's pressure.
        statistics: of the differences, as `tasks.kinds.energy_differences` has them; `own_minimum` is not among them.
    """

    relaxation: Relaxation = Relaxation()
    cell: Literal["fixed", "full", "hydrostatic"] = "full"
    strains: tuple[bool, bool, bool, bool, bool, bool] | None = None
    keep_symmetry: bool = False
    rattle: NonNegativeFloat = 0.0
    strain: float = later(0.0, ge=0.0, le=0.2)
    start: Literal["judged", "published"] = later("judged")
    unit: Unit = "eV"
    matching: Matching = "periodicity"
    rmsd_of: ComparedAtoms = later("all")
    extent: Extent | None = later(None)
    symmetry: bool = later(False)
    enthalpy: bool = later(False)
    statistics: tuple[Statistic, ...] = later(())

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.strains is not None and (self.cell != "full" or not any(self.strains)):
            raise ValueError('strains: are chosen of cell = "full", at least one of them: leave them out')
        if self.rattle and self.keep_symmetry:
            raise ValueError("rattle: a displaced start has no symmetry: leave out keep_symmetry or rattle")
        if self.strain and self.cell == "fixed":
            raise ValueError("strain: is of cells that relax: leave it out")
        if self.draws_starts and self.start == "published":
            raise ValueError("start: published starts are not drawn: leave out rattle and strain")
        if "own_minimum" in self.statistics:
            raise ValueError("statistics: own_minimum is of energy_differences alone: leave it out")
        return self

    @property
    def draws_starts(self) -> bool:
        """Whether starts are not the stored structures."""
        return bool(self.rattle or self.strain)

    def draw(self, cells: Bool) -> StartDraw:
        """What of starts is drawn, where `cells` (n,) are relaxed."""
        return StartDraw(self.rattle, self.strain, cells, self.strains or (True,) * 6, self.cell == "full")

    def freedom(self, fixed: Sequence[int], free_cell: bool) -> Freedom:
        """The freedom of a structure."""
        if not free_cell:
            return Freedom("fixed", fixed=fixed)
        return Freedom(self.cell, self.strains, fixed, self.keep_symmetry)


class RelaxedStructures:
    """Errors of relaxed geometries, volumes and energy differences."""

    name: str = "relaxed_structures"
    observe_version: int = 2  # since 2 starts are drawn from the secret
    # Since 2 the items have the distances of those that did not converge; since 3 space groups are found within 0.05 Å;
    # since 4 each of the different lattice constants counts once, and what did not converge is also by group; since 5
    # baselines are of the drawn starts, and at most what a start achieves; since 6 that of total energies is of atoms.
    measure_version: int = 6
    parameters: type[Parameters] = RelaxedStructuresParameters
    traits: Traits = Traits(
        title="relaxed structures",
        about="geometries, cells and energy differences of relaxed structures",
        needs=("energy", "forces"),
        also_uses=("stress",),
        measures=DatasetPart.GEOMETRIES,
        import_format="relaxed-structures",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric(RMSD, "Distance from the reference geometry (RMSD)", "Å", scored=True),
            KindMetric(VOLUME, "Volume, mean absolute error", "%", scored=True),
            KindMetric("mae", "Mean absolute error", scored=True),
            KindMetric("*_mae", scored=True),
            KindMetric("*lowest_found_percent", "Groups whose lowest member is found", "%", Better.HIGHER),
            KindMetric("*ranking_error", "Lowest or highest member not found", ""),
            KindMetric("*r2", "Coefficient of determination R²", "", Better.HIGHER),
            KindMetric("*spearman", "Rank correlation in a group (Spearman's ρ)", "", Better.HIGHER),
            KindMetric("rmse", "Root mean square error"),
            KindMetric("*_rmse"),
            KindMetric(SYMMETRY, "Crystals in the space group of the reference", "%", Better.HIGHER),
            KindMetric(NOT_CONVERGED, "Did not converge", "%"),
            KindMetric(STEPS, "Mean number of steps of a relaxation", "", Better.NEITHER),
        ),
        baseline=KindBaseline(
            "Without forces",
            "A model without any force leaves each structure at its start. It answers zero to differences, and "
            "energies of the composition to total energies.",
        ),
        draws="The displacements and strains of the starts are drawn from the secret of the store.",
    )

    def observe(
        self, structures: Structures, parameters: RelaxedStructuresParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The last iterate of each relaxation: the arrays of `end_arrays`; and of `start_arrays` if starts are drawn.

        A structure whose cell may change is UNSUPPORTED without stress, all are without forces.

        Raises:
            ValueError: every atom of a structure is fixed.
        """
        fixed, free_cell = fixed_atoms(structures), self.free_cells(structures, parameters)
        draw = parameters.draw(free_cell)
        frames = drawn_starts(structures, draw, self.observe_version, watch.secret)
        motionless = np.flatnonzero(np.logical_and.reduceat(fixed, frames.offsets[:-1]))
        if motionless.size:
            raise ValueError(f"{structures.name}: structure {motionless[0]}: fixed: every atom is: leave it out")
        pressure = structures.conditions.get("pressure_gpa", np.zeros(len(frames)))
        ends: list[Done[LastIterate]] = [Done(None, Cause.UNSUPPORTED)] * len(frames)
        jobs, asked = [], []
        for i in range(len(frames)):
            needed: set[Property] = {"energy", "forces", "stress"} if free_cell[i] else {"energy", "forces"}
            if needed <= set(model.properties):
                held = np.flatnonzero(fixed[frames.atom_slice(i)]).tolist()
                freedom = parameters.freedom(held, bool(free_cell[i]))
                jobs.append(relaxation_job(frames, i, parameters.relaxation, freedom, float(pressure[i])))
                asked.append(i)
        log = LoggedAnswers(self, structures, parameters, model, watch)
        for i, done in zip(asked, run_concurrently(jobs, log, log.watch, "relaxations"), strict=True):
            ends[i] = done
        drawn = start_arrays(frames) if parameters.draws_starts else {}
        return Observation({**end_arrays(frames, ends), **drawn})

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The structures with reference geometries that cannot be relaxed, or compared with them."""
        if not dataset.geometries:
            return []
        free, ids = free_cells(dataset.structures), dataset.table.id
        cells = [(ids[i], cell_fault(dataset.frames.atoms(i))) for i in np.flatnonzero(free).tolist()]
        faults = [f"structures: {id}: {fault}" for id, fault in cells if fault]
        for name, geometries in dataset.geometries.items():

            def build(known: Geometries = geometries) -> object:
                references = ReferenceGeometries(dataset.structures, known, Comparison("periodicity"))
                return references.distances(dataset.frames.positions, dataset.frames.cell, known.known)

            fault = "" if faults else build_fault(build)
            faults += [f"references: {name}: {fault}"] if fault else []
        return faults

    def work(self, structures: Structures, parameters: RelaxedStructuresParameters) -> Work:
        """Each structure as often as a relaxation usually asks about it (`USUAL_STEPS`)."""
        return Work.of(structures.frames, min(USUAL_STEPS, parameters.relaxation.max_steps))

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: RelaxedStructuresParameters,
        label_set: str | None,
    ) -> Measurement:
        """Errors of geometries, volumes and differences; one item a structure, then one a difference."""
        ends = read_ends(observation, dataset.frames)
        start = read_starts(observation, dataset.frames) if parameters.draws_starts else dataset.frames
        free_cell, published = self.free_cells(dataset.structures, parameters), parameters.start == "published"
        level = dataset.label_set(label_set)
        if parameters.enthalpy:
            ends = with_enthalpies(ends, dataset.structures)
        items = relaxed_items(
            ends,
            dataset,
            level,
            start=start,
            free_cell=free_cell,
            comparison=Comparison(parameters.matching, parameters.rmsd_of, parameters.extent),
            unit=parameters.unit,
        )
        metrics: dict[str, Metric] = {}
        parts: list[MetricPart] = []
        means = averages(items.columns, parameters.unit)
        for average in means:
            if average.name == RMSD and parameters.extent is not None and _is_exact(average):
                continue  # the sites have no freedom: the cell alone is compared
            stated, where = dataset.baselines(level), dataset.card.full_name
            metrics[average.name] = metric_of(average, stated, where, published=published)
            members = average.counts > 0
            if average.name == NOT_CONVERGED:  # one that failed has not converged
                average = average._replace(sums=np.where(np.isfinite(average.sums), average.sums, 1.0))
            if not average.root and (average.baseline is not None or average.name == NOT_CONVERGED):
                parts += parts_by_group([average.over(members)], np.array(items.group)[members].tolist())
        if parameters.symmetry:
            metrics |= kept_symmetry(ends, dataset, level)
        rows = dataset.table.differences
        metrics |= difference_statistics(items, rows, metrics, parameters.statistics, parameters.unit)
        metrics |= uncertain_metrics(metrics, rows, level, parameters.unit)
        metrics[STEPS] = mean_steps(ends)
        notes: dict[str, str] = {"items in": parameters.unit} if dataset.table.differences else {}
        if published:
            notes["starts"] = published_starts(means, metrics)
        return Measurement(metrics, items, notes, parts)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics but the number of steps."""
        return contributions_to(metrics, averages(items.columns))

    @staticmethod
    def free_cells(structures: Structures, parameters: RelaxedStructuresParameters) -> Bool:
        """(n,) the structures whose cell is relaxed."""
        return np.asarray(free_cells(structures) & (parameters.cell != "fixed"))


def _is_exact(average: Average) -> bool:
    """Whether the trivial model has no error."""
    return average.baseline is not None and not (average.baseline[average.counts > 0] > SMALLEST_BASELINE).any()


def relaxation_job(
    frames: Frames, index: int, settings: Relaxation, freedom: Freedom, pressure_gpa: float
) -> Job[LastIterate]:
    """The relaxation of structure `index`, to run beside others."""
    atoms = frames.atoms(index)

    def run(model: BatchCalculator) -> LastIterate:
        return last_iterate(atoms, model, settings, freedom, pressure_gpa)

    return Job(len(atoms), run)
