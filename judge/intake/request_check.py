"""A letter as it came: a stranger's bytes, until they are shown to be a letter. What needs no image is checked here.

Nothing here asks whether the author has checked it: a letter carries no receipt, and none would be trusted.
"""

from __future__ import annotations

from collections.abc import Collection

from pydantic import ValidationError

from judge.records.strict_json import parse_strictly
from sandbox.events import plain
from sandbox.verdict import SubmissionFault, Verdict
from submissions.card.rules import first_breach
from submissions.records import ModelCard
from submissions.requests import Letter, SentPart, UploadedImage
from tasks.structures.validation_errors import one_line

MAX_WORDS = 500


def read_letter(data: bytes) -> Letter:
    """The letter in `data`, with a card that can be shown.

    Raises:
        SubmissionFault: PROTOCOL_ERROR, with the field that is wrong.
    """
    try:
        letter = Letter.read(data)
        parse_strictly(data)
    except ValidationError as error:
        raise _broken(one_line(error)) from None
    except ValueError as error:
        raise _broken(str(error)) from None
    _require_printable("author", letter.author)
    _require_printable("image.reference", letter.image.reference)
    check_card(letter.card)
    return letter


def check_card(card: ModelCard) -> None:
    """Returns where `card` says nothing impossible.

    Raises:
        SubmissionFault: PROTOCOL_ERROR, with the field that is wrong.
    """
    if breach := first_breach(card):
        raise _broken(f"card.{breach}")


def named_parts(letter: Letter) -> list[SentPart]:
    """Every part that the letter names, in the order of the layers."""
    layers = letter.image.layers if isinstance(letter.image, UploadedImage) else ()
    return [part for layer in layers for part in layer.parts]


def check_parts(parts: Collection[SentPart], slots: Collection[str], sizes: dict[str, int]) -> None:
    """Returns where every part lies in a slot of its own, and has arrived as it was described.

    Args:
        slots: for parts, that the invitation has and no letter has used.
        sizes: of what lies in the inbox, by slot [bytes].

    Raises:
        SubmissionFault: IMAGE_INVALID, with the slot.
    """
    seen: set[str] = set()
    for part in parts:
        if part.slot not in slots:
            raise _invalid(
                f"the slot {part.slot} is not open for parts: fetch the forms anew, and send the image again"
            )
        if part.slot in seen:
            raise _invalid(f"the slot {part.slot} is named twice: each part has its own")
        if part.slot not in sizes:
            raise _invalid(f"the part in {part.slot} has not arrived: send the parts first, and then the letter")
        if sizes[part.slot] != part.n_bytes:
            raise _invalid(
                f"the part in {part.slot} has {sizes[part.slot]} bytes, and {part.n_bytes} by the letter: of a slot "
                "used twice the first upload stands; send the image again"
            )
        seen.add(part.slot)


def _require_printable(field: str, text: str) -> None:
    # What turns a line around or moves a cursor is no part of a name, and would be seen on the pages.
    if not text.isprintable():
        raise _broken(f"{field}: has characters that cannot be shown")


def _broken(complaint: str) -> SubmissionFault:
    return SubmissionFault(Verdict.PROTOCOL_ERROR, f"The letter cannot be read: {plain(complaint, MAX_WORDS)}")


def _invalid(complaint: str) -> SubmissionFault:
    return SubmissionFault(Verdict.IMAGE_INVALID, f"The image is not whole: {complaint}")
