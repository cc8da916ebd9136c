"""Resources that spoil attempts of several submissions are quarantined; a full disk uses up no attempts."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import docker
import pytest
from ase.build import bulk
from rich.console import Console

from judge.evaluation.evaluate import evaluate
from judge.evaluation.machine import Machine
from judge.evaluation.quarantine import bad_gpus
from judge.evaluation.request import Request
from judge.evaluation.unit_report import Did
from judge.records.attempts import Attempt, History, read_histories, unit_prefix
from judge.records.records import End, Origin
from judge.workspace import Workspace
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.gpu import Gpu
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.progress import Reporter
from submissions.records import ModelCard, StatedLabelSet, Submission
from tasks.datasets.card import D3, Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tests.world.world import World

pytestmark = pytest.mark.takes(1.5)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def spoil_copper(data: Path) -> None:
    """Adds an element to the copper data set that our code for the labels' dispersion correction does not support."""
    atoms = bulk("Cu", cubic=True)
    atoms.numbers[0] = 110
    frames = Frames.from_atoms([atoms, atoms])
    theory = LabelSet(theory="PBE with D3", dispersion=True, d3=D3(functional="pbe"))
    card = Card(
        name="copper",
        version="1",
        title="Copper with a stranger in it",
        domain="Inorganic Materials",
        periodic=True,
        default_label_set="EMT",
        label_sets={"EMT": theory},
    )
    shutil.rmtree(data / "copper@1")
    labels = Labels(frames.volumes * 0.0)
    save_dataset(
        Dataset(card, frames, Table(id=("one", "two"), group=("", ""), cluster=("", "")), {"EMT": labels}), data
    )


def without_dispersion(world: World, name: str) -> Submission:
    """A submission of EMT whose card says that its energies lack dispersion."""
    made = world.submit(name)
    card = ModelCard(name=name, label_sets={"Inorganic Materials": StatedLabelSet(name="EMT", dispersion=False)})
    stated = made.model_copy(update={"card": card})
    world.store.put(f"submissions/{made.id}/submission.json", stated.model_dump_json().encode())
    return stated


def test_a_data_set_that_our_code_fails_on_is_set_aside_after_two_submissions(world: World) -> None:
    spoil_copper(world.root / "data")
    models = [without_dispersion(world, name) for name in ("a", "b", "c", "d")]
    summary, output = world.evaluate()
    by_task = {(unit.submission, unit.task): unit for unit in summary.units}
    assert all(by_task[m.id, "nickel"].did is Did.OBSERVED for m in models)
    assert all(by_task[m.id, "copper"].did is Did.HELD for m in models)
    assert "Quarantined" in output
    assert "dataset copper@1 is quarantined" in by_task[models[3].id, "copper"].sentence
    tries = [
        sum(len(h.faults) for prefix, h in read_histories(world.store, [m.id]).items() if "/copper/" in prefix)
        for m in models
    ]
    assert tries[0] == 3  # one alone may be what is odd
    assert tries[1:] == [1, 0, 0]

    again, _ = world.evaluate()  # known from the attempts in the store, not from this process's memory
    assert [unit.did for unit in again.units].count(Did.HELD) == 4
    assert not [h for h in read_histories(world.store, [models[3].id]).values() if h.faults]


def end_on(gpu: str, minutes: int, verdict: Verdict | None) -> End:
    when = NOON + timedelta(minutes=minutes)
    if verdict is None:
        return End(owner="o", ended=when, fault=FaultCause.GPU, culprit=f"gpu {gpu}")
    return End(owner="o", ended=when, verdict=verdict, origin=Origin(gpu=gpu))


SPOILT, OK, CRASHED = None, Verdict.OK, Verdict.CRASHED


@pytest.mark.parametrize(
    ("story", "aside"),
    [
        ([("m", "A", SPOILT), ("n", "A", SPOILT)], {"A"}),
        ([("m", "A", SPOILT), ("m", "A", SPOILT), ("m", "A", SPOILT)], set()),  # one alone may be what is odd
        ([("m", "A", SPOILT), ("n", "B", SPOILT)], set()),
        ([("m", "A", SPOILT), ("m", "A", OK), ("n", "A", SPOILT)], set()),  # it did its part meanwhile
        ([("m", "A", SPOILT), ("m", "A", CRASHED), ("n", "A", SPOILT)], {"A"}),  # that may be how it fails
        ([("m", "A", OK), ("m", "A", SPOILT), ("m", "B", OK), ("n", "A", SPOILT)], {"A"}),
        ([("m", "A", SPOILT), ("n", "A", SPOILT), ("n", "A", OK)], set()),
    ],
)
def test_a_gpu_is_set_aside_once_it_spoilt_attempts_of_two(
    story: list[tuple[str, str, Verdict | None]], aside: set[str]
) -> None:
    attempts: dict[str, tuple[Attempt, ...]] = {}
    for i, (submission, name, verdict) in enumerate(story):
        prefix = unit_prefix(submission, "t", "k")
        attempts[prefix] = (*attempts.get(prefix, ()), Attempt(i + 1, None, end_on(f"GPU-{name}", i, verdict)))
    quarantined = bad_gpus({prefix: History(tried) for prefix, tried in attempts.items()})
    assert set(quarantined) == {f"GPU-{name}" for name in aside}


