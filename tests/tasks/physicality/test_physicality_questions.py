"""The questions of physicality, and the parameters and observations that it refuses."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from ase.calculators.emt import EMT
from pydantic import ValidationError

from tasks.kind import Observation, Watch
from tasks.model.calculator import InProcessCalculator
from tasks.physicality.kind import PhysicalityParameters
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions, Properties
from tests.tasks.physicality.pair_potential import KIND, MIXED, SMALL, Pairs, observed, part


class Listening:
    """Passes questions on, and records them."""

    def __init__(self, calculator: Any, max_atoms_per_batch: int = 20_000) -> None:
        self.inner = InProcessCalculator(calculator, max_atoms_per_batch)
        self.properties = self.inner.properties
        self.max_atoms_per_batch = max_atoms_per_batch
        self.calls: list[tuple[Frames, Properties]] = []

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.calls.append((frames, properties))
        return self.inner.compute(frames, properties)


def test_the_same_is_asked_again_in_another_place_and_the_work_is_told_beforehand() -> None:
    model = Listening(Pairs())
    steps: list[tuple[int, int, str]] = []
    watch = Watch(time.monotonic, progress=lambda *step: steps.append(step))
    KIND.observe(MIXED.structures, SMALL, model, watch)
    questions = Frames.concatenate([frames for frames, _ in model.calls])
    work = KIND.work(MIXED.structures, SMALL)
    assert (work.frames, work.atoms) == (len(questions), len(questions.numbers))
    assert steps[-1] == (len(questions), len(questions), "frames")
    whole = [
        (questions.positions[questions.atom_slice(i)].tobytes(), questions.cell[i].tobytes())
        for i in range(len(questions))
    ]
    with_forces = sum(len(frames) for frames, properties in model.calls if "forces" in properties)
    for index in range(len(MIXED.frames)):
        places = [i for i in range(with_forces) if whole[i] == whole[index]]
        assert len(places) == 2
        assert places[1] - places[0] > 100
        assert whole[places[1] + 1] != whole[places[0] + 1]  # in other company
    assert all(a != b for a, b in pairwise(whole))


def test_answers_do_not_depend_on_batches_and_the_same_run_gives_the_same_bytes() -> None:
    dataset = part("Cu", "H2O")
    runs = [
        KIND.observe(dataset.structures, SMALL, InProcessCalculator(Pairs(), budget), Watch(time.monotonic)).arrays
        for budget in (20_000, 20_000, 17)
    ]
    for other in runs[1:]:
        assert other.keys() == runs[0].keys()
        assert all(other[name].tobytes() == array.tobytes() for name, array in runs[0].items())


def test_a_model_that_fails_too_many_structures_is_asked_nothing_else() -> None:
    model = Listening(EMT())
    observation = KIND.observe(
        part("Cu", "Si", "NaCl").structures, SMALL, model, Watch(time.monotonic, failed_share=0.5)
    )
    assert sum(len(frames) for frames, _ in model.calls) == 3
    measurement = KIND.measure(observation, part("Cu", "Si", "NaCl"), SMALL, None)
    assert set(measurement.items.failures()) == {Cause.MISSING}
    assert all(metric.charged == metric.failure_cost for metric in measurement.metrics.values())


def test_bad_parameters_are_refused() -> None:
    for bad in ({"diatomics": ("Xx",)}, {"displacements": (1e-3, 1e-2)}, {"strains": (1e-3,)}, {"box": 10.0}):
        with pytest.raises(ValidationError):
            PhysicalityParameters(**bad)


def test_what_was_observed_of_something_else_is_refused() -> None:
    observation, _ = observed(Pairs(), part("Cu", "H2O"))
    with pytest.raises(ValueError, match="observation: "):
        KIND.measure(observation, part("Cu"), SMALL, None)
    for missing in ("variant_rotation", "direction", "displaced_failure", "variant_probe"):
        arrays = {name: array for name, array in observation.arrays.items() if name != missing}
        with pytest.raises(ValueError, match=f"observation: {missing} is missing"):
            KIND.measure(Observation(arrays), part("Cu", "H2O"), SMALL, None)
