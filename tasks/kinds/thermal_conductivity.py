"""Thermal conductivity: lattice thermal conductivity of crystals, by phonon mode, from second and third order forces.

The protocol is that of the benchmark κ_SRME (B. Póta, P. Ahlawat, G. Csányi, M. Simoncelli, arXiv:2408.00755; k_SRME at
commit 0269a94), which Matbench Discovery (commit 2c7f9fc) has as well; nothing of their code is used. A crystal is
relaxed with its space group kept, then without; if the second stage changes the space group, the end of the first
counts. A relaxation that has not converged goes on. One atom is displaced in a supercell, then pairs of atoms in a
smaller one, all pairs of a crystal in one question. The conductivity is `tasks.simulation.heat_transport`, solved in
measuring.

| metric | of an item with conductivity κ, reference κ₀ |
| --- | --- |
| `srme` | 2 Σ_qs \\|κ(q,s) − κ₀(q,s)\\| / Σ_q w_q / (κ + κ₀), modes paired by index |
| `sre`, `srd` | 2 \\|κ − κ₀\\| / (κ + κ₀); with its sign, without failure cost |
| `imaginary_percent` | share with an imaginary frequency; the third order is then not asked |
| `broken_percent` | share that relaxes into another space group; nothing more is then asked |
| `failed_percent` | share without a conductivity |

References without modes have `sre` alone.

Failure cost: a crystal without a conductivity costs 2 in `srme` and `sre`, which is the largest error of a conductivity
that is not negative. So the penalised value of `srme` is what the benchmark publishes. The baseline is the error of the
best trivial model: one conductivity for all crystals, to which all modes contribute alike; of fewer than four, zero.
Imaginary frequencies, a broken space group, and a conductivity that is negative or not finite are UNSTABLE: results of
the model, and wrong. A crystal that was not answered counts in all three shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
from ase import Atoms
from pydantic import PositiveFloat

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import DatasetPart, KindBaseline, Observation, Parameters, ScoreFamily, Traits, Watch, Work
from tasks.kinds.conductivity_items import mean_errors, measured_errors, solved
from tasks.metrics.averages import contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.kind_metric import Better, KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.observing.answer_log import LoggedAnswers
from tasks.simulation.displaced_supercells import supercell_sizes
from tasks.simulation.force_sets import (
    ORDERS,
    CrystalForces,
    ForceSet,
    SymmetryEnd,
    ask_second_order,
    ask_third_order,
    force_arrays,
    read_forces,
)
from tasks.simulation.heat_transport import (
    SYMPREC,
    SupercellMatrices,
    is_imaginary,
    phono3py_crystal,
    require_phono3py,
    set_second_order,
)
from tasks.simulation.lockstep_batches import Job, run_concurrently
from tasks.simulation.relaxation import Freedom, Relaxation, last_iterate, require_periodic
from tasks.simulation.symmetry import space_group, symmetry
from tasks.simulation.trial_builds import (
    build_fault,
    built_with_symmetry,
    cell_fault,
    handedness_fault,
    size_fault,
    symmetry_fault,
)
from tasks.simulation.vibrations import PhonopyPanicked
from tasks.structures.frames import Int
from tasks.structures.predictions import Cause

# For estimates of time: the steps of a relaxation with FIRE; and the displaced supercells of third order in those that
# the number of rotations alone would leave of two displacements of each coordinate (rock salt 3.0, wurtzite 2.9).
USUAL_STEPS = 60
USUAL_REDUNDANCY = 2.8
# The conditions with the supercells, by order.
SUPERCELLS = ("supercell", "third_order_supercell")


class ThermalConductivityParameters(Parameters):
    """How a crystal is relaxed, displaced, and its conductivity solved.

    Args:
        relaxation: of each stage.
        stages: 2: after the relaxation in the space group comes one without.
        strains: that may change, in the order xx, yy, zz, yz, xz, xy.
        displacement: of an atom [Å].
        temperature_k: of the conductivity; references must be of the same.
    """

    relaxation: Relaxation = Relaxation(optimizer="FIRE", fmax=1e-4, max_steps=300)
    stages: Literal[1, 2] = 2
    strains: tuple[bool, bool, bool, bool, bool, bool] = (True, True, True, False, False, False)
    displacement: PositiveFloat = 0.03
    temperature_k: PositiveFloat = 300.0


class ThermalConductivity:
    """Errors of thermal conductivities, whole and by phonon mode."""

    name: str = "thermal_conductivity"
    observe_version: int = 1
    measure_version: int = 2  # since 2 the baseline is the best constant, not zero
    parameters: type[Parameters] = ThermalConductivityParameters
    traits: Traits = Traits(
        title="thermal conductivity",
        about="lattice thermal conductivity of crystals, by phonon mode",
        needs=("energy", "forces", "stress"),
        measures=DatasetPart.CONDUCTIVITIES,
        import_format="thermal-conductivity",
        score=ScoreFamily.PROPERTY,
        metrics=(
            KindMetric("srme", "Mode conductivities, symmetric relative mean error", "", scored=True),
            KindMetric("sre", "Conductivity, symmetric relative error", "", scored=True),
            KindMetric("srd", "Conductivity, symmetric relative difference", "", Better.NEITHER),
            KindMetric("failed_percent", "Without a conductivity", "%"),
            KindMetric("imaginary_percent", "With imaginary frequencies", "%"),
            KindMetric("broken_percent", "Relaxed into another space group", "%"),
        ),
        baseline=KindBaseline(
            "One conductivity",
            "The best model with one conductivity for all crystals, to which all modes contribute alike.",
        ),
    )

    def observe(
        self,
        structures: Structures,
        parameters: ThermalConductivityParameters,
        model: BatchCalculator,
        watch: Watch,
    ) -> Observation:
        """Each crystal relaxed, and the forces on its supercells: the arrays of `force_arrays`, and `failure`.

        Raises:
            ValueError: phono3py is not installed; a structure is not periodic, or its supercells do not fit it.
        """
        require_phono3py()
        import phono3py

        frames, matrices = structures.frames, matrices_of(structures)
        require_periodic(structures.name, frames)

        def job(index: int) -> Callable[[BatchCalculator], CrystalForces]:
            def run(lane: BatchCalculator) -> CrystalForces:
                try:
                    return answered_forces(frames.atoms(index), matrices[index], parameters, lane)
                except PhonopyPanicked:
                    raise ItemFailed(Cause.UNSTABLE) from None
                except ValueError as error:
                    raise ValueError(f"{structures.name}: structure {index}: {error}") from None

            return run

        sizes = supercell_sizes(frames, structures.condition("supercell"))
        jobs = [Job(int(sizes[index]), job(index)) for index in range(len(frames))]
        log = LoggedAnswers(self, structures, parameters, model, watch)
        done = run_concurrently(jobs, log, log.watch, "crystals")
        answered = {index: end.value for index, end in enumerate(done) if end.value is not None}
        failure = np.array([end.cause for end in done], np.int8)
        notes = {"phono3py": str(phono3py.__version__)}
        return Observation({**force_arrays(frames, answered), "failure": failure}, notes)

    def build_faults(self, dataset: Dataset) -> list[str]:
        """The crystals without supercells. Without phono3py they are not known."""
        rows = dataset.table.conductivities
        if not rows or build_fault(require_phono3py):
            return []
        matrices = matrices_of(dataset.structures)
        sizes = sum(supercell_sizes(dataset.frames, dataset.structures.condition(name)) for name in SUPERCELLS)
        chosen = np.asarray(sizes)[[row.structure for row in rows]]
        faults = []
        for row, with_symmetry in zip(rows, built_with_symmetry(chosen), strict=True):
            fault = _build_fault(dataset.frames.atoms(row.structure), matrices[row.structure], with_symmetry)
            faults += [f"conductivities: {row.id}: {fault}"] if fault else []
        return faults

    def work(self, structures: Structures, parameters: ThermalConductivityParameters) -> Work:
        """The usual steps of each stage, one supercell an atom of the primitive cell, and the pairs of third order."""
        frames, matrices = structures.frames, matrices_of(structures)
        work = Work.of(frames, parameters.stages * min(USUAL_STEPS, parameters.relaxation.max_steps))
        for index in range(len(frames)):
            for order in ORDERS:
                work += order_work(frames.atoms(index), matrices[index], order)
        return work

    def measure(
        self,
        observation: Observation,
        dataset: Dataset,
        parameters: ThermalConductivityParameters,
        label_set: str | None,
    ) -> Measurement:
        """The errors; one item a crystal with the columns of `item_columns`.

        Raises:
            ValueError: phono3py is not installed; the observation does not fit the data set, or the references are of
                another temperature; there are none.
        """
        require_phono3py()
        rows, chosen = dataset.table.conductivities, dataset.label_set(label_set)
        if not rows:
            raise ValueError(f"{dataset.card.full_name}: table.json: conductivities: there are none")
        stated = dataset.card.settings.get("temperature_k", parameters.temperature_k)
        if stated != parameters.temperature_k:
            raise ValueError(
                f"{dataset.card.full_name}: references are of temperature_k = {stated:g}, "
                f"the task is of {parameters.temperature_k:g}"
            )
        frames, matrices = dataset.frames, matrices_of(dataset.structures)
        sizes = {
            order: supercell_sizes(frames, dataset.structures.condition(name))
            for order, name in zip(ORDERS, SUPERCELLS, strict=True)
        }
        answered = read_forces(observation, frames, sizes)
        ends = {
            index: solved(
                answered[index], frames.numbers[frames.atom_slice(index)], matrices[index], parameters.temperature_k
            )
            for index in sorted({row.structure for row in rows} & answered.keys())
        }
        return measured_errors(rows, chosen, ends, observation.causes(len(frames)))

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics but the difference with its sign."""
        return contributions_to(metrics, mean_errors(items.columns))