@pytest.mark.docker
def test_an_attempt_that_a_gpu_spoilt_is_tried_on_another(world: World, images: docker.DockerClient) -> None:
    """The fault is real where the engine cannot pass GPUs on, as on any machine without NVIDIA's toolkit."""
    if "nvidia" in images.info().get("Runtimes", {}):
        pytest.skip("this engine has GPUs")
    driver = DockerDriver(RunDir(world.root / "run"))
    image = driver.resolve("lambench/emt:latest")
    first, second = world.record("one", image), world.record("other", image)

    def run(*submissions: Submission) -> list[FaultCause | None]:
        machine = Machine(
            open_sandbox=lambda: driver,
            hardware=lambda gpu: "this machine",
            gpus=[Gpu("GPU-aaaa", "One"), Gpu("GPU-bbbb", "Other")],
            say=lambda line: None,
        )
        return [unit.fault for unit in world.run_plan_on(machine, *submissions)]

    def tried(submission: Submission) -> list[list[str]]:
        histories = read_histories(world.store, [submission.id]).values()
        return [[attempt.end.culprit for attempt in history.attempts if attempt.end] for history in histories]

    assert run(first) == [FaultCause.GPU] * 2
    assert sorted(tried(first)) == [
        ["gpu GPU-aaaa", "gpu GPU-bbbb", "gpu GPU-aaaa"],
        ["gpu GPU-bbbb", "gpu GPU-aaaa", "gpu GPU-bbbb"],
    ]
    assert run(first, second) == [FaultCause.GPU] * 4
    assert sorted(culprit for culprits in tried(second) for culprit in culprits) == [
        "gpu GPU-aaaa",
        "gpu GPU-bbbb",
    ]  # then both are quarantined


@pytest.mark.parametrize("lost", [True, False])
def test_a_gpu_that_is_lost_in_the_middle_is_no_verdict(
    world: World, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """What the NVIDIA driver names is read from a program that stands for it."""
    submission = world.submit(
        "bad", "def make_calculator(device):\n    raise RuntimeError('CUDA error: unknown error')\n"
    )
    listing = "" if lost else "GPU 0: NVIDIA One (UUID: GPU-aaaa)"
    program = world.root / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{listing}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    machine = Machine(
        open_sandbox=lambda: ProcessDriver(RunDir(world.root / "run")),
        hardware=lambda gpu: "this machine",
        gpus=[Gpu("GPU-aaaa", "One")],
        say=lambda line: None,
    )
    reports = world.run_plan_on(machine, submission)
    if lost:
        assert {(unit.verdict, unit.fault) for unit in reports} == {(None, FaultCause.GPU)}
        ends = [end for history in read_histories(world.store, [submission.id]).values() for end in history.faults]
        assert {end.culprit for end in ends} == {"gpu GPU-aaaa"}
    else:
        assert {(unit.verdict, unit.fault) for unit in reports} == {(Verdict.STARTUP_FAILED, None)}


def test_a_disk_that_spoils_one_after_another_stops_the_run(world: World) -> None:
    """The fault is real: the Python that they name is there, and cannot be run."""
    python = world.root / "python"
    python.write_text("no program")
    python.chmod(0o755)
    bad = [world.submit(name, python=python) for name in ("a", "b", "c")]
    summary, output = world.evaluate(tasks=("copper",))
    assert [unit.fault for unit in summary.units] == [FaultCause.DISK] * 3
    assert "nothing more is started" in output
    tries = [sum(len(h.faults) for h in read_histories(world.store, [model.id]).values()) for model in bad]
    assert sorted(tries) == [0, 1, 3]


def test_the_drivers_own_disks_are_looked_at(world: World) -> None:
    driver = ProcessDriver(RunDir(world.root / "run"))
    driver.disks = (world.root / "data",)
    machine = Machine(lambda: driver, lambda gpu: "this machine", (), lambda line: None, min_free_bytes=1 << 60)
    with pytest.raises(JudgeFault, match=f"free at {world.root}/data") as caught:
        machine.target(world.submit("emt"), (), "")
    assert caught.value.cause is FaultCause.DISK


def test_a_full_disk_is_reported_before_anything_is_claimed(world: World) -> None:
    world.submit("emt")
    settings = world.settings.model_copy(update={"min_free_bytes": 1 << 60})
    summary = evaluate(Workspace(settings), Request(), Reporter(Console(file=StringIO())))
    assert {(unit.did, unit.fault) for unit in summary.units} == {(Did.FAULT, FaultCause.DISK)}
    assert "free at least" in summary.units[0].sentence
    assert not list(world.store.list("attempts/"))


def test_observing_needs_no_label_and_measuring_no_container(world: World) -> None:
    world.submit("emt")
    labels = {path: path.read_bytes() for path in (world.root / "data").glob("*/labels.safetensors")}
    for path in labels:
        path.unlink()
    summary, _ = world.evaluate(observe_only=True)
    assert [unit.did for unit in summary.units] == [Did.UNMEASURED] * 2
    assert summary.exit_status == 0
    assert not world.results()
    for path, content in labels.items():
        path.write_bytes(content)
    measured, _ = world.evaluate()
    assert [unit.did for unit in measured.units] == [Did.MEASURED] * 2
    assert [result.verdict for result in world.results()] == [Verdict.OK] * 2


def test_an_engine_that_does_not_come_back_stops_the_run(world: World) -> None:
    def gone() -> DockerDriver:
        raise JudgeFault(FaultCause.DOCKER, "no engine")

    machine = Machine(gone, lambda gpu: "this machine", (), lambda line: None)
    with pytest.raises(JudgeFault):
        machine.sandbox()
    with pytest.raises(JudgeFault, match="no engine"):
        machine.look_at_engine()
    assert machine.stopped is not None
