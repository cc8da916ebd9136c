"""Files in the published layout of rMD17, as the tests write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tasks.simulation.start_geometries import start_geometries

# Total energies of all electrons [kcal/mol], nearly.
TOTAL = {"ethanol": -97_195.0, "benzene": -145_500.0}


def rmd17_arrays(name: str = "ethanol", m: int = 40, seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays of a file, with the frames in no order of time."""
    rng = np.random.default_rng(seed)
    start = start_geometries()[name]
    n = len(start.numbers)
    return {
        "nuclear_charges": start.numbers.astype(np.uint8),
        "coords": start.positions + 0.05 * rng.standard_normal((m, n, 3)),
        "energies": TOTAL[name] + rng.standard_normal(m),
        "forces": 10 * rng.standard_normal((m, n, 3)),
        "old_indices": 3 * rng.permutation(m),
        "old_energies": np.zeros(m),
        "old_forces": np.zeros((m, n, 3)),
    }


def write_rmd17(folder: Path, name: str = "ethanol", m: int = 40, seed: int = 0, **changes: object) -> Path:
    """Writes `rmd17_NAME.npz`, with `changes` in place of its arrays; None: without it."""
    arrays = {key: value for key, value in {**rmd17_arrays(name, m, seed), **changes}.items() if value is not None}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rmd17_{name}.npz"
    np.savez(path, **arrays)
    return path
