"""Joined shards have the bytes of an observation that one worker makes, whatever the model does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from ase.calculators.emt import EMT
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.records.observation_file import pack, unpack
from tasks.datasets.dataset import Structures
from tasks.kind import Kind, Observation, Watch
from tasks.kinds.registry import KINDS
from tasks.model.calculator import InProcessCalculator
from tasks.observing.frames_observation import AsksEachStructure
from tasks.observing.shards import Shard, join_shards, observe_shard
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties
from tests.tasks.kind_examples import EXAMPLES
from tests.tasks.observing.probed_models import FRAMES, all_sorts, labelled

SECRET = b"of a store"


class Fickle(InProcessCalculator):
    """EMT that fails on a share of the structures, and takes a second for each batch by its own clock.

    Whether it fails on one follows from its positions alone. Each batch gets a new EMT, without neighbour lists.
    """

    def __init__(self, share: float = 0.0, max_atoms: int = 40, seconds: float = 1.0) -> None:
        super().__init__(EMT(), max_atoms)
        self._share, self._seconds, self.now = share, seconds, 0.0
        self.n_asked = 0

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.now += self._seconds
        self.n_asked += len(frames)
        answer = InProcessCalculator(EMT()).compute(frames, properties)
        draws = [np.abs(frames.positions[frames.atom_slice(i)]).sum() * 1e4 % 1 for i in range(len(frames))]
        errors = {i: FrameError(Cause.ERROR, "Odd", "no") for i, draw in enumerate(draws) if draw < self._share}
        return Predictions.checked(frames, answer.energy, answer.forces, answer.stress, {**answer.errors, **errors})


@dataclass
class Task:
    kind: Kind
    structures: Structures
    parameters: object
    failed_share: float = 1.0
    allowed_s: float = 1e9

    def watch(self, model: Fickle) -> Watch:
        return Watch(clock=lambda: model.now, deadline=self.allowed_s, failed_share=self.failed_share, secret=SECRET)

    def whole(self, model: Fickle) -> Observation:
        return self.kind.observe(self.structures, self.parameters, model, self.watch(model))

    def joined(self, make: Callable[[], Fickle], count: int) -> Observation:
        """The same in shards, each asked by a model of its own, stored and read back."""
        shards = []
        for number in range(1, count + 1):
            model = make()
            seen = observe_shard(
                self.kind, self.structures, self.parameters, model, self.watch(model), Shard(number, count)
            )
            shards.append(Observation(*unpack(pack(seen.arrays, dict(seen.notes)))))
        watch = Watch(clock=lambda: 0.0, failed_share=self.failed_share, secret=SECRET)
        return join_shards(self.kind, self.structures, self.parameters, shards, watch, self.allowed_s)


def stored(observation: Observation) -> bytes:
    return pack(observation.arrays, dict(observation.notes))


def frames_task(**fields: float) -> Task:
    return Task(FRAMES, labelled(all_sorts(30)).structures, FRAMES.parameters(), **fields)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if isinstance(kind, AsksEachStructure)])
@pytest.mark.parametrize("public_since", ["", "2020"])
def test_every_kind_that_asks_each_structure(name: str, public_since: str) -> None:
    example = EXAMPLES[name]()
    card = example.dataset.card.model_copy(update={"public_since": public_since})
    task = Task(example.kind, replace(example.dataset, card=card).structures, example.parameters)
    whole = task.whole(Fickle(max_atoms=10))
    for count in (1, 2, 5):
        assert stored(task.joined(lambda: Fickle(max_atoms=10), count)) == stored(whole)


@settings(max_examples=40)
@given(
    share=st.sampled_from([0.0, 0.1, 0.4, 1.0]),
    failed_share=st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    allowed_s=st.sampled_from([0.0, 3.0, 9.0, 1e9]),
    count=st.integers(1, 7),
    max_atoms=st.sampled_from([1, 40, 100_000]),
)
def test_bounds_on_failures_and_time(
    share: float, failed_share: float, allowed_s: float, count: int, max_atoms: int
) -> None:
    task = frames_task(failed_share=failed_share, allowed_s=allowed_s)

    def model() -> Fickle:
        return Fickle(share, max_atoms)

    assert stored(task.joined(model, count)) == stored(task.whole(model()))


def test_a_shard_asks_its_own_share_alone() -> None:
    task = frames_task()
    models: list[Fickle] = []

    def model() -> Fickle:
        models.append(Fickle(max_atoms=1))
        return models[-1]

    task.joined(model, 4)
    asked = [model.n_asked for model in models]
    assert max(asked) - min(asked) <= 1
    whole = Fickle(max_atoms=1)
    task.whole(whole)
    assert sum(asked) == whole.n_asked


def test_shards_that_do_not_belong_together_are_refused() -> None:
    task, sizes = frames_task(), iter((20, 40))
    with pytest.raises(ValueError, match="its model states other max_atoms_per_batch in each shard: 20 and 40"):
        task.joined(lambda: Fickle(max_atoms=next(sizes)), 2)
    model = Fickle()
    shard = observe_shard(task.kind, task.structures, task.parameters, model, task.watch(model), Shard(1, 1))
    other = labelled(all_sorts(20)).structures
    with pytest.raises(ValueError, match="its shards were asked other questions than batch 1 of the task"):
        join_shards(task.kind, other, task.parameters, [shard], task.watch(model), 1e9)
