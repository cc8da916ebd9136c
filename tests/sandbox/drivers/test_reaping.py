"""Leftovers of dead judges are removed soon after the next judge starts, however many there are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

from sandbox.drivers.docker_driver import (
    HOST_LABEL,
    LOCK_LABEL,
    RUN_DIR_LABEL,
    SESSION_LABEL,
    DockerDriver,
    connect_engine,
)
from sandbox.drivers.docker_running import remove_container

pytestmark = pytest.mark.docker

N_DEAD = 200
N_RUNNING = 6
N_AT_ONCE = 8
REAPED_IN_S = 20.0
DEAD_JUDGE = "1-00000000"
IMAGE = "lambench/emt:latest"


@pytest.fixture
def api(docker_driver: DockerDriver) -> Iterator[docker.APIClient]:
    """The engine; containers that a test leaves in the driver's run directory are removed."""
    client = connect_engine().api
    yield client
    for container in left(client, docker_driver):
        remove_container(client, container)


def labels(driver: DockerDriver, token: str, session: str) -> dict[str, str]:
    host = str(connect_engine().info()["ID"])
    root = str(driver.run_dir.root)
    return {LOCK_LABEL: token, HOST_LABEL: host, RUN_DIR_LABEL: root, SESSION_LABEL: session}


def create(api: docker.APIClient, labels: dict[str, str]) -> str:
    config = api.create_host_config(network_mode="none")
    return str(api.create_container(IMAGE, ["sleep", "600"], entrypoint=[], labels=labels, host_config=config)["Id"])


def left(api: docker.APIClient, driver: DockerDriver) -> set[str]:
    mine = {"label": f"{RUN_DIR_LABEL}={driver.run_dir.root}"}
    return {str(container["Id"]) for container in api.containers(all=True, filters=mine)}


@pytest.mark.slow
def test_two_hundred_dead_containers_are_removed_in_time_and_a_living_judges_is_not(
    docker_driver: DockerDriver, api: docker.APIClient, tmp_path: Path
) -> None:
    dead = labels(docker_driver, DEAD_JUDGE, "")
    with ThreadPoolExecutor(N_AT_ONCE) as threads:
        created = list(threads.map(lambda _: create(api, dead), range(N_DEAD)))
        list(threads.map(api.start, created[:N_RUNNING]))
    living = create(api, labels(docker_driver, docker_driver.run_dir.token, str(tmp_path)))
    api.start(living)
    assert left(api, docker_driver) == {*created, living}

    begin = time.monotonic()
    assert docker_driver.reap() == N_DEAD
    took = time.monotonic() - begin

    assert left(api, docker_driver) == {living}
    assert api.inspect_container(living)["State"]["Running"]
    assert took < REAPED_IN_S, f"{took:.1f} s"


def test_of_this_judges_own_those_are_removed_whose_session_is_over(
    docker_driver: DockerDriver, api: docker.APIClient, tmp_path: Path
) -> None:
    token = docker_driver.run_dir.token
    create(api, labels(docker_driver, token, str(tmp_path / "over")))
    at_work = create(api, labels(docker_driver, token, str(tmp_path)))
    assert docker_driver.reap() == 1
    assert left(api, docker_driver) == {at_work}


def test_two_judges_may_reap_at_once(docker_driver: DockerDriver, api: docker.APIClient) -> None:
    other = DockerDriver(docker_driver.run_dir)
    dead = labels(docker_driver, DEAD_JUDGE, "")
    for _ in range(6):
        create(api, dead)
    with ThreadPoolExecutor(2) as threads:
        removed = list(threads.map(lambda driver: driver.reap(), [docker_driver, other]))
    # The engine confirms two removals of one container that come at the same moment.
    assert sum(removed) > 0
    assert max(removed) <= 6
    deadline = time.monotonic() + 20  # a removal that the other had begun may still be under way
    while left(api, docker_driver) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left(api, docker_driver)
