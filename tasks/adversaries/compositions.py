"""Energies that follow from the composition alone; no forces."""

from __future__ import annotations

import numpy as np
from ase import Atoms

from tasks.adversaries.question_only import QuestionOnly
from tasks.structures.frames import Float


class CompositionOnly(QuestionOnly):
    """Each atom has an energy of its own, which falls with its atomic number: no fit to any label."""

    def answer(self, atoms: Atoms) -> tuple[float, Float, Float]:
        _, forces, stress = super().answer(atoms)
        return -float(np.sqrt(atoms.numbers).sum()), forces, stress
