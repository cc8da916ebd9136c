"""What is read of the frames of a file: structures, labels and texts, of one block after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tasks.importing.labelled_import import joined_labels
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Labels


@dataclass(frozen=True, eq=False)
class ReadFrames:
    """Some frames of a file.

    Args:
        labels: in the units of the file.
        names: by frame; None if it states none.
        groups: by frame, or empty.
        clusters: by frame, the text of the cluster field; empty without such a field.
        unused: by numeric field that was not read, how many frames have it.
        free_energy: (n,) in the units of the file, NaN where there is none.
        stress_asymmetry: (n,) in the units of the file, as from `tasks.importing.reading.stress_matrices`.
        found: the names of `--keys` that a frame has.
    """

    frames: Frames
    labels: Labels
    names: tuple[str | None, ...]
    groups: tuple[str, ...]
    clusters: tuple[str, ...] = ()
    unused: Counter[str] = field(default_factory=Counter)
    free_energy: Float = field(default_factory=lambda: np.zeros(0))
    stress_asymmetry: Float = field(default_factory=lambda: np.zeros(0))
    found: frozenset[str] = frozenset()

    def ordered(self, order: Int) -> ReadFrames:
        """The frames at `order`, which has each once."""
        atoms, places = self.frames.atom_indices(order), order.tolist()
        labels = {name: array[atoms if name == "forces" else order] for name, array in self.labels.arrays.items()}
        return ReadFrames(
            self.frames.take(order),
            Labels(**labels),
            tuple(self.names[i] for i in places),
            tuple(self.groups[i] for i in places),
            tuple(self.clusters[i] for i in places) if self.clusters else (),
            self.unused,
            self.free_energy[order],
            self.stress_asymmetry[order],
            self.found,
        )


def joined(parts: Sequence[ReadFrames]) -> ReadFrames:
    """The frames of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    return ReadFrames(
        Frames.concatenate([part.frames for part in parts]),
        joined_labels([(part.frames, part.labels) for part in parts]),
        tuple(name for part in parts for name in part.names),
        tuple(group for part in parts for group in part.groups),
        tuple(cluster for part in parts for cluster in part.clusters),
        sum((part.unused for part in parts), Counter()),
        np.concatenate([part.free_energy for part in parts]),
        np.concatenate([part.stress_asymmetry for part in parts]),
        frozenset().union(*(part.found for part in parts)),
    )


def in_order(parts: Sequence[ReadFrames], places: Sequence[Sequence[int]]) -> ReadFrames:
    """The frames of all parts, each at its place."""
    whole, place = joined(parts), np.concatenate([np.asarray(each, np.int64) for each in places])
    return whole if (np.diff(place) > 0).all() else whole.ordered(np.argsort(place))
