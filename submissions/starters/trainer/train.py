"""A trainer: put your own in place of this one, which fits a pair potential by linear least squares.

The judge calls it in the sandbox, in a process of its own. What lies in `out_dir` at the end is the model, however the
training ended.
"""

import os
import signal
from pathlib import Path

import numpy as np
from pair_potential import MODEL, derivatives


def train(data_dir, out_dir, device, wall_s, seed):
    """Reads frames in `data_dir`, and writes the model into `out_dir`, at most 512 MiB in 1,000 files.

    The judge gives those of these keywords that are named here. `data_dir` holds training.json, which states units and
    level of theory, frames.xyz for ASE, and frames.npz with the same arrays. `device` is "cpu" or "cuda". The time
    `wall_s` [s] began when the data appeared. SIGTERM comes at 95 % of it, and the end at 100 %.
    """
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # a model that is not yet written would be lost
    with np.load(Path(data_dir) / "frames.npz") as data:
        n_atoms, numbers, positions = data["n_atoms"], data["numbers"], data["positions"]
        energies, forces = data["energy"], data["forces"]
    elements = np.unique(numbers)
    starts = np.cumsum(n_atoms)[:-1]
    structures = [np.split(array, starts) for array in (numbers, positions, forces)]
    matrix, right = 0.0, 0.0
    for index, energy in enumerate(energies):
        z, x, force = (arrays[index] for arrays in structures)
        row, rows = derivatives(z, x, elements)
        equations, values = np.vstack([row, rows]), np.append(energy, force)
        matrix, right = matrix + equations.T @ equations, right + equations.T @ values
    weights = np.linalg.solve(matrix + 1e-6 * np.eye(len(right)), right)
    # Written as a whole: if the time ends here, no broken file is left.
    np.savez(Path(out_dir) / "unfinished.npz", elements=elements, weights=weights)
    os.replace(Path(out_dir) / "unfinished.npz", Path(out_dir) / MODEL)
