"""Killed dynamics: they resume from their checkpoint with the same bits, or start again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from ase.build import bulk
from ase.calculators.emt import EMT

from tasks.kind import Watch
from tasks.kinds.nve import NveParameters
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause
from tests.tasks.kinds.nve_models import FailsOn, observe, three


class Kept:
    """A checkpoint in memory, with the number of steps at each save."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] | None = None
        self.saved_at: list[int] = []

    def load(self) -> Mapping[str, Any] | None:
        return None if self.arrays is None else dict(self.arrays)

    def save(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = {name: np.array(array) for name, array in arrays.items()}
        self.saved_at.append(int(arrays["step"][0]))


class Killed(BaseException):
    """Ends the judge's process, as a signal would."""


class Mortal(InProcessCalculator):
    """A model whose judge is killed at some call; 7 s of the clock a call."""

    def __init__(self, dies_at: int = -1, calculator: Any = None) -> None:
        super().__init__(calculator or EMT())
        self.dies_at, self.calls, self.now = dies_at, 0, 1000.0

    def compute(self, frames: Frames, properties: Any) -> Any:
        if self.calls == self.dies_at:
            raise Killed
        self.calls += 1
        self.now += 7.0
        return super().compute(frames, properties)

    def watch(self, kept: Kept | None, deadline: float = np.inf) -> Watch:
        return Watch(lambda: self.now, deadline, checkpoint=kept)


@pytest.mark.parametrize("dies_at", range(13))
def test_a_run_that_was_killed_goes_on_bit_by_bit(dies_at: int) -> None:
    """Also where platinum has failed before the kill, or fails after it."""
    parameters, kept = NveParameters(steps=12, timestep_fs=2.0), Kept()
    whole = observe(three(), Mortal(calculator=FailsOn(6, "raise")), parameters, Mortal().watch(None))
    assert whole.arrays["failure"].tolist() == [0, 0, Cause.ERROR]
    first = Mortal(dies_at, FailsOn(6, "raise"))
    with pytest.raises(Killed):
        observe(three(), first, parameters, first.watch(kept))
    done = kept.saved_at[-1] if kept.saved_at else 0
    # The start is a call of 7 s, too: half a minute has passed after four steps, and after five more.
    assert kept.saved_at == [s for s in (4, 9) if s < dies_at]
    # The remaining good answers about platinum: one at the start and one per step.
    second = Mortal(calculator=FailsOn(max(0, 6 - (done + 1)) if done else 6, "raise"))
    seen = observe(three(), second, parameters, second.watch(kept))
    assert second.calls == 12 - done + (0 if done else 1)
    assert seen.arrays.keys() == whole.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(seen.arrays[name], array, strict=True, err_msg=name)


@pytest.mark.parametrize("dies_at", [1, 30, 70])
def test_one_structure_alone_goes_on_bit_by_bit(dies_at: int) -> None:
    """EMT keeps its neighbour list from step to step: without `refresh` the last bits differ."""
    frames, parameters = (
        Frames.from_atoms([bulk("Cu", cubic=True)]),
        NveParameters(steps=60, temperature_k=900.0, sample_every=4),
    )
    whole = observe(frames, Mortal(), parameters, Mortal().watch(None))
    kept, first, second = Kept(), Mortal(dies_at), Mortal()
    with pytest.raises(Killed):
        observe(frames, first, parameters, first.watch(kept))
    assert bool(kept.saved_at) == (dies_at > 1)
    seen = observe(frames, second, parameters, second.watch(kept))
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(seen.arrays[name], array, strict=True, err_msg=name)


def test_the_time_used_before_counts() -> None:
    """Eleven calls of 7 s fit into 80 s, interrupted or not; they do not fit into 56 s with 35 s used before."""
    parameters = NveParameters(steps=10)
    fresh = Mortal()
    seen = observe(three(), fresh, parameters, fresh.watch(None, fresh.now + 80.0))
    assert seen.arrays["failure"].tolist() == [0, 0, 0]
    kept, first = Kept(), Mortal(7)
    with pytest.raises(Killed):
        observe(three(), first, parameters, first.watch(kept))
    assert kept.arrays is not None
    used = float(kept.arrays["used_s"][0])
    assert used == 7.0 * (kept.saved_at[-1] + 1)
    second = Mortal()
    late = observe(three(), second, parameters, second.watch(kept, second.now + used + 3 * 7.0))
    assert late.arrays["failure"].tolist() == [Cause.OVER_TIME] * 3
    assert late.arrays["completed_steps"].max() <= 4 + 3
    third = Mortal()
    enough = observe(three(), third, parameters, third.watch(kept, third.now + 80.0))
    assert enough.arrays["failure"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("other", ["parameters", "structures", "another kind"])
def test_a_checkpoint_of_another_run_is_not_taken(other: str) -> None:
    parameters, kept, first = NveParameters(steps=12), Kept(), Mortal(9)
    with pytest.raises(Killed):
        observe(three(), first, parameters, first.watch(kept))
    assert kept.arrays is not None
    frames = three()
    if other == "parameters":
        parameters = NveParameters(steps=12, temperature_k=301.0)
    elif other == "structures":
        frames = frames.moved(frames.positions + 1e-9)
    else:
        del kept.arrays["fingerprint"]
    alone, second = Mortal(), Mortal()
    fresh = observe(frames, alone, parameters, alone.watch(None))
    seen = observe(frames, second, parameters, second.watch(kept))
    assert second.calls == 13
    for name, array in fresh.arrays.items():
        np.testing.assert_array_equal(seen.arrays[name], array, err_msg=name)
