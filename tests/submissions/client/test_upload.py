"""The upload of an image: only missing layers, continued after any kill, no slot used twice."""

from __future__ import annotations

import gzip
import hashlib
import signal
from collections.abc import Iterator
from typing import Literal

import docker
import pytest

from sandbox.verdict import Verdict
from submissions.client.sent_record import open_sent_record
from submissions.requests import (
    CLOCK_TOLERANCE,
    FORMS_FILE,
    RequestDecision,
    SubmissionRequest,
    UploadedImage,
    UploadForm,
    UploadForms,
)
from tests.submissions.client.odd_server import Relay, relay
from tests.submissions.small_image import SmallImage, digest, layer, noise, small_image
from tests.world.author_machine import NOW, AuthorMachine, progress_of, status_of

pytestmark = pytest.mark.docker

BASE = layer("base", noise(1_000_000, 1))
MODEL = layer("weights", noise(60_000, 2))
FEW = 120_000


@pytest.fixture(scope="module")
def image(engine: docker.DockerClient) -> Iterator[SmallImage]:
    with small_image(engine, BASE, MODEL, layer("code", b"x = 1\n"), MODEL) as made:
        yield made


def send(author: AuthorMachine, image: SmallImage, *options: str) -> tuple[int, str, str]:
    return author.run(image.name, "--upload", "--no-check", *options)


def spoiled(forms: UploadForms, which: Literal["letters", "parts"], n: int = 0) -> UploadForms:
    """Forms that the server refuses, from the `n`-th on."""
    given: tuple[UploadForm, ...] = getattr(forms, which)
    bad = (form.model_copy(update={"fields": {**form.fields, "key": "elsewhere"}}) for form in given[n:])
    return forms.model_copy(update={which: (*given[:n], *bad)})


def layers_in(author: AuthorMachine, request: SubmissionRequest) -> dict[str, bytes]:
    """The layers that a request names, joined from the parts in the upload bucket; each part is checked."""
    assert isinstance(request.image, UploadedImage)
    arrived, layers = author.arrived(), {}
    for sent in request.image.layers:
        parts = [arrived[part.slot] for part in sent.parts]
        assert all(len(versions) == 1 for versions in parts), "a slot was filled twice"
        whole = [versions[0] for versions in parts]
        assert [hashlib.sha256(data).hexdigest() for data in whole] == [part.sha256 for part in sent.parts]
        assert [len(data) for data in whole] == [part.n_bytes for part in sent.parts]
        if whole:
            layers[sent.diff_id] = gzip.decompress(b"".join(whole))
    return layers


