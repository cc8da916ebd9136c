"""This machine during a run: its engine, GPUs, disks and images.

No unit is started unless every disk that is written to has free space. If the engine stops answering, the run waits. A
GPU that spoils attempts is not used any more, and the attempts are tried again on another GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from judge.evaluation.observe import ExecutionTarget
from judge.evaluation.plan import Planned, Step
from judge.evaluation.provenance import origin
from judge.images.disk_space import require_room
from judge.images.pull import resolve_image
from sandbox.driver import Driver, Image
from sandbox.drivers.gpu import Gpu
from sandbox.events import Event, emit
from sandbox.rundir import is_something_left
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault
from submissions.records import Submission

POLL_S = 1.0


@dataclass
class Machine:
    """The parts of this machine that a run uses.

    Args:
        open_sandbox: opens the driver; called only once there is something to observe.
        hardware: class of this machine with a GPU, or without one.
        gpus: that may be used; empty for the CPU.
        say: called with a line for a person.
        selftest: key of the last selftest of this host with that driver's engine; empty if there is none.
        run_dir: folder in which judges of this host keep their sessions.
        disks: folders that are written to, besides those of the driver.
        min_free_bytes: free space that each of them must have.
        engine_wait_s: how long to wait for an engine that answered before.
        registry_config: credentials to pull from the judge's mirror.
        stopped: the reason why no more containers can be started in this run.
    """

    open_sandbox: Callable[[], Driver]
    hardware: Callable[[Gpu | None], str]
    gpus: Sequence[Gpu]
    say: Callable[[str], None]
    selftest: Callable[[Driver], str] = lambda driver: ""
    run_dir: Path | None = None
    disks: Sequence[Path] = ()
    min_free_bytes: int = 0
    engine_wait_s: float = 0.0
    registry_config: Path | None = None
    stopped: JudgeFault | None = None
    _driver: Driver | None = None
    _selftest: str = ""
    _images: dict[str, Image | SubmissionFault | JudgeFault] = field(default_factory=dict)
    _turn: int = 0

    def target(self, submission: Submission, avoid: Collection[str], spoilt_by: str) -> ExecutionTarget:
        """The driver, image and device for the next attempt of `submission`.

        Args:
            avoid: UUIDs of GPUs that are quarantined.
            spoilt_by: UUID of the GPU that spoilt its last attempt, or empty. It is used only if there is no other.

        Raises:
            JudgeFault: no container can be started, a disk is full, or every GPU is quarantined.
        """
        if self.stopped:
            raise self.stopped
        driver = self.sandbox()
        self._require_room()
        gpu = self._gpu(avoid, spoilt_by)
        uuid = gpu.uuid if gpu else None
        return ExecutionTarget(
            driver, self._image(submission), origin(driver, self.hardware(gpu), uuid, self._selftest), uuid
        )

    def sandbox(self) -> Driver:
        """The driver, opened at the first call, which also removes the containers of dead judges.

        Raises:
            JudgeFault: the engine does not answer. Then nothing more is started in this run.
        """
        if self._driver is None:
            try:
                driver = self.open_sandbox()
                removed = driver.reap()
                self._selftest = self.selftest(driver)
            except JudgeFault as fault:
                self.stopped = fault
                raise
            self._driver = driver
            emit(Event.REAPED, count=removed)
            if removed:
                self.say(f"Removed {removed} containers that a judge left behind.")
        return self._driver

    def images_here(self, plan: Iterable[Planned]) -> Callable[[str], bool]:
        """Whether the engine of this host has the image of a submission of `plan`, by its ID; true if all come along.

        An engine that does not answer has none; the first attempt reports it.
        """
        apart = {planned.unit.submission.id: planned.unit.submission for planned in plan if _asks(planned)}
        elsewhere = set[str]()
        for id, submission in apart.items():
            if submission.image.mirror:
                try:
                    self.sandbox().resolve(submission.image.id)
                except (SubmissionFault, JudgeFault):
                    elsewhere.add(id)
        return lambda id: id not in elsewhere

    def clear(self) -> None:
        """Removes what a dead judge of this host left, even if there is nothing more to observe."""
        with suppress(JudgeFault):  # the first observation reports that there is no engine or no run directory
            if self.run_dir is not None and is_something_left(self.run_dir):
                self.sandbox()

    def look_at_engine(self) -> None:
        """Waits until the engine answers: without it, further tries would only use up the attempts of other units.

        Raises:
            JudgeFault: it does not answer in time. Nothing more is started in this run.
        """
        until, gone = time.monotonic() + self.engine_wait_s, False
        while True:
            try:
                (self._driver or self.sandbox()).reap()
            except JudgeFault as fault:
                if time.monotonic() >= until:
                    self.stopped = fault
                    raise
                if not gone:
                    gone = True
                    emit(Event.ENGINE_GONE)
                    self.say(f"! The engine does not answer: waiting {self.engine_wait_s:g} s for it to come back …")
                time.sleep(min(POLL_S, self.engine_wait_s))
            else:
                if gone:
                    emit(Event.ENGINE_BACK)
                    self.say("The engine is back.")
                return

    def _require_room(self) -> None:
        for disk in (*self.disks, *self.sandbox().disks):
            require_room(disk, self.min_free_bytes)

    def _gpu(self, avoid: Collection[str], spoilt_by: str) -> Gpu | None:
        """The next GPU in turn; None if models run on the CPU."""
        if not self.gpus:
            return None
        good = [gpu for gpu in self.gpus if gpu.uuid not in avoid]
        if not good:
            names = ", ".join(gpu.uuid for gpu in self.gpus)
            raise JudgeFault(FaultCause.GPU, f"every GPU is quarantined ({names}): correct it, then --retry-held")
        others = [gpu for gpu in good if gpu.uuid != spoilt_by] or good
        self._turn += 1
        return others[(self._turn - 1) % len(others)]

    def _image(self, submission: Submission) -> Image | SubmissionFault:
        """The image of `submission`, by its ID; resolved once in a run.

        Raises:
            JudgeFault: this machine no longer has it. That is no fault of the author: the image passed the preflight.
        """
        if submission.id not in self._images:
            self._images[submission.id] = resolve_image(
                self.sandbox(), submission, self.min_free_bytes, self.registry_config
            )
        image = self._images[submission.id]
        if isinstance(image, JudgeFault):
            if image.cause is not FaultCause.REGISTRY:
                del self._images[submission.id]  # a fault of the engine, which may pass
            raise image
        return image


def _asks(planned: Planned) -> bool:
    return planned.step in (Step.OBSERVE, Step.OPEN)
