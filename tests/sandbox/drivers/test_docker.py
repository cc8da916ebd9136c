"""Sessions of the Docker driver: each verdict, by an image that causes it, and the faults of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.limits import MIB, Limits
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from sandbox.wire.session import run_session
from tests.sandbox.drivers.docker_sessions import LIMITS, Build, ask, judged

pytestmark = pytest.mark.docker


def test_an_honest_image_is_judged(docker_driver: DockerDriver, hostile_image: Build) -> None:
    outcome = judged(docker_driver, hostile_image("honest"))
    assert outcome.verdict is Verdict.OK
    assert outcome.value == "ok"
    assert outcome.memory_bytes is None or 16 * MIB < outcome.memory_bytes < LIMITS.memory_bytes


@pytest.mark.parametrize(
    ("factory", "verdict", "clue"),
    [
        ("raises", Verdict.STARTUP_FAILED, "factory raised"),
        ("needs_root", Verdict.STARTUP_FAILED, "needs root"),
        ("writes_root", Verdict.STARTUP_FAILED, "/tmp only"),
        ("reads_weights", Verdict.STARTUP_FAILED, "readable by anyone"),
        ("exits", Verdict.STARTUP_FAILED, "exit status 0"),
        ("garbage", Verdict.PROTOCOL_ERROR, "breaks the protocol"),
        ("flood", Verdict.OUTPUT_LIMIT, "Too many bytes were sent"),
        ("dies", Verdict.CRASHED, "killed"),
        ("hangs", Verdict.TIME_LIMIT, "One batch took longer"),
    ],
)
def test_verdicts(docker_driver, hostile_image: Build, factory: str, verdict: Verdict, clue: str) -> None:
    outcome = judged(docker_driver, hostile_image(factory))
    assert outcome.verdict is verdict, outcome
    assert clue in outcome.sentence


def test_a_slow_start_is_ended(docker_driver: DockerDriver, hostile_image: Build) -> None:
    outcome = judged(docker_driver, hostile_image("sleeps"), Limits(startup_s=1))
    assert outcome.verdict is Verdict.STARTUP_TIMEOUT


def test_a_gpu_that_is_not_there_is_the_judges_fault(docker_driver: DockerDriver, hostile_image: Build) -> None:
    question = Question(device="cuda", gpu="GPU-00000000-0000-0000-0000-000000000000")
    with pytest.raises(JudgeFault) as caught:
        run_session(docker_driver, hostile_image("honest"), LIMITS, question, ask)
    assert caught.value.cause is FaultCause.GPU


def test_the_engines_own_disk_is_among_those_looked_at(docker_driver: DockerDriver) -> None:
    root = Path(connect_engine().info()["DockerRootDir"])
    assert docker_driver.disks == ((root,) if root.is_dir() else ())


def test_a_runtime_that_is_not_there_is_the_judges_fault(run_dir, hostile_image: Build) -> None:
    with pytest.raises(JudgeFault, match="nosuch") as caught:
        judged(DockerDriver(run_dir, "nosuch"), hostile_image("honest"))
    assert caught.value.cause is FaultCause.DOCKER


def test_an_engine_that_does_not_answer_is_the_judges_fault(run_dir, monkeypatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/no-engine-listens-here.sock")
    with pytest.raises(JudgeFault, match="start it"):
        DockerDriver(run_dir)
