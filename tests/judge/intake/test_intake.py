"""Intake with a real S3 server, registry and engine: decisions about requests, and judges that die in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from judge.intake.invitations import read_invitation, revoke_invitation
from judge.records.results import read_submissions
from sandbox.driver import Image
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.records import Submission, submission_id
from submissions.requests import ReferredImage, SubmissionRequest
from tests.servers.registry import RegistryServer
from tests.servers.rgw import Buckets, RgwServer
from tests.world.authors import Authors
from tests.world.events import dying_at
from tests.world.intake import CARD, IntakeWorld, Pushed, post

pytestmark = pytest.mark.docker

NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def authors(engine: docker.DockerClient, registry: RegistryServer) -> Iterator[Authors]:
    if not engine.images.list("lambench/base:latest"):
        pytest.skip("lambench/base:latest is not here: make images")
    authors = Authors(engine, registry)
    try:
        yield authors
    finally:
        authors.close()


@pytest.fixture(scope="module")
def good(authors: Authors) -> Pushed:
    """An image that passes the preflight."""
    return authors.image("good")


@pytest.fixture(scope="module")
def failing(authors: Authors) -> Pushed:
    """An image that ends at once."""
    return authors.image("failing", "/bin/no-such-program")


@pytest.fixture
def world(short_path: Path, aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer) -> IntakeWorld:
    more = {"mirror": f"{registry.host}/judge/images", "registries": (registry.host,)}
    return IntakeWorld(short_path, aws_environment, buckets, more=more)


def test_two_authors_one_by_reference_and_one_by_upload(world: IntakeWorld, authors: Authors, good: Pushed) -> None:
    """The author's way: forms from the status bucket, requests by the forms, the outcome from the status bucket."""
    ada, ben = world.invited("ada"), world.invited("ben", n_parts=30)
    summary, _ = world.intake()
    assert (summary.invitations, summary.decisions, summary.exit_status) == (2, (), 0)
    forms = world.forms(ada)
    assert post(forms.requests[0], good.request.model_dump_json().encode()).status_code in (200, 201, 204)
    other = authors.image("uploaded")
    world.send(ben, world.upload(ben, other, held=()))
    for image in (good, other):
        authors.forget(image)  # what is run then was pulled from the mirror
    summary, output = world.intake()
    assert [(request.invitation, request.outcome) for request in summary.decisions] == [
        ("ada", "submitted"),
        ("ben", "submitted"),
    ], output
    first, second = read_submissions(world.store)
    assert (first.author, first.image.id, first.image.reference) == ("Ada", good.id, good.reference)
    assert (first.arrival.by, first.arrival.invitation, first.arrival.slot) == (
        "reference",
        "ada",
        forms.requests[0].slot,
    )
    assert (second.author, second.image.id, second.image.reference) == ("Ben", other.id, "sum:1")
    assert (second.arrival.by, second.arrival.invitation) == ("upload", "ben")
    for submission in (first, second):
        assert submission.image.mirror.startswith(f"{world.settings.mirror}@sha256:")
        assert [check.passed for check in submission.preflight.checks if check.gating] == [True, True, True]
    assert (world.left(ada), world.left(ben)) == (set(), set())
    status = world.status(ben)
    assert [(decision.outcome, decision.submission) for decision in status.decisions] == [("submitted", second.id)]
    assert [(each.submission, each.state, each.position) for each in status.submissions] == [(second.id, "waiting", 2)]
    assert status.quota.judged == 1
    # The own layers need not be sent again; the other author's must.
    layers = {invited.invitation.name: set(world.forms(invited).layers) for invited in (ada, ben)}
    assert len(layers["ada"]) == len(layers["ben"]) == 3
    assert len(layers["ada"] & layers["ben"]) == 2
    assert world.intake()[0].decisions == ()