def _build_fault(atoms: Atoms, matrices: SupercellMatrices, with_symmetry: bool) -> str:
    """A line about what a crystal is built from; empty if it is sound."""
    named = (*zip(SUPERCELLS, matrices[:2], strict=True), ("primitive", matrices.primitive))
    faults = [fault for name, matrix in named if (fault := handedness_fault(name, matrix))]
    if matrices.mesh.min() < 1:
        faults.append(f"q_mesh: has {matrices.mesh.min()} wave vectors in one direction: state at least 1")
    sizes = [round(len(atoms) * float(np.linalg.det(matrix))) for matrix in matrices[:2]]
    faults += [fault for name, size in zip(SUPERCELLS, sizes, strict=True) if (fault := size_fault(name, size))]
    if faults:
        return faults[0]
    fault = cell_fault(atoms) or symmetry_fault(atoms)
    return fault or build_fault(lambda: phono3py_crystal(atoms, matrices, with_symmetry=with_symmetry))


def matrices_of(structures: Structures) -> list[SupercellMatrices]:
    """The supercells, the primitive cell and the mesh of each structure.

    Raises:
        ValueError: the data set lacks one of these conditions.
    """
    names = (*SUPERCELLS, "primitive", "q_mesh")
    return [SupercellMatrices(*row) for row in zip(*(structures.condition(name) for name in names), strict=True)]


