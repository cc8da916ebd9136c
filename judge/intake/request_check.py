"""Checks an uploaded submission request, as far as that needs no image. Its bytes come from a stranger.

A request holds no receipt of a check on the author's machine, since the judge would not trust it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import ValidationError

from judge.records.strict_json import parse_strictly
from sandbox.events import plain
from sandbox.verdict import SubmissionFault, Verdict
from submissions.card.look_alikes import unreadable
from submissions.card.rules import first_breach
from submissions.records import ModelCard
from submissions.requests import SentPart, SubmissionRequest, UploadedImage
from tasks.structures.validation_errors import one_line

MAX_SENTENCE = 500


def read_request(data: bytes) -> SubmissionRequest:
    """The request in `data`, with a model card that can be shown.

    Raises:
        SubmissionFault: PROTOCOL_ERROR, with the field that is wrong.
    """
    try:
        request = SubmissionRequest.read(data)
        parse_strictly(data)
    except ValidationError as error:
        raise _broken(one_line(error)) from None
    except ValueError as error:
        raise _broken(str(error)) from None
    _require_printable("author", request.author)
    _require_printable("image.reference", request.image.reference)
    check_card(request.card)
    return request


def check_card(card: ModelCard) -> None:
    """Returns if nothing in `card` is impossible.

    Raises:
        SubmissionFault: PROTOCOL_ERROR, with the field that is wrong.
    """
    if breach := first_breach(card):
        raise _broken(f"card.{breach}")


def named_parts(request: SubmissionRequest) -> list[SentPart]:
    """All parts that the request names, in the order of the layers."""
    layers = request.image.layers if isinstance(request.image, UploadedImage) else ()
    return [part for layer in layers for part in layer.parts]


def check_parts(parts: Collection[SentPart], slots: Collection[str], sizes: Mapping[str, int]) -> None:
    """Returns if every part is in a slot of its own, and has the size that the request states.

    Args:
        slots: part slots of the invitation that no decided request has used.
        sizes: of all uploads, by slot [bytes].

    Raises:
        SubmissionFault: IMAGE_INVALID, with the slot.
    """
    seen: set[str] = set()
    for part in parts:
        if part.slot not in slots:
            raise _invalid(
                f"the upload slot {part.slot} is not open for parts: run lambench-submit again, which sends the image"
            )
        if part.slot in seen:
            raise _invalid(f"the upload slot {part.slot} is named twice: each part has its own")
        if part.slot not in sizes:
            raise _invalid(f"the part in {part.slot} has not arrived: send the parts before the request")
        if sizes[part.slot] != part.n_bytes:
            raise _invalid(
                f"the part in {part.slot} has {sizes[part.slot]} bytes, and the request states {part.n_bytes}: if a "
                "slot is used twice the first upload counts; send the image again"
            )
        seen.add(part.slot)


def _require_printable(field: str, text: str) -> None:
    if reason := unreadable(text):
        raise _broken(f"{field}: {reason}")


def _broken(complaint: str) -> SubmissionFault:
    return SubmissionFault(
        Verdict.PROTOCOL_ERROR, f"The submission request cannot be read: {plain(complaint, MAX_SENTENCE)}"
    )


def _invalid(complaint: str) -> SubmissionFault:
    return SubmissionFault(Verdict.IMAGE_INVALID, f"The image is not whole: {complaint}")
