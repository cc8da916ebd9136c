"""Physicality: what must hold of any energy of atoms, whatever its level of theory. There are no labels.

Each structure of a dataset (`tasks.physicality.structures` makes one from a seed) is asked about as it is, and in the
guises of `tasks.physicality.variants`. The errors of an item (a structure and a probe) are the largest over its guises:

    rotation, translation, permutation    energy [eV/atom] is invariant, forces [eV/Å] turn and go with their atoms
    image, lattice                        so they do when atoms are moved by lattice vectors, or the lattice has others
    repeat                                the same is asked again after everything else
    supercell, fragments                  twice the structure, as a supercell or 50 Å apart, has twice the energy
    gradient                              F = −∇E by central differences along random directions
    strain                                σ = (1/V) dE/dε by central differences of the six strains
    diatomics                             the energy of pairs over distance: `tasks.simulation.diatomics`

A metric is the mean over the items of its probe, and `…_largest` their largest. Nothing is rounded away: a model in
single precision has errors of some 1e-6 eV/atom in the first, and of 1e-4 eV/Å in the differences.

What a failure costs: no trivial model fails these (one that answers zero to everything passes most), so there is no
baseline, and W is declared. It is ten times what the quantity itself comes to here: rattling by 0.05 Å and straining by
3 % costs about 0.1 eV/atom and makes forces of about 1 eV/Å and stresses of about 0.03 eV/Å³. For pairs it is 20 sign
changes of the force, tortuosity 10, jumps of 15 eV (ten times the 1.5 eV from which LAMBench may refuse a curve), and a
force that has nothing to do with the slope of the energy (1). Errors are clipped at W. A failed guise, displacement,
strain or distance fails its item; a model without forces or stress fails, as UNSUPPORTED, what needs them, no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from ase.data import atomic_numbers
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import Observation, Parameters, Traits, Watch, Work
from tasks.metrics.contributions import Charged, Contribution
from tasks.metrics.kind_metric import KindMetric
from tasks.metrics.measurement import Items, Measurement
from tasks.model.calculator import BatchCalculator, compute_in_batches
from tasks.physicality.measures import (
    DIATOMICS,
    METRICS,
    as_items,
    curve_columns,
    diatomic_rows,
    gradient_rows,
    mean_contributions,
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


def _decrease(steps: tuple[float, ...]) -> tuple[float, ...]:
    if any(finer >= coarser for coarser, finer in pairwise(steps)):
        raise ValueError("steps must go from the coarsest to the finest")
    return steps


Symbol = Annotated[str, AfterValidator(_is_element)]
Steps = Annotated[tuple[PositiveFloat, ...], Field(min_length=2), AfterValidator(_decrease)]


class PhysicalityParameters(Parameters):
    """What is asked.

    Args:
        seed: of all that is drawn: rotations, translations, orders, directions.
        n_variants: guises of each structure by probe (of supercells, at most the periodic directions).
        n_directions: in which energies are differenced for the forces.
        displacements: steps along these directions [Å], whose length is that of all atoms' displacements together.
        strains: steps of each strain.
        separation: of two fragments [Å].
        diatomics: elements whose pairs are asked about.
        n_distances: of each pair; W and the measures are meant for about 100.
        box: edge of the periodic cube around a pair [Å].
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


class _Question(NamedTuple):
    """Frames asked together, and under which name and in which shape the answers are stored."""

    name: str
    frames: Frames
    properties: Properties
    shape: tuple[int, ...]


class _Plan(NamedTuple):
    """All that is asked beside the structures themselves."""

    variants: Variants
    along: Float
    questions: tuple[_Question, ...]


