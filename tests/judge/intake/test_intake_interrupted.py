"""A revocation during an examination, and the container of an intake that was killed; with a real engine."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from judge.intake.invitations import revoke_invitation
from judge.records.results import read_submissions
from sandbox.drivers.docker_driver import RUN_DIR_LABEL
from sandbox.events import Event
from sandbox.verdict import Verdict
from tests.servers.registry import RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.world.authors import Authors
from tests.world.events import at_first
from tests.world.intake import IntakeWorld

pytestmark = pytest.mark.docker
SLEEPS = "python3 -c 'import time; time.sleep(600)'"


@pytest.fixture(scope="module")
def authors(engine: docker.DockerClient, registry: RegistryServer) -> Iterator[Authors]:
    if not engine.images.list("lambench/base:latest"):
        pytest.skip("lambench/base:latest is not here: make images")
    authors = Authors(engine, registry)
    try:
        yield authors
    finally:
        authors.close()


@pytest.fixture
def world(short_path: Path, aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer) -> IntakeWorld:
    more = {"mirror": f"{registry.host}/judge/images", "registries": (registry.host,)}
    return IntakeWorld(short_path, aws_environment, buckets, more=more)


@pytest.mark.parametrize("step", [Event.IMAGE_MIRRORED, Event.CONTAINER_ENDED])
def test_a_revocation_during_an_examination_holds(world: IntakeWorld, authors: Authors, step: Event) -> None:
    """Also if it comes just before the submission is stored."""
    invited = world.invited()
    slot = world.send(invited, authors.image("revoked").request)
    with at_first(step, lambda: revoke_invitation(world.store, "curie", "it was passed on")):
        world.intake()
    decision = world.decisions(invited)[slot]
    assert (decision.outcome, decision.verdict) == ("refused", Verdict.POLICY_VIOLATION)
    assert "revoked" in decision.sentence
    assert read_submissions(world.store) == []


def test_the_container_of_a_killed_intake_is_removed_by_the_next(
    world: IntakeWorld, authors: Authors, engine: docker.DockerClient
) -> None:
    """Also if the request that it belonged to is gone."""
    invited = world.invited()
    world.send(invited, authors.image("sleeps", SLEEPS).request)
    world.write_settings()
    process = world.command("intake")
    until = time.monotonic() + 120
    sessions = {"label": f"{RUN_DIR_LABEL}={world.settings.run_dir}"}
    while not engine.api.containers(filters=sessions):
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for version in world.versions():
        world.client.delete_object(Bucket=world.uploads, Key=version["Key"], VersionId=version["VersionId"])
    world.intake()
    assert engine.api.containers(all=True, filters=sessions) == []
