"""Who ended a container, and why: each way in which a container can end, with a real container."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest
from ase.build import bulk

import sandbox.drivers.docker_driver
from sandbox.driver import Image, Question
from sandbox.drivers.cgroup import ROOT
from sandbox.drivers.docker_driver import RUN_DIR_LABEL, DockerDriver, connect_engine
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from tasks.structures.frames import Frames
from tests.sandbox.engine_line import EngineLine

pytestmark = pytest.mark.docker

# Little memory, since filling it takes long on a busy host, and much time.
LIMITS = Limits(memory_bytes=160 * MIB, tmp_bytes=8 * MIB, startup_s=60, message_s=60, task_s=120, cpus=1)
ENGINE_SOCKET = "/var/run/docker.sock"
Build = Callable[[str], Image]


def ask(remote: RemoteCalculator) -> bool:
    return bool(remote.compute(Frames.from_atoms([bulk("Cu")]), remote.properties).ok.all())


def judged(
    driver: DockerDriver, image: Image, body: Callable = ask, limits: Limits = LIMITS, device: str = "cpu"
) -> SessionOutcome:
    return run_session(driver, image, limits, Question(device=device), body)


@pytest.mark.parametrize(
    ("factory", "verdict", "clue"),
    [
        ("child_out_of_memory", Verdict.OK, "Completed"),
        ("child_out_of_memory_then_exit", Verdict.MEMORY_LIMIT, "0.156 GiB"),
        ("child_out_of_memory_then_garbage", Verdict.PROTOCOL_ERROR, "breaks the protocol"),
        ("child_out_of_memory_at_start", Verdict.MEMORY_LIMIT, "0.156 GiB"),
        ("eats_memory", Verdict.MEMORY_LIMIT, "0.156 GiB"),
        ("fill_memory", Verdict.MEMORY_LIMIT, "0.156 GiB"),
        ("segfaults_for_real", Verdict.CRASHED, "middle of its work (segmentation fault)"),
        ("aborts", Verdict.CRASHED, "aborted"),
        ("bus_error", Verdict.CRASHED, "bus error"),
        ("dies", Verdict.CRASHED, "killed"),
        ("exits_137", Verdict.CRASHED, "killed"),
        ("half_an_answer", Verdict.CRASHED, "middle of an answer (exit status 5)"),
    ],
)
def test_ends_are_told_apart(docker_driver, hostile_image: Build, factory: str, verdict: Verdict, clue: str) -> None:
    outcome = judged(docker_driver, hostile_image(factory))
    assert outcome.verdict is verdict, outcome
    assert clue in outcome.sentence


@pytest.mark.slow
def test_a_child_out_of_memory_and_a_parent_that_hangs(docker_driver, hostile_image: Build) -> None:
    limits = LIMITS.model_copy(update={"message_s": 20.0})
    outcome = judged(docker_driver, hostile_image("child_out_of_memory_then_hang"), limits=limits)
    assert outcome.verdict is Verdict.MEMORY_LIMIT, outcome


@pytest.mark.parametrize(
    ("factory", "device", "verdict"),
    [
        ("gpu_out_of_memory", "cuda", Verdict.GPU_MEMORY_LIMIT),
        ("gpu_out_of_memory", "cpu", Verdict.STARTUP_FAILED),
        ("jax_out_of_memory", "cuda", Verdict.GPU_MEMORY_LIMIT),
    ],
)
def test_gpu_memory_is_told_from_any_other_error_at_start(
    docker_driver, hostile_image: Build, factory: str, device: str, verdict: Verdict
) -> None:
    assert judged(docker_driver, hostile_image(factory), device=device).verdict is verdict


def test_the_counters_tell_a_kill_where_the_engine_does_not(docker_driver, hostile_image: Build) -> None:
    """The container is gone when the judge asks for the counters, so they were read before."""
    with docker_driver.run_dir.session() as (folder, _):
        running = docker_driver.start(hostile_image("fill_memory"), LIMITS, Question(), folder)
        until = time.monotonic() + 60
        while running.alive() and time.monotonic() < until:
            time.sleep(0.05)
        end = running.stop(0.0)
    assert end.code == 137
    if end.memory_bytes is None:
        pytest.skip("this judge does not see the container's cgroup")
    assert (end.oom_kills, end.at_limit) == (1, True)
    assert end.memory_bytes >= LIMITS.memory_bytes - MIB


def wakings(thread: threading.Thread) -> int:
    """The number of times that the kernel has run the thread."""
    lines = Path(f"/proc/self/task/{thread.native_id}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def test_the_watch_sleeps_while_a_model_answers(docker_driver, hostile_image: Build) -> None:
    def body(remote: RemoteCalculator) -> list[int]:
        watches = [thread for thread in threading.enumerate() if thread.name == "memory watch"]
        before = [wakings(watch) for watch in watches]
        for _ in range(500):
            remote.echo(5000)
        return [wakings(watch) - earlier for watch, earlier in zip(watches, before, strict=True)]

    woke = judged(docker_driver, hostile_image("honest"), body).value
    if not woke:
        pytest.skip("this judge does not see the container's cgroup")
    assert woke == [0]


@pytest.fixture
def small_host() -> Iterator[Path]:
    """A cgroup with less memory than one container may use: like a host without free memory."""
    folder = ROOT / f"memory/lambench-test-small-host-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / "memory.limit_in_bytes").write_text(str(128 * MIB))
    except OSError as error:
        pytest.skip(f"no memory cgroup of version 1 can be made ({error.strerror})")
    yield folder
    folder.rmdir()


def test_a_host_out_of_memory_is_the_judges_fault(docker_driver, hostile_image: Build, small_host, monkeypatch) -> None:
    ordinary = sandbox.drivers.docker_driver.container_options
    monkeypatch.setattr(
        sandbox.drivers.docker_driver,
        "container_options",
        lambda *arguments: {**ordinary(*arguments), "cgroup_parent": f"/{small_host.name}"},
    )
    limits = LIMITS.model_copy(update={"memory_bytes": 512 * MIB})
    with pytest.raises(JudgeFault, match="host had none left") as caught:
        judged(docker_driver, hostile_image("eats_memory"), limits=limits)
    assert caught.value.cause is FaultCause.DOCKER


def mine(driver: DockerDriver) -> list[str]:
    """The containers of the driver's run directory."""
    label = {"label": f"{RUN_DIR_LABEL}={driver.run_dir.root}"}
    return [container["Id"] for container in connect_engine().api.containers(all=True, filters=label)]


