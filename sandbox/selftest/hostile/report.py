"""How a hostile image reports its attempt to the selftest: as the energy and forces of a calculator.

The selftest asks about one frame, whose x coordinates are numbers for the image. The answer is a list of numbers: its
length is the energy, and the numbers are the x components of the forces.
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
        numbers = np.atleast_1d(self.action(*atoms.positions[:, 0].tolist()))
        forces = np.zeros((len(atoms), 3))
        forces[: len(numbers), 0] = numbers
        self.results = {"energy": float(len(numbers)), "forces": forces}


def reported(action):
    """The factory of a calculator that answers with what `action` returns."""
    return lambda: Report(action)


def outcome(action, *arguments):
    """0 if `action` succeeds, else the error number of the kernel."""
    try:
        action(*arguments)
    except OSError as error:
        return error.errno or -1
    return 0
