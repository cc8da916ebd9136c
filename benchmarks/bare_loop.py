"""The loop that a person would write: load the calculator, loop over the frames, measure the time. Runs in an example's
image.

`python3 bare_loop.py FRAMES.npz` prints the seconds for energy, forces and stress of all frames but the first.
"""

import sys
import time

import numpy as np
from ase import Atoms
from ase.calculators.calculator import all_changes

sys.path.insert(0, "/model")
from calculator import make_calculator


def main() -> None:
    """Times the loop."""
    frames = np.load(sys.argv[1])
    atoms = Atoms(numbers=frames["numbers"], positions=frames["positions"][0], cell=frames["cell"], pbc=True)
    calculator = make_calculator(device="cpu")
    changes = list(all_changes)
    begin = 0.0
    for index, positions in enumerate(frames["positions"]):
        if index == 1:
            begin = time.perf_counter()
        atoms.positions = positions
        calculator.calculate(atoms, ["energy", "forces", "stress"], changes)
        changes = ["positions"]
    print(time.perf_counter() - begin)


if __name__ == "__main__":
    main()
