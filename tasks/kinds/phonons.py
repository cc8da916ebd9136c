"""Phonons: highest frequency, entropy, free energy and heat capacity of crystals, by finite displacements.

A crystal is relaxed, cell and atoms, with its symmetry kept; one atom at a time is moved by a small distance in the
supercell that the data set states; `tasks.simulation.vibrations` computes the vibrations from the forces. The
quantities are LAMBench's (phonon.py at commit 53663f0) and A. Loew et al.'s, npj Comput. Mater. 11, 178 (2025),
doi:10.1038/s41524-025-01650-1, for crystals of the MDR phonon database: the highest frequency as hν/k_B [K], the others
per mole of *primitive* cells. Two details differ from LAMBench on purpose, the wave vectors of cells that are not
primitive and the acoustic modes at Γ: see `tasks.simulation.vibrations`. References must be of the temperature and mesh
of the task: an imported data set states them, and a task with others is refused.

The forces on the supercell without a displacement are subtracted. A relaxation ends at a small force, not at zero, and
a model need not obey the symmetry of the crystal, by which phonopy derives the forces of one displacement from those
of another: without the subtraction a constant force would look like a response. For a model that obeys the symmetry the
subtraction changes nothing.

With the parameter `spectrum`, two more frequencies are measured, the mean over the mesh and the lowest commensurate one
[K], and `stability_f1`, how well stable crystals are told from those with imaginary frequencies: the F1 score of "it is
stable", its lowest frequency above minus the tolerance, against the lowest frequency of the reference, as ML-PEG has it
at commit 6a03c7a. An unstable crystal then has the two frequencies.
Where references have `bands`, `band_mae` is the mean error of the frequencies over the Brillouin zone [K].

Failure cost: if the relaxation or any supercell of a crystal fails (also for lack of memory), the item has that cause;
with an imaginary frequency beyond the tolerance it is UNSTABLE, since its sums mean nothing. Each costs ten times the
error of the best trivial model, from the references: it answers the same for every crystal, or is harmonic about the
first structure, with springs of one stiffness (`tasks.simulation.equal_springs`). A heat capacity hardly tells these
from a crystal. A crystal that failed counts as wrong in `stability_f1`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from ase import Atoms
from pydantic import PositiveFloat

from tasks.datasets.card import Crystal
from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.averages import Average, contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost, baseline_column, stored_column
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric
from tasks.metrics.property_errors import CrystalProperty, property_averages
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.displaced_supercells import (
    Supercells,
    ask_supercells,
    read_supercells,
    supercell_arrays,
    supercell_sizes,
)
from tasks.simulation.equal_springs import DEBYE, EINSTEIN, equal_springs
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.simulation.relaxation import Relaxation, relaxed
from tasks.simulation.trial_builds import (
    build_fault,
    built_with_symmetry,
    cell_fault,
    handedness_fault,
    size_fault,
    symmetry_fault,
)
from tasks.simulation.vibrations import (
    THZ_IN_K,
    PhonopyPanicked,
    Vibrations,
    VibrationSettings,
    crystal,
    frequencies_at,
    vibrations,
)
from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.predictions import Cause

if TYPE_CHECKING:
    from phonopy import Phonopy

PROPERTIES = (
    CrystalProperty("max_frequency_k", "K", "Highest frequency"),
    CrystalProperty("entropy_j_per_mol_k", "J/mol/K", "Entropy"),
    CrystalProperty("free_energy_kj_per_mol", "kJ/mol", "Free energy"),
    CrystalProperty("heat_capacity_j_per_mol_k", "J/mol/K", "Heat capacity"),
)
SPECTRUM = (
    CrystalProperty("mean_frequency_k", "K", "Mean frequency"),
    CrystalProperty("min_frequency_k", "K", "Lowest frequency"),
)
STABILITY_F1 = "stability_f1"
BANDS, BAND_ERROR = "band_mae", "band_error"
STIFFNESSES = np.geomspace(0.05, 500.0, 466)  # of the springs of the trivial model, in steps of 2 % [eV/Å²]
# For estimates of time: the steps of a relaxation with FIRE, and the displacements of an atom of the primitive cell,
# which are one in a cubic crystal and six in a triclinic one.
USUAL_STEPS = 60
USUAL_DISPLACEMENTS = 2.0


class PhononsParameters(VibrationSettings):
    """How vibrations are computed.

    Args:
        displacement: of an atom [Å].
        spectrum: mean and lowest frequency, and stability, too.
    """

    relaxation: Relaxation = Relaxation()
    displacement: PositiveFloat = 0.01
    spectrum: bool = later(False)


class Phonons(CrystalKind):
    """Errors of the highest frequency [K], entropy [J/mol/K], free energy [kJ/mol] and heat capacity [J/mol/K]."""

    name: str = "phonons"
    observe_version: int = 1
    measure_version: int = 4  # since 4 the baseline is the best trivial model, not zero
    parameters: type[Parameters] = PhononsParameters
    properties = PROPERTIES
    traits: Traits = Traits(
        title="phonons",
        about="highest frequency, entropy, free energy and heat capacity of crystals",
        needs=("energy", "forces", "stress"),
        measures=DatasetPart.CRYSTALS,
        import_format="phonopy",
        score=ScoreFamily.PROPERTY,
        metrics=(
            *(p.metric for p in PROPERTIES),
            *(replace(p.metric, scored=False) for p in SPECTRUM),
            KindMetric(BANDS, "Frequencies over the Brillouin zone, mean absolute error", "K"),
            KindMetric(STABILITY_F1, "F1 score of stable crystals", "", Better.HIGHER),
        ),
        baseline=KindBaseline(
            "Without chemistry",
            "The best model that answers the same for every crystal, or has the same springs for all elements.",
        ),
    )

    def observe(
        self, structures: Structures, parameters: PhononsParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Each crystal relaxed, and the forces on its supercells: the arrays of `supercell_arrays`.

        Raises:
            ValueError: a structure is not periodic, or its supercell or primitive cell does not fit it.
        """
        import phonopy  # it takes long to import, and most commands compute no phonons

        frames, (supercell, primitive) = structures.frames, matrices(structures)
        if not frames.periodic.all():
            index = int(np.flatnonzero(~frames.periodic)[0])
            raise ValueError(f"{structures.name}: structure {index} is not periodic and has no phonons")
        sizes = supercell_sizes(frames, supercell)

        def job(index: int) -> Callable[[BatchCalculator], Supercells]:
            def run(lane: BatchCalculator) -> Supercells:
                start = frames.atoms(index)
                atoms = relaxed(start, lane, parameters.relaxation, cell=True, keep_symmetry=True)
                try:
                    phonon = relaxed_crystal(atoms, start, supercell[index], primitive[index])
                except ValueError as error:
                    raise ValueError(f"{structures.name}: structure {index}: {error}") from None
                return ask_supercells(phonon, atoms, parameters.displacement, lane)

            return run

        jobs = [Job(int(sizes[index]), job(index)) for index in range(len(frames))]
        log = LoggedAnswers(self, structures, parameters, model, watch)
        done = run_concurrently(jobs, log, log.watch, "crystals")
        return Observation(supercell_arrays(frames, done), {"phonopy": str(phonopy.__version__)})

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The crystals without supercells, or with bands of another primitive cell."""
        if "supercell" not in dataset.conditions:
            return []
        rows, (supercell, primitive) = dataset.table.crystals, matrices(dataset.structures)
        sizes = supercell_sizes(dataset.frames, supercell)[[row.structure for row in rows]]
        faults = []
        for row, with_symmetry in zip(rows, built_with_symmetry(sizes), strict=True):
            atoms = dataset.frames.atoms(row.structure)
            fault = _build_fault(row, atoms, supercell[row.structure], primitive[row.structure], with_symmetry)
            faults += [f"crystals: {row.id}: {fault}"] if fault else []
        return faults

    def work(self, structures: Structures, parameters: PhononsParameters) -> Work:
        """The usual steps of a relaxation, the supercell, and two displaced ones an atom of the primitive cell."""
        frames, (supercell, primitive) = structures.frames, matrices(structures)
        relaxation = Work.of(frames, min(USUAL_STEPS, parameters.relaxation.max_steps))
        n_supercells = 1 + USUAL_DISPLACEMENTS * frames.n_atoms * np.abs(np.linalg.det(primitive))
        sizes = supercell_sizes(frames, supercell).astype(np.float64)
        return relaxation + Work(sizes, relaxation.density, n_supercells)

    def measured(self, parameters: PhononsParameters) -> tuple[CrystalProperty, ...]:
        """The four quantities, and those of the spectrum."""
        return (*PROPERTIES, *SPECTRUM) if parameters.spectrum else PROPERTIES

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: PhononsParameters, label_set: str | None
    ) -> Measurement:
        """As of every kind of crystals, and the stability."""
        measured = super().measure(observation, dataset, parameters, label_set)
        if not parameters.spectrum:
            return measured
        columns = measured.items.columns
        predicted, reference = columns["min_frequency_k"], columns["min_frequency_k_reference"]
        f1 = stability_f1(predicted, reference, -parameters.imaginary_tolerance_thz * THZ_IN_K)
        metrics = dict(measured.metrics) | ({} if f1 is None else {STABILITY_F1: f1})
        bands = self._band_columns(observation, dataset, dataset.label_set(label_set))
        if bands:
            average, count = _band_average(bands), bands["band_count"]
            baseline = float(bands[baseline_column(BAND_ERROR)][count > 0].mean())
            stated = dataset.baselines(label_set).get(BANDS, baseline)
            metrics[BANDS] = average.metric(stated)
        items = replace(measured.items, columns={**columns, **bands})
        return replace(measured, metrics=metrics, items=items)

    def _band_columns(self, observation: Observation, dataset: Dataset, label_set: str) -> dict[str, Float]:
        """The mean errors of the frequencies [K] of each crystal with `bands`; empty if none has any.

        Raises:
            ValueError: a reference has another number of frequencies than its primitive cell.
        """
        crystals = dataset.table.crystals
        rows = {c.structure: row for row, c in enumerate(crystals) if label_set in c.bands}
        if not rows:
            return {}
        error, size, count = np.full(len(crystals), np.nan), np.zeros(len(crystals)), np.zeros(len(crystals))
        for row in rows.values():
            reference = crystals[row].bands[label_set]
            weights = np.array(reference.weights) / sum(reference.weights)
            size[row] = THZ_IN_K * float(weights @ np.abs(np.array(reference.frequencies)).mean(axis=1))
            count[row] = 1.0
        supercell, primitive = matrices(dataset.structures)
        for index, answered in read_supercells(observation, dataset.frames, supercell):
            if index not in rows:
                continue
            reference = crystals[rows[index]].bands[label_set]
            numbers = dataset.frames.numbers[dataset.frames.atom_slice(index)]
            try:
                phonon = answered.force_constants(numbers, supercell[index], primitive[index])
                found = frequencies_at(phonon, np.array(reference.qpoints))
            except PhonopyPanicked:
                continue
            theirs = np.array(reference.frequencies)
            if found.shape != theirs.shape:
                id, n = crystals[rows[index]].id, found.shape[1]
                raise ValueError(f"table.json: crystals: {id}: bands: has {theirs.shape[1]} frequencies, not {n}")
            weights = np.array(reference.weights) / sum(reference.weights)
            error[rows[index]] = THZ_IN_K * float(weights @ np.abs(found - theirs).mean(axis=1))
        return {BAND_ERROR: error, baseline_column(BAND_ERROR): size, "band_count": count}

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics but the stability."""
        stored = [p for p in (*PROPERTIES, *SPECTRUM) if p in PROPERTIES or f"{p.name}_error" in items.columns]
        bands = [_band_average(items.columns)] if BANDS in metrics else []
        return contributions_to(metrics, [*property_averages(stored, items.columns), *bands])

    def values(self, observation: Observation, dataset: Dataset, parameters: PhononsParameters) -> CrystalValues:
        """The quantities, and those of crystals of equal springs, of many stiffnesses."""
        for name, value in dataset.card.settings.items():
            stated = getattr(parameters, name, value)
            if stated != value:
                raise ValueError(
                    f"{dataset.card.full_name}: references are of {name} = {value:g}, the task is of {stated}"
                )
        cause = observation.causes(len(dataset.frames)).copy()
        properties = self.measured(parameters)
        predicted = np.full((len(cause), len(properties)), np.nan)
        supercell, primitive = matrices(dataset.structures)
        for index, answered in read_supercells(observation, dataset.frames, supercell):
            numbers = dataset.frames.numbers[dataset.frames.atom_slice(index)]
            try:
                phonon = answered.force_constants(numbers, supercell[index], primitive[index])
                quantities = vibrations(phonon, parameters)
            except PhonopyPanicked:
                cause[index] = Cause.UNSTABLE
                continue
            if quantities.is_stable(parameters.imaginary_tolerance_thz):
                predicted[index] = property_values(quantities, properties)
            else:
                cause[index] = Cause.UNSTABLE
                # Its sums mean nothing, its frequencies do.
                predicted[index, len(PROPERTIES) :] = property_values(quantities, properties[len(PROPERTIES) :])
        return CrystalValues(
            cause, predicted, _trivial(dataset.frames, primitive, parameters.temperature_k, properties)
        )


