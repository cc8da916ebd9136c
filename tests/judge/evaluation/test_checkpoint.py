"""After a kill in the middle of a trajectory the judge continues from the checkpoint; and how long that is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from judge.evaluation.checkpoint_file import CheckpointFile, checkpoint_of
from judge.records.attempts import read_histories
from judge.records.observation_file import read_observation
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import Submission
from tasks.kind import Checkpoint, Observation
from tests.world.commands import ROOT
from tests.world.small_data import save_frames
from tests.world.world import World

STEPS = 40
SUITE = f"""
name = "small"
version = "1"
title = "One trajectory"

[[tasks]]
name = "drift"
kind = "nve"
dataset = "short@1"
domain = "Inorganic Materials"
time_limit_s = 60
[tasks.parameters]
steps = {STEPS}
sample_every = 2
"""
# Notes each call in a file beside its folder, for the test to count. A neighbour list kept from one structure to the
# next changes the order of sums: here each structure gets its own, so that the same question has the same bytes.
COUNTED_EMT = """
import time
from ase.calculators.emt import EMT

class CountedEMT(EMT):
    def calculate(self, atoms, *args):
        fresh = EMT()
        fresh.calculate(atoms)
        self.results = fresh.results
        with open({calls!r}, "a") as file:
            file.write(".")
        time.sleep({seconds})

def make_calculator():
    return CountedEMT()
"""
# The command, with checkpoints more often than each half minute.
OFTEN = (
    "import tasks.observing.checkpoints; tasks.observing.checkpoints.SAVE_EVERY_S = 0.1; "
    "from judge.cli.main import main; main()"
)


def arrays() -> dict[str, np.ndarray]:
    return {"step": np.array([3]), "momenta": np.random.default_rng(0).normal(size=(5, 3)), "empty": np.zeros((0, 3))}


def test_what_was_saved_last_comes_back_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    checkpoint: Checkpoint = checkpoint_of(tmp_path / "run", "attempts/m/t/k/", "m-0", "cpu")
    assert checkpoint.load() is None
    checkpoint.save({"step": np.array([1])})
    checkpoint.save(arrays())
    loaded = checkpoint.load()
    assert loaded is not None
    assert loaded.keys() == arrays().keys()
    for name, array in arrays().items():
        assert loaded[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded[name], array)
    (path,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_each_unit_and_hardware_has_its_own(tmp_path: Path) -> None:
    units = [("a/", "x", "cpu"), ("b/", "x", "cpu"), ("a/", "x", "gpu")]
    assert len({checkpoint_of(tmp_path, *unit).path for unit in units}) == 3
    assert checkpoint_of(tmp_path, *units[0]).path == checkpoint_of(tmp_path, *units[0]).path


def test_damage_is_no_checkpoint(tmp_path: Path) -> None:
    """A flipped bit of a number among it, which the format itself does not notice."""
    checkpoint = CheckpointFile(tmp_path / "c.safetensors")
    checkpoint.save(arrays())
    good = checkpoint.path.read_bytes()
    flipped = bytearray(good)
    flipped[-3] ^= 4
    for bad in (b"", good[:-1], good[: len(good) // 2], bytes(flipped), b"\xff" * 64):
        checkpoint.path.write_bytes(bad)
        assert checkpoint.load() is None
    checkpoint.path.write_bytes(good)
    assert checkpoint.load() is not None
    checkpoint.path.unlink()
    checkpoint.path.mkdir()
    assert checkpoint.load() is None


def test_it_is_forgotten_with_what_a_killed_writer_left(tmp_path: Path) -> None:
    checkpoint, other = CheckpointFile(tmp_path / "c.safetensors"), CheckpointFile(tmp_path / "d.safetensors")
    for each in (checkpoint, other):
        each.save(arrays())
    (tmp_path / ".c.safetensors.0123abcd").write_bytes(b"half")
    checkpoint.remove()
    checkpoint.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["d.safetensors"]


def test_a_disk_that_takes_nothing_is_a_judges_fault_and_leaves_no_half(tmp_path: Path) -> None:
    (tmp_path / "c.safetensors").mkdir()
    with pytest.raises(JudgeFault, match="run_dir") as raised:
        CheckpointFile(tmp_path / "c.safetensors").save(arrays())
    assert raised.value.cause is FaultCause.DISK
    assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]


def test_a_judge_killed_in_a_trajectory_goes_on_and_ends_where_an_undisturbed_one_does(world: World) -> None:
    (world.root / "small.toml").write_text(SUITE)
    world.write_settings()
    save_frames(world.root / "data", "Cu", "short", n_frames=2)
    quick = COUNTED_EMT.format(calls=str(world.root / "ignored"), seconds=0)
    undisturbed = world.submit("undisturbed", quick)
    world.evaluate()
    expected = observation(world, undisturbed)
    assert not kept(world)

    calls = world.root / "calls"
    slow = world.submit("slow", COUNTED_EMT.format(calls=str(calls), seconds=0.03))
    process = subprocess.Popen([sys.executable, "-c", OFTEN, "evaluate", slow.id], cwd=world.root, env=environment())
    until = time.monotonic() + 30
    while not kept(world) or len(calls.read_text()) < STEPS:  # half of all
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    time.sleep(0.1)  # the model notices
    before = len(calls.read_text())
    assert kept(world)
    assert before < 2 * STEPS

    summary, _ = world.evaluate(ids=(slow.id,))
    assert [unit.verdict for unit in summary.units] == [Verdict.OK]
    (history,) = read_histories(world.store, [slow.id]).values()
    assert [attempt.n for attempt in history.attempts] == [1, 2]
    after = len(calls.read_text()) - before
    assert after < 1.5 * STEPS  # of 2 (STEPS + 1) that a fresh start asks for
    resumed = observation(world, slow)
    assert resumed.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)
    assert int(resumed.arrays["completed_steps"].min()) == STEPS
    assert not kept(world)


def kept(world: World) -> list[Path]:
    """The existing checkpoints."""
    return list((world.root / "run" / "checkpoints").glob("*.safetensors"))


def observation(world: World, submission: Submission) -> Observation:
    (history,) = read_histories(world.store, [submission.id]).values()
    assert history.end is not None
    assert history.end.observation is not None
    return read_observation(world.store, history.end.observation)


def environment() -> dict[str, str]:
    """This process's own: a variable that chooses another kernel of the linear algebra changes the last bit."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