class Physicality:
    """Invariances, extensivity, F = −∇E, σ = dE/dε, and what pairs are like over distance."""

    name: str = "physicality"
    observe_version: int = 1
    measure_version: int = 2
    parameters: type[Parameters] = PhysicalityParameters
    traits: Traits = Traits(
        title="physicality",
        about="laws that hold for every model: invariances, forces and stress as derivatives",
        import_format="structures",
        metrics=tuple(
            KindMetric(name + suffix, unit=of.unit)
            for name, of in METRICS.items()
            for suffix in ("", *["_largest"] * of.largest)
        ),
    )

    def observe(
        self, structures: Structures, parameters: PhysicalityParameters, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """The answers to each structure (energy, forces, failure), and, under names of their own, to all variants.

        If more than the watch's share of the structures themselves fails nothing else is asked: it is MISSING.
        """
        plan = _plan(structures.frames, parameters)
        n = len(structures.frames)
        first = _Question("", structures.frames, ("energy", "forces"), (n,))
        total = sum(len(q.frames) for q in (first, *plan.questions))
        arrays: dict[str, NDArray[Any]] = {}
        done, stopped = 0, False
        for question in (first, *plan.questions):
            wanted: Properties = tuple(p for p in question.properties if p in model.properties)
            arrays |= dict(_answers(question, wanted, None if stopped else model, watch, done, total))
            done += len(question.frames)
            stopped = stopped or int(np.count_nonzero(arrays["failure"])) > watch.failed_share * n
        return Observation(arrays | _described(plan, parameters), {"properties": ",".join(model.properties)})

    def work(self, structures: Structures, parameters: PhysicalityParameters) -> Work:
        """Each structure, and everything made of it, once."""
        asked = [structures.frames, *(q.frames for q in _plan(structures.frames, parameters).questions)]
        return Work(sum(len(frames) for frames in asked), sum(len(frames.numbers) for frames in asked))

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: PhysicalityParameters, label_set: str | None
    ) -> Measurement:
        """One item a structure and probe, and one an element; those of a probe are a group.

        Columns: energy_error [eV/atom], force_error [eV/Å], stress_error [eV/Å³], scale (of the forces or the stress
        themselves), step (of the differences that agree best), the measures of `tasks.simulation.diatomics`, and the
        pairs' energies over distance in `curve_columns`, which those that failed have where they did not.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # absurd answers become inf or NaN, and those lose
            rows = [
                *variant_rows(observation, dataset),
                *gradient_rows(observation, dataset, parameters.displacements),
                *strain_rows(observation, dataset, parameters.strains),
                *diatomic_rows(observation, parameters.diatomics, parameters.n_distances),
            ]
        items = as_items(rows)
        return Measurement(metrics(items), items)

    def contributions(self, items: Items, metrics: Mapping[str, Charged]) -> list[Contribution]:
        """Of all metrics but `…_largest`."""
        return mean_contributions(items, metrics)


def diatomic_curves(items: Items, parameters: PhysicalityParameters) -> list[DiatomicCurve]:
    """The curves that `Physicality.measure` left in the items, in the order of `parameters.diatomics`.

    Empty where a version measured them that left none, or where they are not of these parameters.
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


def _plan(frames: Frames, parameters: PhysicalityParameters) -> _Plan:
    """The same for the same frames and parameters. Between a structure and its repeat lies all of its other guises."""
    rng = np.random.default_rng(parameters.seed)
    guises = variants(frames, rng, parameters.n_variants, parameters.separation)
    along = directions(frames, rng, parameters.n_directions)
    crystals = frames.take(np.flatnonzero(frames.periodic))
    questions = [
        _Question("variant", guises.frames, ("energy", "forces"), (len(guises.frames),)),
        _Question(
            "displaced",
            displaced(frames, along, parameters.displacements),
            ("energy",),
            (len(along), len(parameters.displacements), 2, len(frames)),
        ),
    ]
    if parameters.diatomics:
        pairs = diatomic_frames(parameters.diatomics, parameters.n_distances, parameters.box)
        questions.insert(0, _Question("diatomic", pairs, ("energy", "forces"), (len(pairs),)))
    if len(crystals):
        shape = (6, len(parameters.strains), 2, len(crystals))
        questions.append(_Question("strained", strained(crystals, parameters.strains), ("energy",), shape))
        # Apart from the rest, so that a stress that fails takes nothing else with it.
        questions.append(_Question("stressed", crystals, ("energy", "stress"), (len(crystals),)))
    return _Plan(guises, along, tuple(questions))


def _answers(
    question: _Question, wanted: Properties, model: BatchCalculator | None, watch: Watch, done: int, total: int
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays that are stored of the answers to `question`; of no model, all MISSING."""
    prefix = f"{question.name}_" if question.name else ""
    n = len(question.frames)
    if model is None:
        energy, failure = np.full(n, np.nan), np.full(n, Cause.MISSING, np.int8)
        answer = Predictions(energy, None, None, failure)
    else:
        answer = compute_in_batches(
            model, question.frames, wanted, lambda here: watch.progress(done + here, total, "frames")
        )
    yield f"{prefix}energy", answer.energy.reshape(question.shape)
    yield f"{prefix}failure", answer.failure.reshape(question.shape)
    if "forces" in wanted and answer.forces is not None:
        yield f"{prefix}forces", answer.forces
    if "stress" in wanted and answer.stress is not None:
        yield f"{prefix}stress", answer.stress


def _described(plan: _Plan, parameters: PhysicalityParameters) -> dict[str, NDArray[Any]]:
    """What tells later how the variants were made: no random number is drawn again to measure them."""
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
