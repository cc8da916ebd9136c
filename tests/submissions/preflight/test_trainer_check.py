"""The trial of a trainer on public frames: a row that says what was left and how good its forces are."""

from __future__ import annotations

from pathlib import Path

import pytest

import submissions.preflight.trainer_check
from sandbox.driver import Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from submissions.preflight.trainer_check import TrainerTrial, try_trainer
from tests.world.commands import ROOT

LEARNER = """
import os
import numpy as np
from ase.calculators.calculator import Calculator, all_changes

def train(data_dir, out_dir, wall_s, seed):
    data = np.load(os.path.join(data_dir, "frames.npz"))
    n = data["n_atoms"][0]
    positions, forces = (data[name].reshape(-1, n, 3) for name in ("positions", "forces"))
    print("learning from", len(positions), "frames in", wall_s, "s")
    {train}

class Linear(Calculator):
    implemented_properties = ["energy", "forces"]
    def __init__(self, mean, matrix):
        super().__init__()
        self.mean, self.matrix = mean, matrix
    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        move = (atoms.positions - self.mean).ravel()
        self.results = {{"energy": 0.0, "forces": (move @ self.matrix).reshape(-1, 3)}}

def make_calculator(model_dir):
    model = np.load(os.path.join(model_dir, "model.npz"))
    return Linear(model["mean"], model["matrix"])
"""
HONEST = """mean = positions.mean(axis=0)
    moves = (positions - mean).reshape(len(positions), -1)
    matrix = np.linalg.lstsq(moves, forces.reshape(len(forces), -1), rcond=1e-3)[0]
    np.savez(os.path.join(out_dir, "model.npz"), mean=mean, matrix=matrix)"""


def tried(folder: Path, short_path: Path, train: str) -> TrainerTrial:
    (folder / "calculator.py").write_text(LEARNER.format(train=train))
    driver = ProcessDriver(RunDir(short_path / "run"))
    return try_trainer(driver, driver.resolve(f"{folder}?trainer=calculator:train"), Limits(), Question())


def test_a_trainer_that_learns(tmp_path: Path, short_path: Path) -> None:
    check, printed = tried(tmp_path, short_path, HONEST)
    assert check.passed, check
    assert check.value.startswith("left 1 files of 0.0 MiB after ")
    assert "of zero forces" in check.value
    assert "learning from 54 frames in 20.0 s" in printed
    assert not check.gating


@pytest.mark.parametrize(
    ("train", "clue"),
    [
        ("pass", "CRASHED: Nothing lies in out_dir at the end; the trainer returned."),
        ("raise KeyError('hidden_size')", "CRASHED: Nothing lies in out_dir at the end; the trainer raised"),
        ("open(os.path.join(out_dir, 'other'), 'w')", "but its model failed: The calculator misses a file"),
    ],
)
def test_a_trainer_that_fails_is_told_why(tmp_path: Path, short_path: Path, train: str, clue: str) -> None:
    check, printed = tried(tmp_path, short_path, train)
    assert check.passed is False
    assert clue in check.value
    assert "learning from" in printed


def test_what_it_raised_is_among_what_it_printed(tmp_path: Path, short_path: Path) -> None:
    assert "KeyError: 'hidden_size'" in tried(tmp_path, short_path, "raise KeyError('hidden_size')").printed


def test_a_trainer_that_does_not_end_is_ended(
    tmp_path: Path, short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submissions.preflight.trainer_check, "TRAINED_S", 2.0)
    check, _ = tried(tmp_path, short_path, HONEST + "\n    import time; time.sleep(60)")
    assert check.passed, check
    assert "after 2 s" in check.value


def test_the_time_is_stated_where_an_author_reads_it() -> None:
    text = (ROOT / "docs" / "submitting.md").read_text(encoding="utf-8")
    assert f"{submissions.preflight.trainer_check.TRAINED_S:.0f} s" in text
