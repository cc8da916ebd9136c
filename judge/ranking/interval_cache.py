"""Keeps scores and intervals of single submissions from one build of the site to the next.

An entry is found by the sha256 of all that it was computed from. So it never has to be compared, and a record that
changed has another entry. Entries that a build does not use are removed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from judge.records.cache_file import Cached, CacheFile
from scoring import Node
from scoring.intervals import Interval, ResampledScore, unranked
from scoring.tree import Key, Path

_FOLDER = "intervals/"


@dataclass
class IntervalCache:
    """The entries of the last build. Without a file nothing is kept.

    Args:
        stamps: by key in the store, the version of the bytes. What is computed from other items tables is not kept.
    """

    file: CacheFile | None = None
    stamps: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._last: Mapping[str, Cached] = self.file.read([_FOLDER]) if self.file else {}
        self._used: dict[str, bytes] = {}

    def get(self, key: str) -> bytes:
        """The entry of that key; empty if there is none."""
        if key not in self._used and key in self._last:
            self._used[key] = self._last[key].data
        return self._used.get(key, b"")

    def put(self, key: str, data: bytes) -> None:
        """Adds an entry."""
        self._used[key] = data

    def close(self) -> None:
        """Writes the entries that were used or added."""
        if self.file:
            added = {key: Cached("", data) for key, data in self._used.items()}
            changed = {key: entry for key, entry in added.items() if entry != self._last.get(key)}
            self.file.write(changed, self._last.keys() - added.keys())


def key_of(*parts: object) -> str:
    """The key of an entry that was computed from these parts, which are plain data for JSON."""
    return _FOLDER + sha256(json.dumps(parts).encode()).hexdigest()


class NodeNames(NamedTuple):
    """The paths of the nodes of a tree and the keys of its metrics, each once. Trees of one shape have the same."""

    paths: Collection[Path]
    keys: Collection[Key]

    @classmethod
    def of(cls, tree: Node) -> NodeNames:
        return cls(dict.fromkeys(path for path, _ in tree.walk()), sorted({leaf.key for leaf in tree.leaves}))


def packed(score: ResampledScore) -> bytes:
    """The score as bytes of float64; the draws are last."""
    uncertainty = score.uncertainty
    intervals = [*uncertainty.nodes.values(), *uncertainty.metrics.values()]
    draws = [() if drawn is None else drawn for drawn in (score.drawn, score.drawn_like_these)]
    numbers = [uncertainty.value, score.value, uncertainty.n_independent, *uncertainty.like_these[:2], len(draws[0])]
    independent = [uncertainty.independent.get(key, 1.0) for key in uncertainty.metrics]
    return np.concatenate([numbers, np.ravel(intervals), independent, *draws]).tobytes()


def unpacked(data: bytes, names: NodeNames) -> ResampledScore:
    """The score in bytes of `packed`, with these names of its nodes and metrics."""
    numbers, (paths, keys) = np.frombuffer(data), names
    begin = 6
    end = begin + 3 * (len(paths) + len(keys))
    ends = numbers[begin:end].reshape(-1, 3).tolist()
    intervals = [Interval(low, high, int(n_held)) for low, high, n_held in ends]
    nodes = dict(zip(paths, intervals, strict=False))
    metrics = dict(zip(keys, intervals[len(paths) :], strict=True))
    independent = dict(zip(keys, numbers[end : end + len(keys)].tolist(), strict=True))
    wide, (drawn, like_these) = (
        Interval(*numbers[3:5].tolist()),
        np.split(numbers[end + len(keys) :], [int(numbers[5])]),
    )
    uncertainty = unranked(float(numbers[0]), nodes, metrics, float(numbers[2]), independent, wide)
    draws = [each if len(each) else None for each in (drawn, like_these)]
    return ResampledScore(uncertainty, float(numbers[1]), *draws)
