"""The structures that the benchmarks ask about."""

from __future__ import annotations

import numpy as np
from ase import Atoms
from ase.build import bulk


def copper(n_atoms: int, seed: int = 0) -> Atoms:
    """The first `n_atoms` of a rattled cubic copper crystal: all of it for 4, 32, 108, 256, 500 or 864."""
    atoms = bulk("Cu", cubic=True).repeat(int(np.ceil(np.cbrt(n_atoms / 4) - 1e-9)))[:n_atoms]
    atoms.positions += np.random.default_rng(seed).normal(0.0, 0.02, atoms.positions.shape)
    return atoms
