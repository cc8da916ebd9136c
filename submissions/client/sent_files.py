"""What this desk has sent through an invitation: its own record, since a mailbox tells nothing before the next intake.

A slot is written down as used before anything is posted to it, and as arrived when the server has said so. Whatever
dies when, the next run knows which parts need not be sent again, and never fills a slot with other bytes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field, ValidationError

from sandbox.events import plain
from submissions.client.status_bucket import InviteError
from submissions.records import Record
from submissions.requests import Digest, Forms, InviteFile, SentLayer, SentPart, Slot


class Used(Record):
    """A part in its slot.

    Args:
        at: when it was written down, or arrived.
        arrived: the server has said so.
    """

    part: SentPart
    at: AwareDatetime
    arrived: bool = False

    def is_gone(self, forms: Forms) -> bool:
        """Whether, by these forms, it is not in its slot, or may be there no longer."""
        return forms.may_have_cleared(self.at) or self.part.slot in forms.empty(self.at)


class Layer(Record):
    """The parts of a layer so far.

    Args:
        whole: there are no more of them.
    """

    parts: tuple[Used, ...] = ()
    whole: bool = False

    @property
    def has_arrived(self) -> bool:
        """Whether nothing of it needs to be sent."""
        return self.whole and all(used.arrived for used in self.parts)


class SentLetter(Record):
    """A letter in its slot.

    Args:
        image_id: empty where it was not known here.
        sha256: of its bytes.
        arrived: the server has said so.
    """

    slot: Slot
    sent: AwareDatetime
    name: str
    by: Literal["reference", "upload"]
    reference: str
    image_id: str = ""
    sha256: str
    arrived: bool = False


class Sent(Record):
    """All that was sent through one invitation.

    Args:
        images: by image ID the layers, by diff ID, of those whose letter is not sent yet.
        spent: slots for parts that are used and belong to no such image, and since when.
    """

    schema_version: Literal[1] = 1
    invitation: str
    letters: tuple[SentLetter, ...] = ()
    images: dict[Digest, dict[Digest, Layer]] = Field(default_factory=dict)
    spent: dict[Slot, AwareDatetime] = Field(default_factory=dict)

    @property
    def used_parts(self) -> frozenset[str]:
        """The slots for parts that may hold something."""
        layers = (layer for image in self.images.values() for layer in image.values())
        return frozenset(self.spent) | {used.part.slot for layer in layers for used in layer.parts}

    @property
    def used_letters(self) -> frozenset[str]:
        """The slots for letters that may hold something."""
        return frozenset(letter.slot for letter in self.letters)

    def as_of(self, forms: Forms) -> Sent:
        """What of it still holds.

        A slot that is offered anew is empty. What the judge has removed by its age lies in a slot that is not offered
        any more, as one that is filled: it is not believed to be there. A layer ends before the first such part.
        """
        images: dict[str, dict[str, Layer]] = {}
        spent = dict(self.spent)
        for image_id, layers in self.images.items():
            images[image_id] = {}
            for diff_id, layer in layers.items():
                n = next((n for n, used in enumerate(layer.parts) if used.is_gone(forms)), len(layer.parts))
                spent |= {used.part.slot: used.at for used in layer.parts[n:]}
                whole = layer.whole and n == len(layer.parts)
                images[image_id][diff_id] = Layer(parts=layer.parts[:n], whole=whole)
        return self.model_copy(
            update={
                "letters": tuple(letter for letter in self.letters if letter.slot not in forms.empty(letter.sent)),
                "images": images,
                "spent": {slot: at for slot, at in spent.items() if slot not in forms.empty(at)},
            }
        )


class Ledger:
    """The record, held by this process alone; each change is on the disk when the call returns.

    Raises (all methods that change it):
        InviteError: it cannot be written.
    """

    def __init__(self, path: Path, sent: Sent) -> None:
        self._path = path
        self.sent = sent

    def layer(self, image_id: str, diff_id: str) -> Layer:
        """What was sent of a layer."""
        return self.sent.images.get(image_id, {}).get(diff_id, Layer())

    def set_part(self, image_id: str, diff_id: str, n: int, used: Used) -> None:
        """Writes down the `n`-th part of a layer; the slot of another that stood there is spent."""
        layer = self.layer(image_id, diff_id)
        parts = (*layer.parts[:n], used, *layer.parts[n + 1 :])
        replaced = {each.part.slot: each.at for each in layer.parts[n : n + 1] if each.part.slot != used.part.slot}
        self._write(self._with(image_id, diff_id, layer.model_copy(update={"parts": parts}), replaced))

    def set_whole(self, image_id: str, diff_id: str, n_parts: int) -> None:
        """Writes down that a layer has `n_parts` parts and no more; the slots of more are spent."""
        layer = self.layer(image_id, diff_id)
        replaced = {each.part.slot: each.at for each in layer.parts[n_parts:]}
        self._write(self._with(image_id, diff_id, Layer(parts=layer.parts[:n_parts], whole=True), replaced))

    def set_letter(self, letter: SentLetter) -> None:
        """Writes down a letter, in place of the one in its slot; of one that arrived the parts are settled."""
        letters = (*(each for each in self.sent.letters if each.slot != letter.slot), letter)
        sent = self.sent.model_copy(update={"letters": letters})
        if letter.arrived and letter.by == "upload":
            images = {image_id: layers for image_id, layers in sent.images.items() if image_id != letter.image_id}
            of_image = sent.images.get(letter.image_id, {}).values()
            settled = {used.part.slot: used.at for layer in of_image for used in layer.parts}
            sent = sent.model_copy(update={"images": images, "spent": sent.spent | settled})
        self._write(sent)

    def drop_letter(self, slot: str) -> None:
        """Writes down that the server has refused the letter in a slot, which is empty as before."""
        letters = tuple(each for each in self.sent.letters if each.slot != slot)
        self._write(self.sent.model_copy(update={"letters": letters}))

    def forget_empty(self, forms: Forms) -> None:
        """Writes down what of the record still holds, by the judge's newest forms."""
        if (sent := self.sent.as_of(forms)) != self.sent:
            self._write(sent)

    def _with(self, image_id: str, diff_id: str, layer: Layer, spent: Mapping[str, datetime]) -> Sent:
        images = {**self.sent.images, image_id: {**self.sent.images.get(image_id, {}), diff_id: layer}}
        return self.sent.model_copy(update={"images": images, "spent": {**self.sent.spent, **spent}})

    def _write(self, sent: Sent) -> None:
        temporary = self._path.with_suffix(".tmp")  # one writer holds the lock
        try:
            with temporary.open("wb") as file:
                file.write(sent.model_dump_json(indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except OSError as error:
            raise InviteError(f"{self._path}: cannot be written ({error.strerror}): free some space") from error
        self.sent = sent


@contextmanager
def open_ledger(invite: InviteFile) -> Iterator[Ledger]:
    """The record of an invitation, which no other process changes meanwhile.

    Raises:
        InviteError: another process holds it, or it cannot be read.
    """
    path = _path(invite)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = path.with_suffix(".lock").open("wb")
    except OSError as error:
        raise InviteError(f"{path}: cannot be written ({error.strerror}): set XDG_STATE_HOME") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InviteError(
                f"another lambench-submit sends through the invitation {plain(invite.name)}: wait until it is done"
            ) from None
        yield Ledger(path, read_sent(invite))


def read_sent(invite: InviteFile) -> Sent:
    """What was sent through an invitation from here so far.

    Raises:
        InviteError: the record cannot be read.
    """
    path = _path(invite)
    try:
        return Sent.read(path.read_bytes())
    except FileNotFoundError:
        return Sent(invitation=invite.name)
    except (OSError, ValidationError) as error:
        raise InviteError(f"{path}: cannot be read ({type(error).__name__}): restore it, or move it away") from error


def work_folder(invite: InviteFile) -> Path:
    """Where a part lies while it is sent; what an earlier run left there is gone.

    Raises:
        InviteError: it cannot be made.
    """
    folder = _base("XDG_CACHE_HOME", ".cache") / "parts" / _key(invite)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for left in folder.iterdir():
            left.unlink()
    except OSError as error:
        raise InviteError(f"{folder}: cannot be written ({error.strerror}): set XDG_CACHE_HOME") from error
    return folder


def settled(layer: Layer, diff_id: str) -> SentLayer:
    """A layer as a letter names it."""
    return SentLayer(diff_id=diff_id, parts=tuple(used.part for used in layer.parts))


def _path(invite: InviteFile) -> Path:
    return _base("XDG_STATE_HOME", ".local/state") / "sent" / f"{_key(invite)}.json"


def _base(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default) / "lambench"


def _key(invite: InviteFile) -> str:
    """Of the address, which is secret itself: a file that was moved or renamed is the same invitation."""
    return hashlib.sha256(invite.mail.encode()).hexdigest()[:32]
