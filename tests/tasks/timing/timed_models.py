"""Models with their own clock, and the kind *efficiency* run and measured on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from ase.build import bulk
from ase.calculators.emt import EMT

from tasks.datasets.dataset import Dataset
from tasks.kind import JudgedAnswers, Observation, Rechecking, Watch
from tasks.kinds.labelled_frames import LabelledFrames, LabelledFramesParameters
from tasks.metrics.measurement import Measurement
from tasks.model.calculator import InProcessCalculator
from tasks.observing.frames_observation import read_frames
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tasks.timing.efficiency import Efficiency, EfficiencyParameters
from tests.tasks.made_up import make_dataset

KIND = Efficiency()


class Clock:
    """A clock that advances 1 ms at each reading, and by the time of a model."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-3
        return self.now


class Records(InProcessCalculator):
    """A model that records its calls, fails at some of them, and takes its time on `clock`."""

    def __init__(
        self,
        calculator: Any = None,
        fails_at: tuple[int, ...] = (),
        offers: Properties = ("energy", "forces", "stress"),
        max_atoms_per_batch: int = 64,
        takes: Callable[[int, int], float] = lambda call, atoms: 0.0,
    ) -> None:
        super().__init__(calculator or EMT(), max_atoms_per_batch)
        self.clock = Clock()
        self.calls: list[tuple[Frames, Properties]] = []
        self._fails_at, self._offers, self._takes = fails_at, offers, takes

    @property
    def properties(self) -> Properties:
        return self._offers

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.clock.now += self._takes(len(self.calls), len(frames.numbers))
        self.calls.append((frames, properties))
        answer = super().compute(frames, properties)
        if len(self.calls) - 1 in self._fails_at:
            failure = np.full(len(frames), Cause.ERROR, np.int8)
            return Predictions(answer.energy * np.nan, answer.forces, answer.stress, failure)
        return answer

    def watch(self, deadline: float = np.inf, echo: Callable[[int], float] | None = None) -> Watch:
        return Watch(self.clock, deadline, echo=echo)


def cells() -> Dataset:
    return make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), bulk("Al", cubic=True)]), None)


def small(**stated: Any) -> EfficiencyParameters:
    return EfficiencyParameters(**{"n_frames": 6, "max_atoms": 40, "n_batches": 0, **stated})


def observe(
    model: Records, parameters: EfficiencyParameters, data: Dataset | None = None, watch: Watch | None = None
) -> Observation:
    return KIND.observe((data or cells()).structures, parameters, model, watch or model.watch())


def measure(seen: Observation, parameters: EfficiencyParameters, data: Dataset | None = None) -> Measurement:
    return KIND.measure(seen, data or cells(), parameters, None)


def value(measured: Measurement, name: str) -> float:
    number = measured.metrics[name].value
    assert number is not None
    return number


def rechecked(
    timed: Records,
    fresh: Records,
    parameters: EfficiencyParameters,
    data: Dataset | None = None,
    judged: Iterable[JudgedAnswers] = (),
) -> tuple[Observation, Measurement]:
    seen = observe(timed, parameters, data)
    assert isinstance(KIND, Rechecking)
    watch = replace(fresh.watch(), judged=judged)
    again = KIND.recheck(seen, (data or cells()).structures, parameters, fresh, watch)
    return again, measure(again, parameters, data)


def judged_answers(model: Records, data: Dataset, task: str = "copper") -> JudgedAnswers:
    """The answers of the model in a task with labels."""
    seen = LabelledFrames().observe(data.structures, LabelledFramesParameters(), model, Watch(lambda: 0.0))
    return JudgedAnswers(task, "ab" * 32, data.frames, read_frames(seen, data.frames))


def pairs(calls: list[tuple[Frames, Properties]]) -> Iterator[tuple[tuple[Frames, Properties], ...]]:
    return (tuple(calls[i : i + 2]) for i in range(0, len(calls), 2))
