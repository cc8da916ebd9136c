"""What is timed is the model that tasks with labels judge: its answers to their frames are those that are stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT

from tasks.datasets.dataset import Dataset
from tasks.kind import JudgedAnswers, Observation
from tasks.metrics.measurement import Measurement
from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, Predictions
from tasks.timing.efficiency_metrics import FAILURE_COST
from tasks.timing.judged_frames import N_JUDGED, STAGES, JudgedFrames, choose_judged
from tasks.timing.timing_plan import TimingPlan
from tests.tasks.made_up import make_dataset
from tests.tasks.timing.test_small_frames import Emt, large_cells, other_potential
from tests.tasks.timing.timed_models import Records, cells, judged_answers, measure, rechecked, small, value

pytestmark = pytest.mark.usefixtures("short_looks")


def rattled_copper(n: int = 12, seed: int = 0) -> Dataset:
    """Frames of a task with labels: none is a structure of the timing."""
    rng, frames = np.random.default_rng(seed), []
    for _ in range(n):
        crystal = bulk("Cu", cubic=True, a=rng.uniform(3.5, 3.7))
        crystal.positions += rng.normal(0.0, 0.05, crystal.positions.shape)
        frames.append(crystal)
    return make_dataset(Frames.from_atoms(frames), None)


def judged(model: Records, data: Dataset | None = None, task: str = "copper") -> JudgedAnswers:
    """The answers of the model in a task with labels."""
    return judged_answers(model, data or rattled_copper(), task)


def compared(model: Callable[[], Any], *answers: JudgedAnswers) -> tuple[Observation, Measurement, Records]:
    """A timing of new starts of `model`, its measurement, and the start that was checked."""
    fresh = Records(model(), max_atoms_per_batch=500)
    again, measured = rechecked(Records(model()), fresh, large_cells(), judged=answers)
    return again, measured, fresh


class WhenTimed(Emt):
    """Lennard-Jones for good, once a structure is asked about that no task with labels has."""

    def __init__(self, known: Dataset) -> None:
        super().__init__()
        self.known, self.timed = known.frames.volumes, False

    def answer(self, atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
        self.timed |= not np.isclose(self.known, atoms.cell.volume, rtol=1e-9).any()
        return other_potential(atoms, true) if self.timed else true


class TimingStructures(Emt):
    """Lennard-Jones for crystals of the lattice constants of the timing, wherever they are asked about."""

    def answer(self, atoms: Atoms, true: dict[str, Any]) -> dict[str, Any]:
        volume = atoms.cell.volume / len(atoms)
        timed = min(abs(volume - 3.61**3 / 4), abs(volume - 4.05**3 / 4)) < 1e-6
        return other_potential(atoms, true) if timed else true


def test_another_model_in_starts_that_time_or_check_is_detected() -> None:
    """Without the comparison it agrees with itself."""
    data = rattled_copper()
    stored = judged(Records(EMT()), data)
    assert judged(Records(WhenTimed(data)), data).answers.energy.tolist() == stored.answers.energy.tolist()
    alone, unnoticed, _ = compared(lambda: WhenTimed(data))
    assert unnoticed.items.failures() == {}
    assert value(unnoticed, "n_inconsistent") == 0
    assert "no frame" in unnoticed.notes["compared with tasks with labels"]
    again, found, _ = compared(lambda: WhenTimed(data), stored)
    assert found.items.failures() == {Cause.INCONSISTENT: 3}
    assert all(found.metrics[name].charged == FAILURE_COST for name in ("time_mean", "time_median", "time_p95"))
    assert found.metrics["time_mean"].value is None
    assert found.notes["compared with tasks with labels"] == (
        "8 frames of copper (abababababab): 8 differed, 0 could not be decided; so no time counts"
    )
    assert len(alone.arrays["judged_task"]) == 0 < len(again.arrays["judged_task"])


def test_another_model_of_the_timing_s_structures_is_detected_if_a_task_with_labels_has_them() -> None:
    stored = judged(Records(EMT()), task="copper")
    _, unnoticed, _ = compared(TimingStructures, stored)
    assert unnoticed.items.failures() == {}
    labelled = make_dataset(Frames.concatenate([rattled_copper().frames, cells().frames]), None)
    in_task, _, _ = compared(EMT, judged(Records(EMT()), labelled))
    assert {12, 13} <= set(in_task.arrays["judged_index"].tolist())
    # A model that answers these as it is judged by cannot answer them otherwise in the timing.
    _, found, _ = compared(TimingStructures, judged(Records(EMT()), labelled))
    assert found.items.failures() == {Cause.INCONSISTENT: 3}


def test_the_frames_are_among_the_first_questions_at_timed_sizes_and_among_the_last() -> None:
    stored = judged(Records(EMT()))
    again, measured, fresh = compared(EMT, stored)
    assert measured.items.failures() == {}
    first = fresh.calls[0][0]
    known = {stored.frames.take([i]).sha256(): i for i in range(len(stored.frames))}
    asked = [known.get(first.take([i]).sha256(), -1) for i in range(len(first))]
    assert sorted(i for i in asked if i >= 0) == sorted(again.arrays["judged_index"].tolist())
    assert len(first) == N_JUDGED + 2
    sizes = again.arrays["judged_atoms"] * again.arrays["judged_counts"].prod(axis=1)
    assert (sizes >= 80).all()
    assert (sizes <= 108).all()
    transformed = [frames for frames, _ in fresh.calls[1:]]
    assert not {frames.sha256() for frames in transformed} & set(known)
    large = [i for i, frames in enumerate(transformed) if len(frames.numbers) > 60]
    # Not one after another, and neither at the beginning nor at the end of all questions about large frames.
    assert len(large) == 6 + N_JUDGED
    assert sum(len(frames.numbers) == 4 for frames in transformed[large[-1] + 1 :]) >= N_JUDGED


def test_they_are_chosen_by_the_secret_and_spread_over_the_tasks() -> None:
    copper, other = judged(Records(EMT())), judged(Records(EMT()), rattled_copper(40, 1), task="other")
    few = judged(Records(EMT()), rattled_copper(1, 2), task="few")
    chosen = []
    for secret in (b"", b"1" * 32, b"1" * 32, b"2" * 32):
        plan = TimingPlan(cells().structures, small(), secret)
        frames = choose_judged(plan, [0, 1], [copper, other, few])
        assert len(frames) == N_JUDGED
        counts = [sum(frame.task.startswith(name) for frame in frames) for name in ("copper", "other", "few")]
        assert counts[2] == 1
        assert min(counts[:2]) >= 3
        chosen.append([(frame.task, frame.number) for frame in frames])
    assert chosen[1] == chosen[2]
    assert len({tuple(each) for each in chosen}) == 3


def test_frames_without_an_answer_or_larger_than_the_timed_ones_are_not_compared() -> None:
    stored = judged(Records(EMT()))
    failure = stored.answers.failure.copy()
    failure[3:] = Cause.ERROR
    plan = TimingPlan(cells().structures, small())
    some = replace(stored, answers=replace(stored.answers, failure=failure))
    assert sorted(frame.number for frame in choose_judged(plan, [0], [some])) == [0, 1, 2]
    without = replace(stored, answers=replace(stored.answers, forces=None))
    assert choose_judged(plan, [0], [without]) == []
    large = judged(Records(EMT()), make_dataset(Frames.from_atoms([bulk("Cu", cubic=True).repeat(3)]), None))
    assert choose_judged(plan, [0], [large]) == []


def test_no_frame_is_repeated_beyond_what_was_timed() -> None:
    """Neither in atoms nor in pairs of neighbours. Molecules and charged structures are not repeated."""
    dense, sparse = bulk("Cu", cubic=True, a=3.0), bulk("Cu", cubic=True, a=6.0)
    ion = bulk("Cu", cubic=True)
    ion.info["charge"] = 1
    frames = Frames.from_atoms([dense, sparse, ion, molecule("CO")])
    n, total = len(frames), len(frames.numbers)
    answers = Predictions(np.zeros(n), np.zeros((total, 3)), np.zeros((n, 6)), np.zeros(n, np.int8))
    plan = TimingPlan(cells().structures, large_cells())
    questions = JudgedFrames.of(plan, [0], [(3, 3, 3)], [JudgedAnswers("made-up", "ab" * 32, frames, answers)])
    sizes = {frame.number: 4 * int(np.prod(c)) for frame, c in zip(questions.frames, questions.counts, strict=True)}
    timed = cells().frames.volumes[plan.sources[0]] / 4
    assert sizes[0] <= 108 * (3.0**3 / 4) / timed < 108
    assert 80 <= sizes[1] <= 108
    assert sizes[2] == 4
    counts = dict(zip((frame.number for frame in questions.frames), questions.counts, strict=True))
    assert counts[3] == (1, 1, 1)


@pytest.mark.parametrize("stage", STAGES)
def test_one_answer_that_differs_is_enough(stage: str) -> None:
    again, _, _ = compared(EMT, judged(Records(EMT())))
    for what, by in (("energy", 0.05), ("forces", 0.2)):
        changed = again.arrays[f"judged_{stage}_{what}"].copy()
        changed[0] += by * 400
        measured = measure(Observation({**again.arrays, f"judged_{stage}_{what}": changed}, again.notes), large_cells())
        assert measured.items.failures() == {Cause.INCONSISTENT: 3}
        assert "1 differed" in measured.notes["compared with tasks with labels"]


@pytest.mark.parametrize(
    ("cause", "n_frames", "void"),
    [
        (Cause.OUT_OF_MEMORY, 4, False),
        (Cause.OUT_OF_MEMORY, 5, True),
        (Cause.OVER_TIME, 4, False),
        (Cause.OVER_TIME, 8, True),
        (Cause.ERROR, 1, True),
    ],
)
def test_a_frame_that_is_not_answered_counts_against_the_model_unless_it_did_not_fit(
    cause: Cause, n_frames: int, void: bool
) -> None:
    again, _, _ = compared(EMT, judged(Records(EMT())))
    arrays = dict(again.arrays)
    arrays["judged_failure"] = arrays["judged_failure"].copy()
    arrays["judged_failure"][1, :n_frames] = cause
    arrays["judged_repeated_energy"] = np.where(np.arange(8) < n_frames, np.nan, arrays["judged_repeated_energy"])
    measured = measure(Observation(arrays, again.notes), large_cells())
    assert (measured.metrics["time_mean"].value is None) == void


def test_an_answer_that_differs_counts_also_if_the_next_did_not_fit() -> None:
    """Else a model could claim to be out of memory wherever it is compared."""
    again, _, _ = compared(EMT, judged(Records(EMT())))
    arrays = dict(again.arrays)
    arrays["judged_failure"] = arrays["judged_failure"].copy()
    arrays["judged_failure"][1:, 0] = Cause.OUT_OF_MEMORY
    arrays["judged_early_energy"] = arrays["judged_early_energy"] + 1.0
    assert measure(Observation(arrays, again.notes), large_cells()).items.failures() == {Cause.INCONSISTENT: 3}


def test_an_observation_from_before_the_comparison_is_measured_as_it_was() -> None:
    again, measured, _ = compared(EMT, judged(Records(EMT())))
    before = {name: array for name, array in again.arrays.items() if not name.startswith("judged_")}
    old = measure(Observation(before, {"properties": again.notes["properties"]}), large_cells())
    assert old.metrics == measured.metrics
    assert set(measured.notes) - set(old.notes) == {"compared with tasks with labels"}
