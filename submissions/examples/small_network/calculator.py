"""A small neural network as a submission that the judge trains."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from ase import Atoms
from ase.calculators.calculator import Calculator, InputError, all_changes
from environments import Environments, Structure
from network import MODEL, AtomicNetworks, energies_and_forces, load, tensors


class SmallNetwork(Calculator):
    """The trained model: energy [eV] and forces [eV/Å]. Untrained (None), both are zero."""

    implemented_properties: ClassVar[list[str]] = ["energy", "forces"]

    def __init__(self, trained: tuple[Environments, AtomicNetworks] | None, device: str) -> None:
        super().__init__()
        self.trained, self.device = trained, device

    def calculate(
        self,
        atoms: Atoms | None = None,
        properties: list[str] | None = None,
        system_changes: list[str] = all_changes,
    ) -> None:
        super().calculate(atoms, properties, system_changes)
        if self.trained is None:
            self.results = {"energy": 0.0, "forces": np.zeros((len(self.atoms), 3))}
            return
        environments, networks = self.trained
        if not environments.knows(self.atoms.numbers):
            raise InputError("this model was not trained on all elements of the structure")
        structure = Structure(self.atoms.numbers, self.atoms.positions, self.atoms.cell.array, self.atoms.pbc)
        described = tensors(environments.describe([structure]), self.device)
        energies, forces = energies_and_forces(networks, *described)
        energy = networks.atomic[described[0]].sum() + energies.detach().double().sum()
        self.results = {"energy": float(energy), "forces": forces.detach().cpu().numpy().astype(float)}


def make_calculator(device: str = "cpu", model_dir: str = ".") -> SmallNetwork:
    """The model that the trainer left in `model_dir`; without one, a calculator that has learned nothing."""
    torch.set_num_threads(1)  # the matrices are small: threads would wait for one another
    path = Path(model_dir) / MODEL
    return SmallNetwork(load(path, device) if path.exists() else None, device)
