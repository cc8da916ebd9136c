"""A trainer that does what the data tell it, so that one image serves every test, and the calculator of its models."""

import os

import numpy as np
from ase.calculators.calculator import Calculator, all_changes


def train(data_dir, out_dir, wall_s, seed):
    """Runs the lines of `act.py` among the data."""
    with open(os.path.join(data_dir, "act.py")) as file:
        lines = compile(file.read(), "act.py", "exec")
    exec(lines, {"data_dir": data_dir, "out_dir": out_dir, "wall_s": wall_s, "seed": seed})


class Mean(Calculator):
    """The same energy for each structure."""

    implemented_properties = ("energy", "forces")

    def __init__(self, mean):
        super().__init__()
        self.mean = mean

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        self.results = {"energy": self.mean, "forces": np.zeros((len(atoms), 3))}


def make_calculator(model_dir):
    """The model in `model_dir`; without one, an energy that no trainer left."""
    path = os.path.join(model_dir, "mean.npy")
    return Mean(float(np.load(path)) if os.path.exists(path) else -1.0)
