"""`judge invite`, `revoke` and `invitations` with a real S3 server."""

from __future__ import annotations

import base64
import json
import stat
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from judge.intake.invitations import StoredDecision, decision_key, read_invitation
from judge.upkeep.doctor import CheckResult, examine
from submissions.records import utc_now
from submissions.requests import InvitationStatus, InviteFile, RequestDecision, SubmissionProgress, UploadForms
from tests.servers.registry import RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.world.intake import IntakeWorld, post


@pytest.fixture
def world(tmp_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    made = IntakeWorld(tmp_path, aws_environment, buckets)
    made.write_settings()
    return made


def invite(world: IntakeWorld, *arguments: str) -> InviteFile:
    """The invitation file."""
    status, _, err = world.run_here("invite", "curie", *arguments)
    assert (status, err) == (0, "")
    return InviteFile.read((world.root / "curie.invite.json").read_bytes())


def forms_at(file: InviteFile) -> UploadForms:
    """The upload forms, fetched with the invitation file."""
    answer = requests.get(f"{file.status_url}forms.json", timeout=20)
    assert answer.status_code == 200
    return UploadForms.read(answer.content)


def status_at(file: InviteFile) -> InvitationStatus:
    return InvitationStatus.read(requests.get(f"{file.status_url}status.json", timeout=20).content)


def settle(world: IntakeWorld, n: int, outcome: Any) -> None:
    """Stores decisions about submission requests, as intake does."""
    state = read_invitation(world.store, "curie")
    for slot in state.open_request_slots()[:n]:
        stored = StoredDecision(decision=RequestDecision(slot=slot, received=utc_now(), outcome=outcome))
        assert world.store.put_if_absent(decision_key(state.invitation, slot), stored.model_dump_json().encode())


def doctors_findings(world: IntakeWorld) -> dict[str, CheckResult]:
    """The results of `judge doctor`, up to the checks of data and guests."""
    findings = {}
    for finding in examine(world.workspace):
        findings[finding.name] = finding
        if finding.name == "data":
            return findings
    raise AssertionError("the doctor does not look at the data")


def test_one_file_lets_an_author_without_an_account_send_a_request(world: IntakeWorld) -> None:
    file = invite(world)
    forms = forms_at(file)
    assert post(forms.requests[0], b"a letter").status_code == 204
    assert [world.content(version) for version in world.versions()] == [b"a letter"]
    assert (len(forms.requests), len(forms.parts)) == (10, 64)
    assert timedelta(days=6.9) < forms.expires - utc_now() <= timedelta(days=7)
    status = status_at(file)
    assert (status.invitation, status.revoked, status.submissions) == ("curie", "", ())
    assert (status.quota.max_judged, status.quota.max_refused) == (20, 20)


def test_the_file_has_no_credential_and_only_its_owner_reads_it(world: IntakeWorld) -> None:
    file = invite(world)
    path = world.root / "curie.invite.json"
    text = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(json.loads(text)) == {"schema_version", "name", "mail"}
    for secret in (world.rgw.access_key, world.rgw.secret_key, "AWS", "AKIA", "X-Amz", "policy", "signature"):
        assert secret.lower() not in text.lower()
    assert file.status_url.startswith(f"{world.settings.status_url}/")


def test_the_bounds_are_those_that_were_asked_for(world: IntakeWorld) -> None:
    file = invite(world, "--max", "2", "--max-refused", "3", "--parts", "5")
    forms, quota = forms_at(file), status_at(file).quota
    assert (len(forms.requests), len(forms.parts)) == (2, 5)
    assert (quota.max_judged, quota.max_refused) == (2, 3)
    for wrong in (("--max", "0"), ("--max-refused", "0"), ("--parts", "-1"), ("--max", "many")):
        assert world.run_here("invite", "joliot", *wrong)[0] == 2
    assert world.run_here("invite", "Joliot")[0] == 2
    assert len(list(world.store.list("invitations/"))) == 1


def test_a_name_is_invited_once_and_its_file_had_again(world: IntakeWorld) -> None:
    invite(world, "--max", "2")
    path = world.root / "curie.invite.json"
    before = path.read_bytes()
    status, out, err = world.run_here("invite", "curie")
    assert (status, out) == (2, "")
    assert "curie.invite.json exists already" in err
    path.unlink()
    status, _, err = world.run_here("invite", "curie")
    assert (status, err) == (2, "judge: curie is invited already: to have the file again, judge invite curie --again\n")
    assert not path.exists()
    assert world.run_here("invite", "curie", "--again")[0] == 0
    assert path.read_bytes() == before
    assert world.run_here("invite", "curie", "--again", "--out", "other.json")[0] == 0
    assert (world.root / "other.json").read_bytes() == before
    assert world.run_here("invite", "curie", "--again", "--max", "3")[0] == 2
    assert world.run_here("invite", "joliot", "--again")[0] == 2


def test_no_other_file_is_overwritten(world: IntakeWorld) -> None:
    (world.root / "curie.invite.json").write_text("something else")
    (world.root / "link.json").symlink_to("elsewhere.json")
    for arguments in (("curie",), ("curie", "--out", "link.json"), ("curie", "--out", "missing/x.json")):
        status, _, err = world.run_here("invite", *arguments)
        assert (status, err.count("\n")) == (2, 1)
    assert list(world.store.list("")) == []
    invite_elsewhere = world.run_here("invite", "curie", "--out", "new.json")
    assert invite_elsewhere[0] == 0
    assert world.run_here("invite", "curie", "--again")[0] == 2  # with what is there it would not be the same
    assert (world.root / "curie.invite.json").read_text() == "something else"
    assert not (world.root / "elsewhere.json").exists()


def test_revoking_ends_the_forms_and_says_how_long_old_ones_live(world: IntakeWorld) -> None:
    file = invite(world)
    old = forms_at(file)
    status, out, err = world.run_here("revoke", "curie", "--reason", "left the project")
    assert (status, err) == (0, "")
    assert f"until {old.expires:%Y-%m-%d %H:%M} UTC" in out
    forms = forms_at(file)
    assert (forms.requests, forms.parts, forms.revoked) == ((), (), "left the project")
    assert "left the project" in status_at(file).revoked
    assert world.run_here("revoke", "curie", "--reason", "again")[0] == 2
    for arguments in (("curie", "--again"), ("curie", "--out", "new.json")):
        status, _, err = world.run_here("invite", *arguments)
        assert status == 2
        assert "was revoked" in err
    assert forms_at(file).requests == ()


def test_a_reason_and_an_invitation_are_needed_to_revoke(world: IntakeWorld) -> None:
    invite(world)
    assert world.run_here("revoke", "curie")[0] == 2
    status, _, err = world.run_here("revoke", "joliot", "--reason", "why")
    assert (status, err) == (2, "judge: nobody is invited as joliot: see judge invitations\n")
    assert read_invitation(world.store, "curie").revocation is None


def test_a_revocation_holds_even_if_the_status_cannot_be_written(world: IntakeWorld) -> None:
    invite(world)
    status, out, err = world.run_here(
        "revoke", "curie", "--reason", "left", LAMBENCH_STATUS_BUCKET="s3://b-that-is-not-there"
    )
    assert status == 3
    assert "curie: revoked on" in out
    assert "curie is revoked, but its author's status was not written: status_bucket: there is no such bucket" in err
    assert read_invitation(world.store, "curie").revocation


def test_the_progress_in_a_status_stays_until_the_next_intake(world: IntakeWorld) -> None:
    file = invite(world)
    settle(world, 1, "submitted")
    author_status = status_at(file)
    progress = SubmissionProgress(
        submission="emt-0123456789ab", name="EMT", image_id="x", submitted=utc_now(), state="waiting"
    )
    slot = next(iter(read_invitation(world.store, "curie").decisions))
    key = f"invitations/curie/letters/{slot}.json"
    decision = StoredDecision(
        decision=RequestDecision(slot=slot, received=utc_now(), outcome="submitted", submission=progress.submission)
    )
    world.store.put(key, decision.model_dump_json().encode())
    folder = f"{world.prefix}/{file.status_url.rstrip('/').rpartition('/')[2]}"
    body = author_status.model_copy(update={"submissions": (progress,)}).model_dump_json().encode()
    world.client.put_object(Bucket=world.statuses, Key=f"{folder}/status.json", Body=body)
    assert world.run_here("revoke", "curie", "--reason", "left")[0] == 0
    status = status_at(file)
    assert (status.submissions, status.quota.judged, len(status.decisions)) == ((progress,), 1, 1)


def test_the_invitations_are_listed_with_what_is_used(world: IntakeWorld) -> None:
    assert "Nobody is invited yet" in world.run_here("invitations")[1]
    file = invite(world, "--max", "5", "--max-refused", "4")
    settle(world, 2, "submitted")
    settle(world, 1, "refused")
    settle(world, 1, "duplicate")
    assert world.run_here("invite", "joliot")[0] == 0
    assert world.run_here("revoke", "joliot", "--reason", "by [bold]mistake")[0] == 0
    _, rows = world.run_json_here("invitations")
    assert isinstance(rows, list)
    curie, joliot = rows
    assert (curie["judged"], curie["max_judged"], curie["refused"], curie["max_refused"]) == (2, 5, 1, 4)
    assert datetime.fromisoformat(curie["expires"]) == forms_at(file).expires
    assert (joliot["name"], joliot["expires"], joliot["revoked"]) == ("joliot", None, "by [bold]mistake")
    _, out, _ = world.run_here("invitations", COLUMNS="200")
    assert "2/5" in out
    assert "by [bold]mistake" in out
    secret = file.status_url.rstrip("/").rpartition("/")[2]
    assert secret not in out + json.dumps(rows)


def test_nobody_is_invited_before_upload_bucket_and_status_bucket_are_as_they_must_be(world: IntakeWorld) -> None:
    closed = world.rgw.new_bucket()
    for changed, status, words in (
        ({"status_url": ""}, 2, "status_url: is not set: write status_url = "),
        ({"status_bucket": f"s3://{world.uploads}"}, 2, "upload_bucket and status_bucket: one lies within the other"),
        ({"upload_bucket": f"s3://{closed}/in"}, 3, "upload_bucket: a second upload would replace the first"),
        (
            {"status_bucket": f"s3://{closed}/{world.prefix}"},
            3,
            "status_url: what was put into status_bucket cannot be read there (403)",
        ),
    ):
        variables = {f"LAMBENCH_{name.upper()}": value for name, value in changed.items()}
        got, out, err = world.run_here("invite", "curie", **variables)
        assert (got, out, err.count("\n")) == (status, "", 1)
        assert words in err
    assert list(world.store.list("")) == []
    assert not (world.root / "curie.invite.json").exists()


def test_the_doctor_says_the_same_where_they_are_set(world: IntakeWorld) -> None:
    findings = doctors_findings(world)
    assert (findings["upload bucket"].ok, findings["status bucket"].ok) == (True, True)
    world.more = {"status_url": f"{world.rgw.endpoint}/{world.uploads}/mail"}
    findings = doctors_findings(world)
    assert (findings["upload bucket"].ok, findings["status bucket"].ok) == (True, False)
    assert findings["status bucket"].text.startswith(
        "status_url: what was put into status_bucket cannot be read there (403)"
    )
    world.more = {"upload_bucket": ""}
    assert "upload_bucket: is not set" in doctors_findings(world)["upload bucket"].text
    world.more = {"upload_bucket": "", "status_bucket": "", "status_url": ""}
    assert not {"upload bucket", "status bucket", "mirror"} & set(doctors_findings(world))


def test_the_doctor_tries_the_mirror(world: IntakeWorld, private_registry: RegistryServer) -> None:
    assert doctors_findings(world)["mirror"].text.startswith("mirror: is not set")
    world.more = {"mirror": f"{private_registry.host}/judge/images"}
    assert "asks for a credential" in doctors_findings(world)["mirror"].text
    config = world.root / "config.json"
    login = base64.b64encode(f"{private_registry.user}:{private_registry.password}".encode()).decode()
    config.write_text(json.dumps({"auths": {host: {"auth": login} for host in (private_registry.host, "ghcr.io")}}))
    world.more["registry_config"] = config
    finding = doctors_findings(world)["mirror"]
    assert (finding.ok, finding.text) == (True, f"{world.more['mirror']}: written and read; credentials for ghcr.io")
    world.more["registry_config"] = world.root / "absent.json"
    assert "absent.json cannot be read" in doctors_findings(world)["mirror"].text


def test_the_file_had_again_offers_no_slot_that_holds_something(world: IntakeWorld) -> None:
    forms = forms_at(invite(world))
    for form in (forms.requests[0], forms.parts[1]):
        assert post(form, b"x").status_code == 204
    again = forms_at(invite(world, "--again"))
    assert forms.requests[0].slot not in {form.slot for form in again.requests}
    assert forms.parts[1].slot not in {form.slot for form in again.parts}
