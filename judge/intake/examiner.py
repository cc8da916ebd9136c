"""What submission requests are examined with, and one request as it was uploaded."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from judge.config import JudgeSettings
from judge.images.transfer import Transfer
from judge.intake.invitations import InvitationState, StoredDecision
from judge.intake.reusable_layers import PublicLayer
from judge.intake.upload_bucket import UploadBucket, UploadedObject, Uploads
from judge.workspace import Workspace
from sandbox.driver import Driver
from sandbox.drivers.gpu import Gpu, hold_gpu, list_gpus, require_gpus
from sandbox.drivers.open_driver import open_driver
from sandbox.verdict import JudgeFault
from submissions.progress import Reporter
from submissions.requests import Outcome, RequestDecision, SentPart
from submissions.store.interface import Store

GPU_WAIT_S = 600.0
NO_GPU = "cpu"


@dataclass
class RequestDetails:
    """The facts about a request that are known so far. A refusal states them.

    Args:
        layers: diff IDs, once all layers were verified and are in the mirror.
    """

    name: str = ""
    parts: tuple[SentPart, ...] = ()
    image_id: str = ""
    layers: tuple[str, ...] = ()

    def stored(self, decision: RequestDecision, pending: PendingRequest) -> StoredDecision:
        """A decision with these facts, as it is stored."""
        slots = slots_of_invitation(self.parts, pending)
        return StoredDecision(decision=decision, parts=slots, image_id=self.image_id, layers=self.layers)


@dataclass(frozen=True)
class PendingRequest:
    """A submission request in the upload bucket.

    Args:
        part_slots: of the invitation, that no decided request has used.
        uploads: all that was uploaded with the invitation.
        transfer: the transfer of its image.
        details: filled while it is examined.
    """

    invitation: InvitationState
    slot: str
    upload: UploadedObject
    part_slots: frozenset[str]
    uploads: Uploads
    transfer: Transfer = field(default_factory=Transfer)
    details: RequestDetails = field(default_factory=RequestDetails)

    @property
    def key(self) -> str:
        """Invitation and slot, as events name it."""
        return f"{self.invitation.name}/{self.slot}"

    def decision(self, outcome: Outcome, **fields: Any) -> RequestDecision:
        """The decision about this request, with these other fields."""
        return RequestDecision(slot=self.slot, received=self.upload.received, outcome=outcome, **fields)


def slots_of_invitation(parts: Sequence[SentPart], pending: PendingRequest) -> tuple[str, ...]:
    """The slots of `parts` that belong to this invitation: a request may name any, and must not use up another's."""
    return tuple(dict.fromkeys(part.slot for part in parts if part.slot in pending.part_slots))


@dataclass
class Examiner:
    """What submission requests are examined with.

    Args:
        gpus: UUIDs; the preflights run on the first. Empty: as the setting `intake_gpu` says.
        public: layers that no author needs to send.
        gpu_wait_s: how long all requests together may wait for the GPU [s]. After that they are delayed.
        silent_hosts, slow_hosts: registries that did not answer in this intake, or only too slowly for a first look.
        repositories: by invitation, of those that name some and are not revoked.
        n_preflights: those that had a result in this intake.
    """

    workspace: Workspace
    bucket: UploadBucket
    reporter: Reporter
    gpus: Sequence[str]
    public: Sequence[PublicLayer]
    gpu_wait_s: float = GPU_WAIT_S
    silent_hosts: set[str] = field(default_factory=set)
    slow_hosts: set[str] = field(default_factory=set)
    repositories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    n_preflights: int = 0

    @property
    def settings(self) -> JudgeSettings:
        return self.workspace.settings

    @property
    def store(self) -> Store:
        return self.workspace.store

    @cached_property
    def gpu(self) -> Gpu | None:
        """The GPU for the preflights; None for the CPU. By default the machine's first GPU, since a model may need one.

        Raises:
            JudgeFault: the GPU that was named is not in this machine, or its driver does not answer.
        """
        uuid = self.gpus[0] if self.gpus else self.settings.intake_gpu
        if uuid == NO_GPU:
            return None
        return next(iter(require_gpus([uuid]) if uuid else list_gpus()), None)

    @contextmanager
    def alone_on_gpu(self) -> Iterator[None]:
        """Holds the GPU, if there is one.

        Raises:
            JudgeFault: another judge does not release it.
        """
        start = time.monotonic()
        with ExitStack() as held:
            try:
                if self.gpu:
                    held.enter_context(hold_gpu(self.gpu.uuid, self.settings.run_dir / "gpus", self.gpu_wait_s))
            finally:
                self.gpu_wait_s = max(0.0, self.gpu_wait_s - (time.monotonic() - start))
            yield

    @cached_property
    def driver(self) -> Driver:
        """The Docker driver, opened at the first use. An author's image is never run without a container.

        Raises:
            JudgeFault: the engine does not answer.
        """
        return open_driver("docker", self.settings.run_dir, self.settings.runtime, self.settings.cold_start)

    def engine_works(self) -> bool:
        """Whether the engine has run the container of another request in this intake, and answers now."""
        try:
            return self.n_preflights > 0 and self.driver.reap() >= 0
        except JudgeFault:
            return False
