"""A submission that the judge trains: `make_calculator` returns the model that train.py left."""

from pathlib import Path

import numpy as np
from ase.calculators.calculator import Calculator, InputError, all_changes
from pair_potential import MODEL, derivatives


class PairPotential(Calculator):
    """Energy [eV] and forces [eV/Å] of a molecule. Untrained, both are zero."""

    implemented_properties = ("energy", "forces")

    def __init__(self, elements=None, weights=None):
        super().__init__()
        self.elements, self.weights = elements, weights

    def calculate(self, atoms=None, properties=None, system_changes=all_changes):
        """Raises InputError for an element that was not learned: the judge counts the structure as unsupported."""
        super().calculate(atoms, properties, system_changes)
        energy, forces = 0.0, np.zeros((len(atoms), 3))
        if self.weights is not None:
            if not np.isin(atoms.numbers, self.elements).all():
                raise InputError("this model was not trained on all elements of the structure")
            row, rows = derivatives(atoms.numbers, atoms.positions, self.elements)
            energy, forces = float(row @ self.weights), (rows @ self.weights).reshape(-1, 3)
        self.results = {"energy": energy, "forces": forces}


def make_calculator(device="cpu", domain=None, model_dir="."):
    """The calculator, with what the trainer wrote into `model_dir`.

    Without a trained model, `model_dir` is the folder in which the image starts. The judge's first check is made
    without one: the function must then answer too, here with zeros. A model that is in the image may be used instead.
    """
    path = Path(model_dir) / MODEL
    if not path.exists():
        return PairPotential()
    with np.load(path) as model:
        return PairPotential(model["elements"], model["weights"])
