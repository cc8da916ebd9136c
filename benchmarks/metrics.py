"""Labelled-frames metrics on 25,000 frames of 50 atoms: seconds and memory, without the time of the predictions."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np

from benchmarks.report import Figure
from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

N_FRAMES, N_ATOMS = 25_000, 50
MIB = 1024 * 1024


def large_set() -> tuple[Dataset, Observation]:
    """A data set of random structures of four elements, and predictions with random errors."""
    rng = np.random.default_rng(0)
    total = N_FRAMES * N_ATOMS
    frames = Frames.from_arrays(
        {
            "n_atoms": np.full(N_FRAMES, N_ATOMS),
            "numbers": rng.choice([1, 6, 8, 29], total),
            "positions": rng.normal(size=(total, 3)),
            "cell": np.broadcast_to(10.0 * np.eye(3), (N_FRAMES, 3, 3)),
            "pbc": np.ones((N_FRAMES, 3), bool),
        }
    )
    labels = Labels(rng.normal(size=N_FRAMES), rng.normal(size=(total, 3)), rng.normal(size=(N_FRAMES, 6)))
    names = tuple(map(str, range(N_FRAMES)))
    card = Card(
        name="large",
        version="1",
        title="Random structures",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="PBE",
        label_sets={"PBE": LabelSet(theory="none: random numbers", dispersion=False)},
    )
    dataset = Dataset(card, frames, Table(id=names, group=names, cluster=names), {"PBE": labels})
    arrays = {
        "energy": labels.energy + rng.normal(size=N_FRAMES),
        "forces": labels.forces + rng.normal(size=(total, 3)),
        "stress": labels.stress + rng.normal(size=(N_FRAMES, 6)),
        "failure": np.zeros(N_FRAMES, np.int8),
    }
    return dataset, Observation(arrays)


def measure_metrics() -> list[Figure]:
    """The time of `measure`, and the memory that it needs besides the data set and the predictions."""
    dataset, observation = large_set()
    kind, parameters = LabelledFrames(), LabelledFramesParameters()
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        kind.measure(observation, dataset, parameters, "PBE")
        times.append(time.perf_counter() - begin)
    tracemalloc.start()
    kind.measure(observation, dataset, parameters, "PBE")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [
        Figure("metrics of 25,000 frames of 50 atoms", float(np.median(times)), "s", 1.0),
        Figure("memory of these metrics", peak / MIB, "MiB", 300.0),
    ]
