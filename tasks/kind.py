"""The contract of a task kind: first it *observes* a model and sees no label, later it *measures* and sees no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from tasks.calculator import BatchCalculator
from tasks.dataset import Dataset, Structures
from tasks.measurement import Measurement
from tasks.predictions import Cause


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


@dataclass(frozen=True)
class Watch:
    """What an observing task is given of the outside world: a clock, a deadline and a place to report to.

    Args:
        clock: monotonic seconds.
        deadline: on that clock: a task that can end in good order (a trajectory) stops there by itself.
        progress: called with (done, total, unit).
        echo: seconds of one round trip of `nbytes` over the wire without any calculator, or None in-process.
    """

    clock: Callable[[], float]
    deadline: float = np.inf
    progress: Callable[[int, int, str], None] = lambda done, total, unit: None
    echo: Callable[[int], float] | None = None


class Kind(Protocol):
    """One kind of task. Versions go up when what is asked, or what is made of the answers, changes."""

    name: str
    observe_version: int
    measure_version: int
    parameters: type[Parameters]

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        """Asks the model. `structures` holds no label."""
        ...

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """Metrics and items from what was observed and the labels of `label_set` (None: the dataset's default).

        Raises:
            ValueError: the observation does not fit the dataset.
        """
        ...
