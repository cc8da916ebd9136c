"""One crystal with other lattice vectors: energy, forces and stress must stay the same.

In two of the copies the vectors are left-handed. A stress that takes the sign of det(cell) agrees with dE/dε in every
right-handed cell, and gives a crystal another bulk modulus in a left-handed one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from ase import Atoms

from submissions.preflight.gradients import strained_copy
from submissions.preflight.probes import AnswerDifference, forces_of, largest, nan_as_inf
from submissions.records import Check
from tasks.model.calculator import BatchCalculator, offered
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Predictions

LATTICE = "lattice vectors"
# By words that follow "changes where", the matrix of the change.
CHANGES: Mapping[str, Float] = {
    "two lattice vectors are exchanged": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    "a lattice vector is inverted": np.diag([1.0, 1.0, -1.0]),
    "a lattice vector is added to another": np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
}
N_REPEATS = 3


def lattice_check(model: BatchCalculator, name: str, atoms: Atoms, noise: AnswerDifference) -> Check:
    """A row: whether the answer about a strained copy of the crystal `atoms` depends on the vectors of its lattice.

    Args:
        noise: the difference between answers to one question. That of the stress is measured here.
    """
    strained, n = strained_copy(atoms), len(atoms)
    answer = _answer(model, strained)
    repeated = reduce(
        AnswerDifference.joined, (_difference(answer, _answer(model, strained), n) for _ in range(N_REPEATS))
    )
    changes = {}
    for words, matrix in CHANGES.items():
        copy = strained.copy()
        copy.set_cell(matrix @ strained.cell.array)
        changes[words] = _difference(answer, _answer(model, copy), n)
    passed, value = _finding(changes, repeated.joined(replace(noise, stress=repeated.stress)))
    return Check(name=f"{LATTICE}, {name}", passed=passed, value=value)


def _finding(changes: Mapping[str, AnswerDifference], noise: AnswerDifference) -> tuple[bool | None, str]:
    if not np.isfinite(noise.energy):
        return None, "not measured: the model fails on a strained copy"
    beyond = {where: change.beyond(noise) for where, change in changes.items()}
    found = [_words(where, changes[where], quantities) for where, quantities in beyond.items() if quantities]
    if found:
        return False, "; ".join(found)
    if not (noise.is_small and all(change.is_small for change in changes.values())):
        return None, "not measured: answers to one question differ as much"
    return True, f"exchanged, inverted, added: {largest(changes).words()}"


def _words(where: str, change: AnswerDifference, quantities: Sequence[str]) -> str:
    """`stress changes where two lattice vectors are exchanged (Δσ 0.02 eV/Å³)`."""
    if not np.isfinite(change.energy):
        return f"the model fails where {where}"
    verb = "changes" if quantities in (("energy",), ("stress",)) else "change"
    return f"{' and '.join(quantities)} {verb} where {where} ({change.words(quantities)})"


def _answer(model: BatchCalculator, atoms: Atoms) -> Predictions:
    frames = Frames.from_atoms([atoms])
    return model.compute(frames, offered(model, frames, ("energy", "forces", "stress")))


def _difference(first: Predictions, second: Predictions, n_atoms: int) -> AnswerDifference:
    """Between two answers about one crystal; infinite where one of them failed."""
    forces = stress = None
    if first.forces is not None:
        forces = nan_as_inf(np.abs(forces_of(second, n_atoms) - forces_of(first, n_atoms)).max())
    if first.stress is not None:
        other = np.full((1, 6), np.nan) if second.stress is None else second.stress
        stress = nan_as_inf(np.abs(other - first.stress).max())
    return AnswerDifference(nan_as_inf(abs(second.energy[0] - first.energy[0]) / n_atoms), forces, stress)
