"""What runs in lock-step and was killed: it ends with the same bits, is marked, and asks no question twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from ase.calculators.emt import EMT

from tasks.kind import Observation, Watch
from tasks.model.calculator import InProcessCalculator
from tasks.observing import answer_log
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties
from tests.tasks.kind_examples import (
    KindExample,
    compression,
    elasticity,
    equation_of_state,
    phonons,
    reaction_paths,
    relaxed_structures,
)

LONG = {make.__name__: make for make in (reaction_paths, relaxed_structures)}
EXAMPLES = LONG | {make.__name__: make for make in (compression, elasticity, equation_of_state, phonons)}
NICKEL, WALL = 28, 0.05
SECONDS = 7.0  # of each answer: a checkpoint is due after five


class Kept:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] | None = None

    def load(self) -> Mapping[str, Any] | None:
        return None if self.arrays is None else dict(self.arrays)

    def save(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = {name: np.array(array) for name, array in arrays.items()}


class Killed(BaseException):
    """Ends the judge's process, as a signal would."""


class Mortal(InProcessCalculator):
    """EMT whose judge is killed at some call.

    Args:
        fails: on nickel, and on structures whose first atom is beyond a wall.
    """

    def __init__(self, dies_at: int = -1, fails: bool = False) -> None:
        super().__init__(EMT(), max_atoms_per_batch=100_000)
        self.dies_at, self.fails, self.calls, self.now, self.resumed = dies_at, fails, 0, 1000.0, False

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        if self.calls == self.dies_at:
            raise Killed
        self.calls += 1
        self.now += SECONDS
        answer = super().compute(frames, properties)
        first = frames.offsets[:-1]
        failing = self.fails & ((frames.numbers[first] == NICKEL) | (frames.positions[first, 0] > WALL))
        errors = {int(i): FrameError(Cause.ERROR, "ValueError", "it fails") for i in np.flatnonzero(failing)}
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, errors)

    def watch(self, kept: Kept | None, deadline: float = np.inf) -> Watch:
        return Watch(lambda: self.now, deadline, checkpoint=kept, resumed=self._resume)

    def _resume(self) -> None:
        self.resumed = True


def observe(example: KindExample, model: Mortal, kept: Kept | None, deadline: float = np.inf) -> Observation:
    return example.kind.observe(example.dataset.structures, example.parameters, model, model.watch(kept, deadline))


def same(one: Observation, other: Observation) -> bool:
    return one.arrays.keys() == other.arrays.keys() and all(
        array.tobytes() == other.arrays[name].tobytes() for name, array in one.arrays.items()
    )


@pytest.fixture(scope="module", params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> KindExample:
    return EXAMPLES[request.param]()


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_that_was_killed_ends_with_the_same_bits(example: KindExample, fails: bool) -> None:
    whole = Mortal(fails=fails)
    expected = observe(example, whole, None)
    for dies_at in range(0, whole.calls, max(1, whole.calls // 4)):
        kept, first = Kept(), Mortal(dies_at, fails)
        with pytest.raises(Killed):
            observe(example, first, kept)
        second = Mortal(fails=fails)
        assert same(observe(example, second, kept), expected), dies_at
        n_kept = dies_at - dies_at % 5
        assert second.calls == whole.calls - n_kept, dies_at
        assert second.resumed == (n_kept > 0), dies_at
    if fails:
        assert Cause.ERROR in expected.arrays["failure"]


def test_a_run_that_is_killed_again_and_again_comes_to_its_end(example: KindExample) -> None:
    expected, kept, calls = observe(example, Mortal(), None), Kept(), 0
    for _ in range(100):
        model = Mortal(dies_at=7)
        try:
            observation = observe(example, model, kept)
        except Killed:
            calls += model.calls
            continue
        assert same(observation, expected)
        return
    pytest.fail("it never ended")


@pytest.fixture(scope="module", params=LONG)
def long_example(request: pytest.FixtureRequest) -> KindExample:
    return LONG[request.param]()


def test_the_time_before_the_kill_counts(long_example: KindExample) -> None:
    kept = Kept()
    with pytest.raises(Killed):
        observe(long_example, Mortal(dies_at=10), kept)
    short = observe(long_example, Mortal(), kept, deadline=1000.0 + 12 * SECONDS)
    assert (short.arrays["failure"] == Cause.OVER_TIME).any()
    assert observe(long_example, Mortal(), Kept(), deadline=1000.0 + 400 * SECONDS).arrays["failure"].max() == 0


def changed_parameters(example: KindExample) -> KindExample:
    first = next(iter(type(example.parameters).model_fields))
    settings = getattr(example.parameters, first)
    name = "climbing_steps" if hasattr(settings, "climbing_steps") else "max_steps"
    longer = settings.model_copy(update={name: getattr(settings, name) + 1})
    return example._replace(parameters=example.parameters.model_copy(update={first: longer}))


def test_answers_to_other_parameters_are_not_used(long_example: KindExample) -> None:
    kept, other = Kept(), changed_parameters(long_example)
    with pytest.raises(Killed):
        observe(long_example, Mortal(dies_at=10), kept)
    model, alone = Mortal(), Mortal()
    assert same(observe(other, model, kept), observe(other, alone, None))
    assert model.calls == alone.calls


def test_a_model_with_memory_is_asked_again_from_the_first_other_question(long_example: KindExample) -> None:
    kept = Kept()
    with pytest.raises(Killed):
        observe(long_example, Mortal(dies_at=10), kept)
    assert kept.arrays is not None
    kept.arrays["energy"] = kept.arrays["energy"] + 1e-7  # another answer leads to another question
    kept.arrays["forces"] = 1.0000001 * kept.arrays["forces"]
    model = Mortal()
    observation = observe(long_example, model, kept)
    assert observation.arrays["failure"].max() == 0
    assert model.calls > 5


def test_answers_beyond_the_limit_are_asked_again(long_example: KindExample, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = observe(long_example, Mortal(), None)
    monkeypatch.setattr(answer_log, "MAX_BYTES", 3000)
    kept = Kept()
    with pytest.raises(Killed):
        observe(long_example, Mortal(dies_at=20), kept)
    model = Mortal()
    assert same(observe(long_example, model, kept), expected)


def test_the_time_counts_also_where_the_log_is_full(long_example: KindExample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_log, "MAX_BYTES", 0)
    kept = Kept()
    with pytest.raises(Killed):
        observe(long_example, Mortal(dies_at=20), kept)
    assert kept.arrays is not None
    assert kept.arrays["used_s"][0] >= 15 * SECONDS
    late = observe(long_example, Mortal(), kept, deadline=1000.0 + 22 * SECONDS)
    assert (late.arrays["failure"] == Cause.OVER_TIME).any()
