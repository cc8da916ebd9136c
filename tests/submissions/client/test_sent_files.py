"""The author's own record beside the judge's newest forms: what is believed to have arrived, which slots are free."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from submissions.client.http import LostError, RefusedError, Web
from submissions.client.remote_submission import Desk
from submissions.client.sent_files import Layer, Ledger, Sent, SentLetter, Used, open_ledger
from submissions.client.status_bucket import InviteError, Mailbox
from submissions.records import ModelCard
from submissions.requests import DOUBT, Form, Forms, InviteFile, Letter, ReferredImage, SentPart
from tests.submissions.author_desk import NOW, slot, status_of
from tests.submissions.client.odd_server import HASTY, OddServer, form_to, odd_server, say, swallow

IMAGE, LAYER = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
LATER = NOW + 2 * DOUBT
INVITE = InviteFile(name="ali\x1bce", mail="http://127.0.0.1/mail/")


def used(of: str, at: datetime = NOW, arrived: bool = True) -> Used:
    return Used(part=SentPart(slot=of, n_bytes=1, sha256="0" * 64), at=at, arrived=arrived)


def letter(of: str, arrived: bool) -> SentLetter:
    return SentLetter(slot=of, sent=NOW, name="a", by="upload", reference="a", sha256="0" * 64, arrived=arrived)


def forms(*slots: str, renewed: datetime = LATER, kind: str = "parts") -> Forms:
    offered = tuple(form_to("http://127.0.0.1/").model_copy(update={"slot": each}) for each in slots)
    return Forms.model_validate({"renewed": renewed, "expires": renewed + timedelta(days=1), kind: offered})


def sent_with(*parts: Used, spent: dict[str, datetime] | None = None) -> Sent:
    layer = Layer(parts=parts, whole=True)
    return Sent(invitation="alice", images={IMAGE: {LAYER: layer}}, spent=spent or {})


def test_a_part_that_the_judge_has_cleared_away_is_not_there() -> None:
    """And neither is the layer whole; what came after it in the layer is sent again, into slots of its own."""
    a, b, c = slot(), slot(), slot()
    sent = sent_with(used(a), used(b), used(c))
    assert sent.images[IMAGE][LAYER].has_arrived
    left = sent.as_of(forms(b))
    assert left.images[IMAGE][LAYER] == Layer(parts=(used(a),))
    assert not left.images[IMAGE][LAYER].has_arrived
    assert left.used_parts == {a, c}
    assert left.spent == {c: NOW}


def test_a_part_so_old_that_it_may_be_cleared_away_is_sent_into_another_slot() -> None:
    a, life = slot(), timedelta(days=1)
    sent = sent_with(used(a))
    assert sent.as_of(forms(renewed=NOW + 2 * life - 2 * DOUBT)) == sent
    left = sent.as_of(forms(renewed=NOW + 2 * life))
    assert left.images[IMAGE][LAYER] == Layer()
    assert left.used_parts == {a}


def test_what_is_not_offered_anew_has_arrived() -> None:
    sent = sent_with(used(slot()), used(slot()), spent={slot(): NOW})
    assert sent.as_of(forms(slot())) == sent


@pytest.mark.parametrize("renewed", [NOW - DOUBT, NOW, NOW + DOUBT])
def test_forms_that_may_be_older_than_what_was_sent_show_nothing(renewed: datetime) -> None:
    a, b, c = slot(), slot(), slot()
    sent = sent_with(used(a), spent={b: NOW}).model_copy(update={"letters": (letter(c, False),)})
    assert sent.as_of(forms(a, b, renewed=renewed)) == sent
    assert sent.as_of(forms(c, renewed=renewed, kind="letters")) == sent


def test_slots_that_nothing_came_to_are_free_again() -> None:
    a, b, c, d = slot(), slot(), slot(), slot()
    sent = sent_with(used(a, arrived=False), spent={b: NOW, c: NOW})
    assert sent.as_of(forms(a, b)).used_parts == {c}
    sent = Sent(invitation="alice", letters=(letter(c, False), letter(d, True)))
    assert sent.as_of(forms(c, kind="letters")).letters == (letter(d, True),)


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with open_ledger(INVITE) as ledger:
        yield ledger


def desk_of(ledger: Ledger, form: Form) -> Desk:
    only = Forms(renewed=NOW, expires=NOW, letters=(form,))
    return Desk(INVITE, Mailbox(INVITE, Web(HASTY)), only, status_of(), ledger)


def letter_about(name: str) -> Letter:
    return Letter(card=ModelCard(name=name), image=ReferredImage(reference=f"a/b@{IMAGE}"))


def server_that(*answers: int) -> AbstractContextManager[OddServer]:
    """Answers with these statuses in turn; 0 is a line that is cut."""
    left = list(answers)

    def answer(request: BaseHTTPRequestHandler) -> None:
        swallow(request)
        status = left.pop(0)
        if status:
            say(status)(request)

    return odd_server(answer)


def test_a_letter_that_the_server_refused_leaves_its_slot_free(ledger: Ledger) -> None:
    with server_that(403, 204) as server:
        desk = desk_of(ledger, form_to(server.url))
        with pytest.raises(RefusedError):
            desk.send(letter_about("first"), IMAGE)
        assert ledger.sent.letters == ()
        assert desk.send(letter_about("second"), IMAGE).arrived
    assert [each.name for each in ledger.sent.letters] == ["second"]


def test_a_letter_that_may_have_arrived_keeps_its_slot_for_the_same_bytes(ledger: Ledger) -> None:
    """Also where the same bytes are refused in the next run: the first may lie there."""
    with server_that(*[0] * 4, 403, 204) as server:
        desk = desk_of(ledger, form_to(server.url))
        with pytest.raises(LostError):
            desk.send(letter_about("first"), IMAGE)
        with pytest.raises(RefusedError):
            desk.send(letter_about("first"), IMAGE)
        with pytest.raises(InviteError, match="no letter can be sent now"):
            desk.send(letter_about("second"), IMAGE)
        assert desk.send(letter_about("first"), IMAGE).arrived


def test_whoever_holds_the_record_is_named_without_tricks(ledger: Ledger) -> None:
    with pytest.raises(InviteError, match=r"the invitation ali\\x1bce: wait"), open_ledger(INVITE):
        pass


def test_an_image_is_named_in_characters_that_print() -> None:
    for reference in ("a\x1b[2J", "a\u202eb", "a\nb"):
        with pytest.raises(ValueError, match="must hold printable characters alone"):
            ReferredImage(reference=reference)
