"""Phonons: highest frequency, entropy, free energy and heat capacity of crystals, by finite displacements.

A crystal is relaxed, cell and atoms, with its symmetry kept; one atom at a time is moved by a small distance in the
supercell that the dataset states; `tasks.simulation.vibrations` says what the forces come to. The quantities are
LAMBench's (doi:10.48550/arXiv.2504.19578) and A. Loew et al.'s, npj Comput. Mater. 11, 178 (2025),
doi:10.1038/s41524-025-01650-1, for crystals of the MDR phonon database: the highest frequency as hν/k_B [K], the others
per mole of *primitive* cells. References must be of the temperature and mesh that the task has: an imported set states
its own, and a task of others is refused.

The forces on the supercell in which no atom is moved are asked too, and subtracted. A relaxation ends at a small force,
not at none, and a model need not obey the crystal's symmetry, by which phonopy makes the forces of one displacement
into those of others: what is constant would be taken for a response. A model that obeys it is answered the same.

What a failure costs: a crystal of which the relaxation or any supercell fails (one that does not fit in memory among
them) has that cause; one with an imaginary frequency beyond the tolerance is UNSTABLE, since its sums mean nothing.
Each is charged ten times the error of the trivial model, which answers zero everywhere (LAMBench's dummy).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import phonopy
from ase import Atoms
from phonopy import Phonopy
from pydantic import PositiveFloat

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.metrics.contributions import Charged, Contribution
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.property_errors import Property, property_contributions, property_items, property_metrics, references
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.simulation.displaced_supercells import (
    Supercells,
    ask_supercells,
    read_supercells,
    supercell_arrays,
    supercell_sizes,
)
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.simulation.relaxation import Relaxation, relaxed
from tasks.simulation.vibrations import PhonopyPanicked, Vibrations, VibrationSettings, crystal, vibrations
from tasks.structures.frames import Float, Int
from tasks.structures.predictions import Cause

PROPERTIES = (
    Property("max_frequency_k", "K", "Highest frequency"),
    Property("entropy_j_per_mol_k", "J/mol/K", "Entropy"),
    Property("free_energy_kj_per_mol", "kJ/mol", "Free energy"),
    Property("heat_capacity_j_per_mol_k", "J/mol/K", "Heat capacity"),
)
# For an estimate of time: a relaxation with FIRE takes about so many steps; an atom of the primitive cell is moved once
# in a cubic crystal and six times in a triclinic one.
USUAL_STEPS = 60
USUAL_DISPLACEMENTS = 2.0


class PhononsParameters(VibrationSettings):
    """How phonons are asked for, and summed up.

    Args:
        displacement: by how much an atom is moved [Å].
    """

    relaxation: Relaxation = Relaxation()
    displacement: PositiveFloat = 0.01


class Phonons:
    """Errors of the highest frequency [K], entropy [J/mol/K], free energy [kJ/mol] and heat capacity [J/mol/K]."""

    name: str = "phonons"
    observe_version: int = 1
    measure_version: int = 2
    parameters: type[Parameters] = PhononsParameters
    traits: Traits = Traits(
        title="phonons",
        about="highest frequency, entropy, free energy and heat capacity of crystals",
        measures=DatasetPart.CRYSTALS,
        import_format="phonopy",
        score=ScoreFamily.PROPERTY,
        metrics=tuple(p.metric for p in PROPERTIES),
        baseline=KindBaseline("Answers zero", "A trivial model that answers zero everywhere."),
    )

    def observe(
        self, structures: Structures, parameters: PhononsParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """Each crystal relaxed, and the forces on its supercells: the arrays of `supercell_arrays`.

        Raises:
            ValueError: a structure is not periodic, or its supercell or primitive cell does not fit it.
        """
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
        done = run_concurrently(jobs, model, watch, "crystals")
        return Observation(supercell_arrays(frames, done), {"phonopy": str(phonopy.__version__)})

    def work(self, structures: Structures, parameters: PhononsParameters) -> Work:
        """Usual steps of a relaxation, the supercell, and two displaced ones an atom of the primitive cell."""
        frames, (supercell, primitive) = structures.frames, matrices(structures)
        relaxation = Work.of(frames, min(USUAL_STEPS, parameters.relaxation.max_steps))
        asked = 1 + USUAL_DISPLACEMENTS * frames.n_atoms * np.abs(np.linalg.det(primitive))
        atoms = asked * supercell_sizes(frames, supercell)
        return Work(relaxation.frames + float(asked.sum()), relaxation.atoms + float(atoms.sum()))

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: PhononsParameters, label_set: str | None
    ) -> Measurement:
        """One item a crystal, with the four quantities, their references and errors."""
        crystals, chosen = dataset.table.crystals, dataset.label_set(label_set)
        if not crystals:
            raise ValueError(f"{dataset.card.full_name}: table.json: crystals: there are none")
        for name, value in dataset.card.settings.items():
            if getattr(parameters, name, value) != value:
                mine = getattr(parameters, name)
                raise ValueError(
                    f"{dataset.card.full_name}: references are of {name} = {value:g}, the task is of {mine}"
                )
        cause = observation.causes(len(dataset.frames)).copy()
        found = np.full((len(cause), len(PROPERTIES)), np.nan)
        supercell, primitive = matrices(dataset.structures)
        for index, answered in read_supercells(observation, dataset.frames, supercell):
            numbers = dataset.frames.numbers[dataset.frames.atom_slice(index)]
            try:
                phonon = answered.force_constants(numbers, supercell[index], primitive[index])
                answer = vibrations(phonon, parameters)
            except PhonopyPanicked:
                cause[index] = Cause.UNSTABLE
                continue
            if answer.is_stable(parameters.imaginary_tolerance_thz):
                found[index] = values(answer)
            else:
                cause[index] = Cause.UNSTABLE
        rows = np.array([c.structure for c in crystals])
        predicted, reference = found[rows], references(crystals, chosen, PROPERTIES)
        trivial = np.zeros_like(reference)
        metrics = property_metrics(PROPERTIES, predicted, reference, trivial, dataset.baselines(chosen))
        return Measurement(metrics, property_items(crystals, cause[rows], PROPERTIES, predicted, reference))

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics."""
        return property_contributions(PROPERTIES, items, metrics)


def values(answer: Vibrations) -> list[float]:
    """The numbers of `PROPERTIES`, in their order."""
    return [float(getattr(answer, p.name)) for p in PROPERTIES]


def matrices(structures: Structures) -> tuple[Int, Float]:
    """(n, 3, 3) each: the conditions `supercell` and `primitive` (absent: the cell is primitive)."""
    supercell = structures.condition("supercell")
    return supercell, structures.conditions.get("primitive", np.tile(np.eye(3), (len(supercell), 1, 1)))


def relaxed_crystal(atoms: Atoms, start: Atoms, supercell: Int, primitive: Float) -> Phonopy:
    """`atoms`, which `start` was relaxed to, with supercell and primitive cell.

    Raises:
        ItemFailed: NOT_CONVERGED, the matrices fitted `start`, and no longer do.
        ValueError: they did not fit `start` either: the dataset is at fault.
    """
    try:
        return crystal(atoms, supercell, primitive)
    except ValueError:
        crystal(start, supercell, primitive)
        raise ItemFailed(Cause.NOT_CONVERGED) from None
