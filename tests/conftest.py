"""What tests of several rooms need: the reference data, and the images of the example submissions."""

from __future__ import annotations

import os
from pathlib import Path

import docker
import pytest

from sandbox.docker_driver import connect_engine
from sandbox.verdict import JudgeFault

BESIDE_THE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of LAMBENCH_TEST_DATA; a test that needs it and has none is skipped by name."""
    folder = Path(os.environ.get("LAMBENCH_TEST_DATA", BESIDE_THE_CHECKOUT))
    if not folder.is_dir():
        pytest.skip(f"no reference data in {folder}: set LAMBENCH_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def engine() -> docker.DockerClient:
    """The Docker engine; where none answers, the test is skipped by name."""
    try:
        return connect_engine()
    except JudgeFault as fault:
        pytest.skip(f"no Docker engine: {fault.mend}")


@pytest.fixture(scope="session")
def images(engine: docker.DockerClient) -> docker.DockerClient:
    """An engine that has the images of the example submissions."""
    for name in ("emt", "lennard_jones", "xtb", "chgnet"):
        if not engine.images.list(f"lambench/{name}:latest"):
            pytest.skip(f"lambench/{name}:latest is not here: make images")
    return engine
