"""Where letters are opened: one letter as it lies in the inbox, and what the judge opens letters with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property

from judge.config import JudgeSettings
from judge.intake.invitations import Invited
from judge.intake.reusable_layers import PublicLayer
from judge.intake.upload_bucket import Inbox, Sent
from judge.workspace import Workspace
from sandbox.driver import Driver
from sandbox.drivers.gpu import Gpu, hold_gpu, list_gpus, require_gpus
from sandbox.drivers.open_driver import open_driver
from submissions.progress import Reporter
from submissions.store.interface import Store

GPU_WAIT_S = 600.0
NO_GPU = "cpu"


@dataclass(frozen=True)
class Case:
    """A letter that lies in the inbox.

    Args:
        slots: for parts, that the invitation has and no letter has used.
        objects: all that lies there of the invitation, by slot.
    """

    invited: Invited
    slot: str
    sent: Sent
    slots: frozenset[str]
    objects: Mapping[str, Sent]

    @property
    def name(self) -> str:
        """Of the invitation."""
        return self.invited.invitation.name


@dataclass
class Desk:
    """Where letters are opened.

    Args:
        gpus: UUIDs; the preflights run on the first. Empty: as `intake_gpu` of the settings says.
        public: layers that nobody needs to send.
        gpu_wait_s: for so long it is waited for the GPU, of all letters together, before they are kept for the next
            intake [s].
    """

    workspace: Workspace
    inbox: Inbox
    reporter: Reporter
    gpus: Sequence[str]
    public: Sequence[PublicLayer]
    gpu_wait_s: float = GPU_WAIT_S

    @property
    def settings(self) -> JudgeSettings:
        return self.workspace.settings

    @property
    def store(self) -> Store:
        return self.workspace.store

    @cached_property
    def gpu(self) -> Gpu | None:
        """On which preflights run; None for the CPU. A model that needs a GPU is not refused for want of an option.

        Raises:
            JudgeFault: the one that was named is not in this machine, or its driver does not answer.
        """
        named = self.gpus[0] if self.gpus else self.settings.intake_gpu
        if named == NO_GPU:
            return None
        return next(iter(require_gpus([named]) if named else list_gpus()), None)

    @contextmanager
    def alone_on_gpu(self) -> Iterator[None]:
        """Holds the GPU, if there is one.

        Raises:
            JudgeFault: another judge does not let go of it.
        """
        begun = time.monotonic()
        with ExitStack() as held:
            try:
                if self.gpu:
                    held.enter_context(hold_gpu(self.gpu.uuid, self.settings.run_dir / "gpus", self.gpu_wait_s))
            finally:
                self.gpu_wait_s = max(0.0, self.gpu_wait_s - (time.monotonic() - begun))
            yield

    @cached_property
    def driver(self) -> Driver:
        """The engine's; opened when it is needed for the first time. What comes by letter is never run without one.

        Raises:
            JudgeFault: the engine does not answer.
        """
        return open_driver("docker", self.settings.run_dir, self.settings.runtime)
