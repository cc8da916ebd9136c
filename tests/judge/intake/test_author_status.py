"""Writing the status of every invited author to a status bucket on a real S3 server."""

from __future__ import annotations

import hashlib
from collections import Counter

from judge.intake.invitations import InvitationState, read_invitations
from judge.intake.status import write_statuses
from judge.workspace import Workspace
from submissions.preflight.acceptance import store_submission
from submissions.preflight.log import store_log
from submissions.records import ImageRecord, ModelCard, PreflightReport, Submission, submission_id, utc_now
from submissions.requests import InvitationStatus
from tests.servers.rgw import RgwServer
from tests.world.intake import invite, with_status_bucket
from tests.world.world import World


def test_a_status_that_cannot_be_written_fails_nothing(world: World, aws_environment: RgwServer) -> None:
    invite(world.store, world.submit("mine"))
    settings = with_status_bucket(world.settings, aws_environment).model_copy(
        update={"status_bucket": "s3://no-such-bucket/"}
    )
    lines: list[str] = []
    assert not write_statuses(Workspace(settings), say=lines.append)
    assert len(lines) == 1
    assert "there is no such bucket" in lines[0]
    assert write_statuses(world.workspace, say=lines.append)  # no status bucket is set
    assert len(lines) == 1


def test_every_author_reads_the_own_status_and_log(world: World, aws_environment: RgwServer) -> None:
    mine = world.submit("mine")
    store_log(world.store, mine.id, "hello")
    alice, bob = invite(world.store, mine), invite(world.store, name="bob")
    settings = with_status_bucket(world.settings, aws_environment)
    lines: list[str] = []
    assert write_statuses(Workspace(settings), say=lines.append), lines
    client, bucket = aws_environment.client(), settings.status_bucket.removeprefix("s3://").rstrip("/")

    def read(invited: InvitationState, name: str) -> bytes:
        got = client.get_object(Bucket=bucket, Key=f"{invited.invitation.secret}/{name}")["Body"].read()
        assert isinstance(got, bytes)
        return got

    status = InvitationStatus.read(read(alice, "status.json"))
    assert [each.submission for each in status.submissions] == [mine.id]
    assert read(alice, f"log-{mine.id}.txt") == b"hello"
    assert InvitationStatus.read(read(bob, "status.json")).submissions == ()


def record(image: str) -> Submission:
    """A submission with its own image."""
    id = f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"
    return Submission(
        id=submission_id("m", id),
        created=utc_now(),
        card=ModelCard(name="m"),
        image=ImageRecord(reference="m", id=id),
        preflight=PreflightReport(checks=()),
    )


def test_telling_again_costs_few_requests(world: World, aws_environment: RgwServer) -> None:
    """For any number of submissions: one listing of each kind, and one status for each invitation."""
    settings = with_status_bucket(world.settings, aws_environment)
    settings = settings.model_copy(update={"store": f"s3://{aws_environment.new_bucket()}/st"})
    workspace = Workspace(settings)
    store = workspace.store
    for name in ("alice", "bob"):
        taken = [record(f"{name} {n}") for n in range(3)]
        assert all(store_submission(store, submission, "said") for submission in taken)
        invite(store, *taken, name=name)
    everybody = read_invitations(store)
    assert write_statuses(workspace, states=everybody)
    sent: list[str] = []
    for client in (workspace.s3, store._client):  # type: ignore[attr-defined]
        client.meta.events.register("before-call.s3", lambda model, **_: sent.append(model.name))
    assert write_statuses(workspace, states=everybody)
    counts = Counter(sent)
    assert counts["PutObject"] == len(everybody)
    assert counts["ListObjectsV2"] <= 8
    assert counts.total() == counts["PutObject"] + counts["ListObjectsV2"]
