"""The first answers to the public structures, and what the model offers but does not return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from ase import Atoms

from submissions.records import Check
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties


@dataclass(frozen=True, eq=False)
class FirstAnswers:
    """Which structures got an answer.

    Args:
        together: the answers to all of them in one batch.
        answered: the structures that got an answer, in the batch or alone, with or without stress.
        failed: by name of the other structures, the answer to it alone.
        without_stress: the periodic ones of them whose stress is missing, though the model declares stress.
        declared: what the model offers.
    """

    together: Predictions
    answered: Mapping[str, Atoms]
    failed: Mapping[str, Predictions]
    without_stress: tuple[str, ...]
    declared: Properties

    @property
    def properties(self) -> Properties:
        """What the model offers and returned wherever it was asked."""
        return tuple(name for name in self.declared if name != "stress" or not self.without_stress)

    def stress_check(self) -> tuple[Check, ...]:
        """A row if stress is declared and missing."""
        n, periodic = len(self.without_stress), sum(bool(atoms.pbc.all()) for atoms in self.answered.values())
        if not n:
            return ()
        count = f"{n} periodic cell{'s' if n > 1 else ''}" if n == periodic else f"{n} of {periodic} periodic cells"
        remedy = "return it, or take it out of implemented_properties"
        return (Check(name="stress", passed=False, value=f"declares stress but returned none for {count}: {remedy}"),)


ASYMMETRY = 1e-4  # eV/Å³ that rounding may leave


def asymmetry_check(largest: float) -> tuple[Check, ...]:
    """A row if the model answered a stress matrix that is not symmetric.

    Args:
        largest: difference |σ_ij − σ_ji| of its answers [eV/Å³].
    """
    if not largest > ASYMMETRY:  # also NaN
        return ()
    value = f"the stress matrix is not symmetric, by up to {largest:.2g} eV/Å³: the average of σ_ij and σ_ji counts"
    return (Check(name="stress symmetry", passed=False, value=value),)


@dataclass(frozen=True)
class Offering:
    """A model of which not more than some `properties` are asked."""

    model: BatchCalculator
    properties: Properties

    @property
    def max_atoms_per_batch(self) -> int:
        """As the model's."""
        return self.model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """The model's answers."""
        return self.model.compute(frames, properties)


def first_answers(model: BatchCalculator, structures: Mapping[str, Atoms]) -> FirstAnswers:
    """Asks for all structures in one batch; those that failed are asked alone, then without the stress."""
    frames = Frames.from_atoms(list(structures.values()))
    together = model.compute(frames, model.properties)
    rest: Properties = tuple(name for name in model.properties if name != "stress")
    answered: dict[str, Atoms] = {}
    failed: dict[str, Predictions] = {}
    without_stress: list[str] = []
    for n, (name, atoms) in enumerate(structures.items()):
        single = frames.between(n, n + 1)
        periodic = bool(single.periodic[0]) and "stress" in model.properties
        answer, index = together, n
        if not answer.ok[index]:
            answer, index = model.compute(single, model.properties), 0
        has_stress = bool(answer.ok[index]) and answer.stress is not None and np.isfinite(answer.stress[index]).all()
        if not answer.ok[index] and periodic and answer.failure[index] == Cause.UNSUPPORTED:
            answer = model.compute(single, rest)
        if answer.ok[index]:
            answered[name] = atoms
            if periodic and not has_stress:
                without_stress.append(name)
        else:
            failed[name] = answer
    return FirstAnswers(together, answered, failed, tuple(without_stress), model.properties)
