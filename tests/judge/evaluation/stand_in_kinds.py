"""Kinds that only these tests define, and models that leave a mark at each start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from judge.records.records import Result
from tasks.datasets.dataset import Dataset, Structures
from tasks.kind import HostTooNoisy, Observation, Parameters, Traits, Watch, Work
from tasks.learning.training import FailedTraining, Training, part_of
from tasks.metrics.measurement import Items, Measurement
from tasks.metrics.metric import Metric, MetricPart
from tasks.model.calculator import BatchCalculator
from tasks.observing.frames_observation import observe_frames, read_frames
from tasks.structures.predictions import Cause
from tests.world.world import World


class Energies:
    """A kind that asks for energies and gives their mean."""

    name: str = "energies"
    observe_version: int = 1
    measure_version: int = 1
    parameters: type[Parameters] = Parameters
    traits: Traits = Traits("mean energy")
    n_parts = 3

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        assert watch.checkpoint is not None
        return observe_frames(structures.frames, ("energy",), model, watch)

    def work(self, structures: Structures, parameters: Any) -> Work:
        return Work.of(structures.frames)

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        answer = read_frames(observation, dataset.frames)
        n, failed = len(dataset.frames), int((~answer.ok).sum())
        mean = float(answer.energy[answer.ok].mean()) if answer.ok.any() else None
        ids = dataset.table.id
        items = Items(ids, dataset.table.group, dataset.clusters, answer.failure, {"energy": answer.energy})
        parts = [MetricPart("group", f"g{i}", "energy", np.nan if i else 1.5, "eV", n) for i in range(self.n_parts)]
        return Measurement({"energy": Metric(mean, "eV", n, failed)}, items, {"mean": "of all frames"}, parts)


class AskedTwice(Energies):
    """The same, with a consistency check of half of the frames after a fresh start."""

    name: str = "asked_twice"

    def recheck(
        self, observation: Observation, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch
    ) -> Observation:
        assert watch.checkpoint is None
        frames = structures.frames.between(0, len(structures.frames) // 2)
        again = observe_frames(frames, ("energy",), model, watch).arrays["energy"]
        failure = observation.arrays["failure"].copy()
        failure[: len(again)][~(np.abs(again - observation.arrays["energy"][: len(again)]) < 1e-9)] = Cause.INCONSISTENT
        return Observation({**observation.arrays, "failure": failure}, {**observation.notes, "asked again": "half"})

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        """No metric if the model contradicts itself more than once."""
        measurement = super().measure(observation, dataset, parameters, label_set)
        metric = measurement.metrics["energy"]
        void = int((observation.arrays["failure"] == Cause.INCONSISTENT).sum()) > 1
        charged = replace(metric, value=None if void else metric.value, charged=100.0)
        return replace(measurement, metrics={"energy": charged})


class Noisy(Energies):
    """A kind whose timings this host disturbs."""

    name: str = "noisy"

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        raise HostTooNoisy("the reference took 31 % longer than before")


# Each start leaves a mark; {line} may look at how many there were before this one: `n`.
STARTS = """
import os
from ase.calculators.emt import EMT

with open({marks!r}, "a+") as file:
    file.seek(0)
    n = len(file.read())
    file.write("x")

class Shifted(EMT):
    calls = 0
    def shift(self, calls):
        return 0.0
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.calls += 1
        self.results["energy"] += self.shift(self.calls)

def make_calculator(domain):
    calculator = Shifted()
    {line}
    return calculator
"""


def starts(world: World) -> int:
    return len((world.root / "marks").read_text())


def submitted(world: World, line: str) -> Any:
    return world.submit("model", STARTS.format(marks=str(world.root / "marks"), line=line))


def only_result(world: World) -> Result:
    (result,) = world.results()
    return result


class Breaks(Energies):
    """A kind that saves a checkpoint and then fails, first in one way and then in another."""

    name: str = "breaks"

    def __init__(self) -> None:
        self.found: list[float | None] = []
        self.errors: list[Exception] = [HostTooNoisy("loud"), ValueError("our own code")]

    def observe(self, structures: Structures, parameters: Any, model: BatchCalculator, watch: Watch) -> Observation:
        assert watch.checkpoint is not None
        kept = watch.checkpoint.load()
        self.found.append(None if kept is None else float(kept["step"][0]))
        watch.checkpoint.save({"step": np.array([len(self.found)])})
        if self.errors:
            raise self.errors.pop(0)
        return super().observe(structures, parameters, model, watch)


class LearningKind(Energies):
    """A kind of three trainings on 10 and 20 frames, whose measurement is the number of trained models that answered.

    A model that cannot be trained is asked as `Energies` asks.
    """

    name: str = "learning"

    def trainings(self, parameters: Any) -> Sequence[Training]:
        return [
            Training(f"n{n}-s{seed}", (), 0.0, 0.9, n, (), 3, seed, wall_s=3.0)
            for seed, n in ((1, 10), (1, 20), (2, 10))
        ]

    def measure(
        self, observation: Observation, dataset: Dataset, parameters: Any, label_set: str | None
    ) -> Measurement:
        if "energy" in observation.arrays:
            return super().measure(observation, dataset, parameters, label_set)
        parts = [part_of(observation, training.name) for training in self.trainings(parameters)]
        causes = np.array([part.cause if isinstance(part, FailedTraining) else 0 for part in parts], np.int8)
        names = [training.name for training in self.trainings(parameters)]
        items = Items(names, [""] * 3, names, causes, {})
        count = Metric(float((causes == 0).sum()), "", 3, int((causes != 0).sum()))
        return Measurement({"answered": count}, items, dict(observation.notes))
