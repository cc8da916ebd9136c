"""The author's own record of what was sent with an invitation: the judge says nothing before its next intake.

Each upload slot is recorded as used before anything is sent into it, and as arrived once the server has confirmed it.
After a run dies, the next one knows which parts it need not send again, and never fills a slot with other bytes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, Field, ValidationError

from sandbox.events import plain
from submissions.client.status_bucket import InviteError
from submissions.records import Record
from submissions.requests import Digest, InviteFile, SentLayer, SentPart, SlotId, UploadForms


class PartUpload(Record):
    """A part of a layer in its upload slot.

    Args:
        at: when it was recorded, or arrived.
        arrived: the server has confirmed it.
    """

    part: SentPart
    at: AwareDatetime
    arrived: bool = False

    def is_gone(self, forms: UploadForms) -> bool:
        """True if, by these forms, the judge may have removed the part, or the slot is empty."""
        return forms.may_have_cleared(self.at) or self.part.slot in forms.empty_slots(self.at)


class LayerUpload(Record):
    """The parts of a layer so far.

    Args:
        whole: there are no more of them.
    """

    parts: tuple[PartUpload, ...] = ()
    whole: bool = False

    @property
    def slots(self) -> dict[str, datetime]:
        """The slots of its parts, and when each was recorded or arrived."""
        return {upload.part.slot: upload.at for upload in self.parts}

    @property
    def has_arrived(self) -> bool:
        """True if nothing of the layer needs to be sent."""
        return self.whole and all(upload.arrived for upload in self.parts)

    def as_sent(self, diff_id: str) -> SentLayer:
        """The layer as a submission request names it."""
        return SentLayer(diff_id=diff_id, parts=tuple(upload.part for upload in self.parts))


class SentRequest(Record):
    """A submission request in its upload slot.

    Args:
        image_id: empty if this machine does not know it.
        sha256: of the request's bytes.
        arrived: the server has confirmed it.
    """

    slot: SlotId
    sent: AwareDatetime
    name: str
    by: Literal["reference", "upload"]
    reference: str
    image_id: str = ""
    sha256: str
    arrived: bool = False


class SentRecord(Record):
    """All that was sent with one invitation.

    Args:
        images: by image ID and diff ID the layers of the images whose request is not sent yet.
        used_slots: slots of parts that belong to none of these images, and since when they are used.
    """

    schema_version: Literal[1] = 1
    invitation: str
    requests: tuple[SentRequest, ...] = Field((), alias="letters")
    images: dict[Digest, dict[Digest, LayerUpload]] = Field(default_factory=dict)
    used_slots: dict[SlotId, AwareDatetime] = Field(default_factory=dict, alias="spent")

    @property
    def used_part_slots(self) -> frozenset[str]:
        """The part slots that may hold something."""
        layers = (layer for image in self.images.values() for layer in image.values())
        return frozenset(self.used_slots).union(*(layer.slots for layer in layers))

    @property
    def used_request_slots(self) -> frozenset[str]:
        """The request slots that may hold something."""
        return frozenset(request.slot for request in self.requests)

    def as_of(self, forms: UploadForms) -> SentRecord:
        """The part of this record that is still true.

        A slot that the judge offers again is empty. The judge offers neither filled slots nor those whose part it
        removed because of its age: a part that may be that old counts as gone. A layer ends before the first such part.
        """
        images: dict[str, dict[str, LayerUpload]] = {}
        used_slots = dict(self.used_slots)
        for image_id, layers in self.images.items():
            images[image_id] = {}
            for diff_id, layer in layers.items():
                n = next((n for n, upload in enumerate(layer.parts) if upload.is_gone(forms)), len(layer.parts))
                used_slots |= {upload.part.slot: upload.at for upload in layer.parts[n:]}
                whole = layer.whole and n == len(layer.parts)
                images[image_id][diff_id] = LayerUpload(parts=layer.parts[:n], whole=whole)
        return self.model_copy(
            update={
                "requests": tuple(each for each in self.requests if each.slot not in forms.empty_slots(each.sent)),
                "images": images,
                "used_slots": {slot: at for slot, at in used_slots.items() if slot not in forms.empty_slots(at)},
            }
        )


class SentRecordFile:
    """The record in its file, which this process has locked. Each change is on the disk when the call returns.

    Raises (all methods that change it):
        InviteError: it cannot be written.
    """

    def __init__(self, path: Path, record: SentRecord) -> None:
        self._path = path
        self.record = record

    def layer(self, image_id: str, diff_id: str) -> LayerUpload:
        """What was sent of a layer."""
        return self.record.images.get(image_id, {}).get(diff_id, LayerUpload())

    def set_part(self, image_id: str, diff_id: str, n: int, upload: PartUpload) -> None:
        """Records the `n`-th part of a layer."""
        layer = self.layer(image_id, diff_id)
        parts = (*layer.parts[:n], upload, *layer.parts[n + 1 :])
        self._set_layer(image_id, diff_id, layer.model_copy(update={"parts": parts}))

    def set_whole(self, image_id: str, diff_id: str, n_parts: int) -> None:
        """Records that a layer has `n_parts` parts and no more."""
        parts = self.layer(image_id, diff_id).parts[:n_parts]
        self._set_layer(image_id, diff_id, LayerUpload(parts=parts, whole=True))

    def set_request(self, request: SentRequest) -> None:
        """Records a request, in place of another one in its slot; once it has arrived, its image is done."""
        requests = (*(each for each in self.record.requests if each.slot != request.slot), request)
        images, used_slots = dict(self.record.images), self.record.used_slots
        if request.arrived and request.by == "upload":
            for layer in images.pop(request.image_id, {}).values():
                used_slots = used_slots | layer.slots
        self._change(requests=requests, images=images, used_slots=used_slots)

    def drop_request(self, slot: str) -> None:
        """Records that the server refused the request in a slot, which is as empty as before."""
        self._change(requests=tuple(each for each in self.record.requests if each.slot != slot))

    def forget_empty(self, forms: UploadForms) -> None:
        """Removes what is no longer true by the judge's newest forms."""
        if (record := self.record.as_of(forms)) != self.record:
            self._write(record)

    def _set_layer(self, image_id: str, diff_id: str, layer: LayerUpload) -> None:
        """Records a layer; the slots of parts that it no longer has stay used."""
        before = self.layer(image_id, diff_id).slots
        replaced = {slot: at for slot, at in before.items() if slot not in layer.slots}
        layers = {**self.record.images.get(image_id, {}), diff_id: layer}
        images = {**self.record.images, image_id: layers}
        self._change(images=images, used_slots=self.record.used_slots | replaced)

    def _change(self, **fields: object) -> None:
        self._write(self.record.model_copy(update=fields))

    def _write(self, record: SentRecord) -> None:
        temporary = self._path.with_suffix(".tmp")  # only the process that holds the lock writes
        try:
            with temporary.open("wb") as file:
                file.write(record.model_dump_json(indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self._path)
        except OSError as error:
            raise InviteError(f"{self._path}: cannot be written ({error.strerror}): free some space") from error
        self.record = record


@contextmanager
def open_sent_record(invite: InviteFile) -> Iterator[SentRecordFile]:
    """The record of an invitation, locked against other processes.

    Raises:
        InviteError: another process has locked it, or it cannot be read.
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
                f"another lambench-submit is sending with the invitation {plain(invite.name)}: wait until it is done"
            ) from None
        yield SentRecordFile(path, read_sent_record(invite))


def read_sent_record(invite: InviteFile) -> SentRecord:
    """What this machine has sent with an invitation.

    Raises:
        InviteError: the record cannot be read.
    """
    path = _path(invite)
    try:
        return SentRecord.read(path.read_bytes())
    except FileNotFoundError:
        return SentRecord(invitation=invite.name)
    except (OSError, ValidationError) as error:
        raise InviteError(f"{path}: cannot be read ({type(error).__name__}): restore it, or move it away") from error


def work_folder(invite: InviteFile) -> Path:
    """The folder that holds a part while it is sent; what an earlier run left there is removed.

    Raises:
        InviteError: it cannot be made.
    """
    folder = _base("XDG_CACHE_HOME", ".cache") / "parts" / _key(invite)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for leftover in folder.iterdir():
            leftover.unlink()
    except OSError as error:
        raise InviteError(f"{folder}: cannot be written ({error.strerror}): set XDG_CACHE_HOME") from error
    return folder


def _path(invite: InviteFile) -> Path:
    return _base("XDG_STATE_HOME", ".local/state") / "sent" / f"{_key(invite)}.json"


def _base(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / default) / "lambench"


def _key(invite: InviteFile) -> str:
    """A hash of the address, which is secret: a file that was moved or renamed is still the same invitation."""
    return hashlib.sha256(invite.status_url.encode()).hexdigest()[:32]
