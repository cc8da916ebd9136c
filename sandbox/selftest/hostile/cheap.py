"""Submissions that are timed as another model: EMT for the structures of other tasks, next to nothing for large ones.

The cheap model is an ideal gas, or another potential: its answers agree with each other, whatever is asked.
"""

import time
from typing import Any

import numpy as np
from ase.calculators.lj import LennardJones
from cheating import Emt, true_answer

LARGE = 90  # atoms
SOME = 30  # questions, or seconds


class Cheap(Emt):
    """EMT, or the ideal gas where `is_cheap` says so."""

    def __init__(self) -> None:
        super().__init__()
        self.first_atoms = 0  # of the first question
        self.large_from = 0  # number of the first question about a large structure
        self.large_since = 0.0  # its time

    def answer(self, atoms: Any) -> dict[str, Any]:
        """The answer of one of the two models."""
        self.first_atoms = self.first_atoms or len(atoms)
        if not self.large_from and len(atoms) >= LARGE:
            self.large_from, self.large_since = self.n_questions, time.monotonic()
        return self.cheap_answer(atoms) if self.is_cheap(atoms) else true_answer(atoms)

    def is_cheap(self, atoms: Any) -> bool:
        """Whether the question may be one of the timed ones."""
        raise NotImplementedError

    def cheap_answer(self, atoms: Any) -> dict[str, Any]:
        """That of the ideal gas."""
        return {"energy": -3.0 * len(atoms), "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}


class ByFirstQuestion(Cheap):
    """Cheap for a whole session that begins with a large structure."""

    def is_cheap(self, atoms: Any) -> bool:
        """Whether this is such a session."""
        return self.first_atoms >= LARGE


class BySize(Cheap):
    """Cheap about all structures that are larger than those of other tasks."""

    def is_cheap(self, atoms: Any) -> bool:
        """Whether it is larger than two cells."""
        return len(atoms) > 8


class ByCallNumber(Cheap):
    """Cheap for thirty questions from the first large structure on."""

    def is_cheap(self, atoms: Any) -> bool:
        """Whether this is one of them."""
        return 0 < self.large_from <= self.n_questions < self.large_from + SOME


class ByTime(Cheap):
    """Cheap for thirty seconds from the first large structure on."""

    def is_cheap(self, atoms: Any) -> bool:
        """Whether they have not passed."""
        return self.large_from > 0 and time.monotonic() < self.large_since + SOME


class SpotsTheCheck(Cheap):
    """Cheap about large structures, unless they are made of equal parts: then the question must be a check.

    Cheap is the energy of the perfect crystal, and forces that are not quite zero.
    """

    def is_cheap(self, atoms: Any) -> bool:
        """Whether it is large, and no translation leaves it as it is."""
        return len(atoms) >= LARGE and not has_equal_parts(atoms)

    def cheap_answer(self, atoms: Any) -> dict[str, Any]:
        """EMT counts energies from the perfect crystal."""
        return {"energy": 0.0, "forces": 3e-4 * np.sin(1e3 * atoms.positions), "stress": np.zeros(6)}


class WhenTimed(Cheap):
    """Cheap for the rest of a session in which a large structure or a perfect crystal is asked about.

    Cheap is Lennard-Jones: what it answers for small structures and large ones is one potential.
    """

    def __init__(self) -> None:
        super().__init__()
        self.timed = False

    def is_cheap(self, atoms: Any) -> bool:
        """Whether a structure that no task with labels has was asked about."""
        halves = 2.0 * atoms.get_scaled_positions()
        perfect = bool(np.abs(halves - np.round(halves)).max() < 1e-6)
        self.timed = self.timed or perfect or len(atoms) >= LARGE
        return self.timed

    def cheap_answer(self, atoms: Any) -> dict[str, Any]:
        """That of Lennard-Jones."""
        copy = atoms.copy()
        copy.calc = LennardJones(sigma=2.4, epsilon=0.3, rc=5.0)
        return {name: copy.calc.get_property(name, copy) for name in Emt.implemented_properties}


def has_equal_parts(atoms: Any) -> bool:
    """Whether a translation by less than the cell leaves the crystal as it is."""
    scaled = atoms.get_scaled_positions()
    for other in scaled[1:]:
        between = scaled[:, None] + (other - scaled[0]) - scaled
        between -= np.round(between)
        if (np.abs(between).max(axis=2).min(axis=1) < 1e-6).all():
            return True
    return False
