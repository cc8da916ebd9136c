"""After a kill in the middle of a simulation the judge continues from the checkpoint; and how long that is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from judge.evaluation import moving_checkpoint
from judge.evaluation.checkpoint_file import CheckpointFile, checkpoint_of
from judge.evaluation.moving_checkpoint import MOST_BYTES, MovingCheckpoint
from judge.records.attempts import read_histories
from judge.records.observation_file import read_observation
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.records import Submission
from tasks.datasets.dataset import save_dataset
from tasks.kind import Checkpoint, Observation
from tests.servers.server_process import wait_until
from tests.tasks import kind_examples
from tests.tasks.kind_examples import KindExample
from tests.world.commands import ROOT
from tests.world.world import World

RESUMED = (
    kind_examples.compression,
    kind_examples.dynamics,
    kind_examples.elasticity,
    kind_examples.nve,
    kind_examples.phonons,
    kind_examples.reaction_paths,
    kind_examples.relaxed_structures,
    kind_examples.thermal_conductivity,
)
QUICK = (kind_examples.dynamics, kind_examples.relaxed_structures)  # one of each way to resume
SUITE = """
name = "small"
version = "1"
title = "One simulation"

[[tasks]]
name = "simulation"
kind = "{kind}"
dataset = "law@1"
domain = "Inorganic Materials"
time_limit_s = 60
[tasks.parameters]
{parameters}
"""
# Notes each call in a file beside its folder, for the test to count, and stops at one of them. A neighbour list kept
# from one structure to the next changes the order of sums: here each structure gets its own, so that the same question
# has the same bytes.
COUNTED_EMT = """
import os, time
from ase.calculators.emt import EMT

class CountedEMT(EMT):
    def calculate(self, atoms, *args):
        fresh = EMT()
        fresh.calculate(atoms)
        self.results = fresh.results
        with open({calls!r}, "a") as file:
            file.write(".")
        if os.path.getsize({calls!r}) == {stops_at}:
            time.sleep(600)

def make_calculator():
    return CountedEMT()
