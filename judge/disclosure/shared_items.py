"""Which data sets have items in common: the sums of one and those of the other are then over the same errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import blake2b
from itertools import combinations

import numpy as np

from judge.ranking.item_makeup import items_of
from tasks.datasets.dataset import Dataset
from tasks.kind import DatasetPart
from tasks.structures.frames import Frames

DECIMALS = 2
"""Of a distance [Å]: copies of a structure that were rounded in another way are alike."""


def item_fingerprints(dataset: Dataset, part: DatasetPart) -> list[str]:
    """A hash of the structures of each item, sorted.

    That of a structure is of its elements, and of the distances of its atoms from their centre. So it is the same after
    atoms were turned, moved or sorted in another way. Different structures may share it.

    Args:
        part: of the data set, whose items a kind measures.
    """
    known = [_fingerprint(dataset.frames, index) for index in range(len(dataset.frames))]
    each = (b"".join(sorted(known[i] for i in indices)) for _, _, indices, _ in items_of(dataset, part))
    return sorted({_hash(joined).hex() for joined in each})


def _fingerprint(frames: Frames, index: int) -> bytes:
    atoms = frames.atom_slice(index)
    from_centre = frames.positions[atoms] - frames.positions[atoms].mean(axis=0)
    distances = np.round(np.sqrt((from_centre**2).sum(axis=1)), DECIMALS)
    order = np.lexsort((distances, frames.numbers[atoms]))
    return _hash(frames.numbers[atoms][order].tobytes() + distances[order].tobytes())


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=8).digest()


def sharing(fingerprints: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The names that have a fingerprint in common with another name."""
    sets = {name: frozenset(each) for name, each in fingerprints.items()}
    pairs = [pair for pair in combinations(sets, 2) if not sets[pair[0]].isdisjoint(sets[pair[1]])]
    return frozenset(name for pair in pairs for name in pair)
