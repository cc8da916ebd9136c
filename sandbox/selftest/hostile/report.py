"""How a hostile image tells the selftest what came of its attempt: as the energy and forces of a calculator.

The selftest asks about one frame, whose x coordinates are what it has to say. The energy of the answer is how many
numbers follow, and the x components of the forces are the numbers.
"""

import numpy as np
from ase.calculators.calculator import Calculator


class Report(Calculator):
    """Answers with what `action(*numbers)` returns, a number or several."""

    implemented_properties = ("energy", "forces")

    def __init__(self, action):
        super().__init__()
        self.action = action

    def calculate(self, atoms=None, properties=(), system_changes=()):
        told = np.atleast_1d(self.action(*atoms.positions[:, 0].tolist()))
        forces = np.zeros((len(atoms), 3))
        forces[: len(told), 0] = told
        self.results = {"energy": float(len(told)), "forces": forces}


def outcome(action, *arguments):
    """0 where `action` succeeds, else the number of the error that the kernel answered with."""
    try:
        action(*arguments)
    except OSError as error:
        return error.errno or -1
    return 0
