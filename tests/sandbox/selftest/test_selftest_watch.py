"""A container as seen from outside, through the host's `/proc` and through the engine alone."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import docker
import pytest

from sandbox.drivers.docker_driver import DockerDriver
from sandbox.guest_archive import guest_archive
from sandbox.selftest.attack import LIMITS, Trial
from sandbox.selftest.catalog import ATTACKS
from sandbox.selftest.images import HostileImages
from sandbox.selftest.watch import Process, WatchedContainer, containers
from sandbox.verdict import JudgeFault

pytestmark = pytest.mark.docker


class Views(NamedTuple):
    """The same container, as seen by the host and by the engine."""

    processes: tuple[list[Process], list[Process]]
    interfaces: tuple[set[str], set[str]]
    changed: set[str]
    open_files: int | None
    tmp_bytes: int | None
    guest: bytes
    mounts: dict[str, str]


def look(watched: WatchedContainer) -> Views:
    blind = replace(watched, pid=0)
    return Views(
        processes=(watched.processes(), blind.processes()),
        interfaces=(watched.interfaces(), blind.interfaces()),
        changed=watched.changed_files(),
        open_files=watched.limit("Max open files"),
        tmp_bytes=watched.room_bytes("/tmp"),
        guest=(watched.session_dir() / "guest.pyz").read_bytes(),
        mounts=watched.mounts(),
    )


@pytest.fixture(scope="module")
def trial(docker_driver: DockerDriver, images: docker.DockerClient) -> Trial:
    attack = next(attack for attack in ATTACKS if attack.name == "fill-open-files")
    return Trial(docker_driver, HostileImages().of(attack, docker_driver))


def test_host_and_engine_see_the_same(trial: Trial) -> None:
    views = trial.run(lambda remote: look(WatchedContainer.of(trial))).value
    assert views is not None
    by_proc, by_engine = views.processes
    assert {(p.pid, p.uid) for p in by_proc} == {(p.pid, p.uid) for p in by_engine}
    assert {p.uid for p in by_proc} == {65534}
    assert all(any("guest.pyz" in p.command for p in seen) for seen in views.processes)
    assert views.interfaces == ({"lo"}, {"lo"})
    assert not any("model" in path for path in views.changed)
    assert views.open_files in (None, LIMITS.open_files)
    assert views.tmp_bytes in (None, LIMITS.tmp_bytes)
    assert views.guest == guest_archive()
    assert not views.mounts or "ro" in views.mounts["/lambench"].split(",")


def test_the_container_of_this_very_session_is_found(trial: Trial) -> None:
    def ids() -> set[str]:
        return {str(container.id) for container in containers(trial.driver)}

    def outer(remote: object) -> tuple[str, str]:
        mine = str(WatchedContainer.of(trial).container.id)
        theirs = trial.run(lambda other: str(WatchedContainer.of(trial).container.id)).value
        return mine, str(theirs)

    before = ids()
    container = trial.run(outer).value
    assert container is not None
    assert len(set(container)) == 2
    assert not before & set(container)
    assert ids() == before
    with pytest.raises(JudgeFault, match="does not list"):
        WatchedContainer.of(trial)
