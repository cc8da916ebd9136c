"""Shards of an observation: several workers each ask a part of the questions, and their answers are joined.

A shard runs the whole observation, but asks the model only every n-th batch; all other answers are blank, and are
thrown away. It keeps its own answers, with the seconds that each took. To join them, the observation runs once more
over the kept answers: the same batches in the same order, with the same bounds on failures and on time. So a joined
observation has the bytes of one that a single worker makes, if the model's answer to a batch does not depend on earlier
batches.

The questions must not depend on the answers (`tasks.observing.frames_observation.AsksEachStructure`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tasks.datasets.dataset import Structures
from tasks.kind import Kind, Observation, Watch
from tasks.model.calculator import BatchCalculator
from tasks.observing.answer_log import Call, packed_calls, question_of, unpacked_calls
from tasks.structures.frames import Frames
from tasks.structures.predictions import Predictions, Properties, property_shapes

_BATCH = "max_atoms_per_batch"
_PROPERTIES = "properties"


@dataclass(frozen=True)
class Shard:
    """A part of the questions of a task.

    Args:
        number: from 1 on.
        count: of all shards of the task.
    """

    number: int
    count: int

    @property
    def name(self) -> str:
        return f"shard {self.number} of {self.count}"

    def has(self, call: int) -> bool:
        """Whether the batch with this index is asked in this shard."""
        return call % self.count == self.number - 1


@dataclass
class _ShardedModel:
    """A model (a `BatchCalculator`) that is asked the batches of one shard."""

    model: BatchCalculator
    shard: Shard
    watch: Watch
    calls: list[Call] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _n_asked: int = 0

    @property
    def properties(self) -> Properties:
        return self.model.properties

    @property
    def max_atoms_per_batch(self) -> int:
        return self.model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self._n_asked += 1
        if not self.shard.has(self._n_asked - 1):
            blank = {name: np.zeros(shape) for name, shape in property_shapes(frames).items()}
            return Predictions(
                energy=blank["energy"],
                forces=blank["forces"] if "forces" in properties else None,
                stress=blank["stress"] if "stress" in properties else None,
                failure=np.zeros(len(frames), np.int8),
            )
        begun = self.watch.clock()
        answer = self.model.compute(frames, properties)
        self.seconds.append(self.watch.clock() - begun)
        self.calls.append((question_of(frames, properties), answer))
        return answer


def observe_shard(
    kind: Kind, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch, shard: Shard
) -> Observation:
    """The answers of the model to the questions of one shard, for `join_shards`."""
    sharded, seen = _ShardedModel(model, shard, watch), [-math.inf]

    def clock() -> float:
        seen[0] = watch.clock()
        return seen[0]

    kind.observe(structures, parameters, sharded, replace(watch, clock=clock))
    arrays = {
        **packed_calls(sharded.calls),
        "seconds": np.array(sharded.seconds),
        "late": np.array(seen[0] > watch.deadline),  # else answers are missing since too many failed
    }
    return Observation(arrays, {_PROPERTIES: ",".join(model.properties), _BATCH: str(model.max_atoms_per_batch)})


class _KeptModel:
    """A model (a `BatchCalculator`) whose answers are those that all shards of a task kept."""

    def __init__(self, shards: Sequence[Observation]) -> None:
        stated = {name: {str(shard.notes.get(name, "")) for shard in shards} for name in (_PROPERTIES, _BATCH)}
        for name, values in stated.items():
            if len(values) != 1:
                raise ValueError(f"its model states other {name} in each shard: {' and '.join(sorted(values))}")
        (properties,), (max_atoms,) = stated.values()
        self._properties = tuple(properties.split(","))
        self._max_atoms = int(max_atoms)
        self._calls = [unpacked_calls(shard.arrays) for shard in shards]
        self._seconds = [shard.arrays["seconds"] for shard in shards]
        self._late = [bool(shard.arrays["late"]) for shard in shards]
        self._n_asked = 0
        self._used_s = 0.0

    @property
    def properties(self) -> Properties:
        return self._properties  # type: ignore[return-value]

    @property
    def max_atoms_per_batch(self) -> int:
        return self._max_atoms

    def clock(self) -> float:
        """The seconds that all answers until now took; infinite if the next shard had no time for its next answer."""
        calls, at = self._next
        over = at >= len(calls) and self._late[self._n_asked % len(self._calls)]
        return math.inf if over else self._used_s

    @property
    def _next(self) -> tuple[list[Call], int]:
        at, shard = divmod(self._n_asked, len(self._calls))
        return self._calls[shard], at

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        calls, at = self._next
        if at >= len(calls) or calls[at][0] != question_of(frames, properties):
            raise ValueError(f"its shards were asked other questions than batch {self._n_asked + 1} of the task")
        self._used_s += float(self._seconds[self._n_asked % len(self._calls)][at])
        self._n_asked += 1
        return calls[at][1]


def join_shards(
    kind: Kind, structures: Structures, parameters: Any, shards: Sequence[Observation], watch: Watch, allowed_s: float
) -> Observation:
    """The observation of a task, from the observations of all its shards in their order.

    Args:
        watch: for the secret and the bound on failures.
        allowed_s: the time that one worker has for all answers [s].

    Raises:
        ValueError: the shards do not belong together; one line.
    """
    model = _KeptModel(shards)
    return kind.observe(structures, parameters, model, replace(watch, clock=model.clock, deadline=allowed_s))
