"""Changes during an intake, and intakes that died or were overtaken; on a real S3 server."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import judge.intake.upload_bucket
from judge.config import ConfigError
from judge.intake.bucket_listing import FLOODED
from judge.intake.invitations import StoredDecision, decision_key, part_slot, request_slot, revoke_invitation
from judge.intake.retry_queue import DelayedRequest, write_delayed
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.records import Arrival, ImageRecord, PreflightReport, Submission, submission_id, utc_now
from submissions.requests import ReferredImage, RequestDecision, SentLayer, SentPart, SubmissionRequest, UploadedImage
from tests.servers.rgw import Buckets, RgwServer
from tests.world.events import at_first
from tests.world.intake import CARD, IntakeWorld

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


@pytest.fixture
def world(short_path: Path, aws_environment: RgwServer, buckets: Buckets) -> IntakeWorld:
    """No registry answers: these decisions need none."""
    more = {"mirror": f"{NOWHERE}/judge", "registries": (NOWHERE,)}
    return IntakeWorld(short_path, aws_environment, buckets, more=more)


def uploaded(*parts: SentPart) -> SubmissionRequest:
    layers = (SentLayer(diff_id=LAYER, parts=parts),)
    return SubmissionRequest(card=CARD, image=UploadedImage(reference="sum:1", config=CONFIG, layers=layers))


def referred(host: str, digit: str = "2") -> SubmissionRequest:
    return SubmissionRequest(card=CARD, image=ReferredImage(reference=f"{host}/sum@sha256:{digit * 64}"))


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


def test_a_revocation_holds_from_the_next_request_on(world: IntakeWorld) -> None:
    invited = world.invited(max_refused=9)
    for n in range(3):
        world.send(invited, b"{", n)
    with at_first(Event.REQUEST_REFUSED, lambda: revoke_invitation(world.store, "curie", "it was passed on")):
        summary, _ = world.intake()
    assert [request.verdict for request in summary.decisions] == [
        "PROTOCOL_ERROR",
        "POLICY_VIOLATION",
        "POLICY_VIOLATION",
    ]
    forms = world.forms(invited)
    assert (bool(forms.revoked), forms.requests, forms.parts) == (True, (), ())


def test_what_was_submitted_stays_so_though_the_intake_died_and_the_invitation_was_revoked(world: IntakeWorld) -> None:
    invited = world.invited()
    requests = (uploaded(), referred(NOWHERE))
    ids = []
    for n, (request, image_id) in enumerate(zip(requests, (IMAGE_ID, "sha256:" + "3" * 64), strict=True)):
        slot = world.send(invited, request, n)
        submission = Submission(
            id=submission_id(CARD.name, image_id),
            created=utc_now(),
            card=CARD,
            image=ImageRecord(reference="sum:1", id=image_id),
            arrival=Arrival(by=request.image.by, invitation="curie", slot=slot),
            preflight=PreflightReport(checks=()),
        )
        assert world.store.put_if_absent(submission_path(submission.id), submission.model_dump_json().encode())
        ids.append(submission.id)
    refused = world.send(invited, referred(NOWHERE, "4"), 2)
    revoke_invitation(world.store, "curie", "left")
    summary, output = world.intake()
    outcome = {request.slot: (request.outcome, request.submission) for request in summary.decisions}
    assert [outcome[request_slot(invited.invitation, n)] for n in range(2)] == [("submitted", id) for id in ids], output
    assert outcome[refused] == ("refused", "")
    assert world.left(invited) == set()


def test_what_another_host_decided_meanwhile_is_no_fault_of_this_one(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = request_slot(invited.invitation, 0)

    def decide() -> None:
        decision = RequestDecision(slot=slot, received=utc_now(), outcome="refused", verdict=Verdict.IMAGE_INVALID)
        data = StoredDecision(decision=decision).model_dump_json().encode()
        world.store.put_if_absent(decision_key(invited.invitation, slot), data)

    with failing_registry(decide) as host:
        world.send(invited, referred(host))
        summary, _ = world.with_settings(registries=(host,)).intake()
    assert [(request.outcome, request.verdict) for request in summary.decisions] == [("refused", "IMAGE_INVALID")]
    assert (summary.exit_status, list(world.store.list("delayed/")), world.left(invited)) == (0, [], set())


def test_two_hosts_with_one_store_decide_each_request_once(world: IntakeWorld) -> None:
    invited = world.invited(max_refused=9)
    for n in range(2):
        world.send(invited, b"{", n)
    other = world.with_settings(run_dir=world.root / "other")
    theirs = []
    with at_first(Event.STATUS_WRITTEN, lambda: theirs.append(other.intake()[0])):
        summary, _ = world.intake()
    assert [request.outcome for request in (*theirs[0].decisions, *summary.decisions)] == ["refused"] * 2
    assert (summary.exit_status, world.left(invited)) == (0, set())


def test_a_decided_request_is_not_listed_as_waiting(world: IntakeWorld) -> None:
    invited = world.invited()
    waits = RequestDecision(slot=request_slot(invited.invitation, 1), received=utc_now(), outcome="delayed")
    write_delayed(world.store, "curie", DelayedRequest(decision=waits))
    world.intake()
    assert (list(world.store.list("delayed/")), world.status(invited).decisions) == ([], ())


@pytest.mark.docker
def test_a_part_that_comes_after_the_upload_bucket_was_listed_is_seen(world: IntakeWorld) -> None:
    invited = world.invited()
    slot = part_slot(invited.invitation, 0)
    request = uploaded(SentPart(slot=slot, n_bytes=1, sha256=hashlib.sha256(b"x").hexdigest()))
    world.send(invited, request)
    with at_first(Event.STATUS_WRITTEN, lambda: world.put(invited, slot, b"x")):
        (outcome,) = world.intake()[0].decisions
    assert (outcome.verdict, "arrived" in outcome.sentence) == ("IMAGE_INVALID", False), outcome.sentence


def test_what_takes_nothing_more_does_not_fill_the_upload_bucket_for_ever(world: IntakeWorld) -> None:
    used_up, revoked = world.invited(max_refused=1), world.invited("joliot")
    for n in range(2):
        world.send(used_up, b"{", n)
    for invited in (used_up, revoked):
        world.put(invited, part_slot(invited.invitation, 0), b"x")
    revoke_invitation(world.store, "joliot", "left")
    world.intake()
    assert (len(world.left(used_up)), len(world.left(revoked))) == (2, 1)
    world.with_settings(form_days=1e-9).intake()
    assert (world.left(used_up), world.left(revoked)) == (set(), set())


def test_a_flooded_invitation_is_cleared_and_gets_no_forms(world: IntakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    invited, other = world.invited(), world.invited("joliot")
    slot = request_slot(invited.invitation, 0)
    for n in range(4):
        world.send(invited, b"{" * (n + 1), 0)
    world.send(other, b"{", 0)
    monkeypatch.setattr(judge.intake.upload_bucket, "MAX_VERSIONS", 2)
    summary, _ = world.intake()
    assert ([request.invitation for request in summary.decisions], summary.exit_status) == (["joliot"], 1)
    assert summary.flooded == ("curie",)
    assert "3 that do not count were removed; to end it: judge revoke curie --reason WHY" in summary.notes[0]
    (oldest,) = world.versions(f"{world.prefix}/curie/{slot}")
    assert world.content(oldest) == b"{"
    assert (world.forms(invited).requests, world.forms(invited).parts) == ((), ())
    assert world.status(invited).revoked == FLOODED
    summary, _ = world.intake()
    assert ([request.slot for request in summary.decisions], summary.exit_status) == ([slot], 0)
    assert (world.status(invited).revoked, len(world.forms(invited).requests)) == ("", 3)


def test_without_a_mirror_no_request_is_opened(world: IntakeWorld) -> None:
    world.send(world.invited(), b"{")
    for wrong in ({"mirror": ""}, {"registry_config": world.root / "absent.json"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            world.with_settings(**wrong).intake()
    assert len(world.intake()[0].decisions) == 1


def test_credentials_that_vanish_meanwhile_keep_requests_back(world: IntakeWorld) -> None:
    config = world.root / "config.json"
    config.write_text("{}")
    with failing_registry(lambda: config.unlink(missing_ok=True)) as host:
        invited = world.invited(max_refused=9, repositories=(host,))
        for n in range(2):
            world.send(invited, referred(host), n)
        world.send(invited, b"{", 2)
        summary, _ = world.with_settings(registries=(host,), registry_config=config).intake()
    assert [request.outcome for request in summary.decisions] == ["delayed", "delayed", "refused"]
    assert "registry_config" in summary.decisions[1].sentence
    assert summary.status_written


def test_judging_goes_on_without_the_upload_bucket_and_says_so(world: IntakeWorld) -> None:
    invited = world.invited()
    world.send(invited, b"{")
    for wrong, words in (
        ({"mirror": ""}, "mirror: is not set"),
        ({"upload_bucket": "s3://no-such-bucket/x"}, "STORE: "),
    ):
        world.with_settings(**wrong).write_settings()
        status, answer = world.run_json_here("evaluate", "--all", "--skip-missing")
        assert isinstance(answer, dict)
        assert (status, answer["exit_status"], answer["units"], answer["intake"]["letters"]) == (1, 1, [], [])
        assert words in answer["intake"]["fault"]
    world.write_settings()
    for mistyped in (("--suite", "nope"), ("--task", "nope")):
        assert world.run_here("evaluate", "--all", *mistyped)[0] == 2
    assert world.decisions(invited) == {}  # a typing error is reported before the requests are examined


def test_a_request_that_no_intake_can_decide_is_refused_by_the_maintainer(world: IntakeWorld) -> None:
    invited = world.invited()
    slot, waits = world.send(invited, referred(NOWHERE), 0), world.send(invited, referred(NOWHERE), 1)
    world.write_settings()
    status, out, _ = world.run_here("intake")
    assert (status, out.count("judge refuse INVITATION REQUEST")) == (1, 1)
    assert f"! curie: Sum, request {slot[:8]}, is delayed: REGISTRY: " in out
    for wrong in (("refuse", "curie", ""), ("refuse", "curie", "f" * 9), ("refuse", "nobody", slot)):
        assert world.run_here(*wrong, "--reason", "never ends")[0] == 2
    assert world.run_here("refuse", "curie", slot)[0] == 2
    status, out, err = world.run_here("refuse", "curie", slot[:8], "--reason", "its layers never end")
    assert status == 0, err
    world.intake()
    status_file = world.status(invited)
    assert {decision.slot: decision.outcome for decision in status_file.decisions} == {
        slot: "refused",
        waits: "delayed",
    }
    assert "its layers never end" in world.decisions(invited)[slot].sentence
    assert world.left(invited) == {waits}
