"""Whoever submits an image first does not own it for ever: possession is proven by the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from judge.config import UsageError
from judge.intake.ownership import checked_repositories
from judge.records.results import read_submissions
from sandbox.driver import Image
from sandbox.verdict import Verdict
from submissions.records import Arrival
from submissions.requests import ReferredImage, SubmissionRequest
from tests.servers.registry import RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.world.authors import Authors
from tests.world.intake import CARD, IntakeWorld, Pushed

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient, registry: RegistryServer) -> Iterator[Pushed]:
    """The image of a victim, in the victim's repository, which anybody may read."""
    if not engine.images.list("lambench/base:latest"):
        pytest.skip("lambench/base:latest is not here: make images")
    authors = Authors(engine, registry)
    try:
        yield authors.image("owned")
    finally:
        authors.close()


@pytest.fixture
def world(short_path: Path, aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer) -> IntakeWorld:
    more = {"mirror": f"{registry.host}/judge/images", "registries": (registry.host,)}
    return IntakeWorld(short_path, aws_environment, buckets, more=more)


def taken(world: IntakeWorld, image: Pushed, **arrival: str) -> str:
    """The ID of a submission of the image by somebody else."""
    other = world.record("Squatter", Image(image.reference, image.id, "docker"), CARD)
    changed = other.model_copy(update={"arrival": Arrival.model_validate(arrival)})
    world.store.put(f"submissions/{other.id}/submission.json", changed.model_dump_json().encode())
    return other.id


@pytest.mark.parametrize("decision", ["withdraw", "disqualify"])
def test_a_submission_that_is_out_does_not_hold_its_image(world: IntakeWorld, image: Pushed, decision: str) -> None:
    squatter = taken(world, image, by="upload", invitation="eve")
    victim = world.invited("victim")
    slots = [world.send(victim, image.request)]
    world.intake()
    assert world.decisions(victim)[slots[0]].outcome == "duplicate"
    world.write_settings()
    status, _, err = world.run_here(decision, squatter, "--reason", "not the author")
    assert status == 0, err
    slots.append(world.send(victim, image.request, 1))
    _, output = world.intake()
    assert world.decisions(victim)[slots[1]].outcome == "submitted", output
    assert sorted(each.arrival.invitation for each in read_submissions(world.store)) == ["eve", "victim"]


def test_the_repository_of_an_invitation_proves_possession(
    world: IntakeWorld, image: Pushed, registry: RegistryServer
) -> None:
    taken(world, image, by="upload", invitation="eve")
    victim = world.invited("victim", repositories=(f"{registry.host}/authors",))
    eve = world.invited("eve", repositories=(registry.host, f"{registry.host}/auth"))
    slots = [world.send(victim, image.request), world.send(eve, image.request), world.send(victim, image.request, 1)]
    _, output = world.intake()
    assert world.decisions(victim)[slots[0]].outcome == "submitted", output
    refused = world.decisions(eve)[slots[1]]
    assert (refused.verdict, "another invitation" in refused.sentence) == (Verdict.POLICY_VIOLATION, True)
    again = world.decisions(victim)[slots[2]]
    assert (again.outcome, again.submission.startswith("sum-")) == ("duplicate", True)


def test_what_the_maintainer_submitted_keeps_its_image(
    world: IntakeWorld, image: Pushed, registry: RegistryServer
) -> None:
    own = taken(world, image)
    victim = world.invited("victim", repositories=(f"{registry.host}/authors",))
    slot = world.send(victim, image.request)
    world.intake()
    assert (world.decisions(victim)[slot].outcome, world.decisions(victim)[slot].submission) == ("duplicate", own)


def test_a_foreign_registry_is_named_without_the_list_of_all(world: IntakeWorld, registry: RegistryServer) -> None:
    invited = world.invited()
    foreign = ReferredImage(reference=f"registry.example/x@sha256:{'0' * 64}")
    slot = world.send(invited, SubmissionRequest(card=CARD, image=foreign))
    world.intake()
    sentence = world.decisions(invited)[slot].sentence
    assert ("registry.example" in sentence, registry.host in sentence) == (True, False)


def test_a_repository_of_an_invitation_is_checked() -> None:
    assert checked_repositories(["ghcr.io", "ghcr.io/a/b", "ghcr.io"], ["ghcr.io"]) == ("ghcr.io", "ghcr.io/a/b")
    for wrong in ("quay.io/a", "ghcr.io/", "ghcr.io/A", "ghcr.io/a:1", "ghcr.io/a/../b", "", "https://ghcr.io/a"):
        with pytest.raises(UsageError, match="--repository"):
            checked_repositories([wrong], ["ghcr.io"])
