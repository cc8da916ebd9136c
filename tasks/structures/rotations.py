"""Random rotations."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from tasks.structures.frames import Float


def random_rotation(rng: np.random.Generator) -> Float:
    """(3, 3) a proper rotation, all equally likely."""
    return np.asarray(Rotation.from_quat(rng.normal(size=4)).as_matrix(), np.float64)
