"""Which frames are learned from and which are asked about: the 7 sizes, the 15 stretches, the 15 sets, by hand."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from ase import Atoms

from tasks.datasets.dataset import Dataset
from tasks.kinds.cross_molecule import CrossMolecule, CrossMoleculeParameters
from tasks.kinds.sample_efficiency import SampleEfficiency, SampleEfficiencyParameters
from tasks.kinds.time_extrapolation import TimeExtrapolation, TimeExtrapolationParameters
from tasks.learning.training import Training, training_frames
from tasks.learning.windows import Window, windows_of
from tasks.structures.frames import Frames
from tasks.suites.suite import load_suite
from tests.tasks.made_up import make_dataset

# By set of SAIBench, the molecules that it is asked about: those with all of their elements in the set.
UNSEEN = {
    "f": "d",  # C and H: naphthalene alone has no other element
    "b": "acdef",
    "a": "bcdef",
    "ab": "cdef",
    "bc": "adef",
    "de": "abcf",
    "abg": "cdef",
    "abd": "cef",
    "cef": "abd",
    "abeg": "cdf",
    "bcdf": "ae",
    "abce": "df",
    "abceg": "df",
    "abcde": "f",
    "bcdef": "a",
}


def trajectory(n_frames: int, formulas: tuple[str, ...] = ("H2",)) -> Dataset:
    """A data set of `n_frames` of each molecule, in groups of their formulas, without labels."""
    frames = [
        Atoms(formula, positions=[(1.1 * i, 0, 0.001 * k) for i in range(len(Atoms(formula)))])
        for formula in formulas
        for k in range(n_frames)
    ]
    made = make_dataset(Frames.from_atoms(frames), None)
    groups = tuple(formula for formula in formulas for _ in range(n_frames))
    return Dataset(made.card, made.frames, made.table.model_copy(update={"group": groups}), {})


def named(trainings: list[Training]) -> dict[str, Training]:
    return {training.name: training for training in trainings}


def test_the_fifteen_stretches() -> None:
    parameters = TimeExtrapolationParameters()
    assert parameters.windows == (
        *((0, 30), (15, 45), (30, 60), (45, 75), (60, 90)),
        *((0, 45), (15, 60), (30, 75), (45, 90)),
        *((0, 60), (15, 75), (30, 90)),
        *((0, 75), (15, 90)),
        (0, 90),
    )
    assert windows_of((0, 80), (20, 5)) == (Window(0, 20), Window(0, 5), Window(80, 85))
    trainings = TimeExtrapolation().trainings(parameters)
    assert len(trainings) == 15 * 2 * 3
    assert [t.seed for t in trainings] == [1] * 30 + [2] * 30 + [3] * 30
    assert [t.name for t in trainings[:2]] == ["t0-30-n1000-s1", "t15-45-n1000-s1"]
    assert trainings[29].name == "t0-90-n15000-s1"
    assert (trainings[1].start, trainings[1].stop) == (0.15, 0.45)


@pytest.mark.parametrize("n_frames", [1000, 1003])
def test_a_stretch_is_learned_from_evenly_and_never_meets_the_last_tenth(n_frames: int) -> None:
    dataset = trajectory(n_frames)
    parameters = TimeExtrapolationParameters(sizes=(100,), n_asked=50, seeds=(1,))
    for window, training in zip(parameters.windows, TimeExtrapolation().trainings(parameters), strict=True):
        learned, asked = training_frames(dataset, training)
        assert (len(learned), len(asked)) == (100, 50)
        assert learned[0] == round(window.start * n_frames / 100)
        assert learned[-1] < round(window.stop * n_frames / 100)
        assert set(np.diff(learned)) <= {(window.stop - window.start) // 10, (window.stop - window.start) // 10 + 1}
        assert asked[0] == round(0.9 * n_frames)
        assert set(np.diff(asked)) <= {2, 3}
        assert learned.max() < asked.min()


def test_frames_by_hand() -> None:
    """Of 40 frames the last four are asked about; 30 to 60 % are the frames 12 to 23."""
    dataset = trajectory(40)
    parameters = TimeExtrapolationParameters(starts=(30,), lengths=(30,), sizes=(5,), n_asked=3, seeds=(7,))
    (training,) = TimeExtrapolation().trainings(parameters)
    learned, asked = training_frames(dataset, training)
    assert learned.tolist() == [12, 14, 16, 19, 21]
    assert asked.tolist() == [36, 37, 38]


def test_the_seven_sizes() -> None:
    trainings = SampleEfficiency().trainings(SampleEfficiencyParameters(seeds=(1, 2)))
    assert [t.n_frames for t in trainings] == [200, 400, 600, 800, 1000, 15000, 50000] * 2
    assert trainings[6].name == "n50000-s1"
    assert trainings[7].name == "n200-s2"
    dataset = trajectory(100_000)
    for training in trainings[:7]:
        learned, asked = training_frames(dataset, training)
        n = training.n_frames
        assert learned.tolist() == [90_000 * i // n for i in range(n)]
        assert asked.tolist() == list(range(90_000, 100_000, 10))


def test_the_fifteen_sets_and_the_molecules_that_each_is_asked_about() -> None:
    parameters = CrossMoleculeParameters()
    assert {each: parameters.unseen(each) for each in parameters.sets} == UNSEEN
    trainings = CrossMolecule().trainings(parameters)
    assert len(trainings) == 45
    by_name = named(trainings)
    assert by_name["abd-n1000-s2"].molecules == ("aspirin", "ethanol", "naphthalene")
    assert by_name["abd-n1000-s2"].asked == ("malonaldehyde", "salicylic", "toluene")
    assert by_name["f-n1000-s1"].asked == ("naphthalene",)
    assert not [t for t in trainings if set(t.molecules) & set(t.asked)]
    assert "uracil" not in {group for t in trainings for group in t.asked}  # no set has nitrogen without it


def test_the_frames_of_a_set_are_those_of_its_molecules() -> None:
    dataset = trajectory(100, ("CH4", "H2O", "CH4O"))
    groups = [{"group": formula, "formula": formula} for formula in ("CH4", "H2O", "CH4O")]
    molecules = dict(zip("abc", groups, strict=True))
    parameters = CrossMoleculeParameters.model_validate(
        {"molecules": molecules, "sets": ("c", "ab"), "n_frames": 9, "n_asked": 2, "seeds": (1,)}
    )
    of_c, of_ab = (training_frames(dataset, t) for t in CrossMolecule().trainings(parameters))
    assert of_c.learned.tolist() == list(range(200, 290, 10))
    assert of_c.asked.tolist() == [90, 95, 190, 195]
    assert of_ab.learned.tolist() == [*range(0, 90, 10), *range(100, 190, 10)]
    assert of_ab.asked.tolist() == [290, 295]


def test_the_suite_has_52_trainings_a_seed_and_the_small_one_12_that_fit_into_twenty_minutes() -> None:
    kinds: tuple[Any, ...] = (SampleEfficiency(), TimeExtrapolation(), CrossMolecule())
    whole, small = (
        [kind.trainings(task.parameters) for kind, task in zip(kinds, load_suite(name).tasks, strict=True)]
        for name in ("saibench", "saibench-small")
    )
    assert [len(trainings) for trainings in whole] == [7 * 3, 30 * 3, 15 * 3]
    assert [kind.trainings(kind.parameters()) for kind in kinds] == whole  # the defaults are those of the suite
    assert {t.wall_s for t in chain(*whole)} == {600.0}
    assert [len(trainings) for trainings in small] == [4 * 2] * 3
    assert sum(t.wall_s for t in chain(*small)) == 24 * 40 == 16 * 60


def test_the_data_sets_of_the_small_suite_are_large_enough() -> None:
    """Of 2000 frames of aspirin, and of 1000 of each of three molecules."""
    tasks = load_suite("saibench-small").tasks
    for task, kind, n, formulas in (
        (tasks[0], SampleEfficiency(), 2000, ("H2",)),
        (tasks[1], TimeExtrapolation(), 2000, ("H2",)),
        (tasks[2], CrossMolecule(), 1000, ("C9H8O4", "C2H6O", "C3H4O2")),
    ):
        assert f"--frames {n}" in task.import_lines[0]
        dataset = trajectory(n, formulas)
        if kind.name == "cross_molecule":
            names = {"C9H8O4": "aspirin", "C2H6O": "ethanol", "C3H4O2": "malonaldehyde"}
            groups = tuple(names[group] for group in dataset.table.group)
            table = dataset.table.model_copy(update={"group": groups})
            dataset = Dataset(dataset.card, dataset.frames, table, {})
        for training in kind.trainings(task.parameters):
            learned, asked = training_frames(dataset, training)
            assert not set(learned.tolist()) & set(asked.tolist())
