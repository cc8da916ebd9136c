"""The limits of intake: quotas, revocations, used slots, and intakes at the same time; on a real S3 server."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from judge.intake.intake import LOCK
from judge.intake.invitations import StoredDecision, decision_key, part_slot, request_slot, revoke_invitation
from judge.intake.status import EXHAUSTED
from judge.records.results import read_submissions
from sandbox.driver import Image
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.records import utc_now
from submissions.requests import RequestDecision, SentLayer, SubmissionRequest, UploadedImage
from tests.judge.intake.test_intake_meanwhile import CONFIG, IMAGE_ID, LAYER, NOWHERE
from tests.servers.rgw import Buckets, RgwServer
from tests.world.events import dying_at
from tests.world.intake import CARD, IntakeWorld

REQUEST = SubmissionRequest(
    card=CARD, image=UploadedImage(reference="sum:1", config=CONFIG, layers=(SentLayer(diff_id=LAYER),))
)


@pytest.fixture
def world(short_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    """No registry answers: these decisions need none."""
    more = {"mirror": f"{NOWHERE}/judge", "registries": (NOWHERE,)}
    return IntakeWorld(short_path, aws_environment, buckets, more=more)


def test_a_run_directory_that_cannot_be_written_is_one_line(world: IntakeWorld) -> None:
    (world.root / "file").touch()
    run_dir = world.root / "file" / "run"
    world.write_settings(run_dir=str(run_dir))
    status, _, err = world.run_here("intake")
    assert status == 3
    assert err == (
        f"judge: this machine (DISK): cannot write to the run directory {run_dir} (Not a directory): set run_dir\n"
    )


def test_of_a_slot_used_twice_the_oldest_stands(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, b"not a letter")
    world.send(invited, REQUEST)
    world.client.delete_object(Bucket=world.uploads, Key=f"{world.prefix}/curie/{slot}")
    world.intake()
    assert world.decisions(invited)[slot].verdict is Verdict.PROTOCOL_ERROR
    world.send(invited, REQUEST)  # the form lives on: it changes nothing
    summary, _ = world.intake()
    assert summary.decisions == ()
    assert world.left(invited) == set()
    assert read_submissions(world.store) == []


def test_the_quota_counts_what_was_taken(world: IntakeWorld) -> None:
    invited = world.invited(max_judged=1)
    used = RequestDecision(
        slot=request_slot(invited.invitation, 0), received=utc_now(), outcome="submitted", submission="x"
    )
    key = decision_key(invited.invitation, used.slot)
    assert world.store.put_if_absent(key, StoredDecision(decision=used).model_dump_json().encode())
    slot = world.send(invited, REQUEST, 1)
    world.intake()
    decision = world.decisions(invited)[slot]
    assert (decision.outcome, decision.verdict) == ("refused", Verdict.POLICY_VIOLATION)
    assert "are used" in decision.sentence
    assert world.forms(invited).requests == ()


def test_refused_requests_have_a_bound_of_their_own(world: IntakeWorld) -> None:
    invited, other = world.invited(max_refused=2), world.invited("other")
    slots = [world.send(invited, b"{", n) for n in range(3)]
    last = world.send(other, b"{")
    summary, _ = world.intake()
    assert [request.slot for request in summary.decisions] == [*slots[:2], last]
    assert world.left(invited) == {slots[2]}
    assert world.intake()[0].decisions == ()
    status = world.status(invited)
    assert (status.quota.refused, status.revoked) == (2, EXHAUSTED)
    assert world.forms(invited).requests == ()


def test_a_revoked_invitation_is_refused(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, REQUEST)
    revoke_invitation(world.store, "curie", "it was passed on")
    world.intake()
    decision = world.decisions(invited)[slot]
    assert (decision.outcome, decision.verdict) == ("refused", Verdict.POLICY_VIOLATION)
    assert "revoked" in decision.sentence
    assert "it was passed on" in world.status(invited).revoked
    forms = world.forms(invited)
    assert (forms.revoked, forms.requests, forms.parts) == ("it was passed on", (), ())


def test_what_has_no_slot_is_left_and_named_once(world: IntakeWorld) -> None:
    invited = world.invited()
    world.put(invited, "f" * 32, b"x")
    world.client.put_object(Bucket=world.uploads, Key=f"{world.prefix}/stranger/\x07", Body=b"x")
    summary, _ = world.intake()
    (note,) = summary.notes
    assert "curie/" + "f" * 32 in note
    assert "stranger" in note
    assert note.isprintable()
    assert world.left(invited) == {"f" * 32}


def test_parts_that_no_request_names_do_not_keep_their_slots_for_ever(world: IntakeWorld) -> None:
    invited = world.invited(n_parts=3)
    slot = part_slot(invited.invitation, 1)
    world.put(invited, slot, b"x")
    world.intake()
    assert world.left(invited) == {slot}
    assert slot not in {form.slot for form in world.forms(invited).parts}
    world.with_settings(form_days=1e-9).intake()
    assert world.left(invited) == set()
    world.intake()
    offered = {form.slot for form in world.forms(invited).parts}
    # Its author's own record says that his part is there: that slot is never his again, and another one is.
    assert (len(offered), slot in offered) == (3, False)
    world.put(invited, slot, b"by an old form")
    world.intake()
    assert world.left(invited) == set()


def test_a_second_intake_of_this_host_leaves_it_to_the_first(world: IntakeWorld) -> None:
    invited = world.invited()
    world.send(invited, b"{")
    world.settings.run_dir.mkdir(parents=True)
    with (world.settings.run_dir / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        summary, _ = world.intake()
    assert (summary.elsewhere, summary.decisions, world.decisions(invited)) == (True, (), {})
    assert len(world.intake()[0].decisions) == 1


def test_who_dies_after_the_decision_leaves_nothing_in_the_upload_bucket_for_long(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, b"{")
    with dying_at(Event.REQUEST_REFUSED):
        world.intake()
    assert list(world.decisions(invited)) == [slot]
    assert world.left(invited) == {slot}
    assert world.intake()[0].decisions == ()
    assert world.left(invited) == set()


def test_the_command_says_what_came(world: IntakeWorld) -> None:
    world.record("Earlier", Image("earlier:1", IMAGE_ID, "docker"), CARD)
    invited = world.invited()
    world.send(invited, b'{"\\u001b[2J": 1}')
    world.send(invited, REQUEST, 1)
    world.write_settings()
    status, out, _ = world.run_here("intake")
    assert status == 0
    assert out.isprintable() or set(out) - {"\n"} <= {c for c in out if c.isprintable()}
    assert "- curie: " in out
    assert "PROTOCOL_ERROR: The submission request cannot be read: \\x1b[2J" in out
    assert f"= curie: Sum: This image is submitted already, as earlier-{IMAGE_ID[7:19]}." in out
    assert "1 duplicate (the image was submitted before), 1 refused." in out
    world.send(invited, b"{", 2)
    status, answer = world.run_json_here("intake")
    assert isinstance(answer, dict)
    assert (status, answer["exit_status"], answer["letters"][0]["verdict"]) == (0, 0, "PROTOCOL_ERROR")


def test_evaluate_all_begins_with_the_requests(world: IntakeWorld) -> None:
    invited = world.invited()
    world.send(invited, b"{")
    world.write_settings()
    status, out, _ = world.run_here("evaluate", "--all", "--skip-missing")
    assert status == 0, out
    assert out.index("PROTOCOL_ERROR") < out.index("There is nothing to judge")
    assert [decision.outcome for decision in world.status(invited).decisions] == ["refused"]


def test_who_dies_before_a_submitted_request_is_gone_removes_its_parts_the_next_time(world: IntakeWorld) -> None:
    """As after a death between decision and removal: the request and its parts still exist, though they are decided."""
    invited = world.invited()
    slot = world.send(invited, REQUEST)
    parts = tuple(part_slot(invited.invitation, n) for n in range(2))
    for part in parts:
        world.put(invited, part, b"x")
    world.put(invited, part_slot(invited.invitation, 2), b"of another letter")
    decision = StoredDecision(
        decision=RequestDecision(slot=slot, received=utc_now(), outcome="submitted", submission="x"), parts=parts
    )
    assert world.store.put_if_absent(decision_key(invited.invitation, slot), decision.model_dump_json().encode())
    assert world.intake()[0].decisions == ()
    assert world.left(invited) == {part_slot(invited.invitation, 2)}
    assert world.decisions(invited) == {slot: decision.decision}
