"""What happens while an intake is at it, and what one finds that died or was overtaken; on a real S3 server."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import judge.intake.upload_bucket
from judge.config import ConfigError
from judge.intake.inbox_listing import FLOODED
from judge.intake.invitations import StoredFate, fate_key, letter_slot, part_slot, revoke_invitation
from judge.intake.retry_queue import write_delayed
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.records import Arrival, ImageRecord, PreflightReport, Submission, submission_id, utc_now
from submissions.requests import Fate, Letter, ReferredImage, SentLayer, SentPart, UploadedImage
from tests.judge.intake.intake_world import CARD, IntakeWorld, at_first
from tests.judge.intake.status_world import Buckets, new_buckets
from tests.servers.rgw import RgwServer

NOWHERE = "127.0.0.1:1"
LAYER = "sha256:" + "1" * 64
CONFIG = json.dumps(
    {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": {"org.lambench.protocol": "1"}, "Entrypoint": ["x"]},
        "rootfs": {"type": "layers", "diff_ids": [LAYER]},
    }
)
IMAGE_ID = "sha256:" + hashlib.sha256(CONFIG.encode()).hexdigest()


@pytest.fixture(scope="module")
def buckets(rgw: RgwServer) -> Buckets:
    return new_buckets(rgw)


@pytest.fixture
def world(aws_environment: RgwServer, buckets: Buckets) -> Iterator[IntakeWorld]:
    """No registry answers: what is decided here is decided without one."""
    with TemporaryDirectory(prefix="lj") as folder:
        more = {"mirror": f"{NOWHERE}/judge", "registries": (NOWHERE,), "min_free_bytes": 0}
        yield IntakeWorld(Path(folder), aws_environment, buckets, more=more)


def uploaded(*parts: SentPart) -> Letter:
    layers = (SentLayer(diff_id=LAYER, parts=parts),)
    return Letter(card=CARD, image=UploadedImage(reference="sum:1", config=CONFIG, layers=layers))


def referred(host: str, digit: str = "2") -> Letter:
    return Letter(card=CARD, image=ReferredImage(reference=f"{host}/sum@sha256:{digit * 64}"))


@contextmanager
def failing_registry(do: Callable[[], object]) -> Iterator[str]:
    """The host of a registry that does something at each request, and then answers that it is broken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            do()
            self.send_error(500)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_settings(world: IntakeWorld, *more: str) -> None:
    """The settings as a file, for commands; a registry that does not exist among them."""
    world.write_settings()
    path = world.root / "judge.toml"
    lines = [f'mirror = "{world.settings.mirror}"', f'registries = ["{NOWHERE}"]', "min_free_bytes = 0", *more]
    path.write_text(path.read_text() + "\n".join([*lines, ""]))


def test_a_revocation_holds_from_the_next_letter_on(world: IntakeWorld) -> None:
    invited = world.invited(max_refused=9)
    for n in range(3):
        world.send(invited, b"{", n)
    with at_first(Event.LETTER_REFUSED, lambda: revoke_invitation(world.store, "curie", "it was passed on")):
        summary, _ = world.intake()
    assert [letter.verdict for letter in summary.letters] == ["PROTOCOL_ERROR", "POLICY_VIOLATION", "POLICY_VIOLATION"]
    forms = world.forms(invited)
    assert (bool(forms.revoked), forms.letters, forms.parts) == (True, (), ())