def _trivial(frames: Frames, primitive: Float, temperature_k: float, properties: Sequence[CrystalProperty]) -> Float:
    """(m, n, p) the properties of n crystals of equal springs, of m sorts."""
    trivial = []
    for shares in (EINSTEIN, DEBYE):
        crystals = [
            equal_springs(frames.numbers[frames.atom_slice(index)], float(n_cells), STIFFNESSES, temperature_k, shares)
            for index, n_cells in enumerate(1.0 / np.abs(np.linalg.det(primitive)))
        ]
        trivial += np.transpose([[getattr(c, p.name) for p in properties] for c in crystals], (2, 0, 1)).tolist()
    return np.array(trivial)


def _build_fault(row: Crystal, atoms: Atoms, supercell: Int, primitive: Float, with_symmetry: bool) -> str:
    """A line about what a crystal is built from; empty if it is sound."""
    fault = handedness_fault("supercell", supercell) or handedness_fault("primitive", primitive)
    fault = fault or size_fault("supercell", round(len(atoms) * float(np.linalg.det(supercell))))
    if fault or (fault := cell_fault(atoms) or symmetry_fault(atoms)):
        return fault

    def build() -> None:
        phonon = crystal(atoms, supercell, primitive, with_symmetry=with_symmetry)
        n_bands = 3 * len(phonon.primitive)
        for bands in row.bands.values():
            n = len(bands.frequencies[0])
            if n != n_bands:
                raise ValueError(f"bands: has {n} frequencies at a wave vector, and the primitive cell {n_bands}")

    return build_fault(build)


