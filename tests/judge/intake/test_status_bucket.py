"""The status bucket as an author with the address and a stranger without it see it, on a real S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from judge.intake.invitations import Invitation, InvitationState, revoke_invitation
from judge.intake.status_bucket import (
    file_names,
    invite_file,
    read_forms,
    read_status,
    status_address,
    write_forms,
    write_status,
)
from judge.intake.upload_forms import make_forms
from submissions.records import utc_now
from submissions.requests import InvitationStatus, UploadForms, log_name
from submissions.store.interface import StoreError
from submissions.store.open_store import open_store
from tests.servers.rgw import Buckets, RgwServer
from tests.world.intake import IntakeWorld

LAYER = "sha256:" + "12" * 32
EMT = "emt-0123456789ab"


@pytest.fixture
def world(tmp_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    return IntakeWorld(tmp_path, aws_environment, buckets)


def fetch(url: str) -> requests.Response:
    return requests.get(url, timeout=20)


def status_of(invited: InvitationState) -> InvitationStatus:
    return InvitationStatus(written=utc_now(), invitation=invited.invitation.name, quota=invited.quota)


def put_forms(world: IntakeWorld, invited: InvitationState) -> UploadForms:
    forms = make_forms(world.workspace, invited, (), utc_now())
    write_forms(world.workspace, invited, forms)
    return forms


def put_status(world: IntakeWorld, invited: InvitationState, **logs: str) -> None:
    logs_by_id = {name.replace("_", "-"): text for name, text in logs.items()}
    write_status(world.workspace, invited, status_of(invited), logs_by_id)


@contextmanager
def requests_of(world: IntakeWorld) -> Iterator[list[str]]:
    """The operations that the client sends in this context."""
    sent: list[str] = []

    def note(model: object, **kwargs: object) -> None:
        sent.append(str(getattr(model, "name", "")))

    world.client.meta.events.register("before-call.s3", note)
    try:
        yield sent
    finally:
        world.client.meta.events.unregister("before-call.s3", note)


def test_the_author_reads_forms_status_and_logs_at_his_address(world: IntakeWorld) -> None:
    invited = world.invited()
    written = make_forms(world.workspace, invited, [LAYER], utc_now())
    write_forms(world.workspace, invited, written)
    put_status(world, invited, **{EMT: "Loaded EMT, for µm and Å.\n"})
    address = status_address(world.settings, invited.invitation)
    answers = {name: fetch(address + name) for name in ("forms.json", "status.json", log_name(EMT))}
    assert [answer.status_code for answer in answers.values()] == [200, 200, 200]
    assert UploadForms.read(answers["forms.json"].content) == written
    assert written.layers == (LAYER,)
    assert InvitationStatus.read(answers["status.json"].content).quota == invited.quota
    assert answers[log_name(EMT)].content.decode() == "Loaded EMT, for µm and Å.\n"
    assert {answer.headers["Cache-Control"] for answer in answers.values()} == {"no-store"}
    types = [answer.headers["Content-Type"] for answer in answers.values()]
    assert types == ["application/json", "application/json", "text/plain; charset=utf-8"]


def test_a_stranger_without_the_address_finds_nothing(world: IntakeWorld) -> None:
    first, second = world.invited(), world.invited("joliot")
    put_forms(world, first)
    address = status_address(world.settings, first.invitation)
    secret = first.invitation.secret
    wrong = [
        status_address(world.settings, second.invitation),  # invited, and nothing was written yet
        address.replace(secret, secret[:-1] + ("0" if secret[-1] != "0" else "1")),
        address.replace(secret, secret[:32]),
        address.replace(secret, "curie"),
        address.replace(f"{secret}/", ""),
    ]
    for folder in wrong:
        assert fetch(f"{folder}forms.json").status_code in (403, 404), folder
    assert fetch(f"{address}forms.json").status_code == 200


def test_nobody_lists_or_changes_the_status_bucket(world: IntakeWorld) -> None:
    invited = world.invited()
    put_forms(world, invited)
    address, bucket = status_address(world.settings, invited.invitation), f"{world.rgw.endpoint}/{world.statuses}"
    listings = ["", "/", "?list-type=2", f"?prefix={world.prefix}/", "?versions", "?uploads", "?policy", "?acl"]
    for listing in listings:
        answer = fetch(bucket + listing)
        assert answer.status_code in (403, 404), listing
        assert invited.invitation.secret not in answer.text
    for folder in (address, address.rstrip("/"), f"{address}?list-type=2"):
        assert fetch(folder).status_code in (403, 404), folder
    assert requests.put(f"{address}forms.json", data=b"{}", timeout=20).status_code == 403
    assert requests.delete(f"{address}forms.json", timeout=20).status_code == 403
    assert fetch(f"{address}forms.json").status_code == 200


def test_the_status_bucket_holds_no_credential_and_nothing_beside_its_files(world: IntakeWorld) -> None:
    invited = world.invited()
    put_forms(world, invited)
    put_status(world, invited, **{EMT: "said"})
    listed = world.client.list_objects_v2(Bucket=world.statuses, Prefix=f"{world.prefix}/")["Contents"]
    folder = f"{world.prefix}/{invited.invitation.secret}/"
    assert {thing["Key"] for thing in listed} == {
        folder + name for name in ("forms.json", "status.json", log_name(EMT))
    }
    for thing in listed:
        data = world.client.get_object(Bucket=world.statuses, Key=thing["Key"])["Body"].read()
        assert world.rgw.secret_key.encode() not in data
        assert invited.invitation.secret.encode() not in data  # else anyone who sees the status would know the address


def test_an_invitation_file_is_an_address_and_no_more(world: IntakeWorld) -> None:
    made: Invitation = world.invited().invitation
    world.more["status_url"] = "https://mail.example.org/authors/"
    stated = invite_file(world.settings, made).model_dump()
    mail = f"https://mail.example.org/authors/{made.secret}/"
    assert stated == {"schema_version": 1, "name": "curie", "mail": mail}


def test_what_exists_already_is_listed_once_for_all(world: IntakeWorld) -> None:
    first, second = world.invited("one"), world.invited("other")
    put_status(world, first, emt_0123456789ab="said")
    put_forms(world, second)
    with requests_of(world) as sent:
        names = file_names(world.workspace)
    secrets = (first.invitation.secret, second.invitation.secret)
    assert [names[secret] for secret in secrets] == [{"status.json", log_name(EMT)}, {"forms.json"}]
    assert sent == ["ListObjectsV2"]


def test_forms_cost_one_request_however_many_they_are(world: IntakeWorld) -> None:
    invited = world.invited(n_parts=64)
    with requests_of(world) as sent:
        forms = put_forms(world, invited)
    assert (len(forms.requests), len(forms.parts)) == (3, 64)
    assert sent == ["PutObject"]


def test_a_log_goes_under_the_name_of_a_submission_alone(world: IntakeWorld) -> None:
    invited = world.invited()
    for name in ("../other/status", "x/y-0123456789ab", "forms.json", ""):
        with pytest.raises(ValueError, match="is no submission"):
            write_status(world.workspace, invited, status_of(invited), {name: "said"})
    assert read_status(world.workspace, invited) is None


def test_revoking_ends_the_forms(world: IntakeWorld) -> None:
    invited = world.invited()
    put_forms(world, invited)
    revocation = revoke_invitation(open_store(world.settings.store), "curie", "left the project")
    put_forms(world, InvitationState(invited.invitation, revocation))
    forms = UploadForms.read(fetch(status_address(world.settings, invited.invitation) + "forms.json").content)
    assert (forms.requests, forms.parts, forms.revoked) == ((), (), "left the project")


def test_what_is_not_ours_in_the_status_bucket_counts_as_nothing(world: IntakeWorld) -> None:
    invited = world.invited()
    assert read_forms(world.workspace, invited) is None
    key = f"{world.prefix}/{invited.invitation.secret}/forms.json"
    world.client.put_object(Bucket=world.statuses, Key=key, Body=b"{}")
    assert read_forms(world.workspace, invited) is None


def test_errors_do_not_contain_the_secret(world: IntakeWorld, caplog: pytest.LogCaptureFixture) -> None:
    invited = world.invited()
    world.more["status_bucket"] = "s3://b-that-is-not-there/mail"
    with caplog.at_level("DEBUG", "lambench.events"):
        for act in (lambda: put_forms(world, invited), lambda: put_status(world, invited, **{EMT: "said"})):
            with pytest.raises(StoreError, match="status_bucket: there is no such bucket") as raised:
                act()
            assert invited.invitation.secret not in raised.value.remedy
        del world.more["status_bucket"]
        put_forms(world, invited)
    events = [str(vars(record)) for record in caplog.records]
    assert any("mail written" in event for event in events)
    assert not any(invited.invitation.secret in event for event in events)
