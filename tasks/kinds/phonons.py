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

Failure cost: if the relaxation or any supercell of a crystal fails (also for lack of memory), the item has that cause;
with an imaginary frequency beyond the tolerance it is UNSTABLE, since its sums mean nothing. Each costs ten times the
error of the trivial model, which answers zero everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from ase import Atoms
from pydantic import PositiveFloat

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.crystal_kind import CrystalKind, CrystalValues
from tasks.metrics.property_errors import CrystalProperty
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.observing.answer_log import LoggedAnswers
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

if TYPE_CHECKING:
    from phonopy import Phonopy

PROPERTIES = (
    CrystalProperty("max_frequency_k", "K", "Highest frequency"),
    CrystalProperty("entropy_j_per_mol_k", "J/mol/K", "Entropy"),
    CrystalProperty("free_energy_kj_per_mol", "kJ/mol", "Free energy"),
    CrystalProperty("heat_capacity_j_per_mol_k", "J/mol/K", "Heat capacity"),
)
# For estimates of time: the steps of a relaxation with FIRE, and the displacements of an atom of the primitive cell,
# which are one in a cubic crystal and six in a triclinic one.
USUAL_STEPS = 60
USUAL_DISPLACEMENTS = 2.0


class PhononsParameters(VibrationSettings):
    """How vibrations are computed.

    Args:
        displacement: of an atom [Å].
    """

    relaxation: Relaxation = Relaxation()
    displacement: PositiveFloat = 0.01


class Phonons(CrystalKind):
    """Errors of the highest frequency [K], entropy [J/mol/K], free energy [kJ/mol] and heat capacity [J/mol/K]."""

    name: str = "phonons"
    observe_version: int = 1
    measure_version: int = 2
    parameters: type[Parameters] = PhononsParameters
    properties = PROPERTIES
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

    def work(self, structures: Structures, parameters: PhononsParameters) -> Work:
        """The usual steps of a relaxation, the supercell, and two displaced ones an atom of the primitive cell."""
        frames, (supercell, primitive) = structures.frames, matrices(structures)
        relaxation = Work.of(frames, min(USUAL_STEPS, parameters.relaxation.max_steps))
        n_supercells = 1 + USUAL_DISPLACEMENTS * frames.n_atoms * np.abs(np.linalg.det(primitive))
        sizes = supercell_sizes(frames, supercell).astype(np.float64)
        return relaxation + Work(sizes, relaxation.density, n_supercells)

    def values(self, observation: Observation, dataset: Dataset, parameters: PhononsParameters) -> CrystalValues:
        """The four quantities; those of the trivial model are zero."""
        for name, value in dataset.card.settings.items():
            stated = getattr(parameters, name, value)
            if stated != value:
                raise ValueError(
                    f"{dataset.card.full_name}: references are of {name} = {value:g}, the task is of {stated}"
                )
        cause = observation.causes(len(dataset.frames)).copy()
        predicted = np.full((len(cause), len(PROPERTIES)), np.nan)
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
                predicted[index] = property_values(quantities)
            else:
                cause[index] = Cause.UNSTABLE
        return CrystalValues(cause, predicted, np.zeros_like(predicted))


def property_values(quantities: Vibrations) -> list[float]:
    """The values of `PROPERTIES`, in their order."""
    return [float(getattr(quantities, p.name)) for p in PROPERTIES]


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