def _band_average(columns: Mapping[str, Float]) -> Average:
    error, size = stored_column(columns, BAND_ERROR), stored_column(columns, baseline_column(BAND_ERROR))
    return Average(BANDS, "K", error, stored_column(columns, "band_count"), baseline=size)


def property_values(quantities: Vibrations, properties: Sequence[CrystalProperty] = PROPERTIES) -> list[float]:
    """The values of `properties`, in their order."""
    return [float(getattr(quantities, p.name)) for p in properties]


def stability_f1(predicted: Float, reference: Float, threshold: float) -> Metric | None:
    """The F1 score of a lowest frequency above `threshold`; None if no crystal has one at the reference.

    Args:
        predicted: (k,) NaN where a crystal failed: in the penalised value it is wrong.
        reference: (k,) NaN where it has none.
    """
    known = np.isfinite(reference)
    failed, positive = ~np.isfinite(predicted[known]), reference[known] > threshold
    if not positive.any():
        return None
    said = np.where(failed, ~positive, predicted[known] > threshold)

    def f1(chosen: Bool) -> float:
        hits, wrong = (said & positive)[chosen].sum(), (said != positive)[chosen].sum()
        return float(2 * hits / (2 * hits + wrong)) if hits + wrong else 0.0

    answered = ~failed
    value = f1(answered) if positive[answered].any() else None
    return Metric(value, "", len(positive), int(failed.sum()), f1(np.ones(len(positive), np.bool_)))


def matrices(structures: Structures) -> tuple[Int, Float]:
    """(n, 3, 3) each: the conditions `supercell` and `primitive` (without the latter, the cell is primitive)."""
    supercell = structures.condition("supercell")
    return supercell, structures.conditions.get("primitive", np.tile(np.eye(3), (len(supercell), 1, 1)))


def relaxed_crystal(atoms: Atoms, start: Atoms, supercell: Int, primitive: Float) -> Phonopy:
    """The crystal `atoms`, which is `start` after its relaxation, with supercell and primitive cell.

    Raises:
        ItemFailed: NOT_CONVERGED: the matrices fit `start`, but not the relaxed crystal.
        ValueError: they do not fit `start` either: the data set is at fault.
    """
    try:
        return crystal(atoms, supercell, primitive)
    except ValueError:
        crystal(start, supercell, primitive)
        raise ItemFailed(Cause.NOT_CONVERGED) from None