"""
# The command, with a checkpoint after each answer.
OFTEN = (
    "import tasks.observing.checkpoints; tasks.observing.checkpoints.SAVE_EVERY_S = 0.0; "
    "import judge.evaluation.moving_checkpoint; judge.evaluation.moving_checkpoint.COPY_EVERY_S = 0.0; "
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


@pytest.mark.parametrize(
    "make",
    [pytest.param(each, id=each.__name__, marks=() if each in QUICK else pytest.mark.slow) for each in RESUMED],
)
def test_a_judge_killed_in_an_observation_goes_on_and_ends_where_an_undisturbed_one_does(
    world: World, make: Callable[[], KindExample]
) -> None:
    """In trajectories, relaxations, strained cells, supercells and bands; the result is marked, and verified."""
    example = make()
    save_dataset(example.dataset, world.root / "data")
    (world.root / "small.toml").write_text(SUITE.format(kind=example.kind.name, parameters=stated(example)))
    world.write_settings()
    calls = world.root / "calls"
    undisturbed = world.submit("undisturbed", COUNTED_EMT.format(calls=str(calls), stops_at=-1))
    world.evaluate()
    expected, whole = observation(world, undisturbed), calls.stat().st_size
    assert not kept(world)

    calls.write_text("")
    stops_at = int(0.8 * whole)
    stopped = world.submit("stopped", COUNTED_EMT.format(calls=str(calls), stops_at=stops_at))
    process = subprocess.Popen([sys.executable, "-c", OFTEN, "evaluate", stopped.id], cwd=world.root, env=environment())
    wait_until(lambda: calls.stat().st_size == stops_at or process.poll() is not None, "the model stops")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert kept(world)

    summary, _ = world.evaluate(ids=(stopped.id,))
    assert [unit.verdict for unit in summary.units] == [Verdict.OK]
    (history,) = read_histories(world.store, [stopped.id]).values()
    assert [attempt.n for attempt in history.attempts] == [1, 2]
    assert calls.stat().st_size - stops_at < 0.7 * whole  # some ask but five batches, and the last one is lost
    resumed = observation(world, stopped)
    assert resumed.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)
    assert not kept(world)
    assert {result.submission: result.provenance.resumed for result in world.results()} == {
        undisturbed.id: False,
        stopped.id: True,
    }
    assert world.run_json_here("verify", "--all")[0] == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_another_host_goes_on_from_the_copy_in_the_store(world: World, number: signal.Signals) -> None:
    """Its run directory has no checkpoint. Steps that were copied are not done again."""
    example = kind_examples.dynamics()
    save_dataset(example.dataset, world.root / "data")
    (world.root / "small.toml").write_text(SUITE.format(kind=example.kind.name, parameters=stated(example)))
    world.write_settings()
    calls = world.root / "calls"
    undisturbed = world.submit("undisturbed", COUNTED_EMT.format(calls=str(calls), stops_at=-1))
    world.evaluate()
    expected, whole = observation(world, undisturbed), calls.stat().st_size

    calls.write_text("")
    stops_at = int(0.8 * whole)
    stopped = world.submit("stopped", COUNTED_EMT.format(calls=str(calls), stops_at=stops_at))
    process = subprocess.Popen([sys.executable, "-c", OFTEN, "work", stopped.id], cwd=world.root, env=environment())
    wait_until(lambda: calls.stat().st_size == stops_at or process.poll() is not None, "the model stops")
    wait_until(lambda: bool(copies(world)), "a copy is in the store")
    process.send_signal(number)
    process.communicate()

    elsewhere = world.with_settings(run_dir=str(world.root / "elsewhere"))
    summary, _ = elsewhere.evaluate(ids=(stopped.id,))
    assert [unit.verdict for unit in summary.units] == [Verdict.OK]
    assert calls.stat().st_size - stops_at < 0.7 * whole
    resumed = observation(world, stopped)
    for name, array in expected.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)
    assert not copies(world)


def copies(world: World) -> list[str]:
    """The keys of copies of checkpoints in the store."""
    return [key for key in world.store.list("attempts/") if "/checkpoint-" in key]


def moving(world: World, host: str, n: int, prefix: str = "attempts/m/t/k/") -> MovingCheckpoint:
    """The checkpoint of attempt `n`, on a host."""
    return MovingCheckpoint(checkpoint_of(world.root / host, prefix, "m-0", "cpu"), world.store, prefix, n)


def state(used_s: float) -> dict[str, np.ndarray]:
    return {**arrays(), "used_s": np.array([used_s])}


def test_the_furthest_state_counts_wherever_it_is(world: World) -> None:
    here, there = moving(world, "here", 1), moving(world, "there", 2)
    here.save(state(10.0))
    assert not copies(world)  # a minute has not passed
    here.leave()
    loaded = there.load()
    assert loaded is not None
    assert loaded["used_s"] == 10.0
    there.save(state(20.0))
    there.leave()
    back = moving(world, "here", 3)
    assert back.load()["used_s"] == 20.0  # type: ignore[index]  # not its own older file
    back.save(state(30.0))
    assert moving(world, "here", 4).load()["used_s"] == 30.0  # type: ignore[index]
    back.remove()
    assert not copies(world)
    assert moving(world, "here", 4).load() is None


def test_a_damaged_copy_and_one_of_other_hardware_are_not_used(world: World) -> None:
    here = moving(world, "here", 1)
    here.save(state(10.0))
    here.leave()
    (key,) = copies(world)
    gpu = MovingCheckpoint(checkpoint_of(world.root / "b", here.prefix, "m-0", "gpu"), world.store, here.prefix, 2)
    assert gpu.load() is None
    world.store.put(key, world.store.get(key)[:-1])
    assert moving(world, "there", 2).load() is None


def test_a_large_checkpoint_stays_on_its_host(world: World) -> None:
    here = moving(world, "here", 1)
    here.save({"used_s": np.array([1.0]), "large": np.zeros(MOST_BYTES // 8 + 1)})
    here.leave()
    assert not copies(world)
    assert here.load() is not None


def test_a_copy_that_failed_is_made_again_at_the_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_checkpoint, "COPY_EVERY_S", 0.0)
    here = moving(world, "here", 1)
    in_its_way = here.prefix + "1"  # a file, where the copy needs a folder
    world.store.put(in_its_way, b"")
    here.save(state(10.0))
    wait_until(lambda: not any(t.name.startswith("checkpoint ") for t in threading.enumerate()), "the copy fails")
    assert not copies(world)
    world.store.delete(in_its_way)
    here.leave()
    loaded = moving(world, "there", 2).load()
    assert loaded is not None
    assert loaded["used_s"] == 10.0


def test_gc_removes_the_copies_of_units_that_ended(world: World) -> None:
    world.write_settings()
    model = world.submit("emt")
    world.evaluate()
    ended = sorted(read_histories(world.store, [model.id]))[0]
    for prefix in (ended, "attempts/gone/t/k/"):
        here = moving(world, "here", 1, prefix)
        here.save(state(1.0))
        here.leave()
    assert len(copies(world)) == 2
    assert world.run_here("gc")[0] == 0
    assert not copies(world)


def stated(example: KindExample) -> str:
    """The parameters as a suite states them."""
    return "\n".join(f"{name} = {inline(v)}" for name, v in example.parameters.model_dump(exclude_unset=True).items())


def inline(value: object) -> str:
    """A value of TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {inline(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


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
