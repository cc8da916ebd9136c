"""Kill it in a training and while its model answers: nothing is lost or counted twice, one training is run again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.events import Event
from tests.judge.evaluation.kills.kill_world import At
from tests.judge.evaluation.kills.learning_world import N_TRAININGS, LearningWorld

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed() -> Iterator[list[str]]:
    """The digest lines of a run without kills."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = LearningWorld(Path(folder))
        world.prepare()
        assert world.settle() == 1
        world.check_trainings(N_TRAININGS)
        yield world.digest_lines()


@pytest.mark.parametrize(
    ("at", "more"),
    [
        (At(Event.TRAINED, 2), 0),  # the second training is through: the kill comes before the line of the log
        (At(Event.ANSWERED, 4), 1),  # of a training and of its model there is one each: the second model has answered
        (At(Event.OBSERVATION_STORED, 5), 0),  # all trainings have ended: they are joined again
        pytest.param(At(Event.CONTAINER_STARTED, 3), 0, marks=pytest.mark.soak),
        pytest.param(At(Event.MODEL_STORED, 1), 1, marks=pytest.mark.soak),
    ],
    ids=lambda value: value.step.name if isinstance(value, At) else "",
)
def test_killed_once_the_rest_is_as_if_nothing_had_happened(at: At, more: int, undisturbed: list[str]) -> None:
    with TemporaryDirectory(prefix="lj") as folder:
        world = LearningWorld(Path(folder))
        try:
            world.prepare()
            world.die(at)
            world.settle()
            assert world.digest_lines() == undisturbed
            world.check_trainings(N_TRAININGS + more)
        finally:
            world.end()
