"""Intake, all real (S3 server, registry, engine): what comes of letters, and of judges that die on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import docker
import pytest

from judge.intake.invitations import read_invitation, revoke_invitation
from judge.records.results import read_submissions
from sandbox.events import Event
from sandbox.verdict import Verdict
from submissions.preflight.acceptance import submission_path
from submissions.records import Submission, submission_id
from submissions.requests import Letter, ReferredImage
from tests.judge.intake.intake_world import CARD, Authors, IntakeWorld, Pushed, dying_at
from tests.judge.intake.status_world import Buckets, new_buckets, post
from tests.servers.registry import RegistryServer
from tests.servers.rgw import RgwServer

pytestmark = pytest.mark.docker

NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def buckets(rgw: RgwServer) -> Buckets:
    return new_buckets(rgw)


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
def world(aws_environment: RgwServer, buckets: Buckets, registry: RegistryServer) -> Iterator[IntakeWorld]:
    with TemporaryDirectory(prefix="lj/tmp" == "/tmp") as folder:  # short: a socket's path has at most 107 bytes
        root = Path(folder)
        more: dict[str, Any] = {
            "mirror": f"{registry.host}/judge/images",
            "registries": (registry.host,),
            "run_dir": root / "run",
            "data": root / "data",
            "key_file": root / "signing.key",
            "min_free_bytes": 0,
            "intake_gpu": "cpu",
            "limits": {"startup_s": 30, "message_s": 30, "cpus": 1},
        }
        yield IntakeWorld(root, aws_environment, buckets, more=more)


def test_two_authors_one_by_reference_and_one_by_upload(world: IntakeWorld, authors: Authors, good: Pushed) -> None:
    """As authors do it: forms from the mail, letters by the forms, the outcome from the mail."""
    ada, ben = world.invited("ada"), world.invited("ben", n_parts=30)
    summary, _ = world.intake()
    assert (summary.invitations, summary.letters, summary.exit_status) == (2, (), 0)
    forms = world.forms(ada)
    assert post(forms.letters[0], good.letter.model_dump_json().encode()).status_code in (200, 201, 204)
    other = authors.image("uploaded")
    world.send(ben, world.upload(ben, other, held=()))
    for image in (good, other):
        authors.forget(image)  # what is run then was pulled from the mirror
    summary, said = world.intake()
    assert [(letter.invitation, letter.came) for letter in summary.letters] == [
        ("ada", "submitted"),
        ("ben", "submitted"),
    ], said
    first, second = read_submissions(world.store)
    assert (first.author, first.image.id, first.image.reference) == ("Ada", good.id, good.reference)
    assert (first.arrival.by, first.arrival.invitation, first.arrival.slot) == (
        "reference",
        "ada",
        forms.letters[0].slot,
    )
    assert (second.author, second.image.id, second.image.reference) == ("Ben", other.id, "sum:1")
    assert (second.arrival.by, second.arrival.invitation) == ("upload", "ben")
    for submission in (first, second):
        assert submission.image.mirror.startswith(f"{world.settings.mirror}@sha256:")
        assert [check.passed for check in submission.preflight.checks if check.gating] == [True, True, True]
    assert (world.left(ada), world.left(ben)) == (set(), set())
    status = world.status(ben)
    assert [(fate.came, fate.submission) for fate in status.fates] == [("submitted", second.id)]
    assert [(each.submission, each.state, each.position) for each in status.submissions] == [(second.id, "waiting", 2)]
    assert status.quota.judged == 1
    # The own layers need not be sent again; the other author's must.
    layers = {invited.invitation.name: set(world.forms(invited).layers) for invited in (ada, ben)}
    assert len(layers["ada"]) == len(layers["ben"]) == 3
    assert len(layers["ada"] & layers["ben"]) == 2
    assert world.intake()[0].letters == ()


def test_broken_letters_are_refused_and_gone(world: IntakeWorld, failing: Pushed, registry: RegistryServer) -> None:
    invited = world.invited(max_judged=20, max_refused=20)
    absent = Letter(card=CARD, image=ReferredImage(reference=f"{registry.host}/authors/good@sha256:{'0' * 64}"))
    foreign = Letter(card=CARD, image=ReferredImage(reference=f"registry.example/x@sha256:{'0' * 64}"))
    kinds: list[tuple[Letter | bytes, Verdict, str]] = [
        (b"{", Verdict.PROTOCOL_ERROR, "cannot be read"),
        (
            b'{"card": {"name": "x"}, "image": {"by": "reference", "reference": "x"}, "me": 1}',
            Verdict.PROTOCOL_ERROR,
            "me",
        ),
        (b" " * (1024**2 + 1), Verdict.OUTPUT_LIMIT, "larger than"),
        (absent, Verdict.IMAGE_INVALID, ""),
        (foreign, Verdict.IMAGE_INVALID, "registry.example"),
        (failing.letter, Verdict.IMAGE_INVALID, "It was tried on the CPU."),
    ]
    slots = [world.send(invited, letter, n) for n, (letter, _, _) in enumerate(kinds)]
    summary, said = world.intake()
    fates = world.fates(invited)
    for slot, (_, verdict, words) in zip(slots, kinds, strict=True):
        assert (fates[slot].came, fates[slot].verdict) == ("refused", verdict), (fates[slot], said)
        assert words in fates[slot].sentence
    assert [letter.slot for letter in summary.letters] == slots  # the oldest first
    assert summary.exit_status == 0
    assert world.left(invited) == set()
    assert read_submissions(world.store) == []
    assert world.status(invited).quota.refused == len(kinds)
    # The last one failed only in the preflight: its layers need not be sent again.
    verified = read_invitation(world.store, "curie").fates[slots[-1]].layers
    assert (len(verified), set(world.forms(invited).layers)) == (3, set(verified))


def test_parts_that_are_not_as_described_are_refused_and_used_up(
    world: IntakeWorld, authors: Authors, good: Pushed
) -> None:
    invited = world.invited(n_parts=30, max_refused=5)
    letter = world.upload(invited, good, held=())
    first = letter.image.layers[0].parts[0]  # type: ignore[union-attr]
    data = world.content(world.versions(f"{world.prefix}/curie/{first.slot}")[0])
    world.client.delete_object(Bucket=world.inbox, Key=f"{world.prefix}/curie/{first.slot}")  # changes nothing
    lying = Letter.model_validate_json(letter.model_dump_json().replace(first.sha256, "0" * 64))
    slot = world.send(invited, lying)
    world.intake()
    fate = world.fates(invited)[slot]
    assert (fate.verdict, "other bytes" in fate.sentence) == (Verdict.IMAGE_INVALID, True), fate
    assert world.left(invited) == set()
    # A slot that was used is not open again, and what comes into it is not kept.
    world.put(invited, first.slot, data)
    slot = world.send(invited, letter, 1)
    world.intake()
    assert "not open for parts" in world.fates(invited)[slot].sentence
    assert world.left(invited) == set()
    offered = {form.slot for form in world.forms(invited).parts}
    assert len(offered) == 30
    assert first.slot not in offered


def test_an_image_that_was_submitted_points_to_that(world: IntakeWorld, good: Pushed) -> None:
    earlier = world.record(good.id)
    invited = world.invited()
    other_card = Letter(card=CARD.model_copy(update={"name": "Mine"}), image=good.letter.image)
    slots = [world.send(invited, letter, n) for n, letter in enumerate((good.letter, other_card))]
    world.intake()
    first, second = (world.fates(invited)[slot] for slot in slots)
    assert (first.came, first.submission, second.came) == ("duplicate", earlier.id, "duplicate")
    assert "card is fixed" in second.sentence
    assert "card is fixed" not in first.sentence
    status = world.status(invited)
    assert (status.quota.judged, status.quota.refused, status.submissions) == (0, 0, ())


def test_another_image_of_the_same_id_is_refused(world: IntakeWorld, good: Pushed) -> None:
    twin = good.id[:19] + "f" * 52
    earlier = world.record(twin)
    taken = earlier.model_copy(update={"id": submission_id(CARD.name, good.id)})
    world.store.put(submission_path(taken.id), taken.model_dump_json().encode())
    invited = world.invited()
    slot = world.send(invited, good.letter)
    world.intake()
    assert "build it again" in world.fates(invited)[slot].sentence
    assert Submission.read(world.store.get(submission_path(taken.id))) == taken


def test_the_judges_own_fault_counts_nowhere(world: IntakeWorld, failing: Pushed) -> None:
    invited = world.invited()
    slot = world.send(invited, failing.letter)
    broken = world.with_settings(mirror=f"{NOWHERE}/judge")
    summary, _ = broken.intake()
    assert (summary.counts["delayed"], summary.exit_status) == (1, 1)
    assert NOWHERE in summary.letters[0].sentence  # the maintainer is told what to correct
    status = world.status(invited)
    assert [(fate.slot, fate.came) for fate in status.fates] == [(slot, "delayed")]
    assert "127.0.0.1" not in status.model_dump_json()  # the author is not told about the judge's machines
    assert (status.quota.judged, status.quota.refused) == (0, 0)
    assert world.fates(invited) == {}
    assert world.left(invited) == {slot}
    assert slot not in {form.slot for form in world.forms(invited).letters}
    summary, _ = world.intake()
    assert [letter.came for letter in summary.letters] == ["refused"]
    assert [fate.came for fate in world.status(invited).fates] == ["refused"]
    assert list(world.store.list("delayed/")) == []


def test_wherever_it_dies_nothing_is_lost_or_doubled(world: IntakeWorld, good: Pushed) -> None:
    """By upload, so that the parts must be there as long as they are needed."""
    invited = world.invited(n_parts=30)
    slot = world.send(invited, world.upload(invited, good, held=()))
    for step in (Event.IMAGE_MIRRORED, Event.READY, Event.LETTER_TAKEN):
        with dying_at(step):
            world.intake()
        assert world.fates(invited) == {}
        assert len(read_submissions(world.store)) == (step is Event.LETTER_TAKEN)
        assert len(world.left(invited)) > 1
    revoke_invitation(world.store, "curie", "it was passed on")  # what was taken before stays taken
    world.intake()
    (submission,) = read_submissions(world.store)
    stored = read_invitation(world.store, "curie").fates[slot]
    assert (stored.fate.came, stored.fate.submission, len(stored.layers)) == ("submitted", submission.id, 3)
    assert world.left(invited) == set()
    assert world.intake()[0].letters == ()
    assert [each.submission for each in world.status(invited).submissions] == [submission.id]


def test_only_layers_that_are_public_may_be_left_out(world: IntakeWorld, failing: Pushed) -> None:
    world.write_all_settings()
    status, out, _ = world.run_here("layers", "add", failing.id)
    assert status == 0
    assert "3 layers, of which 3 were not public before" in out
    _, listed = world.run_json_here("layers", "list")
    assert isinstance(listed, list)
    held = {layer["diff_id"] for layer in listed}
    invited = world.invited(max_refused=5)
    letter = world.upload(invited, failing, held)
    assert world.left(invited) == set()  # nothing at all had to be sent
    # What lies in the mirror but is not public: a stranger's, which nobody has by its name alone.
    secret = letter.image.layers[-1].diff_id  # type: ignore[union-attr]
    key = f"layers-public/{secret.removeprefix('sha256:')}.json"
    record_of_it = world.store.get(key)
    world.store.delete(key)
    slot = world.send(invited, letter)
    world.intake()
    fate = world.fates(invited)[slot]
    assert (fate.came, fate.verdict) == ("refused", Verdict.IMAGE_INVALID)
    assert f"{secret}, was left out, and is none that its author may leave out" in fate.sentence
    assert secret not in world.forms(invited).layers
    world.store.put(key, record_of_it)
    world.send(invited, letter, 1)
    summary, said = world.intake()
    assert "Python" in summary.letters[0].sentence, (summary, said)  # it came as far as the preflight
    assert set(world.forms(invited).layers) == held
    status, _, err = world.run_here("layers", "add", "lambench/no-such-image")
    assert status == 2
    assert "no-such-image" in err