def test_an_image_is_sent_and_can_be_put_together(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms(max_part=FEW, n_parts=60)
    status, out, err = send(author, image, "--author", "Alice")
    assert status == 0, err
    expected = f"small-{image.id[7:19]}"
    assert f"Once the judge has taken it, its ID is {expected}" in out
    (request,) = author.requests()
    assert (request.author, request.card.name, request.image.reference) == ("Alice", "small", image.name)
    assert isinstance(request.image, UploadedImage)
    assert f"sha256:{hashlib.sha256(request.image.config.encode()).hexdigest()}" == image.id
    assert tuple(each.diff_id for each in request.image.layers) == image.diff_ids
    assert request.image.layers[3].parts == (), "of a layer that is there twice the parts are named once"
    assert layers_in(author, request) == {digest(each): each for each in image.layers}
    assert len(request.image.layers[0].parts) == 9
    assert not list((author.root / "cache").rglob("part"))


def test_layers_that_the_judge_has_are_not_sent(author: AuthorMachine, image: SmallImage) -> None:
    with relay(author.rgw.endpoint) as counter:
        author.endpoint = counter.url
        author.put_forms(layers=[digest(BASE)])
        assert send(author, image)[0] == 0
        sent = counter.n_bytes
    (request,) = author.requests()
    assert layers_in(author, request) == {digest(each): each for each in image.layers[1:]}
    new = sum(len(gzip.compress(each)) for each in image.layers[1:3])
    assert new < sent < new + 20_000, "the new layers, three forms and the letter"
    assert len(BASE) > 10 * sent


def test_an_upload_goes_on_where_it_was_cut_off(author: AuthorMachine, image: SmallImage) -> None:
    with relay(author.rgw.endpoint) as counter:
        author.endpoint = counter.url
        author.put_forms(max_part=FEW, n_parts=60)
        before = cut_off(author, image, counter, 300_000, signal.SIGKILL)
        before |= cut_off(author, image, counter, 700_000, signal.SIGINT)
        status, _, err = send(author, image)
        assert status == 0, err
    (request,) = author.requests()
    assert layers_in(author, request) == {digest(each): each for each in image.layers}
    whole = sum(len(versions[0]) for versions in author.arrived().values())
    # Twice the part that was cut off once more, and a kilobyte and a half a form.
    assert whole < counter.n_bytes < whole + 2 * FEW + 2_000 * (len(author.arrived()) + 2)
    assert all(before[slot] == versions for slot, versions in author.arrived().items() if slot in before)


def cut_off(
    author: AuthorMachine, image: SmallImage, counter: Relay, stall_after: int, death: signal.Signals
) -> dict[str, list[bytes]]:
    """The parts that arrived of an upload that was killed after so many bytes."""
    counter.stall(stall_after)
    process = author.start(image.name, "--upload", "--no-check")
    assert counter.stalled.wait(60), process.communicate(timeout=10)
    before = author.arrived()
    process.send_signal(death)
    _, err = process.communicate(timeout=20)
    assert process.returncode == (-death if death == signal.SIGKILL else 130)
    assert "Traceback" not in err
    recorded = [used for each in author.sent().images[image.id].values() for used in each.parts if used.arrived]
    assert {used.part.slot for used in recorded} == set(before) != set()
    counter.go_on()
    return before


def test_a_slot_is_not_used_for_other_bytes(author: AuthorMachine, image: SmallImage) -> None:
    """Parts of another size, as after a change of the forms: earlier parts stay in the bucket, unused."""
    forms = author.put_forms(max_part=FEW, n_parts=20)
    author.put_file(FORMS_FILE, spoiled(forms, "parts", 5).model_dump_json())
    status, _, err = send(author, image)
    assert status == 3
    assert "AccessDenied" in err
    before = author.arrived()
    assert len(before) > 3
    author.put_forms(max_part=FEW + 1000, n_parts=20)
    status, _, err = send(author, image)
    assert status == 0, err
    (request,) = author.requests()
    assert layers_in(author, request) == {digest(each): each for each in image.layers}
    (base,) = (each for each in request.image.layers if each.diff_id == digest(BASE))  # type: ignore[union-attr]
    assert not {part.slot for part in base.parts} & set(before)
    assert set(before) <= set(author.sent().used_slots)


def test_too_few_slots_are_counted_before_anything_is_sent(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms(max_part=FEW, n_parts=5)
    status, _, err = send(author, image)
    assert status == 2
    assert "needs 11 more upload slots for parts of 0.12 MB, and 5 are open" in " ".join(err.split())
    assert author.arrived() == {}


def test_what_compresses_well_needs_fewer_slots_than_its_size(
    author: AuthorMachine, engine: docker.DockerClient
) -> None:
    author.put_forms(max_part=FEW, n_parts=1)
    with small_image(engine, layer("zeros", bytes(1_000_000))) as zeros:
        status, _, err = send(author, zeros)
    assert status == 0, err
    assert [len(each.parts) for each in author.requests()[0].image.layers] == [1]  # type: ignore[union-attr]


def test_two_requests_before_the_next_intake_use_two_slots(author: AuthorMachine, engine: docker.DockerClient) -> None:
    author.put_forms(n_requests=2)
    with (
        small_image(engine, MODEL) as first,
        small_image(engine, layer("a", b"a")) as second,
        small_image(engine) as third,
    ):
        assert send(author, first)[0] == send(author, second)[0] == 0
        assert len({each.slot for each in author.sent().requests}) == 2
        assert {request.image.reference for request in author.requests()} == {first.name, second.name}
        status, _, err = send(author, third)
    assert status == 2
    assert "no submission request can be sent now: 0 of 20 submissions are taken" in err
    assert "see lambench-submit list" in " ".join(err.split())


def test_the_same_image_is_sent_once_unless_it_was_refused(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms(n_requests=3)
    assert send(author, image)[0] == 0
    status, out, _ = send(author, image)
    assert (status, len(author.sent().requests)) == (0, 1)
    assert "This image is sent already, and waits for the judge's next intake: nothing to do." in out
    slot = author.sent().requests[0].slot
    refused = RequestDecision(
        slot=slot, received=NOW, outcome="refused", verdict=Verdict.STARTUP_FAILED, sentence="It fails."
    )
    author.put_status(status_of([refused]))
    before = set(author.arrived())
    (author.root / "lambench.toml").write_text('name = "better"\n')
    assert send(author, image)[0] == 0
    first, second = author.requests()
    assert (first.card.name, second.card.name) == ("small", "better")
    slots = {part.slot for each in second.image.layers for part in each.parts}  # type: ignore[union-attr]
    assert slots
    assert not slots & before
    again = refused.model_copy(update={"slot": author.sent().requests[1].slot})
    author.put_status(status_of([refused, again]))
    author.put_forms(layers=image.diff_ids)  # which the judge has kept
    before = set(author.arrived())
    assert send(author, image)[0] == 0
    assert set(author.arrived()) - before == {author.sent().requests[-1].slot}, "nothing but the letter"
    author.put_status(status_of([refused], [progress_of("better-0123456789ab", image_id=image.id)]))
    status, out = author.run_json(image.name, "--upload", "--no-check")
    assert (status, out) == (0, {"sent": None, "known": "is submitted already as better-0123456789ab"})


def test_parts_that_the_judge_has_cleared_away_are_sent_again(author: AuthorMachine, image: SmallImage) -> None:
    """As it does with old parts that no request names."""
    forms = author.put_forms(max_part=FEW, n_parts=20)
    author.put_file(FORMS_FILE, spoiled(forms, "requests").model_dump_json())
    assert send(author, image)[0] == 3
    before = author.arrived()
    assert len(before) > 3
    author.clear()
    later = {"renewed": forms.renewed + 2 * CLOCK_TOLERANCE, "expires": forms.renewed + 3 * CLOCK_TOLERANCE}
    author.put_file(FORMS_FILE, forms.model_copy(update=later).model_dump_json())
    status, _, err = send(author, image)
    assert status == 0, err
    (request,) = author.requests()
    assert layers_in(author, request) == {digest(each): each for each in image.layers}


def test_a_request_that_would_be_too_large_is_found_before_anything_is_sent(
    author: AuthorMachine, engine: docker.DockerClient
) -> None:
    author.put_forms()
    with small_image(
        engine, MODEL, note='"' * 400_000
    ) as image:  # a quote takes two bytes there, and four in a request
        status, _, err = send(author, image)
    assert status == 2
    assert "the image's configuration alone has 800" in " ".join(err.split())
    assert "give the image fewer labels, variables and steps" in " ".join(err.split())
    assert author.arrived() == {}


def test_one_at_a_time_sends_through_an_invitation(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", author.environment["XDG_STATE_HOME"])
        with open_sent_record(author.invite):
            status, _, err = send(author, image)
    assert status == 2
    assert "another lambench-submit is sending with the invitation alice" in err
    assert send(author, image)[0] == 0


def test_a_record_that_cannot_be_read_is_named(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms()
    assert send(author, image)[0] == 0
    (record,) = (author.root / "state").rglob("*.json")
    record.write_text("{")
    status, _, err = send(author, image)
    assert status == 2
    assert "restore it, or move it away" in " ".join(err.split())


def test_an_image_that_does_not_pass_is_not_sent(author: AuthorMachine, image: SmallImage) -> None:
    author.put_forms()
    status, out, err = author.run(image.name, "--upload")
    assert status == 1, err
    assert "was not submitted" in out
    assert author.arrived() == {}
    assert author.sent().requests == ()
