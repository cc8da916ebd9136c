"""The author's own record with the judge's newest forms: which uploads count as arrived, which slots are free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from submissions.client.http import FileRefusedError, ServerLostError, WebClient
from submissions.client.remote_submission import SubmissionSession
from submissions.client.sent_record import (
    LayerUpload,
    PartUpload,
    SentRecord,
    SentRecordFile,
    SentRequest,
    open_sent_record,
)
from submissions.client.status_bucket import InviteError, StatusBucket
from submissions.records import ModelCard
from submissions.requests import (
    CLOCK_TOLERANCE,
    InviteFile,
    ReferredImage,
    SentPart,
    SubmissionRequest,
    UploadForm,
    UploadForms,
)
from tests.submissions.client.odd_server import HASTY, OddServer, form_to, odd_server, say, swallow
from tests.world.author_machine import NOW, slot, status_of

IMAGE, LAYER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
LATER = NOW + 2 * CLOCK_TOLERANCE
INVITE = InviteFile(name="ali\x1bce", status_url="http://127.0.0.1/mail/")


def used(slot_id: str, at: datetime = NOW, arrived: bool = True) -> PartUpload:
    return PartUpload(part=SentPart(slot=slot_id, n_bytes=1, sha256="0" * 64), at=at, arrived=arrived)


def request(slot_id: str, arrived: bool) -> SentRequest:
    return SentRequest(slot=slot_id, sent=NOW, name="a", by="upload", reference="a", sha256="0" * 64, arrived=arrived)


def forms(*slots: str, renewed: datetime = LATER, kind: str = "parts") -> UploadForms:
    offered = tuple(form_to("http://127.0.0.1/").model_copy(update={"slot": each}) for each in slots)
    return UploadForms.model_validate({"renewed": renewed, "expires": renewed + timedelta(days=1), kind: offered})


def sent_with(*parts: PartUpload, spent: dict[str, datetime] | None = None) -> SentRecord:
    layer = LayerUpload(parts=parts, whole=True)
    return SentRecord(invitation="alice", images={IMAGE: {LAYER: layer}}, used_slots=spent or {})


def test_a_part_that_the_judge_has_cleared_away_is_not_there() -> None:
    """The layer is then incomplete; its later parts are sent again, into other slots."""
    a, b, c = slot(), slot(), slot()
    sent = sent_with(used(a), used(b), used(c))
    assert sent.images[IMAGE][LAYER].has_arrived
    left = sent.as_of(forms(b))
    assert left.images[IMAGE][LAYER] == LayerUpload(parts=(used(a),))
    assert not left.images[IMAGE][LAYER].has_arrived
    assert left.used_part_slots == {a, c}
    assert left.used_slots == {c: NOW}


def test_a_part_so_old_that_it_may_be_cleared_away_is_sent_into_another_slot() -> None:
    a, life = slot(), timedelta(days=1)
    sent = sent_with(used(a))
    assert sent.as_of(forms(renewed=NOW + 2 * life - 2 * CLOCK_TOLERANCE)) == sent
    left = sent.as_of(forms(renewed=NOW + 2 * life))
    assert left.images[IMAGE][LAYER] == LayerUpload()
    assert left.used_part_slots == {a}


def test_what_is_not_offered_anew_has_arrived() -> None:
    sent = sent_with(used(slot()), used(slot()), spent={slot(): NOW})
    assert sent.as_of(forms(slot())) == sent


@pytest.mark.parametrize("renewed", [NOW - CLOCK_TOLERANCE, NOW, NOW + CLOCK_TOLERANCE])
def test_forms_that_may_be_older_than_what_was_sent_show_nothing(renewed: datetime) -> None:
    a, b, c = slot(), slot(), slot()
    sent = sent_with(used(a), spent={b: NOW}).model_copy(update={"requests": (request(c, False),)})
    assert sent.as_of(forms(a, b, renewed=renewed)) == sent
    assert sent.as_of(forms(c, renewed=renewed, kind="requests")) == sent


def test_slots_without_an_upload_are_free_again() -> None:
    a, b, c, d = slot(), slot(), slot(), slot()
    sent = sent_with(used(a, arrived=False), spent={b: NOW, c: NOW})
    assert sent.as_of(forms(a, b)).used_part_slots == {c}
    sent = SentRecord(invitation="alice", requests=(request(c, False), request(d, True)))
    assert sent.as_of(forms(c, kind="requests")).requests == (request(d, True),)


@pytest.fixture
def record_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SentRecordFile]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with open_sent_record(INVITE) as record_file:
        yield record_file


def session_of(record_file: SentRecordFile, form: UploadForm) -> SubmissionSession:
    only = UploadForms(renewed=NOW, expires=NOW, requests=(form,))
    return SubmissionSession(INVITE, StatusBucket(INVITE, WebClient(HASTY)), only, status_of(), record_file)


def request_about(name: str) -> SubmissionRequest:
    return SubmissionRequest(card=ModelCard(name=name), image=ReferredImage(reference=f"a/b@{IMAGE}"))


def server_that(*answers: int) -> AbstractContextManager[OddServer]:
    """Answers with these statuses in turn; 0 is a line that is cut."""
    left = list(answers)

    def answer(request: BaseHTTPRequestHandler) -> None:
        swallow(request)
        status = left.pop(0)
        if status:
            say(status)(request)

    return odd_server(answer)


def test_a_request_that_the_server_refused_leaves_its_slot_free(record_file: SentRecordFile) -> None:
    with server_that(403, 204) as server:
        author = session_of(record_file, form_to(server.url))
        with pytest.raises(FileRefusedError):
            author.send(request_about("first"), IMAGE)
        assert record_file.record.requests == ()
        assert author.send(request_about("second"), IMAGE).arrived
    assert [each.name for each in record_file.record.requests] == ["second"]


def test_a_request_that_may_have_arrived_keeps_its_slot_for_the_same_bytes(record_file: SentRecordFile) -> None:
    """Also if the same bytes are refused in the next run: the first upload may be there."""
    with server_that(*[0] * 4, 403, 204) as server:
        author = session_of(record_file, form_to(server.url))
        with pytest.raises(ServerLostError):
            author.send(request_about("first"), IMAGE)
        with pytest.raises(FileRefusedError):
            author.send(request_about("first"), IMAGE)
        with pytest.raises(InviteError, match="no submission request can be sent now"):
            author.send(request_about("second"), IMAGE)
        assert author.send(request_about("first"), IMAGE).arrived


def test_a_locked_record_names_the_invitation_escaped(record_file: SentRecordFile) -> None:
    with pytest.raises(InviteError, match=r"the invitation ali\\x1bce: wait"), open_sent_record(INVITE):
        pass


def test_an_image_is_named_in_characters_that_print() -> None:
    for reference in ("a\x1b[2J", "a\u202eb", "a\nb"):
        with pytest.raises(ValueError, match="must hold printable characters alone"):
            ReferredImage(reference=reference)
