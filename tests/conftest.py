"""Fixtures for tests of several rooms: reference data, images of the examples, an S3 server, registries, a browser."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import docker
import pytest
from hypothesis import HealthCheck, settings

from sandbox.drivers.docker_driver import connect_engine
from sandbox.verdict import JudgeFault
from tests.chromium import launch
from tests.selftested import Selftested, run
from tests.servers.registry import PASSWORD, USER, RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.session_guard import begin_session

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserType

# The time of an example depends on what else this machine does, so it has no limit.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

Server = TypeVar("Server", RgwServer, RegistryServer)

SOAK_LIMIT_S = 1800
BESIDE_THE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure() -> None:
    """Ctrl-C interrupts the tests and what they start, also where a shell has it ignored (`nohup`, `&`)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin_session()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test of `make soak` may take longer than the limit in pyproject.toml."""
    for item in items:
        if item.get_closest_marker("soak") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SOAK_LIMIT_S))


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A temporary folder for sockets, whose paths have at most 107 bytes; `tmp_path` is too long."""
    with tempfile.TemporaryDirectory(prefix="lj") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of LAMBENCH_TEST_DATA; without it, the test is skipped by name."""
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
        pytest.skip(f"no Docker engine: {fault.remedy}")


@pytest.fixture(scope="session")
def images(engine: docker.DockerClient) -> docker.DockerClient:
    """An engine that has the images of the example submissions."""
    for name in ("emt", "lennard_jones", "xtb", "chgnet"):
        if not engine.images.list(f"lambench/{name}:latest"):
            pytest.skip(f"lambench/{name}:latest is not here: make images")
    return engine


@pytest.fixture(scope="session")
def selftested(images: docker.DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Selftested:
    """A whole selftest of the engine. It runs once, in about two minutes."""
    return run(tmp_path_factory.mktemp("selftest"))


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, started; it is stopped at the end."""
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def rgw() -> Iterator[RgwServer]:
    """An S3 server; where its programs are missing, the test is skipped by name."""
    with running(RgwServer(Path(tempfile.mkdtemp(prefix="rgw")))) as server:
        yield server


@pytest.fixture(scope="session")
def buckets(rgw: RgwServer) -> Buckets:
    """Two buckets for all tests; each test uses its own prefix."""
    return Buckets(rgw.new_bucket(versioned=True), rgw.new_bucket(public=True), rgw.client())


@pytest.fixture
def aws_environment(rgw: RgwServer, monkeypatch: pytest.MonkeyPatch) -> RgwServer:
    """The S3 server; the AWS credential chain finds only its user's credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", rgw.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", rgw.secret_key)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):  # not the profile of the person who runs the tests
        monkeypatch.setenv(name, os.devnull)
    return rgw


@pytest.fixture(scope="session")
def registry() -> Iterator[RegistryServer]:
    """A container registry that anybody may write to; where it is not installed, the test is skipped by name."""
    with running(RegistryServer(Path(tempfile.mkdtemp(prefix="registry")))) as server:
        yield server


@pytest.fixture(scope="session")
def private_registry() -> Iterator[RegistryServer]:
    """The same, for one user with a password."""
    with running(RegistryServer(Path(tempfile.mkdtemp(prefix="registry")), USER, PASSWORD)) as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[BrowserType]:
    """Launches Chromium. A process can have only one playwright, so every test uses this one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        yield started.chromium


@pytest.fixture(scope="session")
def browsers() -> Iterator[list[Browser]]:
    """Those launched for `browser`: one, unless it died."""
    launched: list[Browser] = []
    yield launched
    for one in launched:
        one.close()


@pytest.fixture(scope="module")
def browser(chromium: BrowserType, browsers: list[Browser]) -> Browser:
    """One Chromium for all: a test has a context of its own in it, and closes that."""
    if not browsers or not browsers[-1].is_connected():
        browsers.append(launch(chromium))
    return browsers[-1]
