"""An image sent in parts: only the layers that the judge does not have, and of those only what has not arrived."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from submissions.client.http import Web
from submissions.client.image_archive import LayerFile, Layout
from submissions.client.image_export import Part, layer_parts
from submissions.client.sent_files import Layer, Ledger, Used, settled
from submissions.client.status_bucket import InviteError
from submissions.progress import Report
from submissions.records import utc_now
from submissions.requests import MAX_PART, Form, Forms, SentLayer, SentPart

_MB = 10**6
_GROWTH = 1024  # gzip grows what cannot be made smaller by less than one byte in so many, and 64

Archive = Callable[[], Iterable[bytes]]


@dataclass(frozen=True)
class Upload:
    """An upload of one image through an invitation.

    Args:
        archive: saves the image anew at each call.
        folder: for the part at hand.
        report: how far it is, in bytes of layers as they lie in the archive.
    """

    web: Web
    forms: Forms
    ledger: Ledger
    layout: Layout
    archive: Archive
    folder: Path
    report: Report

    def send(self) -> tuple[SentLayer, ...]:
        """All layers of the image, as its letter names them, once all of their parts have arrived.

        Raises:
            InviteError: there are fewer slots than parts.
            MailError: the server refuses a part, or does not answer.
            SubmissionFault: IMAGE_INVALID: the engine saves something else.
        """
        wanted = self._wanted()
        self._require_slots(wanted)
        done, total = 0, sum(file.n_bytes for file in wanted)
        if wanted:
            for file, parts in layer_parts(self.archive(), wanted, self.folder, self._max_bytes):
                n = 0
                for n, part in enumerate(parts, start=1):
                    self._send_part(file, n - 1, part, done, total)
                    done += part.source_bytes
                self.ledger.set_whole(self.layout.image_id, file.diff_id, n)
        self.report(total // _MB, total // _MB, "MB")
        return self._named(lambda diff_id: settled(self._sent(diff_id), diff_id))

    def most(self) -> tuple[SentLayer, ...]:
        """Layers that make a letter as large as this image's can become, before anything of it is sent."""
        part = SentPart(slot="0" * 32, n_bytes=MAX_PART, sha256="0" * 64)
        files = {file.diff_id: file for file in self.layout.files}

        def layer(diff_id: str) -> SentLayer:
            n_slots = len(self.forms.parts) + len(self._sent(diff_id).parts)
            return SentLayer(diff_id=diff_id, parts=(part,) * min(n_slots, self._most_parts(files[diff_id])))

        return self._named(layer)

    def _named(self, name: Callable[[str], SentLayer]) -> tuple[SentLayer, ...]:
        """The layers in order; the parts of one that is there twice are named the first time."""
        named: dict[str, SentLayer] = {}
        layers: list[SentLayer] = []
        for diff_id in self.layout.diff_ids:
            has_parts = diff_id not in self.forms.layers and diff_id not in named
            named[diff_id] = name(diff_id) if has_parts else SentLayer(diff_id=diff_id)
            layers.append(named[diff_id])
        return tuple(layers)

    def _wanted(self) -> tuple[LayerFile, ...]:
        missing = self.layout.without(frozenset(self.forms.layers))
        return tuple(file for file in missing if not self._sent(file.diff_id).has_arrived)

    def _sent(self, diff_id: str) -> Layer:
        return self.ledger.layer(self.layout.image_id, diff_id)

    @property
    def _max_bytes(self) -> int:
        return min([MAX_PART, *(form.max_bytes for form in self.forms.parts)])

    def _send_part(self, file: LayerFile, n: int, part: Part, done: int, total: int) -> None:
        """Sends a part unless it has arrived; counts in bytes of the archive, whatever they were compressed to."""

        def report(sent: int) -> None:
            here = part.source_bytes * sent // part.n_bytes
            self.report((done + here) // _MB, total // _MB, "MB")

        recorded = self._sent(file.diff_id).parts[n : n + 1]
        before = recorded[0] if recorded and recorded[0].part.sha256 == part.sha256 else None
        if before and before.arrived:
            return
        form = (before and self._form(before.part.slot)) or self._free_form()
        sent = SentPart(slot=form.slot, n_bytes=part.n_bytes, sha256=part.sha256)
        self.ledger.set_part(self.layout.image_id, file.diff_id, n, Used(part=sent, at=utc_now()))
        self.web.post(form, part.path, report)
        self.ledger.set_part(self.layout.image_id, file.diff_id, n, Used(part=sent, at=utc_now(), arrived=True))

    def _form(self, slot: str) -> Form | None:
        return next((form for form in self.forms.parts if form.slot == slot), None)

    def _free(self) -> list[Form]:
        used = self.ledger.sent.used_parts
        return [form for form in self.forms.parts if form.slot not in used]

    def _free_form(self) -> Form:
        if free := self._free():
            return free[0]
        raise self._too_few(1, 0)

    def _require_slots(self, wanted: Collection[LayerFile]) -> None:
        """Before anything is sent: at first by what the layers' sizes would need at most, else by trying."""
        n_free = len(self._free())
        if sum(map(self._most_parts, wanted)) <= n_free:
            return
        needed = 0
        for file, parts in layer_parts(self.archive(), wanted, self.folder, self._max_bytes):
            n_parts = sum(1 for _ in parts)
            needed += max(0, n_parts - len(self._sent(file.diff_id).parts))
        if needed > n_free:
            raise self._too_few(needed, n_free)

    def _most_parts(self, file: LayerFile) -> int:
        return -(-(file.n_bytes + file.n_bytes // _GROWTH + 64) // self._max_bytes)

    def _too_few(self, needed: int, n_free: int) -> InviteError:
        size = f"{self._max_bytes / _MB:.3g} MB"
        return InviteError(
            f"the image needs {needed} more slots for parts of {size}, and {n_free} are open: ask whoever sent the "
            "invitation for more, or push the image and submit it by reference"
        )