@pytest.mark.parametrize(
    "meddle",
    [
        lambda api, container: api.kill(container),
        lambda api, container: api.kill(container, "SIGTERM"),
        lambda api, container: api.stop(container, timeout=5),
        lambda api, container: api.remove_container(container, force=True),
    ],
    ids=["kill", "terminate", "stop", "remove"],
)
def test_an_operators_stop_is_the_judges_fault(docker_driver, hostile_image: Build, meddle: Callable) -> None:
    def body(remote: RemoteCalculator) -> bool:
        (container,) = mine(docker_driver)
        meddle(docker.from_env().api, container)
        return ask(remote)

    with pytest.raises(JudgeFault, match="through the engine") as caught:
        judged(docker_driver, hostile_image("honest"), body)
    assert caught.value.cause is FaultCause.DOCKER
    assert not mine(docker_driver)


def test_a_container_that_an_operator_paused_is_not_called_slow(docker_driver, hostile_image: Build) -> None:
    def body(remote: RemoteCalculator) -> bool:
        (container,) = mine(docker_driver)
        docker.from_env().api.pause(container)
        return ask(remote)

    limits = LIMITS.model_copy(update={"message_s": 1.0})
    with pytest.raises(JudgeFault, match="through the engine"):
        judged(docker_driver, hostile_image("honest"), body, limits)
    assert not mine(docker_driver)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield Path(folder)


def test_an_engine_that_goes_away_is_the_judges_fault_and_what_it_kept_is_removed_later(
    hostile_image: Build, short_folder: Path, monkeypatch
) -> None:
    folder = short_folder
    line = EngineLine(folder / "engine.sock", ENGINE_SOCKET)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{line.path}")
    image = hostile_image("honest")
    driver = DockerDriver(RunDir(folder / "run"))

    def body(remote: RemoteCalculator) -> bool:
        line.cut()
        return ask(remote)

    with pytest.raises(JudgeFault, match="does not answer") as caught:
        judged(driver, image, body)
    assert caught.value.cause is FaultCause.DOCKER
    with pytest.raises(JudgeFault):
        driver.reap()
    line = EngineLine(line.path, ENGINE_SOCKET)
    assert len(mine(driver)) == 1
    assert driver.reap() == 1
    assert not mine(driver)
    line.cut()
