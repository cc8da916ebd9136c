"""The image of a submission on this machine: from its engine, else from the judge's mirror."""

from __future__ import annotations

from pathlib import Path

from judge.images.credentials import login_for
from judge.images.disk_space import require_room
from judge.images.reference import read_repository
from sandbox.driver import Driver, Image
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.records import Submission


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
