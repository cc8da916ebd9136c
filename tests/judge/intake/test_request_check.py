"""Submission requests from strangers: any bytes give a request, or one line that says what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.intake.request_check import check_parts, named_parts, read_request
from sandbox.verdict import SubmissionFault, Verdict
from submissions.records import ModelCard, StatedLabelSet
from submissions.requests import ReferredImage, SentPart, SubmissionRequest

REFERRED = ReferredImage(reference="127.0.0.1:5000/m@sha256:" + "0" * 64)
CARD = ModelCard(name="model", elements=("H", "O"), label_sets={"Molecules": StatedLabelSet(name="PBE")})
GOOD: dict[str, Any] = SubmissionRequest(author="A", card=CARD, image=REFERRED).model_dump(mode="json")
SLOTS = tuple(f"{n:032x}" for n in range(3))
SHA = "0" * 64


def changed(path: str, value: object) -> bytes:
    """The valid request with another value at `path`."""
    fields = json.loads(json.dumps(GOOD))
    *parents, last = path.split(".")
    place = fields
    for name in parents:
        place = place[name]
    place[last] = value
    return json.dumps(fields).encode()


def refused(data: bytes) -> str:
    with pytest.raises(SubmissionFault) as raised:
        read_request(data)
    assert raised.value.verdict is Verdict.PROTOCOL_ERROR
    assert raised.value.sentence.isprintable()
    assert len(raised.value.sentence) < 600
    return raised.value.sentence


def test_a_good_request_is_read() -> None:
    assert read_request(json.dumps(GOOD).encode()).card == CARD


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("schema_version", 2, "schema_version"),
        ("receipt", {"verdict": "OK"}, "receipt"),
        ("card.name", "", "card.name"),
        ("card.name", "  ", "card.name"),
        ("card.name", "two\nlines", "card.name"),
        ("card.name", "\u202egnp.exe", "card.name"),
        ("card.name", "ЕМТ", "which looks like 'E'"),
        ("card.name", "\u2800", "card.name"),
        ("card.authors", ["\u3164"], "card.authors.0"),
        ("card.description", "a" + "\u0301" * 9, "marks on one"),
        ("card.code", "https://github.com@evil.org/", "card.code"),
        ("author", "A\ufe0f", "author"),
        ("card.version", "\x1b[2J", "card.version"),
        ("card.affiliation", "\x07", "card.affiliation"),
        ("card.authors", ["A", " "], "card.authors.1"),
        ("card.authors", ["A" * 201], "card.authors.0"),
        ("card.elements", ["H", "Xx"], "Xx"),
        ("card.elements", ["h"], "'h'"),
        ("card.elements", ["X"], "'X'"),
        ("card.elements", ["H", "H"], "twice"),
        ("card.paper", "javascript:alert(1)", "card.paper"),
        ("card.n_parameters", -1, "card.n_parameters"),
        ("card.label_sets", {"Weather": {"name": "PBE"}}, "card.label_sets"),
        ("card.label_sets", {"Molecules": {"name": "P\tBE"}}, "card.label_sets.Molecules"),
        ("card.training", [{"name": "a\rb"}], "card.training.0"),
        ("image.by", "post", "image"),
        ("image.reference", "", "reference"),
        ("image.reference", "m\x1b]0;owned\x07@sha256:" + "0" * 64, "image.reference"),
        ("card.description", "a\x1b[2Jb", "card.description"),
        ("card.description", "a\r\nb", "card.description"),
        ("card.hardware", "one\n\x07", "card.hardware"),
        ("card.n_parameters", 10**15 + 1, "card.n_parameters"),
        ("author", "\x00", "author"),
        ("x\x1b[2Jx", 1, "there is no such field"),
    ],
)
def test_a_broken_request_is_refused_with_the_field(path: str, value: object, named: str) -> None:
    assert named in refused(changed(path, value))


def test_words_may_have_lines() -> None:
    words = "one\ntwo"
    assert read_request(changed("card.description", words)).card.description == words
    assert read_request(changed("card.hardware", words)).card.hardware == words


def test_what_stands_there_twice_is_refused() -> None:
    """Parsers differ in which of two equal names they use."""
    text = json.dumps(GOOD)
    twice = text.replace('"name": "model"', '"name": "model", "n\\u0061me": "other"')
    assert "'name' is named twice" in refused(twice.encode())
    twice = text.replace('{"schema_version"', '{"author": "\\u001b", "schema_version"', 1)
    assert "'author' is named twice" in refused(twice.encode())


def test_what_contradicts_itself_is_refused() -> None:
    sets = {"Molecules": {"name": "PBE", "dispersion": True}}
    fields = {**GOOD, "card": {**GOOD["card"], "dispersion": False, "label_sets": sets}}
    assert "card.label_sets.Molecules.dispersion" in refused(json.dumps(fields).encode())


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000, b'"' + b"\\ud800" + b'"', b"1e999"],
)
def test_what_is_no_request_at_all_is_refused(data: bytes) -> None:
    refused(data)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps).map(str.encode)
)
def test_any_bytes_are_a_request_or_a_verdict(data: bytes) -> None:
    refused(data)


@given(st.sampled_from(sorted(GOOD["card"])), st.none() | st.text() | st.integers() | st.lists(st.text(), max_size=2))
def test_any_field_is_taken_printable_or_refused(field: str, value: object) -> None:
    card = taken(changed(f"card.{field}", value))
    if card is not None:
        assert card.name.isprintable()
        assert all(author.isprintable() for author in card.authors)


def taken(data: bytes) -> ModelCard | None:
    """The card of a request that can be read; None if it is refused with a line."""
    try:
        return read_request(data).card
    except SubmissionFault:
        refused(data)
        return None


def uploaded(*parts: SentPart) -> SubmissionRequest:
    layers = [{"diff_id": "sha256:" + SHA, "parts": [part.model_dump() for part in parts]}]
    image = {"by": "upload", "reference": "m", "config": "{}", "layers": layers}
    return SubmissionRequest.model_validate_json(json.dumps({**GOOD, "image": image}))


def part(slot: str, n_bytes: int = 5) -> SentPart:
    return SentPart(slot=slot, n_bytes=n_bytes, sha256=SHA)


def test_parts_that_arrived_as_described_pass() -> None:
    parts = named_parts(uploaded(part(SLOTS[0]), part(SLOTS[1])))
    check_parts(parts, SLOTS, {SLOTS[0]: 5, SLOTS[1]: 5})
    assert [each.slot for each in parts] == list(SLOTS[:2])
    assert named_parts(SubmissionRequest.model_validate(GOOD)) == []


@pytest.mark.parametrize(
    ("parts", "sizes", "named"),
    [
        ([part("f" * 32)], {"f" * 32: 5}, "not open for parts"),
        ([part(SLOTS[0]), part(SLOTS[0])], {SLOTS[0]: 5}, "named twice"),
        ([part(SLOTS[0])], {}, "has not arrived"),
        ([part(SLOTS[0])], {SLOTS[0]: 6}, "has 6 bytes, and the request states 5"),
    ],
)
def test_parts_that_did_not_arrive_so_are_refused(parts: list[SentPart], sizes: dict[str, int], named: str) -> None:
    with pytest.raises(SubmissionFault) as raised:
        check_parts(parts, SLOTS, sizes)
    assert raised.value.verdict is Verdict.IMAGE_INVALID
    assert named in raised.value.sentence
