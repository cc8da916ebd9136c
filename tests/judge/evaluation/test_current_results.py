"""Which results are current, also timings and trainings of other machines; and how a data set enters a plan."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from judge.data.testset import read_testset
from judge.evaluation.current_results import current_results
from judge.evaluation.plan import Circumstances, TaskUnits
from judge.records.attempts import unit_prefix
from judge.records.hardware import hardware_class
from judge.records.items_file import result_path
from judge.records.probe_secret import order_secret
from judge.records.records import Claim, End, Origin, Result
from judge.records.results import load_results
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest_archive import guest_version
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from submissions.records import Submission
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Suite, Task
from tests.world.board_records import NOON, digest, result
from tests.world.world import World

SPEED = Task(
    name="speed",
    kind="efficiency",
    dataset="copper@1",
    domain="Inorganic Materials",
    model_domain="Inorganic Materials",
    parameters=KINDS["efficiency"].parameters(),
    time_limit_s=60.0,
)
LEARNING = replace(
    SPEED,
    name="learning",
    kind="sample_efficiency",
    parameters=KINDS["sample_efficiency"].parameters.model_validate({"sizes": (5, 10)}),
)
SUITE = Suite("speed", "1", "Speed", (SPEED,))


def timed(world: World, submission: Submission, hardware: str, hours: int, cpus: int = 1, task: Task = SPEED) -> Result:
    """Stores the records of a timing on `hardware`, `hours` after noon, as a judge on that machine writes them."""
    testset = read_testset(world.settings.data, task.dataset)
    limits = world.settings.limits.model_copy(update={"cpus": cpus})
    common = Circumstances(guest_version(), limits, hardware, secret=order_secret(world.store))
    unit = TaskUnits(task, KINDS[task.kind], testset, common).unit(submission)
    observation, when = digest(f"observation on {hardware}"), NOON + timedelta(hours=hours)
    end = End(owner="o", ended=when, verdict=Verdict.OK, observation=observation, origin=Origin(hardware=hardware))
    made = result(submission, task, {}, observation_key=unit.observation_key, result_key=unit.result_key(end))
    where = made.provenance.model_copy(update={"observation": observation, "origin": Origin(hardware=hardware)})
    made = made.model_copy(update={"measured": when, "provenance": where})
    prefix = unit_prefix(submission.id, task.name, unit.observation_key)
    world.store.put(f"{prefix}1/claim.json", Claim(owner="o", host="h", started=when).model_dump_json().encode())
    world.store.put(f"{prefix}1/end.json", end.model_dump_json().encode())
    world.store.put(result_path(submission.id, task.name, made.result_key), made.model_dump_json().encode())
    return made


def counting(world: World, submission: Submission) -> str:
    """The hardware of the timing that counts."""
    (counts,) = load_results(world.store, [submission.id], current_results(world.workspace, SUITE))
    return counts.provenance.origin.hardware


def test_the_newest_timing_counts_whichever_machine_it_was_taken_on(world: World) -> None:
    submission, hardware = world.submit("emt"), hardware_class(world.settings.limits.cpus, None)
    made = [timed(world, submission, hardware, 1), timed(world, submission, "GPU NVIDIA H200", 2)]
    keys = {result_path(submission.id, "speed", each.result_key) for each in made}
    assert len(keys) == 2
    assert current_results(world.workspace, SUITE) == keys
    assert counting(world, submission) == "GPU NVIDIA H200"
    timed(world, submission, hardware, 3)
    assert counting(world, submission) == hardware


@pytest.mark.parametrize("trainer", ["", "?trainer=calculator:train"])
def test_what_was_trained_on_a_gpu_is_current_on_a_machine_without_one(world: World, trainer: str) -> None:
    image = ProcessDriver(RunDir(world.root / "run")).resolve(f"{world.folder('learner')}{trainer}")
    submission = world.record("learner", image)
    made = timed(world, submission, "GPU NVIDIA H200", 1, task=LEARNING)
    suite = Suite("learning", "1", "Learning", (LEARNING,))
    assert current_results(world.workspace, suite) == {result_path(submission.id, "learning", made.result_key)}


def test_a_timing_under_other_limits_does_not_fit_on_any_machine(world: World) -> None:
    submission = world.submit("emt")
    timed(world, submission, "GPU NVIDIA H200", 1)
    timed(world, submission, "GPU NVIDIA L4", 2, cpus=7)
    assert counting(world, submission) == "GPU NVIDIA H200"


def test_the_number_of_structures_is_read_off_the_header(world: World) -> None:
    data = world.settings.data
    assert read_testset(data, "copper@1").n_structures == 6
    frames = data / "copper@1" / "frames.safetensors"
    content = frames.read_bytes()
    for broken in (content[:-8], b"", b"\x00" * 64):
        frames.write_bytes(broken)
        assert read_testset(data, "copper@1").n_structures == 0
    frames.unlink()
    assert read_testset(data, "copper@1").n_structures == 0
