"""The structures that the benchmarks ask about."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import bulk

SIZES = {4: 1, 32: 2, 108: 3, 256: 4, 864: 6}


def copper(n_atoms: int, seed: int = 0) -> Atoms:
    """A rattled cubic copper crystal of 4, 32, 108, 256 or 864 atoms."""
    atoms = bulk("Cu", cubic=True).repeat(SIZES[n_atoms])
    atoms.positions += np.random.default_rng(seed).normal(0.0, 0.02, atoms.positions.shape)
    return atoms
