"""Physicality: laws that hold for any energy of atoms, at any level of theory. There are no labels.

The model is asked about each structure of a data set (`tasks.physicality.structures` makes one from a seed) and about
the copies of `tasks.physicality.variants`. The errors of an item (a structure and a probe) are the largest over its
copies:

    rotation, translation, permutation    energy [eV/atom] is invariant, forces [eV/Å] rotate and go with their atoms
    image, lattice                        the same if atoms move by lattice vectors, or the lattice has other vectors:
                                          sums, exchanges and inversions of them, also of the other handedness
    rotation_stress, lattice_stress       the stress [eV/Å³] of rotated crystals, and of those with other vectors
    repeat                                the same question after all others
    supercell, fragments                  twice the structure, as a supercell or 50 Å apart, has twice the energy
    gradient                              F = −∇E by central differences along random directions
    strain                                σ = (1/V) dE/dε by central differences of the six strains
    diatomics                             the energy of pairs over distance: `tasks.simulation.diatomics`

With `laws` come those of `tasks.physicality.laws`: total force and torque, a symmetric Jacobian, locality, slabs far
apart, energy over the time step, and whether answers are in single precision.

A metric is the mean over the items of its probe, and `…_largest` their largest. Nothing is rounded away: a model in
single precision has errors of about 1e-6 eV/atom in the first, and of 1e-4 eV/Å in the differences.

Failure cost: no trivial model fails these laws (a model that answers zero to everything passes most), so there is no
baseline, and W is declared. It is ten times the size of the quantity in these structures: rattling by 0.05 Å and
straining by 3 % give about 0.1 eV/atom, forces of about 1 eV/Å and stresses of about 0.03 eV/Å³. For pairs it is 20
sign changes of the force, tortuosity 10, jumps of 15 eV (ten times the 1.5 eV from which LAMBench, diatomics.py at
commit 4e8aab5, refuses a curve that turns at least three times), and a force that is unrelated to the slope of the
energy (1). A torque counts 10 eV, an antisymmetry 1 (the largest there is), an exponent of the time step 2 from the
right one (no dependence), and single precision 1. Errors are clipped at W. A failed copy, displacement, strain or
distance fails its item. For a model without forces or stress, the items that need them fail as UNSUPPORTED.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
from ase.data import atomic_numbers
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from tasks.datasets.card_parts import later
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Parameters, Traits, Watch, Work
from tasks.metrics.averages import contributions_to
from tasks.metrics.contributions import Contribution, WithFailureCost
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.physicality.copied_stress import copied_stress_rows, copies_with_stress
from tasks.physicality.law_rows import law_rows
from tasks.physicality.laws import (
    FurtherLaws,
    Steps,
    energy_runs,
    law_frames,
    momenta_of,
    small_structures,
    unanswered_runs,
)
from tasks.physicality.measures import (
    DIATOMICS,
    METRICS,
    as_items,
    averages,
    curve_columns,
    diatomic_rows,
    gradient_rows,
    metrics,
    strain_rows,
    variant_rows,
)
from tasks.physicality.variants import Variants, directions, displaced, strained, variants
from tasks.simulation.diatomics import LONGEST, DiatomicCurve, diatomic_frames, distances
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Predictions, Properties

ELEMENTS = ("H", "C", "N", "O", "F", "Na", "Mg", "Al", "Si", "P", "S", "Cl", "K", "Ca", "Ti", "Fe", "Ni", "Cu", "Zn")


def _is_element(symbol: str) -> str:
    if atomic_numbers.get(symbol, 0) < 1:
        raise ValueError(f"{symbol!r} is not an element")
    return symbol


Symbol = Annotated[str, AfterValidator(_is_element)]


class PhysicalityParameters(Parameters):
    """The copies, steps and pairs.

    Args:
        seed: of all random numbers: rotations, translations, orders, directions.
        n_variants: copies of each structure by probe (of supercells, at most the periodic directions).
        n_directions: in which energies are differenced for the forces.
        displacements: steps along these directions [Å]: the length of the displacement of all atoms together.
        strains: steps of each strain.
        separation: of two fragments [Å].
        diatomics: elements of the pairs.
        n_distances: of each pair; W and the measures are made for about 100.
        box: edge of the periodic cube around a pair [Å].
        laws: further laws; None: they are left out.
    """

    seed: int = Field(0, ge=0)
    n_variants: PositiveInt = 3
    n_directions: PositiveInt = 3
    displacements: Steps = (3e-2, 1e-2, 3e-3, 1e-3)
    strains: Steps = (1e-2, 3e-3, 1e-3)
    separation: PositiveFloat = 50.0
    diatomics: tuple[Symbol, ...] = ELEMENTS
    n_distances: int = Field(100, ge=5)
    box: float = Field(30.0, ge=4 * LONGEST, allow_inf_nan=False)
    laws: FurtherLaws | None = later(None)


class PhysicalityQuestion(NamedTuple):
    """Frames that are sent together, with the name and the shape of the stored answers."""

    name: str
    frames: Frames
    properties: Properties
    shape: tuple[int, ...]

    def arrays(self, answer: Predictions, wanted: Properties) -> dict[str, NDArray[Any]]:
        """The arrays that are stored of the answer."""
        arrays = answer.arrays(wanted)
        arrays |= {name: arrays[name].reshape(self.shape) for name in ("energy", "failure")}
        return {f"{self.name}_{name}" if self.name else name: array for name, array in arrays.items()}


class PhysicalityPlan(NamedTuple):
    """All questions besides the structures themselves."""

    variants: Variants
    along: Float
    questions: tuple[PhysicalityQuestion, ...]


class Physicality:
    """Invariances, extensivity, F = −∇E, σ = (1/V) dE/dε, and the energies of pairs over distance."""

    name: str = "physicality"
    observe_version: int = 2
    measure_version: int = 3
    parameters: type[Parameters] = PhysicalityParameters
    traits: Traits = Traits(
        title="physicality",
        about="laws that hold for every model: invariances, forces and stress as derivatives",
        also_uses=("forces", "stress"),
        import_format="structures",
        metrics=tuple(
            KindMetric(name + suffix, unit=source.unit)
            for name, source in METRICS.items()
            for suffix in ("", *["_largest"] * source.largest)
        ),
    )

    def observe(
        self, structures: Structures, parameters: PhysicalityParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The answers to each structure (energy, forces, failure), and, under further names, to all variants.

        If more than the watch's share of the structures themselves fails, all other answers are MISSING.
        """
        plan = _plan(structures.frames, parameters)
        n = len(structures.frames)
        questions = (PhysicalityQuestion("", structures.frames, ("energy", "forces"), (n,)), *plan.questions)
        total = sum(len(question.frames) for question in questions)
        arrays: dict[str, NDArray[Any]] = {}
        done, stopped = 0, False
        for question in questions:
            wanted: Properties = tuple(p for p in question.properties if p in model.properties)
            if stopped:
                answer = Predictions.unanswered(question.frames, (), Cause.MISSING)
            else:
                progress = partial(_progress, watch, done, total)
                answer = compute_in_batches(model, question.frames, wanted, progress)
            arrays |= question.arrays(answer, wanted)
            done += len(question.frames)
            stopped = stopped or int(np.count_nonzero(arrays["failure"])) > watch.failed_share * n
        if parameters.laws is not None:
            arrays |= _runs(structures.frames, parameters, parameters.laws, model, stopped)
        return Observation(arrays | _described(plan, parameters), {"properties": ",".join(model.properties)})

    def work(self, structures: Structures, parameters: PhysicalityParameters) -> Work:
        """Each structure, and all its copies, once."""
        frames, laws = structures.frames, parameters.laws
        work = sum((Work.of(question.frames) for question in _plan(frames, parameters).questions), Work.of(frames))
        if laws is None:
            return work
        return work + Work.of(frames.take(small_structures(frames, laws)), sum(laws.n_steps) + len(laws.n_steps))

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: PhysicalityParameters, label_set: str | None
    ) -> Measurement:
        """One item a structure and probe, and one an element; the items of a probe are a group.

        Columns: energy_error [eV/atom], force_error [eV/Å], stress_error [eV/Å³], scale (of the forces or the stress
        themselves), step (of the differences that agree best), the measures of `tasks.simulation.diatomics`, and in
        `curve_columns` the energies of the pairs over distance, of failed pairs at the distances that were answered.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # absurd answers become inf or NaN, which lose
            rows = [
                *variant_rows(observation, dataset),
                *gradient_rows(observation, dataset, parameters.displacements),
                *strain_rows(observation, dataset, parameters.strains),
                *copied_stress_rows(observation, dataset),
                *diatomic_rows(observation, parameters.diatomics, parameters.n_distances),
            ]
            if parameters.laws is not None:
                rows += law_rows(observation, dataset, parameters.laws)
        items = as_items(rows)
        return Measurement(metrics(items), items)

    def contributions(self, items: Items, metrics: Mapping[str, WithFailureCost]) -> list[Contribution]:
        """To all metrics but `…_largest`."""
        return contributions_to(metrics, averages(items))


def diatomic_curves(items: Items, parameters: PhysicalityParameters) -> list[DiatomicCurve]:
    """The curves in the items of `Physicality.measure`, in the order of `parameters.diatomics`.

    Empty if an older version measured the items, without curves, or if they are of other parameters.
    """
    names = curve_columns(parameters.n_distances)
    if {name for name in items.columns if name.startswith("curve_")} != set(names):
        return []
    energies = np.stack([items.columns[name] for name in names], axis=1)
    pairs = enumerate(zip(items.group, items.cluster, strict=True))
    row = {symbol: index for index, (group, symbol) in pairs if group == DIATOMICS}
    return [
        DiatomicCurve(symbol, distances(symbol, parameters.n_distances), energies[row[symbol]])
        for symbol in parameters.diatomics
        if symbol in row
    ]


def _plan(frames: Frames, parameters: PhysicalityParameters) -> PhysicalityPlan:
    """Always the same for the same frames and parameters. All other copies of a structure come before its repeat."""
    rng = np.random.default_rng(parameters.seed)
    copies = variants(frames, rng, parameters.n_variants, parameters.separation)
    along = directions(frames, rng, parameters.n_directions)
    crystals = frames.take(np.flatnonzero(frames.periodic))
    questions = [
        PhysicalityQuestion("variant", copies.frames, ("energy", "forces"), (len(copies.frames),)),
        PhysicalityQuestion(
            "displaced",
            displaced(frames, along, parameters.displacements),
            ("energy",),
            (len(along), len(parameters.displacements), 2, len(frames)),
        ),
    ]
    if parameters.diatomics:
        pairs = diatomic_frames(parameters.diatomics, parameters.n_distances, parameters.box)
        questions.insert(0, PhysicalityQuestion("diatomic", pairs, ("energy", "forces"), (len(pairs),)))
    if len(crystals):
        shape = (6, len(parameters.strains), 2, len(crystals))
        questions.append(PhysicalityQuestion("strained", strained(crystals, parameters.strains), ("energy",), shape))
        # A question of its own, so that a failed stress fails nothing else.
        questions.append(PhysicalityQuestion("stressed", crystals, ("energy", "stress"), (len(crystals),)))
        copied = copies.frames.take(copies_with_stress(frames.periodic, copies.probe, copies.original))
        questions.append(PhysicalityQuestion("restressed", copied, ("energy", "stress"), (len(copied),)))
    if parameters.laws is not None:
        questions += _law_questions(frames, parameters.laws, parameters.seed)
    return PhysicalityPlan(copies, along, tuple(questions))


def _law_questions(frames: Frames, laws: FurtherLaws, seed: int) -> list[PhysicalityQuestion]:
    asked = law_frames(frames, laws, seed)
    named = {"moved": asked.moved, "distant": asked.distant, "slab": asked.slabs}
    return [
        PhysicalityQuestion(name, each, ("energy", "forces"), (len(each),))
        for name, each in named.items()
        if each is not None
    ]


def _runs(
    frames: Frames, parameters: PhysicalityParameters, laws: FurtherLaws, model: BatchCalculator, stopped: bool
) -> dict[str, NDArray[Any]]:
    """The arrays `time_step_energy` and `time_step_failure`, as `EnergyRuns` has them."""
    small = frames.take(small_structures(frames, laws))
    if stopped or not len(small):
        runs = unanswered_runs(len(small), laws)
    else:
        runs = energy_runs(small, momenta_of(small, laws, parameters.seed), laws, model)
    return {"time_step_energy": runs.energy, "time_step_failure": runs.failure}


def _progress(watch: Watch, done: int, total: int, done_of_question: int) -> None:
    watch.progress(done + done_of_question, total, "frames")


def _described(plan: PhysicalityPlan, parameters: PhysicalityParameters) -> dict[str, NDArray[Any]]:
    """How the variants were made: measuring draws no random number again."""
    described: dict[str, NDArray[Any]] = {
        "variant_probe": plan.variants.probe,
        "variant_original": plan.variants.original,
        "variant_n_atoms": plan.variants.frames.n_atoms,
        "variant_atom": plan.variants.atom,
        "variant_rotation": plan.variants.rotation,
        "direction": plan.along,
    }
    if parameters.diatomics:
        curves = [distances(symbol, parameters.n_distances) for symbol in parameters.diatomics]
        described["diatomic_distance"] = np.array(curves)
    return described