def answered_forces(
    start: Atoms, matrices: SupercellMatrices, parameters: ThermalConductivityParameters, model: BatchCalculator
) -> CrystalForces:
    """The relaxed crystal and its forces.

    Raises:
        ItemFailed: the model failed on a structure; NOT_CONVERGED: the matrices do not fit the relaxed crystal.
        ValueError: they do not fit `start` either.
        PhonopyPanicked: phono3py cannot compute with the answers.
    """
    atoms, kept = relaxed_in_stages(start, parameters, model)
    nothing = ForceSet.empty()
    if not kept:
        return CrystalForces(atoms.cell.array, atoms.positions, SymmetryEnd.BROKEN, nothing, nothing)
    try:
        crystal = phono3py_crystal(atoms, matrices)
    except ValueError:
        phono3py_crystal(start, matrices)
        raise ItemFailed(Cause.NOT_CONVERGED) from None
    second = ask_second_order(crystal, parameters.displacement, model)
    set_second_order(crystal)
    if is_imaginary(crystal):
        return CrystalForces(atoms.cell.array, atoms.positions, SymmetryEnd.IMAGINARY, second, nothing)
    third = ask_third_order(crystal, parameters.displacement, model)
    return CrystalForces(atoms.cell.array, atoms.positions, SymmetryEnd.COMPLETE, second, third)


def relaxed_in_stages(
    start: Atoms, parameters: ThermalConductivityParameters, model: BatchCalculator
) -> tuple[Atoms, bool]:
    """The relaxed crystal, converged or not, and whether it has the space group of `start`."""
    group = space_group(start, SYMPREC)
    atoms = start
    for keep_symmetry in (True, False)[: parameters.stages]:
        freedom = Freedom("full", parameters.strains, keep_symmetry=keep_symmetry)
        end = last_iterate(atoms, model, parameters.relaxation, freedom).atoms
        if keep_symmetry or space_group(end, SYMPREC) == group:
            atoms = end
    return atoms, space_group(atoms, SYMPREC) == group


def order_work(atoms: Atoms, matrices: SupercellMatrices, order: str) -> Work:
    """The usual number of displaced supercells of one order, and their atoms."""
    primitive = len(atoms) * abs(float(np.linalg.det(matrices.primitive)))
    supercell: Int = getattr(matrices, order)
    cells = abs(float(np.linalg.det(supercell)))
    size = len(atoms) * cells
    count = primitive
    if order == "third":
        found = symmetry(atoms, SYMPREC)
        rotations = 1 if found is None else len(np.unique(found.rotations, axis=0))
        count = USUAL_REDUNDANCY * 2 * (3 * primitive) * (3 * size) / rotations
    return Work(np.array([size]), np.array([len(atoms) / atoms.get_volume()]), np.array([count]))