def test_broken_requests_are_refused_and_gone(world: IntakeWorld, failing: Pushed, registry: RegistryServer) -> None:
    invited = world.invited(max_judged=20, max_refused=20)
    absent = SubmissionRequest(
        card=CARD, image=ReferredImage(reference=f"{registry.host}/authors/good@sha256:{'0' * 64}")
    )
    foreign = SubmissionRequest(card=CARD, image=ReferredImage(reference=f"registry.example/x@sha256:{'0' * 64}"))
    kinds: list[tuple[SubmissionRequest | bytes, Verdict, str]] = [
        (b"{", Verdict.PROTOCOL_ERROR, "cannot be read"),
        (
            b'{"card": {"name": "x"}, "image": {"by": "reference", "reference": "x"}, "me": 1}',
            Verdict.PROTOCOL_ERROR,
            "me",
        ),
        (b" " * (1024**2 + 1), Verdict.OUTPUT_LIMIT, "larger than"),
        (absent, Verdict.IMAGE_INVALID, ""),
        (foreign, Verdict.IMAGE_INVALID, "registry.example"),
        (failing.request, Verdict.IMAGE_INVALID, "It was tried on the CPU."),
    ]
    slots = [world.send(invited, request, n) for n, (request, _, _) in enumerate(kinds)]
    summary, output = world.intake()
    decisions = world.decisions(invited)
    for slot, (_, verdict, words) in zip(slots, kinds, strict=True):
        assert (decisions[slot].outcome, decisions[slot].verdict) == ("refused", verdict), (decisions[slot], output)
        assert words in decisions[slot].sentence
    assert [request.slot for request in summary.decisions] == slots  # the oldest first
    assert summary.exit_status == 0
    assert world.left(invited) == set()
    assert read_submissions(world.store) == []
    assert world.status(invited).quota.refused == len(kinds)
    # The last one failed only in the preflight: its layers need not be sent again.
    verified = read_invitation(world.store, "curie").decisions[slots[-1]].layers
    assert (len(verified), set(world.forms(invited).layers)) == (3, set(verified))


def test_parts_that_are_not_as_described_are_refused_and_used_up(
    world: IntakeWorld, authors: Authors, good: Pushed
) -> None:
    invited = world.invited(n_parts=30, max_refused=5)
    request = world.upload(invited, good, held=())
    first = request.image.layers[0].parts[0]  # type: ignore[union-attr]
    data = world.content(world.versions(f"{world.prefix}/curie/{first.slot}")[0])
    world.client.delete_object(Bucket=world.uploads, Key=f"{world.prefix}/curie/{first.slot}")  # changes nothing
    lying = SubmissionRequest.model_validate_json(request.model_dump_json().replace(first.sha256, "0" * 64))
    slot = world.send(invited, lying)
    world.intake()
    decision = world.decisions(invited)[slot]
    assert (decision.verdict, "other bytes" in decision.sentence) == (Verdict.IMAGE_INVALID, True), decision
    assert world.left(invited) == set()
    # A slot that was used is not open again, and what comes into it is not kept.
    world.put(invited, first.slot, data)
    slot = world.send(invited, request, 1)
    world.intake()
    assert "not open for parts" in world.decisions(invited)[slot].sentence
    assert world.left(invited) == set()
    offered = {form.slot for form in world.forms(invited).parts}
    assert len(offered) == 30
    assert first.slot not in offered


def test_an_image_that_was_submitted_points_to_that(world: IntakeWorld, good: Pushed) -> None:
    earlier = world.record("Earlier", Image("earlier:1", good.id, "docker"), CARD)
    invited = world.invited()
    other_card = SubmissionRequest(card=CARD.model_copy(update={"name": "Mine"}), image=good.request.image)
    slots = [world.send(invited, request, n) for n, request in enumerate((good.request, other_card))]
    world.intake()
    first, second = (world.decisions(invited)[slot] for slot in slots)
    assert (first.outcome, first.submission, second.outcome) == ("duplicate", earlier.id, "duplicate")
    assert "card is fixed" in second.sentence
    assert "card is fixed" not in first.sentence
    status = world.status(invited)
    assert (status.quota.judged, status.quota.refused, status.submissions) == (0, 0, ())


def test_another_image_of_the_same_id_is_refused(world: IntakeWorld, good: Pushed) -> None:
    twin = good.id[:19] + "f" * 52
    earlier = world.record("Earlier", Image("earlier:1", twin, "docker"), CARD)
    taken = earlier.model_copy(update={"id": submission_id(CARD.name, good.id)})
    world.store.put(submission_path(taken.id), taken.model_dump_json().encode())
    invited = world.invited()
    slot = world.send(invited, good.request)
    world.intake()
    assert "build it again" in world.decisions(invited)[slot].sentence
    assert Submission.read(world.store.get(submission_path(taken.id))) == taken