def test_what_was_submitted_stays_so_though_the_intake_died_and_the_invitation_was_revoked(world: IntakeWorld) -> None:
    invited = world.invited()
    letters = (uploaded(), referred(NOWHERE))
    ids = []
    for n, (letter, image_id) in enumerate(zip(letters, (IMAGE_ID, "sha256:" + "3" * 64), strict=True)):
        slot = world.send(invited, letter, n)
        submission = Submission(
            id=submission_id(CARD.name, image_id),
            created=utc_now(),
            card=CARD,
            image=ImageRecord(reference="sum:1", id=image_id),
            arrival=Arrival(by=letter.image.by, invitation="curie", slot=slot),
            preflight=PreflightReport(checks=()),
        )
        assert world.store.put_if_absent(submission_path(submission.id), submission.model_dump_json().encode())
        ids.append(submission.id)
    refused = world.send(invited, referred(NOWHERE, "4"), 2)
    revoke_invitation(world.store, "curie", "left")
    summary, said = world.intake()
    came = {letter.slot: (letter.came, letter.submission) for letter in summary.letters}
    assert [came[letter_slot(invited.invitation, n)] for n in range(2)] == [("submitted", id) for id in ids], said
    assert came[refused] == ("refused", "")
    assert world.left(invited) == set()


