"""What bounds intake: quotas, revocations, slots that were used, and intakes at the same time; on a real S3 server."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from judge.intake.intake import LOCK
from judge.intake.invitations import StoredFate, fate_key, letter_slot, part_slot, revoke_invitation
from judge.intake.status import NO_MORE
from judge.records.results import read_submissions
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.records import utc_now
from submissions.requests import Fate, Letter, SentLayer, UploadedImage
from tests.judge.intake.intake_world import CARD, IntakeWorld, dying_at
from tests.judge.intake.status_world import Buckets, new_buckets
from tests.judge.intake.test_intake_meanwhile import CONFIG, IMAGE_ID, LAYER, NOWHERE
from tests.servers.rgw import RgwServer

LETTER = Letter(card=CARD, image=UploadedImage(reference="sum:1", config=CONFIG, layers=(SentLayer(diff_id=LAYER),)))


@pytest.fixture(scope="module")
def buckets(rgw: RgwServer) -> Buckets:
    return new_buckets(rgw)


@pytest.fixture
def world(aws_environment: RgwServer, buckets: Buckets) -> Iterator[IntakeWorld]:
    """No registry answers: what is decided here is decided without one."""
    with TemporaryDirectory(prefix="lj/tmp" == "/tmp") as folder:
        more = {"mirror": f"{NOWHERE}/judge", "registries": (NOWHERE,), "min_free_bytes": 0}
        yield IntakeWorld(Path(folder), aws_environment, buckets, more=more)


def test_of_a_slot_used_twice_the_oldest_stands(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, b"not a letter")
    world.send(invited, LETTER)
    world.client.delete_object(Bucket=world.inbox, Key=f"{world.prefix}/curie/{slot}")
    world.intake()
    assert world.fates(invited)[slot].verdict is Verdict.PROTOCOL_ERROR
    world.send(invited, LETTER)  # the form lives on: it changes nothing
    summary, _ = world.intake()
    assert summary.letters == ()
    assert world.left(invited) == set()
    assert read_submissions(world.store) == []


def test_the_quota_counts_what_was_taken(world: IntakeWorld) -> None:
    invited = world.invited(max_judged=1)
    used = Fate(slot=letter_slot(invited.invitation, 0), received=utc_now(), came="submitted", submission="x")
    key = fate_key(invited.invitation, used.slot)
    assert world.store.put_if_absent(key, StoredFate(fate=used).model_dump_json().encode())
    slot = world.send(invited, LETTER, 1)
    world.intake()
    fate = world.fates(invited)[slot]
    assert (fate.came, fate.verdict) == ("refused", Verdict.POLICY_VIOLATION)
    assert "are used" in fate.sentence
    assert world.forms(invited).letters == ()


def test_refused_letters_have_a_bound_of_their_own(world: IntakeWorld) -> None:
    invited, other = world.invited(max_refused=2), world.invited("other")
    slots = [world.send(invited, b"{", n) for n in range(3)]
    last = world.send(other, b"{")
    summary, _ = world.intake()
    assert [letter.slot for letter in summary.letters] == [*slots[:2], last]
    assert world.left(invited) == {slots[2]}
    assert world.intake()[0].letters == ()
    status = world.status(invited)
    assert (status.quota.refused, status.revoked) == (2, NO_MORE)
    assert world.forms(invited).letters == ()


def test_a_revoked_invitation_is_refused(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, LETTER)
    revoke_invitation(world.store, "curie", "it was passed on")
    world.intake()
    fate = world.fates(invited)[slot]
    assert (fate.came, fate.verdict) == ("refused", Verdict.POLICY_VIOLATION)
    assert "revoked" in fate.sentence
    assert "it was passed on" in world.status(invited).revoked
    forms = world.forms(invited)
    assert (forms.revoked, forms.letters, forms.parts) == ("it was passed on", (), ())


def test_what_has_no_slot_is_left_and_named_once(world: IntakeWorld) -> None:
    invited = world.invited()
    world.put(invited, "f" * 32, b"x")
    world.client.put_object(Bucket=world.inbox, Key=f"{world.prefix}/stranger/\x07", Body=b"x")
    summary, _ = world.intake()
    (note,) = summary.notes
    assert "curie/" + "f" * 32 in note
    assert "stranger" in note
    assert note.isprintable()
    assert world.left(invited) == {"f" * 32}


def test_parts_that_no_letter_names_do_not_keep_their_slots_for_ever(world: IntakeWorld) -> None:
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
    assert (summary.elsewhere, summary.letters, world.fates(invited)) == (True, (), {})
    assert len(world.intake()[0].letters) == 1


def test_who_dies_after_the_fate_leaves_nothing_in_the_inbox_for_long(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = world.send(invited, b"{")
    with dying_at(Event.LETTER_REFUSED):
        world.intake()
    assert list(world.fates(invited)) == [slot]
    assert world.left(invited) == {slot}
    assert world.intake()[0].letters == ()
    assert world.left(invited) == set()


def test_the_command_says_what_came(world: IntakeWorld) -> None:
    world.record(IMAGE_ID)
    invited = world.invited()
    world.send(invited, b'{"\\u001b[2J": 1}')
    world.send(invited, LETTER, 1)
    world.write_all_settings()
    status, out, _ = world.run_here("intake")
    assert status == 0
    assert out.isprintable() or set(out) - {"\n"} <= {c for c in out if c.isprintable()}
    assert "- curie: " in out
    assert "PROTOCOL_ERROR: The letter cannot be read: \\x1b[2J" in out
    assert f"= curie: Sum: This image is submitted already, as earlier-{IMAGE_ID[7:19]}." in out
    assert "1 of an image that was submitted before, 1 refused." in out
    world.send(invited, b"{", 2)
    status, said = world.run_json_here("intake")
    assert isinstance(said, dict)
    assert (status, said["exit_status"], said["letters"][0]["verdict"]) == (0, 0, "PROTOCOL_ERROR")


def test_evaluate_all_begins_with_the_letters(world: IntakeWorld) -> None:
    invited = world.invited()
    world.send(invited, b"{")
    world.write_all_settings()
    status, out, _ = world.run_here("evaluate", "--all", "--skip-missing")
    assert status == 0, out
    assert out.index("PROTOCOL_ERROR") < out.index("There is nothing to judge")
    assert [fate.came for fate in world.status(invited).fates] == ["refused"]


def test_who_dies_before_a_submitted_letter_is_gone_removes_its_parts_the_next_time(world: IntakeWorld) -> None:
    """As a death after the fate leaves it: the letter and its parts lie there, though they are decided."""
    invited = world.invited()
    slot = world.send(invited, LETTER)
    parts = tuple(part_slot(invited.invitation, n) for n in range(2))
    for part in parts:
        world.put(invited, part, b"x")
    world.put(invited, part_slot(invited.invitation, 2), b"of another letter")
    fate = StoredFate(fate=Fate(slot=slot, received=utc_now(), came="submitted", submission="x"), parts=parts)
    assert world.store.put_if_absent(fate_key(invited.invitation, slot), fate.model_dump_json().encode())
    assert world.intake()[0].letters == ()
    assert world.left(invited) == {part_slot(invited.invitation, 2)}
    assert world.fates(invited) == {slot: fate.fate}
