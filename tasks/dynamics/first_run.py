"""The stored frames of one run, for a reader who looks at it."""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.dynamics.run_ends import trajectory_of
from tasks.dynamics.simulate import DynamicsSettings
from tasks.dynamics.stored_runs import checked_arrays
from tasks.kind import Observation
from tasks.trajectories.trajectory import Trajectory


def first_run(observation: Observation, dataset: Dataset, settings: DynamicsSettings, system: str) -> Trajectory | None:
    """The stored frames of the first replica of a system, until the engine stopped it; None if it has none.

    Raises:
        ValueError: the data set has no such system, or the observation is not of its structures and settings.
    """
    structures = [each.structure for each in dataset.table.systems if each.id == system]
    if not structures:
        raise ValueError(f"{dataset.card.full_name}: table.json: systems: there is no {system!r}")
    frames = dataset.frames
    copies = frames.take(np.repeat(np.arange(len(frames)), settings.replicas))
    arrays = checked_arrays(observation, copies, settings)
    run = structures[0] * settings.replicas
    n_frames = int(np.isfinite(arrays["potential"][run]).sum())
    return trajectory_of(copies, run, arrays, settings, n_frames) if n_frames else None
