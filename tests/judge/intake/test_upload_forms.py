"""Upload forms on a real S3 server, which accepts only what they allow: our code checks none of it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

from judge.intake.invitations import InvitationState, revoke_invitation, upload_key
from judge.intake.upload_forms import are_temporary, make_forms
from judge.workspace import Workspace
from submissions.records import utc_now
from submissions.requests import MAX_PART_BYTES, MAX_REQUEST_BYTES, UploadForm, UploadForms
from submissions.store.interface import StoreError
from submissions.store.open_store import open_store
from tests.servers.rgw import Buckets, RgwServer
from tests.world.intake import IntakeWorld, post


@pytest.fixture
def world(tmp_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    return IntakeWorld(tmp_path, aws_environment, buckets)


def forms_of(world: IntakeWorld, invited: InvitationState) -> UploadForms:
    return make_forms(world.workspace, invited, (), utc_now())


def altered_policy(form: UploadForm, **changes: object) -> str:
    policy = json.loads(base64.b64decode(form.fields["policy"]))
    return base64.b64encode(json.dumps({**policy, **changes}).encode()).decode()


def code(answer: requests.Response) -> str:
    """The word with which the server refuses."""
    return answer.text.partition("<Code>")[2].partition("</Code>")[0]


def test_what_is_sent_with_a_form_lies_in_the_upload_bucket_under_its_slot(world: IntakeWorld) -> None:
    invited = world.invited()
    forms = forms_of(world, invited)
    assert post(forms.requests[1], b"a letter").status_code == 204
    assert post(forms.parts[2], b"a part").status_code == 204
    contents = {version["Key"]: world.content(version) for version in world.versions()}
    assert contents == {
        f"{world.prefix}/" + upload_key(invited.invitation, forms.requests[1].slot): b"a letter",
        f"{world.prefix}/" + upload_key(invited.invitation, forms.parts[2].slot): b"a part",
    }


def test_there_is_a_form_for_every_open_slot_of_its_own_size(world: IntakeWorld) -> None:
    invited = world.invited()
    forms = forms_of(world, invited)
    assert tuple(form.slot for form in forms.requests) == invited.open_request_slots()
    assert tuple(form.slot for form in forms.parts) == invited.open_part_slots()
    assert {form.max_bytes for form in forms.requests} == {MAX_REQUEST_BYTES}
    assert {form.max_bytes for form in forms.parts} == {MAX_PART_BYTES}
    for form in (*forms.requests, *forms.parts):
        policy = json.loads(base64.b64decode(form.fields["policy"]))
        assert ["content-length-range", 1, form.max_bytes] in policy["conditions"]
        assert {"bucket": world.uploads} in policy["conditions"]
        assert {"key": f"{world.prefix}/curie/{form.slot}"} in policy["conditions"]


def test_a_request_of_the_largest_size_is_taken_and_one_byte_more_is_not(world: IntakeWorld) -> None:
    first, second = forms_of(world, world.invited()).requests[:2]
    assert post(first, bytes(MAX_REQUEST_BYTES)).status_code == 204
    refused = post(second, bytes(MAX_REQUEST_BYTES + 1))
    assert (refused.status_code, code(refused)) == (400, "EntityTooLarge")
    assert [version["Size"] for version in world.versions()] == [MAX_REQUEST_BYTES]


def test_nothing_empty_is_taken(world: IntakeWorld) -> None:
    refused = post(forms_of(world, world.invited()).requests[0], b"")
    assert (refused.status_code, code(refused)) == (400, "EntityTooSmall")
    assert world.versions() == []


def test_a_form_is_good_for_its_own_key_alone(world: IntakeWorld) -> None:
    first, second = forms_of(world, world.invited()).requests[:2]
    joliot = forms_of(world, world.invited("joliot")).requests[0]
    for key in (
        second.fields["key"],
        joliot.fields["key"],
        f"{world.prefix}/curie/x",
        "store/invitations/a.json",
        "${filename}",
    ):
        assert post(first, b"a letter", key=key).status_code == 403, key
    assert world.versions() == []


def test_a_form_is_good_for_its_own_bucket_alone(world: IntakeWorld) -> None:
    form = forms_of(world, world.invited()).requests[0]
    assert form.url.endswith(f"/{world.uploads}")
    assert post(form, b"a letter", url=f"{world.rgw.endpoint}/{world.statuses}").status_code == 403
    assert "Contents" not in world.client.list_objects_v2(Bucket=world.statuses, Prefix=world.prefix)


def test_a_policy_that_was_altered_is_refused(world: IntakeWorld) -> None:
    form = forms_of(world, world.invited()).requests[0]
    later = (utc_now() + timedelta(days=300)).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        ["content-length-range", 1, 10 * MAX_REQUEST_BYTES],
        {"bucket": world.uploads},
        ["starts-with", "$key", ""],
    ]
    for policy in (altered_policy(form, conditions=conditions), altered_policy(form, expiration=later)):
        assert post(form, b"a letter", policy=policy).status_code == 403
    assert world.versions() == []


def test_fields_that_were_altered_added_or_left_out_are_refused(world: IntakeWorld) -> None:
    form = forms_of(world, world.invited()).requests[0]
    signature = form.fields["x-amz-signature"]
    other = ("0" if signature[0] != "0" else "1") + signature[1:]
    scope = form.fields["x-amz-credential"]
    changes = [
        {"x-amz-signature": other},
        {"x-amz-signature": ""},
        {"x-amz-credential": scope.replace("us-east-1", "eu-west-1")},
        {"x-amz-credential": "SOMEBODYELSE" + scope[scope.index("/") :]},
        {"acl": "public-read"},
        {"x-amz-meta-kind": "another"},
    ]
    for change in changes:
        assert post(form, b"a letter", **change).status_code == 403, change
    for name in form.fields:
        less = form.model_copy(update={"fields": {n: value for n, value in form.fields.items() if n != name}})
        assert post(less, b"a letter").status_code in (400, 403), name
    assert world.versions() == []
    assert post(form, b"a letter").status_code == 204  # as it was made it is good


def test_a_form_that_has_expired_is_refused(world: IntakeWorld) -> None:
    world.more["form_days"] = 1.0 / 86_400
    forms = forms_of(world, world.invited())
    assert forms.expires - forms.renewed <= timedelta(seconds=1)
    deadline = utc_now() + timedelta(seconds=20)
    while (answer := post(forms.requests[0], b"a letter")).status_code == 204:
        assert utc_now() < deadline
    assert answer.status_code == 403
    assert utc_now() >= forms.expires
    n = len(world.versions())
    assert post(forms.requests[1], b"a letter").status_code == 403
    assert len(world.versions()) == n


def test_a_form_does_not_end_before_it_says(world: IntakeWorld) -> None:
    forms = forms_of(world, world.invited())
    assert timedelta(days=7, seconds=-1) < forms.expires - forms.renewed <= timedelta(days=7)
    for form in (*forms.requests, *forms.parts):
        policy = json.loads(base64.b64decode(form.fields["policy"]))
        end = datetime.fromisoformat(policy["expiration"])
        assert timedelta(0) <= end - forms.expires < timedelta(minutes=1)


def test_a_slot_that_is_used_twice_keeps_both_and_tells_which_came_first(world: IntakeWorld) -> None:
    form = forms_of(world, world.invited()).requests[0]
    for data in (b"the first", b"the second, longer", b"3"):
        assert post(form, data).status_code == 204
    newest_first = world.versions(form.fields["key"])
    assert [world.content(version) for version in newest_first] == [b"3", b"the second, longer", b"the first"]
    assert [version["IsLatest"] for version in newest_first] == [True, False, False]
    assert len({version["VersionId"] for version in newest_first}) == 3


def test_nothing_in_the_upload_bucket_is_read_or_listed_or_removed_by_anybody_else(world: IntakeWorld) -> None:
    form = forms_of(world, world.invited()).requests[0]
    assert post(form, b"a letter").status_code == 204
    (version,) = world.versions()
    address = f"{world.rgw.endpoint}/{world.uploads}/{version['Key']}"
    bucket = f"{world.rgw.endpoint}/{world.uploads}"
    for url in (
        address,
        f"{address}?versionId={version['VersionId']}",
        bucket,
        f"{bucket}?versions",
        f"{bucket}?policy",
    ):
        assert requests.get(url, timeout=20).status_code == 403, url
    assert requests.put(address, data=b"another", timeout=20).status_code == 403
    assert requests.delete(address, timeout=20).status_code == 403
    assert [world.content(each) for each in world.versions()] == [b"a letter"]


def test_another_user_of_the_same_service_can_do_no_more(world: IntakeWorld) -> None:
    stranger = world.rgw.client(*world.rgw.new_user())
    with pytest.raises(stranger.exceptions.ClientError, match="AccessDenied"):
        stranger.list_objects_v2(Bucket=world.uploads)
    with pytest.raises(stranger.exceptions.ClientError, match="AccessDenied"):
        stranger.list_objects_v2(Bucket=world.statuses)


def test_a_revoked_invitation_gets_no_forms(world: IntakeWorld) -> None:
    invited = world.invited()
    before = forms_of(world, invited)
    revocation = revoke_invitation(open_store(world.settings.store), "curie", "left the project")
    after = forms_of(world, InvitationState(invited.invitation, revocation))
    assert (after.requests, after.parts, after.layers) == ((), (), ())
    assert after.revoked == "left the project"
    # What was fetched before lives on until it expires: that is the longest delay, and intake refuses what comes.
    assert post(before.requests[0], b"a letter").status_code == 204


def test_a_policy_of_the_bucket_ends_the_forms_of_one_author_at_once(world: IntakeWorld) -> None:
    """The bucket policy of docs/operating.md that ends the forms of one author at once."""
    curie, joliot = (forms_of(world, world.invited(name)).requests[0] for name in ("curie", "joliot"))
    denied = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject"}
    statement = {**denied, "Resource": f"arn:aws:s3:::{world.uploads}/{world.prefix}/curie/*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    world.client.put_bucket_policy(Bucket=world.uploads, Policy=json.dumps(policy))
    try:
        assert post(curie, b"a letter").status_code == 403
        assert post(joliot, b"a letter").status_code == 204
    finally:
        world.client.delete_bucket_policy(Bucket=world.uploads)
    assert post(curie, b"a letter").status_code == 204


def test_signing_asks_nobody(world: IntakeWorld) -> None:
    world.more["endpoint_url"] = "http://127.0.0.1:9"  # where nothing answers
    forms = make_forms(Workspace(world.settings), world.invited(n_parts=64), (), utc_now())
    assert len(forms.parts) == 64


def test_missing_credentials_are_reported_in_one_line(world: IntakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(StoreError, match="upload_bucket: no AWS credentials here"):
        make_forms(Workspace(world.settings), world.invited(), (), utc_now())


def test_forms_end_with_the_temporary_credentials_that_sign_them(
    world: IntakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not are_temporary(world.client)
    end = (utc_now() + timedelta(hours=3)).replace(microsecond=0)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a token")
    monkeypatch.setenv("AWS_CREDENTIAL_EXPIRATION", end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    workspace = Workspace(world.settings)
    forms = make_forms(workspace, world.invited(), (), utc_now())
    assert timedelta(seconds=-2) < forms.expires - end <= timedelta(0)
    assert forms.requests[0].fields["x-amz-security-token"] == "a token"
    assert are_temporary(workspace.s3)


def test_filled_slots_are_not_offered_again(world: IntakeWorld) -> None:
    invited = world.invited()
    first = forms_of(world, invited)
    filled = {first.requests[0].slot, first.parts[1].slot}
    again = make_forms(world.workspace, invited, (), utc_now(), filled)
    assert [form.slot for form in again.requests] == [form.slot for form in first.requests[1:]]
    assert [form.slot for form in again.parts] == [first.parts[n].slot for n in (0, 2, 3)]
