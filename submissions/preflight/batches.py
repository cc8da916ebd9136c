"""Whole batches against single structures: equal answers, in the order of the structures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, permutations

import numpy as np
from ase import Atoms

from submissions.preflight.probes import ENERGY_TOLERANCE, AnswerDifference, forces_of, nan_as_inf
from submissions.preflight.public_structures import in_state
from submissions.records import Check
from tasks.model.calculator import BatchCalculator, offered
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions, Properties

N_BATCH = 3
CHECK = "batch against single"
_APART_ANGSTROM = 30.0


def batch_structures(structures: Sequence[Atoms]) -> list[Atoms]:
    """Three structures of different sizes, the first ones of `structures` and if necessary multiples of the first.

    Their sizes neither rise nor fall, so answers in the reverse order, or in the order of size, are at wrong places.
    """
    by_size: dict[int, Atoms] = {}
    multiples = (multiple(structures[0], times) for times in (2, 3))
    for atoms in chain(structures, multiples):
        if len(by_size) < N_BATCH:
            by_size.setdefault(len(atoms), atoms)
    smallest, *larger = (by_size[size] for size in sorted(by_size))
    return [*larger, smallest]


def multiple(atoms: Atoms, times: int) -> Atoms:
    """A supercell of so many cells; without a cell, so many copies far from each other, with their charge and spin."""
    if atoms.pbc.any():
        supercell: Atoms = atoms.repeat((times, 1, 1))
        return supercell
    copies: Atoms = atoms.copy()
    if "spin" in atoms.info:
        in_state(copies, times * atoms.info.get("charge", 0), times * (atoms.info["spin"] - 1) + 1)
    for n in range(1, times):
        moved = atoms.copy()
        moved.positions[:, 0] += n * _APART_ANGSTROM
        copies += moved
    return copies


def batch_check(model: BatchCalculator, structures: Sequence[Atoms], noise: Sequence[AnswerDifference]) -> Check:
    """Whether `structures` get the same answers in one batch as one by one.

    Args:
        noise: the differences between answers to one question, of some structures.
    """
    difference = batch_difference(model, structures)
    if difference.is_small and all(each.is_small for each in noise):
        return Check(name=CHECK, passed=True, value=difference.words())
    if difference.is_small or any(difference.is_explained_by(each) for each in noise):
        return Check(name=CHECK, passed=None, value="not measured: answers to one question differ as much")
    if order := answered_order(model, structures):
        moved = ", ".join(f"answer {at} is that of structure {i}" for at, i in enumerate(order, start=1) if at != i)
        return Check(name=CHECK, passed=False, value=f"the order of a batch is not kept: {moved}")
    if not np.isfinite([difference.energy, difference.forces or 0.0]).all():
        return Check(name=CHECK, passed=False, value="a batch fails where single structures get an answer")
    return Check(name=CHECK, passed=False, value=f"differ: {difference.words()}")


def batch_difference(model: BatchCalculator, structures: Sequence[Atoms]) -> AnswerDifference:
    """The largest difference between the answers to all `structures` in one batch and to each alone."""
    frames = Frames.from_atoms(list(structures))
    wanted = offered(model, frames, ("energy", "forces"))
    together, alone = model.compute(frames, wanted), OneByOne(model).compute(frames, wanted)
    total = len(frames.numbers)
    return AnswerDifference(
        energy=nan_as_inf(np.max(np.abs(together.energy - alone.energy) / frames.n_atoms)),
        forces=nan_as_inf(np.abs(forces_of(together, total) - forces_of(alone, total)).max())
        if "forces" in wanted
        else None,
    )


def answered_order(model: BatchCalculator, structures: Sequence[Atoms]) -> tuple[int, ...]:
    """By place in the batch, the number of the structure (from 1) whose energy is there; empty if they are in order.

    Energies alone are asked: forces at another's place have a wrong shape.
    """
    frames = Frames.from_atoms(list(structures))
    together, alone = model.compute(frames, ("energy",)).energy, OneByOne(model).compute(frames, ("energy",)).energy
    if _is_close(together, alone, frames.n_atoms):
        return ()
    for order in permutations(range(len(frames))):
        if _is_close(together, alone[list(order)], frames.n_atoms[list(order)]):
            return tuple(i + 1 for i in order)
    return ()


def _is_close(energy: Float, expected: Float, n_atoms: np.ndarray) -> bool:
    return bool((np.abs(energy - expected) / n_atoms < ENERGY_TOLERANCE).all())


class OneByOne:
    """A model that is asked one structure at a time: what is measured does not depend on how it treats batches."""

    def __init__(self, model: BatchCalculator) -> None:
        self._model = model

    @property
    def properties(self) -> Properties:
        return self._model.properties

    @property
    def max_atoms_per_batch(self) -> int:
        return self._model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The answers, as of a batch."""
        return Predictions.join([self._model.compute(frames.between(i, i + 1), properties) for i in range(len(frames))])
