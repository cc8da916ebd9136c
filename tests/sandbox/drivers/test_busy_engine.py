"""An engine that is busy is called busy, and only an engine that is not there is to be started."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest
import requests

from sandbox.drivers import docker_driver
from sandbox.drivers.docker_driver import connect_engine
from sandbox.drivers.docker_running import engine_faults
from sandbox.verdict import FaultCause, JudgeFault


@pytest.fixture
def engine_socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Path]]:
    """Makes the socket of an engine that answers nothing, with a queue for so many connections."""
    monkeypatch.setattr(docker_driver, "ENGINE_TIMEOUT_S", 0.2)
    with TemporaryDirectory(prefix="lj") as folder, socket.socket(socket.AF_UNIX) as server:
        path = Path(folder) / "engine.sock"
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")

        def make(queue: int) -> Path:
            server.bind(str(path))
            server.listen(queue)
            return path

        yield make


def fault_of_connecting() -> JudgeFault:
    with pytest.raises(JudgeFault) as caught:
        connect_engine()
    assert caught.value.cause is FaultCause.DOCKER
    return caught.value


def test_an_engine_that_takes_a_request_and_does_not_answer_is_busy(engine_socket: Callable[[int], Path]) -> None:
    engine_socket(8)
    fault = fault_of_connecting()
    assert "is busy" in fault.remedy
    assert "start it" not in fault.remedy


def test_an_engine_whose_queue_is_full_is_busy(engine_socket: Callable[[int], Path]) -> None:
    path = engine_socket(0)
    with socket.socket(socket.AF_UNIX) as first:
        first.connect(str(path))
        assert "is busy" in fault_of_connecting().remedy


def test_a_later_request_that_gets_no_answer_finds_the_engine_busy(engine_socket: Callable[[int], Path]) -> None:
    client = docker.APIClient(f"unix://{engine_socket(8)}", version="1.41", timeout=0.2)
    with pytest.raises(JudgeFault, match="is busy"), engine_faults():
        client.info()
    client.close()


def test_an_engine_that_is_not_there_is_to_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for host in (f"unix://{tmp_path}/none.sock", "tcp://127.0.0.1:9"):
        monkeypatch.setenv("DOCKER_HOST", host)
        assert "start it" in fault_of_connecting().remedy
    with pytest.raises(JudgeFault, match="start it"), engine_faults():
        raise requests.ConnectTimeout