def test_a_broken_record_delays_requests_of_that_model_alone(world: IntakeWorld) -> None:
    world.store.put(submission_path("sum-0123456789ab"), b"{ broken")
    invited = world.invited()
    request = SubmissionRequest(card=CARD, image=ReferredImage(reference=f"{NOWHERE}/sum:1"))
    other = request.model_copy(update={"card": CARD.model_copy(update={"name": "other"})})
    slots = [world.send(invited, request, 0), world.send(invited, other, 1)]
    summary, _ = world.intake()
    decisions = {decision.slot: decision for decision in summary.decisions}
    assert decisions[slots[0]].outcome == "delayed"
    assert "submissions/sum-0123456789ab/submission.json" in decisions[slots[0]].sentence
    assert decisions[slots[1]].outcome == "refused"


def test_the_judges_own_fault_counts_nowhere(world: IntakeWorld, failing: Pushed) -> None:
    invited = world.invited()
    slot = world.send(invited, failing.request)
    broken = world.with_settings(mirror=f"{NOWHERE}/judge")
    summary, _ = broken.intake()
    assert (summary.counts["delayed"], summary.exit_status) == (1, 1)
    assert NOWHERE in summary.decisions[0].sentence  # the maintainer sees what to correct
    status = world.status(invited)
    assert [(decision.slot, decision.outcome) for decision in status.decisions] == [(slot, "delayed")]
    assert "127.0.0.1" not in status.model_dump_json()  # the author sees nothing of the judge's machines
    assert (status.quota.judged, status.quota.refused) == (0, 0)
    assert world.decisions(invited) == {}
    assert world.left(invited) == {slot}
    assert slot not in {form.slot for form in world.forms(invited).requests}
    summary, _ = world.intake()
    assert [request.outcome for request in summary.decisions] == ["refused"]
    assert [decision.outcome for decision in world.status(invited).decisions] == ["refused"]
    assert list(world.store.list("delayed/")) == []


def test_wherever_it_dies_nothing_is_lost_or_doubled(world: IntakeWorld, good: Pushed) -> None:
    """By upload, so that the parts must exist as long as they are needed."""
    invited = world.invited(n_parts=30)
    slot = world.send(invited, world.upload(invited, good, held=()))
    for step in (Event.IMAGE_MIRRORED, Event.READY, Event.REQUEST_TAKEN):
        with dying_at(step):
            world.intake()
        assert world.decisions(invited) == {}
        assert len(read_submissions(world.store)) == (step is Event.REQUEST_TAKEN)
        assert len(world.left(invited)) > 1
    revoke_invitation(world.store, "curie", "it was passed on")  # what was taken before stays taken
    world.intake()
    (submission,) = read_submissions(world.store)
    stored = read_invitation(world.store, "curie").decisions[slot]
    assert (stored.decision.outcome, stored.decision.submission, len(stored.layers)) == ("submitted", submission.id, 3)
    assert world.left(invited) == set()
    assert world.intake()[0].decisions == ()
    assert [each.submission for each in world.status(invited).submissions] == [submission.id]


def test_only_layers_that_are_public_may_be_left_out(world: IntakeWorld, failing: Pushed) -> None:
    world.write_settings()
    status, out, _ = world.run_here("layers", "add", failing.id)
    assert status == 0
    assert "3 layers; 3 of them were not public before" in out
    _, listed = world.run_json_here("layers", "list")
    assert isinstance(listed, list)
    held = {layer["diff_id"] for layer in listed}
    invited = world.invited(max_refused=5)
    request = world.upload(invited, failing, held)
    assert world.left(invited) == set()  # nothing at all had to be sent
    # What lies in the mirror but is not public: a stranger's, which nobody has by its name alone.
    secret = request.image.layers[-1].diff_id  # type: ignore[union-attr]
    key = f"layers-public/{secret.removeprefix('sha256:')}.json"
    record_of_it = world.store.get(key)
    world.store.delete(key)
    slot = world.send(invited, request)
    world.intake()
    decision = world.decisions(invited)[slot]
    assert (decision.outcome, decision.verdict) == ("refused", Verdict.IMAGE_INVALID)
    assert f"{secret}, was left out, but its author may not leave it out" in decision.sentence
    assert secret not in world.forms(invited).layers
    world.store.put(key, record_of_it)
    world.send(invited, request, 1)
    summary, output = world.intake()
    assert "Python" in summary.decisions[0].sentence, (summary, output)  # it came as far as the preflight
    assert set(world.forms(invited).layers) == held
    status, _, err = world.run_here("layers", "add", "lambench/no-such-image")
    assert status == 2
    assert "no-such-image" in err
