"""A run directory for tests, and submissions that misbehave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

from sandbox.driver import Image
from sandbox.drivers.docker_driver import DockerDriver, connect_engine
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir

HOSTILE = Path(__file__).parents[1] / "hostile"


@pytest.fixture(scope="session")
def run_dir() -> Iterator[RunDir]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield RunDir(Path(folder))


@pytest.fixture(scope="session")
def process_driver(run_dir: RunDir) -> ProcessDriver:
    return ProcessDriver(run_dir)


@pytest.fixture(scope="session")
def docker_driver(run_dir: RunDir, images: docker.DockerClient) -> DockerDriver:
    return DockerDriver(run_dir)


@pytest.fixture(scope="session")
def hostile_image(docker_driver: DockerDriver) -> Callable[[str], Image]:
    """An image whose factory is the named function of tests/hostile/hostile.py."""
    client = connect_engine()

    def build(factory: str) -> Image:
        tag = f"lambench-test/{factory.replace('_', '-')}:latest"
        client.images.build(path=str(HOSTILE), tag=tag, buildargs={"FACTORY": factory}, rm=True)
        return docker_driver.resolve(tag)

    return build
