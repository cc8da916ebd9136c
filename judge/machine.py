"""This machine during a run: its engine, its GPUs, its disks, and the images that it has.

Nothing is begun without room on every disk that is written to. An engine that stops answering is waited for; a GPU that
spoils attempts is given to nobody any more, and an attempt that it spoilt is tried again on another.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from judge.image_reference import read_repository
from judge.observe import Bench
from judge.provenance import origin
from judge.registry_login import login_for
from sandbox.driver import Driver, Image
from sandbox.events import Event, tell
from sandbox.gpu import Gpu
from sandbox.limits import GIB
from sandbox.rundir import is_something_left
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.records import Submission

POLL_S = 1.0


@dataclass
class Machine:
    """What a run has of this machine.

    Args:
        open_sandbox: opens the driver; called once there is something to observe, and not before.
        hardware: class of this machine with that GPU, or without one.
        gpus: that may be used; empty for the CPU.
        say: told a line, for a person.
        selftest: key of the last selftest of this host with that driver's engine; empty for none.
        run_dir: where judges of this host keep their sessions.
        disks: folders that are written to, beside those of the driver.
        min_free_bytes: that each of them must have left.
        engine_wait_s: how long an engine that answered before is waited for.
        registry_config: what is needed to pull from the judge's mirror.
        stopped: why no more containers can be started in this run.
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

    def bench(self, submission: Submission, avoid: Collection[str], spoilt_by: str) -> Bench:
        """Where the next attempt of `submission` is run.

        Args:
            avoid: UUIDs of GPUs that are set aside.
            spoilt_by: UUID of the GPU that spoilt its last attempt, given again only where there is no other; or empty.

        Raises:
            JudgeFault: no container can be started, a disk is full, or every GPU is set aside.
        """
        if self.stopped:
            raise self.stopped
        driver = self.sandbox()
        self._require_room()
        gpu = self._gpu(avoid, spoilt_by)
        uuid = gpu.uuid if gpu else None
        return Bench(driver, self._image(submission), origin(driver, self.hardware(gpu), uuid, self._selftest), uuid)

    def sandbox(self) -> Driver:
        """The driver, opened when it is asked for the first time; what dead judges left behind is removed then.

        Raises:
            JudgeFault: the engine does not answer: then nothing more is started in this run.
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
            tell(Event.REAPED, count=removed)
            if removed:
                self.say(f"Removed {removed} containers that a judge left behind.")
        return self._driver

    def clear(self) -> None:
        """Removes what a judge that died here left, also where there is nothing more to observe."""
        if self.run_dir is not None and is_something_left(self.run_dir):
            with suppress(JudgeFault):  # whoever has something to observe will say that there is no engine
                self.sandbox()

    def look_at_engine(self) -> None:
        """Waits for an engine that no longer answers, since further tries would only burn other units' attempts.

        Raises:
            JudgeFault: it does not come back in time: nothing more is started in this run.
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
                    tell(Event.ENGINE_GONE)
                    self.say(f"! The engine does not answer: waiting {self.engine_wait_s:g} s for it to come back …")
                time.sleep(min(POLL_S, self.engine_wait_s))
            else:
                if gone:
                    tell(Event.ENGINE_BACK)
                    self.say("The engine is back.")
                return

    def _require_room(self) -> None:
        for disk in (*self.disks, *self.sandbox().disks):
            require_room(disk, self.min_free_bytes)

    def _gpu(self, avoid: Collection[str], spoilt_by: str) -> Gpu | None:
        """The next GPU in turn; None where models run on the CPU."""
        if not self.gpus:
            return None
        good = [gpu for gpu in self.gpus if gpu.uuid not in avoid]
        if not good:
            names = ", ".join(gpu.uuid for gpu in self.gpus)
            raise JudgeFault(FaultCause.GPU, f"every GPU is set aside ({names}): mend it, then --retry-held")
        others = [gpu for gpu in good if gpu.uuid != spoilt_by] or good
        self._turn += 1
        return others[(self._turn - 1) % len(others)]

    def _image(self, submission: Submission) -> Image | SubmissionFault:
        """The image of `submission`, by its ID; resolved once a run.

        Raises:
            JudgeFault: this machine has it no more: no fault of its author, who got it past the preflight.
        """
        if submission.id not in self._images:
            self._images[submission.id] = resolve_image(
                self.sandbox(), submission, self.min_free_bytes, self.registry_config
            )
        image = self._images[submission.id]
        if isinstance(image, JudgeFault):
            if image.cause is not FaultCause.REGISTRY:
                del self._images[submission.id]  # the engine's trouble, which may pass
            raise image
        return image


def require_room(disk: Path, min_free_bytes: int, for_bytes: int = 0) -> None:
    """Returns if `for_bytes` can be written to the disk of that folder, and `min_free_bytes` are free still.

    Raises:
        JudgeFault: DISK.
    """
    free, needed = _free_bytes(disk), min_free_bytes + for_bytes
    if free < needed:
        raise JudgeFault(
            FaultCause.DISK,
            f"only {free / GIB:.2g} GiB are free at {disk}: free at least {needed / GIB:.2g} GiB "
            "(judge gc tells what may go), or set min_free_bytes",
        )


def _free_bytes(folder: Path) -> int:
    """Free bytes on the disk of `folder`, or of its first parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def resolve_image(
    driver: Driver, submission: Submission, min_free_bytes: int = 0, registry_config: Path | None = None
) -> Image | SubmissionFault | JudgeFault:
    """The image that was submitted, or whose fault it is that it cannot be run.

    One that the engine does not have is pulled from the judge's mirror, where the submission names it.

    Args:
        min_free_bytes: that the engine's disk must have left.
        registry_config: what is needed to pull from the mirror.
    """
    record = submission.image
    reference = record.id if driver.name == "docker" else record.reference
    try:
        image = driver.resolve(reference)
    except SubmissionFault as fault:
        if fault.verdict is not Verdict.IMAGE_INVALID:
            return fault
        if not record.mirror:
            return JudgeFault(
                FaultCause.REGISTRY, f"{record.reference} of {submission.id} cannot be had here ({fault.sentence})"
            )
        try:
            return pull_image(driver, record.mirror, record.id, record.size_bytes, min_free_bytes, registry_config)
        except (SubmissionFault, JudgeFault) as of_the_image:
            return of_the_image
    except JudgeFault as fault:
        return fault
    if image.id != record.id:
        return JudgeFault(
            FaultCause.REGISTRY, f"{record.reference} has changed since {submission.id} was submitted: submit it again"
        )
    return image


def pull_image(
    driver: Driver,
    mirror: str,
    image_id: str,
    size_bytes: int,
    min_free_bytes: int = 0,
    registry_config: Path | None = None,
) -> Image:
    """The image `image_id`, pulled from `mirror`, `name@sha256:…`.

    Args:
        size_bytes: of all its layers, for which the engine's disk must have room.
        min_free_bytes: that it must have left then.
        registry_config: what is needed to read the mirror.

    Raises:
        SubmissionFault: it can be had, and not be run.
        JudgeFault: it cannot be had, there is no room for it, or it is another one.
    """
    for disk in driver.disks:
        require_room(disk, min_free_bytes, size_bytes)
    repository = read_repository(mirror.partition("@")[0])
    driver.pull(mirror, login_for(registry_config, repository.host) if repository else None)
    image = driver.resolve(mirror)
    if image.id != image_id:
        raise JudgeFault(
            FaultCause.REGISTRY,
            f"the engine calls {mirror} {image.id}, and it is {image_id}: it must keep images by the digest of "
            "their configuration (without the containerd image store)",
        )
    return image
