"""An engine that is restarted in the middle of a session, however it ended, is the judge's fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest
from ase.build import bulk

from sandbox.driver import Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import MIB, Limits
from sandbox.rundir import RunDir
from sandbox.verdict import FaultCause, JudgeFault
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.structures.frames import Frames
from tests.servers.own_engine import OwnEngine, own_engine

pytestmark = [pytest.mark.docker, pytest.mark.soak]

IMAGE = "lambench/emt:latest"
TAGS = (IMAGE, "lambench/lennard_jones:latest")  # as other tests have them, so that they are loaded once
LIMITS = Limits(memory_bytes=512 * MIB, tmp_bytes=64 * MIB, cpus=1)


@pytest.fixture
def engine_of_ones_own(images: docker.DockerClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[OwnEngine]:
    with TemporaryDirectory(prefix="lj") as place, own_engine(Path(place), TAGS, images) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.url)
        yield engine


@pytest.mark.parametrize("end", [OwnEngine.kill, OwnEngine.stop], ids=["killed", "stopped"])
def test_a_restart_is_the_judges_fault(engine_of_ones_own: OwnEngine, end: Callable[[OwnEngine], None]) -> None:
    driver = DockerDriver(RunDir(engine_of_ones_own.place / "r"))

    def body(remote: RemoteCalculator) -> bool:
        end(engine_of_ones_own)
        engine_of_ones_own.start()
        return bool(remote.compute(Frames.from_atoms([bulk("Cu")]), remote.properties).ok.all())

    with pytest.raises(JudgeFault, match="the engine was restarted") as caught:
        run_session(driver, driver.resolve(IMAGE), LIMITS, Question(), body)
    assert caught.value.cause is FaultCause.DOCKER
    assert driver.reap() == 0
