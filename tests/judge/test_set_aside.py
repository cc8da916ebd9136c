"""What one submission after another comes to grief over is set aside; a full disk burns nobody's attempts."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import docker
import pytest
from ase.build import bulk
from rich.console import Console

from judge.attempts import Attempt, History, read_histories
from judge.evaluate import evaluate
from judge.machine import Machine
from judge.records import End, Origin
from judge.report import Did
from judge.set_aside import bad_gpus
from judge.survey import Request
from sandbox.docker_driver import DockerDriver
from sandbox.gpu import Gpu
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.progress import Reporter
from submissions.records import LabelSet, ModelCard, Submission
from tasks.card import D3, Card, Table
from tasks.card import LabelSet as Theory
from tasks.dataset import Dataset, save_dataset
from tasks.frames import Frames
from tasks.predictions import Labels
from tests.judge.small_world import World

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def spoil_copper(data: Path) -> None:
    """Puts an element into the copper that the correction its labels need does not know: our code's limit."""
    atoms = bulk("Cu", cubic=True)
    atoms.numbers[0] = 110
    frames = Frames.from_atoms([atoms, atoms])
    theory = Theory(theory="PBE with D3", dispersion=True, d3=D3(functional="pbe"))
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
    card = ModelCard(name=name, label_sets={"Inorganic Materials": LabelSet(name="EMT", dispersion=False)})
    stated = made.model_copy(update={"card": card})
    world.store.put(f"submissions/{made.id}/submission.json", stated.model_dump_json().encode())
    return stated


def test_a_data_set_that_our_code_fails_on_is_set_aside_after_two_submissions(world: World) -> None:
    spoil_copper(world.root / "data")
    models = [without_dispersion(world, name) for name in ("a", "b", "c", "d")]
    summary, said = world.evaluate()
    by_task = {(unit.submission, unit.task): unit for unit in summary.units}
    assert all(by_task[m.id, "nickel"].did is Did.OBSERVED for m in models)
    assert all(by_task[m.id, "copper"].did is Did.HELD for m in models)
    assert "Set aside" in said
    assert "dataset copper@1 is set aside" in by_task[models[3].id, "copper"].sentence
    tries = [
        sum(len(h.faults) for prefix, h in read_histories(world.store, [m.id]).items() if "/copper/" in prefix)
        for m in models
    ]
    assert tries[0] == 3  # one alone may be what is odd
    assert tries[1:] == [1, 0, 0]

    again, _ = world.evaluate()  # known from the attempts in the store, not from this process's memory
    assert [unit.did for unit in again.units].count(Did.HELD) == 4
    assert not [h for h in read_histories(world.store, [models[3].id]).values() if h.faults]


def end_on(gpu: str, minutes: int, *, spoilt: bool) -> Attempt:
    when = NOON + timedelta(minutes=minutes)
    if spoilt:
        end = End(owner="o", ended=when, fault=FaultCause.GPU, culprit=f"gpu {gpu}")
    else:
        end = End(owner="o", ended=when, verdict=Verdict.OK, origin=Origin(gpu=gpu))
    return Attempt(minutes + 1, None, end)


@pytest.mark.parametrize(
    ("story", "aside"),
    [
        ([("A", True), ("A", True)], {"A"}),
        ([("A", True), ("B", True)], set()),
        ([("A", True), ("A", False), ("A", True)], set()),  # it did its part meanwhile
        ([("A", False), ("A", True), ("B", False), ("A", True)], {"A"}),
        ([("A", True), ("A", True), ("A", False)], set()),
    ],
)
def test_a_gpu_is_set_aside_after_two_faults_in_a_row(story: list[tuple[str, bool]], aside: set[str]) -> None:
    attempts = tuple(end_on(f"GPU-{name}", i, spoilt=spoilt) for i, (name, spoilt) in enumerate(story))
    assert set(bad_gpus([History(attempts)])) == {f"GPU-{name}" for name in aside}


@pytest.mark.docker
def test_an_attempt_that_a_gpu_spoilt_is_tried_on_another(world: World, images: docker.DockerClient) -> None:
    """The fault is real where the engine cannot pass GPUs on, as on any machine without NVIDIA's toolkit."""
    if "nvidia" in images.info().get("Runtimes", {}):
        pytest.skip("this engine has GPUs")
    run_dir = RunDir(world.root / "run")
    driver = DockerDriver(run_dir)
    submission = world.record("emt", driver.resolve("lambench/emt:latest"))
    machine = Machine(
        open_sandbox=lambda: driver,
        hardware=lambda gpu: "this machine",
        gpus=[Gpu("GPU-aaaa", "One"), Gpu("GPU-bbbb", "Other")],
        say=lambda line: None,
    )
    summary = world.run_plan_on(machine, submission)
    assert {unit.fault for unit in summary} == {FaultCause.GPU}
    tried = [
        [attempt.end.culprit for attempt in history.attempts if attempt.end]
        for history in read_histories(world.store, [submission.id]).values()
    ]
    first = sorted(tried, key=len)[-1]
    assert first[:2] == ["gpu GPU-aaaa", "gpu GPU-bbbb"]
    assert sum(map(len, tried)) <= 4  # then both are set aside, and nothing more is burnt
    assert all(culprits.count("gpu GPU-aaaa") <= 2 for culprits in tried)


def test_a_full_disk_is_told_before_anything_is_claimed(world: World) -> None:
    world.submit("emt")
    settings = world.settings.model_copy(update={"min_free_bytes": 1 << 60})
    summary = evaluate(settings, Request(), Reporter(Console(file=StringIO())))
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
