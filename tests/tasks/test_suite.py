"""Suites: the packaged one is whole, and a broken one is refused with file and field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.dataset import load_dataset
from tasks.efficiency import EfficiencyParameters
from tasks.kinds import KINDS
from tasks.nve import NveParameters
from tasks.suite import SuiteError, load_suite, packaged_suites

GOOD = """
name = "mine"
version = "1"
title = "Mine"
[[tasks]]
name = "drift"
kind = "nve"
dataset = "nve-crystals@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { steps = 10 }
"""


def test_quickstart_covers_all_kinds_and_its_datasets_exist(quickstart: Path) -> None:
    suite = load_suite("quickstart")
    assert "quickstart" in packaged_suites()
    assert {task.kind for task in suite.tasks} == set(KINDS)
    for task in suite.tasks:
        assert load_dataset(quickstart / task.dataset).card.domain == task.domain
    nve = [task for task in suite.tasks if task.kind == "nve"]
    sizes = [len(load_dataset(quickstart / task.dataset).frames) for task in nve]
    assert sizes == [3, 3, 3]
    for task in nve:
        assert isinstance(task.parameters, NveParameters)
        assert task.parameters.steps == 200
    timing = next(task.parameters for task in suite.tasks if task.kind == "efficiency")
    assert isinstance(timing, EfficiencyParameters)
    assert (timing.n_frames, timing.max_atoms) == (20, 128)


def test_a_suite_is_loaded_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    task = load_suite(path).tasks[0]
    assert isinstance(task.parameters, NveParameters)
    assert task.parameters.steps == 10


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"nve"', '"nvt"', r"tasks\.0 \(drift\): kind: there is no 'nvt', but"),
        ("steps = 10", "steps = 0", r"tasks\.0 \(drift\): parameters\.steps"),
        ("steps = 10", "step = 10", r"tasks\.0 \(drift\): parameters\.step"),
        ("steps = 10", "timestep_fs = nan", r"parameters\.timestep_fs"),
        ("crystals@1", "crystals", r"tasks\.0\.dataset"),
        ('"nve-crystals@1"', '"../x@1"', r"tasks\.0\.dataset"),
        ("time_limit_s = 60", "", r"tasks\.0\.time_limit_s"),
        ("Inorganic Materials", "Rocks", r"tasks\.0\.domain"),
        ("[[tasks]]", "[[task]]", r"mine\.toml: task"),
        ('title = "Mine"', "title =", r"mine\.toml: is not TOML"),
    ],
)
def test_a_broken_suite_is_refused_with_file_and_field(old: str, new: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(SuiteError, match=says) as refused:
        load_suite(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_tasks_of_one_name_and_an_unknown_suite_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + GOOD[GOOD.index("[[tasks]]") :])
    with pytest.raises(SuiteError, match=r"tasks\.1\.name: drift is there twice"):
        load_suite(path)
    with pytest.raises(SuiteError, match=r"nowhere: cannot be read .* packaged suites are .*quickstart"):
        load_suite("nowhere")
