"""Random rotations, and random orders of atoms."""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Float, Int


def random_rotation(rng: np.random.Generator) -> Float:
    """(3, 3) a proper rotation, all equally likely."""
    from scipy.spatial.transform import Rotation  # it takes long to import

    return np.asarray(Rotation.from_quat(rng.normal(size=4)).as_matrix(), np.float64)


def other_order(n: int, rng: np.random.Generator) -> Int:
    """(n,) a random permutation that is not the identity, if there is one."""
    order = rng.permutation(n)
    return np.roll(order, 1) if np.array_equal(order, np.arange(n)) else order
