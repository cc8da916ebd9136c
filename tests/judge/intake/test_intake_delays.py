"""Requests that only fail or wait hold nobody else up, and come to an end; with real servers and hostile registries."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from io import StringIO
from pathlib import Path

import docker
import pytest
from rich.console import Console

from judge.config import JudgeSettings
from judge.images.transfer import FIRST_LOOK_S, RequestFault, Transfer
from judge.intake import retry_queue
from judge.intake.delays import delay
from judge.intake.examiner import Examiner, PendingRequest
from judge.intake.invitations import InvitationState, StoredDecision, create_invitation, request_slot
from judge.intake.retry_queue import delayed_requests
from judge.intake.upload_bucket import UploadBucket, UploadedObject
from judge.workspace import Workspace
from sandbox.events import Event
from sandbox.verdict import FaultCause, JudgeFault, Verdict
from submissions.progress import Reporter
from submissions.records import utc_now
from submissions.requests import ReferredImage, SubmissionRequest
from submissions.store.local import LocalStore
from submissions.store.s3_client import BucketPlace, connect
from tests.servers.hostile_registry import HostileRegistry, hostile_registry
from tests.servers.raw_server import drop_by_drop, raw_server
from tests.servers.registry import RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.world.authors import Authors
from tests.world.events import at_first
from tests.world.intake import CARD, IntakeWorld
from tests.world.small_images import MadeImage, some_tar

NO_DISK_HAS = 1 << 48


@pytest.fixture
def slow() -> Iterator[HostileRegistry]:
    with hostile_registry(byte_every_s=1.0) as registry:
        yield registry


@pytest.fixture
def failing() -> Iterator[HostileRegistry]:
    with hostile_registry(byte_every_s=None) as registry:
        yield registry


@pytest.fixture
def world(
    short_path: Path,
    aws_environment: RgwServer,
    buckets: Buckets,
    registry: RegistryServer,
    slow: HostileRegistry,
    failing: HostileRegistry,
) -> IntakeWorld:
    return world_with(short_path, aws_environment, buckets, registry, slow, failing)


def world_with(
    path: Path, rgw: RgwServer, buckets: Buckets, registry: RegistryServer, *hostile: HostileRegistry
) -> IntakeWorld:
    hosts = (registry.host, *(each.host for each in hostile))
    more = {"mirror": f"{registry.host}/judge/images", "registries": hosts, "max_image_bytes": 2 * NO_DISK_HAS}
    return IntakeWorld(path, rgw, buckets, more=more)


def referred(reference: str) -> SubmissionRequest:
    return SubmissionRequest(card=CARD, image=ReferredImage(reference=reference))


@pytest.mark.docker
@pytest.mark.alone
def test_a_victim_is_decided_within_a_minute_behind_ten_slow_and_ten_failing_requests(
    world: IntakeWorld,
    engine: docker.DockerClient,
    registry: RegistryServer,
    slow: HostileRegistry,
    failing: HostileRegistry,
) -> None:
    eve, mallory, victim = (world.invited(name, max_judged=10) for name in ("eve", "mallory", "victim"))
    for n in range(10):
        world.send(eve, referred(slow.image(MadeImage([some_tar()]))), n)
        stated = 3_000_000 if n % 2 else NO_DISK_HAS
        world.send(mallory, referred(failing.image(MadeImage([some_tar()]), stated)), n)
    authors, decided = Authors(engine, registry), []
    try:
        for n in range(2):
            world.send(victim, authors.image(f"victim{n}").request, n)
            start = time.monotonic()
            with at_first(Event.REQUEST_TAKEN, lambda start=start: decided.append(time.monotonic() - start)):
                summary, output = world.intake()
            outcomes = [(each.invitation, each.outcome) for each in summary.decisions]
            assert sorted(outcomes) == sorted(
                [("eve", "delayed")] * 10 + [("mallory", "delayed")] * 10 + [("victim", "submitted")]
            ), output
            if n:  # the others were delayed before
                assert outcomes[0] == ("victim", "submitted")
    finally:
        authors.close()
    assert max(decided) < 60, decided
    # In each intake once while others wait, and once when all others had their turn.
    assert sum("/blobs/" in path and path.rpartition("/")[2] not in slow.blobs for path in slow.paths) <= 4


@pytest.mark.docker
@pytest.mark.alone
def test_a_victim_is_decided_within_a_minute_behind_ten_slow_hosts_and_ten_failing_ones(
    short_path: Path,
    aws_environment: RgwServer,
    buckets: Buckets,
    registry: RegistryServer,
    engine: docker.DockerClient,
) -> None:
    """Each of another invitation. Half of the slow ones send their manifests slowly, the others their layers."""
    with ExitStack() as servers:
        slow = [servers.enter_context(hostile_registry(0.5, all_slow=n % 2 == 0)) for n in range(10)]
        failing = [servers.enter_context(hostile_registry(None)) for _ in range(10)]
        world = world_with(short_path, aws_environment, buckets, registry, *slow, *failing)
        for n, hostile in enumerate((*slow, *failing)):
            world.send(world.invited(f"eve{n}"), referred(hostile.image(MadeImage([some_tar()]))))
        authors, victim = Authors(engine, registry), world.invited("victim")
        servers.callback(authors.close)
        world.send(victim, authors.image("victim").request)
        decided, start = [], time.monotonic()

        def taken() -> None:
            decided.append(time.monotonic() - start)
            for hostile in slow:  # the rest of the intake is not part of this test
                hostile.over.set()

        with at_first(Event.REQUEST_TAKEN, taken):
            summary, output = world.intake()
    assert decided[0] < 60, output
    assert [each.outcome for each in summary.decisions if each.invitation == "victim"] == ["submitted"], output
    assert len(summary.decisions) == 21, output


@pytest.mark.docker
def test_a_registry_that_needs_longer_than_a_first_look_is_read_in_the_same_intake(
    short_path: Path, aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer
) -> None:
    """After the others; its request is decided as if it had been fast."""
    with hostile_registry(None, waits_s=FIRST_LOOK_S + 1) as slow:
        world = world_with(short_path, aws_environment, buckets, registry, slow)
        made = MadeImage([some_tar()], {"Volumes": {"/data": {}}})
        world.send(world.invited("ada"), referred(slow.honest(made)))
        world.send(world.invited("ben"), b"{}")
        summary, output = world.intake()
    assert [(each.invitation, each.outcome, each.name) for each in summary.decisions] == [
        ("ben", "refused", ""),
        ("ada", "refused", "Sum"),
    ], output
    assert sum("/manifests/" in path for path in slow.paths) >= 2
    assert delayed_requests(world.store) == {}


def test_an_answer_that_is_no_http_delays_its_request_alone(
    short_path: Path, aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer
) -> None:
    answer = drop_by_drop(b"HTTP/1.1 307 Elsewhere\r\nContent-Length: 0\r\nLocation: https://[bad/\r\n\r\n", b"")
    with raw_server(answer) as (host, _):
        more = {"mirror": f"{registry.host}/judge/images", "registries": (host,)}
        world = IntakeWorld(short_path, aws_environment, buckets, more=more)
        slot = world.send(world.invited("eve"), referred(f"{host}/eve/model@sha256:{'0' * 64}"))
        world.send(world.invited("victim"), b"{}")
        summary, output = world.intake()
    assert [(each.invitation, each.outcome) for each in summary.decisions] == [
        ("eve", "delayed"),
        ("victim", "refused"),
    ], output
    assert delayed_requests(world.store) == {("eve", slot): 1}


@pytest.mark.parametrize("stated_bytes", [3_000_000, NO_DISK_HAS])
def test_a_request_that_fails_each_time_is_refused_in_the_end(
    world: IntakeWorld, failing: HostileRegistry, monkeypatch: pytest.MonkeyPatch, stated_bytes: int
) -> None:
    """Also one that states a size for which there is no room."""
    invited, limited = world.invited(), world.with_settings(intake_delays=3)
    slot = world.send(invited, referred(failing.image(MadeImage([some_tar()]), stated_bytes)))
    for _ in range(4):  # within one hour they count once
        assert [each.outcome for each in limited.intake()[0].decisions] == ["delayed"]
    assert delayed_requests(world.store) == {("curie", slot): 1}
    (status,) = world.status(invited).decisions
    assert (status.name, status.outcome, failing.host in status.sentence) == ("Sum", "delayed", False)
    monkeypatch.setattr(retry_queue, "COUNTED_AGAIN_AFTER", timedelta(0))
    assert [limited.intake()[0].decisions[0].outcome for _ in range(2)] == ["delayed", "refused"]
    decision = world.decisions(invited)[slot]
    assert (decision.verdict, "often enough" in decision.sentence) == (Verdict.IMAGE_INVALID, True)
    assert world.status(invited).quota.refused == 1
    assert (world.left(invited), delayed_requests(world.store)) == (set(), {})


@pytest.fixture
def pending(tmp_path: Path) -> PendingRequest:
    """A request; a thousand bytes of its image were fetched."""
    state = InvitationState(create_invitation(LocalStore(tmp_path / "store"), "curie", 3, 3, 3))
    upload, slot = UploadedObject("key", "1", 5, utc_now()), request_slot(state.invitation, 0)
    return PendingRequest(state, slot, upload, frozenset(), {slot: upload}, Transfer(n_bytes=1000))


def examiner_of(tmp_path: Path, **settings: object) -> Examiner:
    workspace = Workspace(
        JudgeSettings(run_dir=tmp_path / "run", store=str(tmp_path / "store"), **settings)  # type: ignore[arg-type]
    )
    bucket = UploadBucket(connect("http://127.0.0.1:1"), BucketPlace("upload_bucket", ""))
    return Examiner(workspace, bucket, Reporter(Console(file=StringIO())), (), ())


def outcome_of(examiner: Examiner, pending: PendingRequest, fault: JudgeFault) -> str:
    decision = delay(examiner, pending, fault)
    return (decision.decision if isinstance(decision, StoredDecision) else decision).outcome


def test_what_is_fetched_in_vain_for_one_request_has_a_bound(tmp_path: Path, pending: PendingRequest) -> None:
    examiner = examiner_of(tmp_path, intake_bytes=2500)
    faults = [RequestFault(FaultCause.REGISTRY, "lost")] * 3
    assert [outcome_of(examiner, pending, fault) for fault in faults] == ["delayed", "delayed", "refused"]


def test_faults_of_the_machine_never_end_a_request(
    tmp_path: Path, pending: PendingRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry_queue, "COUNTED_AGAIN_AFTER", timedelta(0))
    examiner = examiner_of(tmp_path, intake_bytes=1, intake_delays=1)
    faults = [JudgeFault(cause, "broken") for cause in FaultCause]
    faults.append(RequestFault(FaultCause.REGISTRY, "was not asked", counts=False))
    assert {outcome_of(examiner, pending, fault) for fault in faults} == {"delayed"}
    assert delayed_requests(examiner.store) == {("curie", pending.slot): 0}


@pytest.mark.docker
def test_a_container_that_alone_does_not_start_is_the_requests_own_fault(
    tmp_path: Path, pending: PendingRequest, engine: docker.DockerClient
) -> None:
    """Where the engine has run the container of another request, and answers."""
    examiner = examiner_of(tmp_path, intake_delays=1)
    fault = JudgeFault(FaultCause.DOCKER, "the engine cannot start a container")
    assert outcome_of(examiner, pending, fault) == "delayed"
    examiner.n_preflights = 1
    assert outcome_of(examiner, pending, fault) == "refused"
    gpu = JudgeFault(FaultCause.GPU, "it is in use")
    assert outcome_of(examiner, pending, gpu) == "delayed"
