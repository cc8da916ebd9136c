"""Timing: what is asked, what is counted, and what a slow, failing or stressless model leaves."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from hypothesis import given
from hypothesis import strategies as st

from tasks.calculator import InProcessCalculator
from tasks.dataset import Dataset, load_dataset
from tasks.efficiency import Efficiency, EfficiencyParameters, time_reference
from tasks.frames import Frames
from tasks.kind import Observation, Watch
from tasks.predictions import Cause, Predictions, Properties
from tasks.replicate import repeats, replicated
from tests.tasks.made_up import make_dataset

KIND = Efficiency()


class Records(InProcessCalculator):
    """EMT that remembers what it was asked, and fails at some calls."""

    def __init__(self, fails_at: tuple[int, ...] = (), stress: bool = True) -> None:
        super().__init__(EMT())
        self.asked: list[tuple[Frames, Properties]] = []
        self._fails_at, self._stress = fails_at, stress

    @property
    def properties(self) -> Properties:
        return ("energy", "forces", "stress") if self._stress else ("energy", "forces")

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.asked.append((frames, properties))
        answer = super().compute(frames, properties)
        if len(self.asked) - 1 in self._fails_at:
            failure = np.full(len(frames), Cause.OUT_OF_MEMORY, np.int8)
            return Predictions(answer.energy * np.nan, answer.forces, answer.stress, failure)
        return answer


def cells() -> Dataset:
    return make_dataset(Frames.from_atoms([bulk("Cu", cubic=True), bulk("Al", cubic=True)]), None)


def observe(model: Records, parameters: EfficiencyParameters, watch: Watch, data: Dataset | None = None) -> Observation:
    return KIND.observe((data or cells()).structures, parameters, model, watch)


def test_every_frame_is_new_and_follows_one_of_its_shape(watch: Watch) -> None:
    model, parameters = Records(), EfficiencyParameters(n_frames=6, max_atoms=40)
    seen = observe(model, parameters, watch)
    assert len(model.asked) == 12
    assert all(len(frames) == 1 and asked == ("energy", "forces", "stress") for frames, asked in model.asked)
    for first, second in pairs(model.asked):
        np.testing.assert_array_equal(first[0].numbers, second[0].numbers)
        np.testing.assert_array_equal(first[0].cell, second[0].cell)
    assert len({frames.sha256() for frames, _ in model.asked}) == 12
    assert seen.arrays["n_atoms"].max() <= 40
    again = Records()
    observe(again, parameters, watch)
    assert [f.sha256() for f, _ in again.asked] == [f.sha256() for f, _ in model.asked]


def pairs(asked: list[tuple[Frames, Properties]]) -> list[tuple[tuple[Frames, Properties], ...]]:
    return [tuple(asked[i : i + 2]) for i in range(0, len(asked), 2)]


def test_times_are_those_of_the_clock() -> None:
    """A clock that advances 1 ms at each look: every call takes 1 ms."""
    ticks = itertools.count()
    data, parameters = cells(), EfficiencyParameters(n_frames=20, max_atoms=32)
    watch = Watch(lambda: next(ticks) * 1e-3, echo=lambda nbytes: 50e-6)
    measured = KIND.measure(observe(Records(), parameters, watch), data, parameters, None)
    values = {name: metric.value for name, metric in measured.metrics.items()}
    for name in ("time_mean", "time_median", "time_p95", "time_cold"):
        assert values[name] == pytest.approx(1000.0 / 32)
    assert values["wire_cost"] == pytest.approx(50.0)
    assert measured.metrics["wire_cost"].unit == "µs"
    assert measured.items.columns["warm_up"].sum() == 2


def test_a_failed_frame_is_counted(watch: Watch) -> None:
    parameters = EfficiencyParameters(n_frames=5, max_atoms=8)
    seen = observe(Records(fails_at=(5,)), parameters, watch)
    assert seen.arrays["failure"].tolist() == [0, 0, Cause.OUT_OF_MEMORY, 0, 0]
    measured = KIND.measure(seen, cells(), parameters, None)
    assert measured.metrics["time_mean"].n_failed == 1
    assert measured.metrics["time_mean"].n_items == 5
    assert "wire_cost" not in measured.metrics


def test_what_is_not_reached_is_over_time() -> None:
    ticks = itertools.count()
    parameters = EfficiencyParameters(n_frames=5, max_atoms=8)
    # Ten looks for the reference, then about five for each frame: there is time for two or three.
    hurried = Watch(lambda: float(next(ticks)), deadline=26.0)
    model = Records()
    seen = observe(model, parameters, hurried)
    done = len(model.asked) // 2
    assert 0 < done < 5
    assert seen.arrays["failure"].tolist() == [0] * done + [Cause.OVER_TIME] * (5 - done)
    assert np.isnan(seen.arrays["seconds"][done:]).all()


def test_without_stress_energy_and_forces_are_timed_and_it_says_so(watch: Watch) -> None:
    model, parameters = Records(stress=False), EfficiencyParameters(n_frames=2, max_atoms=8)
    seen = observe(model, parameters, watch)
    assert {asked for _, asked in model.asked} == {("energy", "forces")}
    assert "not offered" in KIND.measure(seen, cells(), parameters, None).notes["stress"]


@given(edges=st.tuples(*[st.floats(2.0, 12.0)] * 3), n_atoms=st.integers(1, 20), max_atoms=st.integers(20, 1000))
def test_cells_grow_to_the_budget_and_stay_compact(
    edges: tuple[float, float, float], n_atoms: int, max_atoms: int
) -> None:
    counts = repeats(np.diag(edges), (True, True, True), n_atoms, max_atoms)
    atoms = n_atoms * int(np.prod(counts))
    assert atoms <= max_atoms
    lengths = np.array(counts) * edges
    shortest = int(np.argmin(lengths))
    assert atoms // counts[shortest] * (counts[shortest] + 1) > max_atoms


def test_molecules_are_not_replicated() -> None:
    charged = molecule("OH")
    charged.info |= {"charge": -1, "spin": 1}
    frames = Frames.from_atoms([charged])
    assert replicated(frames, 0, 100).sha256() == frames.sha256()


def test_quickstart_cells_stay_within_128_atoms(quickstart: Path) -> None:
    frames = load_dataset(quickstart / "efficiency@1").frames
    for i in range(len(frames)):
        assert 64 <= len(replicated(frames, i, 128).numbers) <= 128


def test_the_reference_calculator_takes_time() -> None:
    assert 1e-5 < time_reference(time.perf_counter) < 1.0
