"""Resuming what runs in lock-step after the judge was killed: the answers of the model are kept, in their order.

The algorithms of `tasks.simulation.lockstep_batches` ask the same questions in the same order in each run, as long as
they get the same answers. So they begin again from their start, and get the answers that are kept, without the model;
then they go on with the model. For a calculator without memory from one call to the next all numbers are those of a run
without interruption.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Structures
from tasks.kind import Kind, Parameters, Watch
from tasks.model.calculator import BatchCalculator
from tasks.observing.checkpoints import RunCheckpoint
from tasks.structures.frames import Frames, hash_arrays
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

VERSION = "answers 1"
Call = tuple[str, Predictions]
"""The fingerprint of a question, and the answer."""
# The answers beyond these are not kept: an interrupted run asks them again.
MAX_BYTES = 256_000_000


class LoggedAnswers:
    """A model (a `BatchCalculator`) whose answers are kept in the watch's checkpoint, and given again after a restart.

    Attributes:
        watch: for the observation: its deadline is earlier by the seconds that were used before an interruption.
        n_kept: the number of answers that an earlier run kept.
    """

    def __init__(
        self, kind: Kind, structures: Structures, parameters: Parameters, model: BatchCalculator, watch: Watch
    ) -> None:
        self._model = model
        version = f"{VERSION} {kind.name} {kind.observe_version}"
        self._checkpoint = RunCheckpoint(watch, version, structures.frames_sha256, parameters)
        self._keeps = watch.checkpoint is not None
        stored = self._checkpoint.stored
        self._log = [] if stored is None else unpacked_calls(stored)
        self._bytes = sum(_size(answer) for _, answer in self._log)
        self.n_kept = len(self._log)
        self._next = 0
        self.watch = replace(watch, deadline=watch.deadline - self._checkpoint.used_s, checkpoint=None)

    @property
    def properties(self) -> Properties:
        return self._model.properties

    @property
    def max_atoms_per_batch(self) -> int:
        return self._model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """As `BatchCalculator.compute`. The model is asked from the first question on that has no kept answer."""
        if not self._keeps:
            return self._model.compute(frames, properties)
        question = question_of(frames, properties)
        if self._next < len(self._log):
            asked, kept = self._log[self._next]
            if asked == question:
                self._next += 1
                return kept
            del self._log[self._next :]
            self._bytes = sum(_size(answer) for _, answer in self._log)
        answer = self._model.compute(frames, properties)
        self._bytes += _size(answer)
        if self._bytes <= MAX_BYTES:
            self._log.append((question, answer))
            self._next = len(self._log)
        self._checkpoint.keep_lazily(lambda: packed_calls(self._log))  # of a full log, too: with the time that was used
        return answer


def question_of(frames: Frames, properties: Properties) -> str:
    """A fingerprint of the question about the `properties` of `frames`."""
    return f"{hash_arrays(frames.arrays())} {' '.join(properties)}"


def packed_calls(log: Sequence[Call]) -> dict[str, NDArray[Any]]:
    """A log as arrays: the answers one after another, and a description of each call as JSON."""
    answers = [answer for _, answer in log]
    calls = [
        {
            "question": question,
            "frames": len(answer.energy),
            **{n: None if (a := getattr(answer, n)) is None else len(a) for n in ("forces", "stress")},
            "errors": {str(i): [int(e.cause), e.kind, e.text] for i, e in answer.errors.items()},
        }
        for question, answer in log
    ]
    joined = {
        "energy": np.concatenate([np.zeros(0), *(answer.energy for answer in answers)]),
        "failure": np.concatenate([np.zeros(0, np.int8), *(answer.failure for answer in answers)]),
        "forces": np.concatenate([np.zeros((0, 3)), *(a.forces for a in answers if a.forces is not None)]),
        "stress": np.concatenate([np.zeros((0, 6)), *(a.stress for a in answers if a.stress is not None)]),
    }
    return {**joined, "calls": np.frombuffer(json.dumps(calls).encode(), np.uint8)}


def unpacked_calls(stored: Mapping[str, NDArray[Any]]) -> list[Call]:
    """The log in arrays of `packed_calls`."""
    calls = json.loads(bytes(stored["calls"]))
    log, at = [], dict.fromkeys(("energy", "failure", "forces", "stress"), 0)

    def next_rows(name: str, count: int | None) -> Any:
        if count is None:
            return None
        at[name] += count
        return stored[name][at[name] - count : at[name]]

    for call in calls:
        rows = dict.fromkeys(("energy", "failure"), call["frames"]) | {n: call[n] for n in ("forces", "stress")}
        arrays = {name: next_rows(name, count) for name, count in rows.items()}
        errors = {int(i): FrameError(Cause(code), kind, text) for i, (code, kind, text) in call["errors"].items()}
        log.append((str(call["question"]), Predictions(**arrays, errors=errors)))
    return log


def _size(answer: Predictions) -> int:
    return sum(a.nbytes for a in (answer.energy, answer.failure, answer.forces, answer.stress) if a is not None)
