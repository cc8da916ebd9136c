"""Uploads an image in parts: only the layers that the judge does not have, and only what has not arrived yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from submissions.client.http import WebClient
from submissions.client.image_archive import ImageLayout, LayerFile
from submissions.client.image_export import LayerPart, layer_parts
from submissions.client.sent_record import LayerUpload, PartUpload, SentRecordFile
from submissions.client.status_bucket import InviteError
from submissions.progress import Report
from submissions.records import utc_now
from submissions.requests import MAX_PART_BYTES, SentLayer, SentPart, UploadForm, UploadForms

_MB = 10**6
_GROWTH = 1024  # gzip makes data that it cannot compress longer by less than one byte in 1024, and 64

Archive = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class ImageUpload:
    """The upload of one image with an invitation.

    Args:
        archive: saves the image again at each call.
        folder: for the part that is being sent.
        report: called with the progress, in bytes of the layers' files.
    """

    web: WebClient
    forms: UploadForms
    record_file: SentRecordFile
    layout: ImageLayout
    archive: Archive
    folder: Path
    report: Report

    def send(self) -> tuple[SentLayer, ...]:
        """All layers of the image as its request names them, once all of their parts have arrived.

        Raises:
            InviteError: there are fewer slots than parts.
            WebError: the server refuses a part, or does not answer.
            SubmissionFault: IMAGE_INVALID: the engine saves something else.
        """
        files = self._files_to_send()
        self._require_slots(files)
        done, total = 0, sum(file.n_bytes for file in files)
        if files:
            for file, parts in layer_parts(self.archive(), files, self.folder, self._max_bytes):
                n_parts = 0
                for n_parts, part in enumerate(parts, start=1):
                    self._send_part(file, n_parts - 1, part, done, total)
                    done += part.source_bytes
                self.record_file.set_whole(self.layout.image_id, file.diff_id, n_parts)
        self.report(total // _MB, total // _MB, "MB")
        return self._all_layers(lambda diff_id: self._upload_of(diff_id).as_sent(diff_id))

    def largest_layers(self) -> tuple[SentLayer, ...]:
        """Layers that make the request as large as this image's can become; nothing is sent for it."""
        part = SentPart(slot="0" * 32, n_bytes=MAX_PART_BYTES, sha256="0" * 64)
        files = {file.diff_id: file for file in self.layout.files}

        def layer(diff_id: str) -> SentLayer:
            n_slots = len(self.forms.parts) + len(self._upload_of(diff_id).parts)
            return SentLayer(diff_id=diff_id, parts=(part,) * min(n_slots, self._most_parts(files[diff_id])))

        return self._all_layers(layer)

    def _all_layers(self, layer_of: Callable[[str], SentLayer]) -> tuple[SentLayer, ...]:
        """The layers in order; if one is there twice, only the first names its parts."""
        by_diff_id: dict[str, SentLayer] = {}
        layers: list[SentLayer] = []
        for diff_id in self.layout.diff_ids:
            has_parts = diff_id not in self.forms.layers and diff_id not in by_diff_id
            by_diff_id[diff_id] = layer_of(diff_id) if has_parts else SentLayer(diff_id=diff_id)
            layers.append(by_diff_id[diff_id])
        return tuple(layers)

    def _files_to_send(self) -> tuple[LayerFile, ...]:
        missing = self.layout.without(frozenset(self.forms.layers))
        return tuple(file for file in missing if not self._upload_of(file.diff_id).has_arrived)

    def _upload_of(self, diff_id: str) -> LayerUpload:
        return self.record_file.layer(self.layout.image_id, diff_id)

    @property
    def _max_bytes(self) -> int:
        return min([MAX_PART_BYTES, *(form.max_bytes for form in self.forms.parts)])

    def _send_part(self, file: LayerFile, n: int, part: LayerPart, done: int, total: int) -> None:
        """Sends a part unless it has arrived; the progress counts bytes of the layer's file, before compression."""

        def report(sent: int) -> None:
            part_done = part.source_bytes * sent // part.n_bytes
            self.report((done + part_done) // _MB, total // _MB, "MB")

        recorded = self._upload_of(file.diff_id).parts[n : n + 1]
        earlier = recorded[0] if recorded and recorded[0].part.sha256 == part.sha256 else None
        if earlier and earlier.arrived:
            return
        form = (earlier and self._form(earlier.part.slot)) or self._free_form()
        sent = SentPart(slot=form.slot, n_bytes=part.n_bytes, sha256=part.sha256)
        self.record_file.set_part(self.layout.image_id, file.diff_id, n, PartUpload(part=sent, at=utc_now()))
        self.web.post(form, part.path, report)
        arrived = PartUpload(part=sent, at=utc_now(), arrived=True)
        self.record_file.set_part(self.layout.image_id, file.diff_id, n, arrived)

    def _form(self, slot: str) -> UploadForm | None:
        return next((form for form in self.forms.parts if form.slot == slot), None)

    def _free_forms(self) -> list[UploadForm]:
        used = self.record_file.record.used_part_slots
        return [form for form in self.forms.parts if form.slot not in used]

    def _free_form(self) -> UploadForm:
        if free := self._free_forms():
            return free[0]
        raise self._too_few_slots(1, 0)

    def _require_slots(self, files: Collection[LayerFile]) -> None:
        """Checks the number of slots before anything is sent: by the layers' sizes, or if need be by compressing them.

        Raises:
            InviteError: there are too few.
        """
        n_free = len(self._free_forms())
        if sum(map(self._most_parts, files)) <= n_free:
            return
        needed = 0
        for file, parts in layer_parts(self.archive(), files, self.folder, self._max_bytes):
            n_parts = sum(1 for _ in parts)
            needed += max(0, n_parts - len(self._upload_of(file.diff_id).parts))
        if needed > n_free:
            raise self._too_few_slots(needed, n_free)

    def _most_parts(self, file: LayerFile) -> int:
        return -(-(file.n_bytes + file.n_bytes // _GROWTH + 64) // self._max_bytes)

    def _too_few_slots(self, needed: int, n_free: int) -> InviteError:
        size = f"{self._max_bytes / _MB:.3g} MB"
        return InviteError(
            f"the image needs {needed} more upload slots for parts of {size}, and {n_free} are open: ask the "
            "maintainer who sent the invitation for more, or push the image and submit it by reference"
        )
