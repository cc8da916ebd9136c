"""Trajectories for tests, from positions alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tasks.trajectories.trajectory import Trajectory


def free_run(positions: Any, numbers: Any = None, **arrays: Any) -> Trajectory:
    """Frames `positions` (f, N, 3) [Å] without a cell, one each ps, all of carbon."""
    frames, atoms = np.shape(positions)[:2]
    given = {"cells": np.zeros((frames, 3, 3)), "pbc": np.zeros(3, bool), "times_ps": np.arange(frames, dtype=float)}
    chosen = np.full(atoms, 6) if numbers is None else np.asarray(numbers)
    return Trajectory(positions=np.asarray(positions, float), numbers=chosen, **(given | arrays))


def periodic_run(positions: Any, cell: Any, numbers: Any = None, **arrays: Any) -> Trajectory:
    """The same in one cell (3, 3), or (3,) for a rectangular one [Å]."""
    matrix = np.diag(cell) if np.ndim(cell) == 1 else np.asarray(cell, float)
    cells = np.repeat(matrix[None], len(positions), axis=0)
    return free_run(positions, numbers, **({"cells": cells, "pbc": np.ones(3, bool)} | arrays))
