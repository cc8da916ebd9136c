"""A calculator that answers from the questions alone, with a memory of what it was asked before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, all_changes

from tasks.structures.frames import Float


class QuestionOnly(Calculator):
    """An ASE calculator that sees each batch whole before it answers, as the code of an image can.

    A subclass says what it remembers of a question, and what it answers.
    """

    implemented_properties: ClassVar[list[str]] = ["energy", "forces", "stress"]  # type: ignore[misc]

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def remember(self, atoms: Atoms) -> None:
        """Notes a question before any of its batch is answered."""

    def answer(self, atoms: Atoms) -> tuple[float, Float, Float]:
        """Energy [eV], forces (N, 3) [eV/Å] and stress (6,) [eV/Å³] of a question; all zero unless a subclass says."""
        return 0.0, np.zeros((len(atoms), 3)), np.zeros(6)

    def compute_batch(self, structures: Sequence[Atoms], properties: Sequence[str]) -> list[dict[str, Any]]:
        """The answers to a batch, as `tasks.model.ase_loop` asks for them."""
        for atoms in structures:
            self.remember(atoms)
        return [dict(zip(self.implemented_properties, self.answer(atoms), strict=True)) for atoms in structures]

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        assert self.atoms is not None
        (self.results,) = self.compute_batch([self.atoms], self.implemented_properties)
