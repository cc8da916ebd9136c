"""Gets the image of a submission: from the engine of this machine, else from the judge's mirror."""

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
    """The submitted image, or the fault that prevents running it.

    If the engine does not have the image, it is pulled from the judge's mirror, if the submission states one.

    Args:
        min_free_bytes: so much must stay free on the engine's disk.
        registry_config: file with the credential for the mirror.
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
                FaultCause.REGISTRY, f"{record.reference} of {submission.id} is not available here ({fault.sentence})"
            )
        try:
            return pull_image(driver, record.mirror, record.id, record.size_bytes, min_free_bytes, registry_config)
        except (SubmissionFault, JudgeFault) as pull_fault:
            return pull_fault
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
        size_bytes: the size of all its layers.
        min_free_bytes: so much must stay free on the engine's disk.
        registry_config: file with the credential for the mirror.

    Raises:
        SubmissionFault: it was pulled and cannot be run.
        JudgeFault: it cannot be pulled, there is no room for it, or it is another image.
    """
    for disk in driver.disks:
        require_room(disk, min_free_bytes, size_bytes)
    repository = read_repository(mirror.partition("@")[0])
    driver.pull(mirror, login_for(registry_config, repository.host) if repository else None)
    image = driver.resolve(mirror)
    if image.id != image_id:
        raise JudgeFault(
            FaultCause.REGISTRY,
            f"the engine has the ID {image.id} for {mirror}, which is {image_id}: it must identify images by the "
            "digest of their configuration (without the containerd image store)",
        )
    return image
