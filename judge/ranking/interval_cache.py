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
from scoring.intervals import Interval, ResampledScore, SingleFloat, unranked
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
    """Names of the parts of a tree, each once. Trees of one shape have the same.

    Args:
        paths: of all nodes.
        keys: of all metrics.
        units: of all units.
    """

    paths: Collection[Path]
    keys: Collection[Key]
    units: Collection[str]

    @classmethod
    def of(cls, tree: Node) -> NodeNames:
        paths, units = dict.fromkeys(path for path, _ in tree.walk()), {node.unit for _, node in tree.walk()} - {""}
        return cls(paths, sorted({leaf.key for leaf in tree.leaves}), sorted(units))


def packed(score: ResampledScore, names: NodeNames) -> bytes:
    """The score as bytes of float64, and after them its units as float32: 40 of them have 40,000 numbers."""
    uncertainty = score.uncertainty
    intervals = [*uncertainty.nodes.values(), *uncertainty.metrics.values()]
    draws = [() if drawn is None else drawn for drawn in (score.drawn, score.drawn_like_these)]
    numbers = [uncertainty.value, score.value, uncertainty.n_independent]
    independent = [uncertainty.independent.get(key, 1.0) for key in uncertainty.metrics]
    has_draws = [unit in score.units for unit in names.units]
    lengths = [len(drawn) for drawn in draws]
    wider = [end for interval in (uncertainty.with_unseen, uncertainty.like_these) for end in interval[:2]]
    units = np.array([score.units[unit] for unit in names.units if unit in score.units], np.float32)
    parts = [numbers, wider, lengths, np.ravel(intervals), independent, has_draws, *draws]
    return np.concatenate(parts, dtype=np.float64).tobytes() + units.tobytes()


def unpacked(data: bytes, names: NodeNames) -> ResampledScore:
    """The score in bytes of `packed`, with these names of its parts."""
    n_intervals, n_keys, n_units = len(names.paths) + len(names.keys), len(names.keys), len(names.units)
    begin = 9 + 3 * n_intervals + n_keys + n_units
    numbers = np.frombuffer(data, count=begin)
    ends = numbers[9 : 9 + 3 * n_intervals].reshape(-1, 3).tolist()
    intervals = [Interval(low, high, int(n_held)) for low, high, n_held in ends]
    nodes = dict(zip(names.paths, intervals, strict=False))
    metrics = dict(zip(names.keys, intervals[len(names.paths) :], strict=True))
    independent = dict(zip(names.keys, numbers[begin - n_units - n_keys : begin - n_units].tolist(), strict=True))
    lengths = [int(number) for number in numbers[7:9]]
    drawn, like_these = np.split(np.frombuffer(data, offset=8 * begin, count=sum(lengths)), lengths[:1])
    units = [unit for unit, has_draws in zip(names.units, numbers[begin - n_units :], strict=True) if has_draws]
    numbers_of_units: SingleFloat = np.frombuffer(data, np.float32, offset=8 * (begin + sum(lengths)))
    rows = np.split(numbers_of_units, max(1, len(units)))
    wider = Interval(*numbers[3:5].tolist()), Interval(*numbers[5:7].tolist())
    uncertainty = unranked(float(numbers[0]), nodes, metrics, float(numbers[2]), independent, wider)
    known = [values if len(values) else None for values in (drawn, like_these)]
    by_unit = dict(zip(units, rows, strict=False))
    return ResampledScore(uncertainty, float(numbers[1]), known[0], known[1], by_unit)
