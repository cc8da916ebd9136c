"""Judging in real containers: after a kill nothing is lost, doubled or left behind."""

from __future__ import annotations

import signal
import time

import docker
import pytest

from sandbox.drivers.docker_driver import LOCK_LABEL, DockerDriver
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from submissions.records import Submission
from tests.world.world import World

pytestmark = pytest.mark.docker


@pytest.fixture
def submission(world: World, images: docker.DockerClient) -> Submission:
    world.write_settings(driver="docker")
    return world.record("emt", DockerDriver(RunDir(world.root / "run")).resolve("lambench/emt:latest"))


def containers_of(engine: docker.DockerClient, pid: int) -> list[str]:
    """Containers that the judge with that process number started."""
    every = engine.containers.list(all=True, filters={"label": LOCK_LABEL}, ignore_removed=True)
    return [c.id for c in every if c.labels[LOCK_LABEL].startswith(f"{pid}-")]


def wait_for_container(engine: docker.DockerClient, pid: int) -> None:
    until = time.monotonic() + 60
    while not containers_of(engine, pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_all_is_judged_and_then_the_engine_is_not_spoken_to(world: World, submission: Submission) -> None:
    status, answer = world.run_json("evaluate", "--all")
    assert status == 0, answer
    assert {(result.task, result.verdict) for result in world.results()} == {
        ("copper", Verdict.OK),
        ("nickel", Verdict.OK),
    }
    status, out, err = world.run("evaluate", "--all", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert status == 0, err
    assert "Nothing to do" in out


def test_without_an_engine_it_is_one_line_and_no_attempt(world: World, submission: Submission) -> None:
    status, out, err = world.run("evaluate", "--all", DOCKER_HOST="unix:///nowhere/docker.sock")
    assert status == 3
    assert out.count("no Docker engine answers") == 1, (out, err)
    assert not list(world.store.list("attempts/"))


def test_killed_with_a_container_running(world: World, submission: Submission, engine: docker.DockerClient) -> None:
    process = world.command("evaluate", "--all")
    wait_for_container(engine, process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    status, answer = world.run_json("evaluate", "--all")
    assert status == 0, answer
    assert not containers_of(engine, process.pid)
    results = world.results()
    assert [(result.task, result.verdict) for result in results] == [("copper", Verdict.OK), ("nickel", Verdict.OK)]
    stored = [key for key in world.store.list("results/") if key.endswith(".json")]
    assert len(stored) == 2


def test_stopped_with_a_container_running(world: World, submission: Submission, engine: docker.DockerClient) -> None:
    process = world.command("evaluate", "--all")
    wait_for_container(engine, process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To continue: judge evaluate --all" in err
    assert not containers_of(engine, process.pid)


def test_an_image_that_is_gone_is_the_judges_loss(world: World, submission: Submission) -> None:
    gone = submission.model_copy(
        update={
            "id": "gone-000000000000",
            "image": submission.image.model_copy(update={"id": f"sha256:{'0' * 64}", "reference": "gone:latest"}),
        }
    )
    world.store.put(f"submissions/{gone.id}/submission.json", gone.model_dump_json().encode())
    status, out, _ = world.run("evaluate", "--all")
    assert status == 1
    assert "gone:latest of gone-000000000000 is not available here" in out
    assert {result.submission for result in world.results()} == {submission.id}
