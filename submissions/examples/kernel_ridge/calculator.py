"""Kernel ridge regression as a submission that the judge trains."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from ase import Atoms
from ase.calculators.calculator import Calculator, InputError, all_changes
from environments import Structure
from kernel import MODEL, SparseKernel


class KernelRidge(Calculator):
    """The trained model: energy [eV] and forces [eV/Å]. Untrained (None), both are zero."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces"]

    def __init__(self, model: SparseKernel | None) -> None:
        super().__init__()
        self.model = model

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        if self.model is None:
            self.results = {"energy": 0.0, "forces": np.zeros((len(self.atoms), 3))}
            return
        if not self.model.environments.knows(self.atoms.numbers):
            raise InputError("this model was not trained on all elements of the structure")
        structure = Structure(self.atoms.numbers, self.atoms.positions, self.atoms.cell.array, self.atoms.pbc)
        energy, forces = self.model.evaluate(structure)
        self.results = {"energy": energy, "forces": forces}


def make_calculator(model_dir: str = ".") -> KernelRidge:
    """The model that the trainer left in `model_dir`; without one, a calculator that has learned nothing."""
    path = Path(model_dir) / MODEL
    if not path.exists():
        return KernelRidge(None)
    with np.load(path) as arrays:
        return KernelRidge(SparseKernel.from_arrays(arrays))