def test_what_another_host_decided_meanwhile_is_no_fault_of_this_one(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = letter_slot(invited.invitation, 0)

    def decide() -> None:
        fate = Fate(slot=slot, received=utc_now(), came="refused", verdict=Verdict.IMAGE_INVALID)
        data = StoredFate(fate=fate).model_dump_json().encode()
        world.store.put_if_absent(fate_key(invited.invitation, slot), data)

    with failing_registry(decide) as host:
        world.send(invited, referred(host))
        summary, _ = replace(world, more={**world.more, "registries": (host,)}).intake()
    assert [(letter.came, letter.verdict) for letter in summary.letters] == [("refused", "IMAGE_INVALID")]
    assert (summary.exit_status, list(world.store.list("delayed/")), world.left(invited)) == (0, [], set())


def test_two_hosts_with_one_store_decide_each_letter_once(world: IntakeWorld) -> None:
    invited = world.invited(max_refused=9)
    for n in range(2):
        world.send(invited, b"{", n)
    other = replace(world, more={**world.more, "run_dir": world.root / "other"})
    theirs = []
    with at_first(Event.MAIL_WRITTEN, lambda: theirs.append(other.intake()[0])):
        summary, _ = world.intake()
    assert [letter.came for letter in (*theirs[0].letters, *summary.letters)] == ["refused"] * 2
    assert (summary.exit_status, world.left(invited)) == (0, set())


def test_no_letter_is_said_to_wait_that_does_not(world: IntakeWorld) -> None:
    invited = world.invited()
    waits = Fate(slot=letter_slot(invited.invitation, 1), received=utc_now(), came="delayed")
    write_delayed(world.store, "curie", waits)
    world.intake()
    assert (list(world.store.list("delayed/")), world.status(invited).fates) == ([], ())


@pytest.mark.docker
def test_a_part_that_comes_after_the_inbox_was_listed_is_seen(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = part_slot(invited.invitation, 0)
    letter = uploaded(SentPart(slot=slot, n_bytes=1, sha256=hashlib.sha256(b"x").hexdigest()))
    world.send(invited, letter)
    with at_first(Event.MAIL_WRITTEN, lambda: world.put(invited, slot, b"x")):
        (came,) = world.intake()[0].letters
    assert (came.verdict, "arrived" in came.sentence) == ("IMAGE_INVALID", False), came.sentence


def test_what_takes_nothing_more_does_not_fill_the_inbox_for_ever(world: IntakeWorld) -> None:
    used_up, revoked = world.invited(max_refused=1), world.invited("joliot")
    for n in range(2):
        world.send(used_up, b"{", n)
    for invited in (used_up, revoked):
        world.put(invited, part_slot(invited.invitation, 0), b"x")
    revoke_invitation(world.store, "joliot", "left")
    world.intake()
    assert (len(world.left(used_up)), len(world.left(revoked))) == (2, 1)
    replace(world, more={**world.more, "form_days": 1e-9}).intake()
    assert (world.left(used_up), world.left(revoked)) == (set(), set())


def test_a_flooded_invitation_is_cleared_and_gets_no_forms(world: IntakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    invited, other = world.invited(), world.invited("joliot")
    slot = letter_slot(invited.invitation, 0)
    for n in range(4):
        world.send(invited, b"{" * (n + 1), 0)
    world.send(other, b"{", 0)
    monkeypatch.setattr(judge.intake.upload_bucket, "MAX_VERSIONS", 2)
    summary, _ = world.intake()
    assert ([letter.invitation for letter in summary.letters], summary.exit_status) == (["joliot"], 1)
    assert summary.flooded == ("curie",)
    assert "3 that do not count were removed; to end it: judge revoke curie --reason WHY" in summary.notes[0]
    (oldest,) = world.versions(f"{world.prefix}/curie/{slot}")
    assert world.content(oldest) == b"{"
    assert (world.forms(invited).letters, world.forms(invited).parts) == ((), ())
    assert world.status(invited).revoked == FLOODED
    summary, _ = world.intake()
    assert ([letter.slot for letter in summary.letters], summary.exit_status) == ([slot], 0)
    assert (world.status(invited).revoked, len(world.forms(invited).letters)) == ("", 3)


def test_without_a_mirror_no_letter_is_opened(world: IntakeWorld) -> None:
    world.send(world.invited(), b"{")
    for wrong in ({"mirror": ""}, {"registry_config": world.root / "absent.json"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            replace(world, more={**world.more, **wrong}).intake()
    assert len(world.intake()[0].letters) == 1


def test_credentials_that_vanish_meanwhile_keep_letters_back(world: IntakeWorld) -> None:
    invited, config = world.invited(max_refused=9), world.root / "config.json"
    config.write_text("{}")
    with failing_registry(lambda: config.unlink(missing_ok=True)) as host:
        for n in range(2):
            world.send(invited, referred(host), n)
        world.send(invited, b"{", 2)
        more = {**world.more, "registries": (host,), "registry_config": config}
        summary, _ = replace(world, more=more).intake()
    assert [letter.came for letter in summary.letters] == ["delayed", "delayed", "refused"]
    assert "registry_config" in summary.letters[1].sentence
    assert summary.mail_written


def test_judging_goes_on_without_the_inbox_and_says_so(world: IntakeWorld) -> None:
    invited = world.invited()
    world.send(invited, b"{")
    for wrong, words in (({"mirror": ""}, "mirror: is not set"), ({"inbox": "s3://no-such-bucket/x"}, "STORE: ")):
        write_settings(replace(world, more={**world.more, **wrong}), 'suite = "quickstart"')
        status, said = world.run_json_here("evaluate", "--all", "--skip-missing")
        assert isinstance(said, dict)
        assert (status, said["exit_status"], said["units"], said["intake"]["letters"]) == (1, 1, [], [])
        assert words in said["intake"]["fault"]
    write_settings(world, 'suite = "quickstart"')
    for mistyped in (("--suite", "nope"), ("--task", "nope")):
        assert world.run_here("evaluate", "--all", *mistyped)[0] == 2
    assert world.fates(invited) == {}  # what was mistyped is said before hours are spent on letters


def test_a_letter_that_no_intake_can_decide_is_refused_by_the_maintainer(world: IntakeWorld) -> None:
    invited = world.invited()
    slot, waits = world.send(invited, referred(NOWHERE), 0), world.send(invited, referred(NOWHERE), 1)
    write_settings(world)
    status, out, _ = world.run_here("intake")
    assert (status, out.count("judge refuse INVITATION LETTER")) == (1, 1)
    assert f"! curie: {slot[:8]} waits: REGISTRY: " in out
    for wrong in (("refuse", "curie", ""), ("refuse", "curie", "f" * 9), ("refuse", "nobody", slot)):
        assert world.run_here(*wrong, "--reason", "never ends")[0] == 2
    assert world.run_here("refuse", "curie", slot)[0] == 2
    status, out, err = world.run_here("refuse", "curie", slot[:8], "--reason", "its layers never end")
    assert status == 0, err
    world.intake()
    status_file = world.status(invited)
    assert {fate.slot: fate.came for fate in status_file.fates} == {slot: "refused", waits: "delayed"}
    assert "its layers never end" in world.fates(invited)[slot].sentence
    assert world.left(invited) == {waits}
