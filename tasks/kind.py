"""The contract of a task kind: first it *observes* a model and sees no label, later it *measures* and sees no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tasks.datasets.dataset import Dataset, Structures
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause


class Parameters(BaseModel):
    """The settings of a task, as a suite states them. Each kind has its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, eq=False)
class Observation:
    """What a model answered, stored for good: named arrays, and small facts as text."""

    arrays: Mapping[str, NDArray[Any]]
    notes: Mapping[str, str] = field(default_factory=dict)

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
        """The array of that name.

        Raises:
            ValueError: it is missing, or has another shape or dtype: it was observed of something else.
        """
        if name not in self.arrays:
            raise ValueError(f"observation: {name} is missing")
        array = self.arrays[name]
        if array.shape != shape or array.dtype != dtype:
            raise ValueError(f"observation: {name} is {array.dtype}{array.shape}, not {np.dtype(dtype)}{shape}")
        return array

    def causes(self, n: int) -> NDArray[np.int8]:
        """(n,) the codes of `Cause` in the array `failure`.

        Raises:
            ValueError: it is missing, of another length, or a code names no cause.
        """
        failure = self.array("failure", (n,), np.int8)
        if failure.size and not (failure.min() >= 0 and failure.max() <= max(Cause)):
            raise ValueError("observation: failure has codes that name no cause")
        return failure


class Checkpoint(Protocol):
    """A place on this host where a long observation keeps what it needs to go on after the judge was killed."""

    def load(self) -> Mapping[str, NDArray[Any]] | None:
        """What was saved last; None if nothing was, or what is there cannot be read."""
        ...

    def save(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Takes the place of what was saved before, whole or not at all."""
        ...


class HostTooNoisy(Exception):
    """Timings that this host disturbed: no fault of the model, and not to be published. The text says how much."""


@dataclass(frozen=True)
class Watch:
    """What an observing task is given of the outside world: a clock, a deadline and a place to report to.

    Args:
        clock: monotonic seconds.
        deadline: on that clock: a task that can end in good order (a trajectory) stops there by itself.
        progress: called with (done, total, unit).
        echo: seconds of one round trip of `nbytes` over the wire without any calculator, or None in-process.
        failed_share: an observation of many structures stops early once more than this share of them has failed.
        checkpoint: None where nothing is to be kept.
        secret: what is drawn at random of hidden structures is drawn with it, so that no one else can; may be empty.
    """

    clock: Callable[[], float]
    deadline: float = np.inf
    progress: Callable[[int, int, str], None] = lambda done, total, unit: None
    echo: Callable[[int], float] | None = None
    failed_share: float = 1.0
    checkpoint: Checkpoint | None = None
    secret: bytes = field(default=b"", repr=False)

    def in_time(self) -> bool:
        """Whether the deadline is yet to come."""
        return self.clock() <= self.deadline


class Work(NamedTuple):
    """How much a task asks of a model: what an estimate of its time is made of.

    Args:
        frames: structures asked about, each as often as it is asked.
        atoms: their atoms together.
    """

    frames: float
    atoms: float

    @classmethod
    def of(cls, frames: Frames, times: float = 1.0) -> Work:
        """Each of `frames` asked about `times` times."""
        return cls(times * len(frames), times * len(frames.numbers))


class Kind(Protocol):
    """One kind of task. Versions go up when what is asked, or what is made of the answers, changes."""

    name: str
    observe_version: int
    measure_version: int
    parameters: type[Parameters]

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        """Asks the model. `structures` holds no label."""
        ...

    def work(self, structures: Structures, parameters: Any) -> Work:
        """How much `observe` asks; where that depends on the answers (a relaxation), what is usual."""
        ...

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """Metrics and items from what was observed and the labels of `label_set` (None: the dataset's default).

        Raises:
            ValueError: the observation does not fit the dataset.
        """
        ...


@runtime_checkable
class Rechecking(Protocol):
    """A kind that asks some of its questions again, of a fresh start of the model that has seen nothing else."""

    def recheck(
        self, observation: Observation, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch
    ) -> Observation:
        """`observation` with what the fresh start answered added to it."""
        ...
