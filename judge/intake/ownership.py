"""Whose an image is. An invitation may name repositories; they prove possession of the images in them.

- The judge's credential reads only the repositories of the invitation that a request came with.
- Nobody else may submit an image from a repository that an invitation names with a path.
- Who submits an image from such a repository gets it, though somebody else submitted the same bytes before.
- A submission that was withdrawn or disqualified does not hold its image.
"""

from __future__ import annotations

from collections.abc import Sequence

from judge.config import UsageError
from judge.images.reference import read_reference, read_repository
from judge.intake.examiner import Examiner, PendingRequest
from judge.records.decisions import read_decisions
from sandbox.events import plain
from sandbox.verdict import SubmissionFault, Verdict
from submissions.preflight.acceptance import earlier_submissions
from submissions.records import Arrival, Submission
from submissions.requests import ReferredImage, UploadedImage


def checked_repositories(texts: Sequence[str], registries: Sequence[str]) -> tuple[str, ...]:
    """`texts`, if each is a host of `registries`, or a repository or folder of repositories there.

    Raises:
        UsageError: one is not; the message names it.
    """
    for text in texts:
        inside = read_repository(f"{text}/name")
        if inside is None or inside.host not in registries:
            raise UsageError(
                f"--repository: {plain(text, 80)!r}: give HOST or HOST/PATH, with a HOST that is in registries "
                f"({', '.join(sorted(registries))})"
            )
    return tuple(dict.fromkeys(texts))


def require_not_of_others(examiner: Examiner, pending: PendingRequest, image: ReferredImage | UploadedImage) -> None:
    """Returns if no other invitation alone names the image's repository.

    Raises:
        SubmissionFault: POLICY_VIOLATION; or the reference is none.
    """
    repository = _repository(examiner, image)
    of_invitations = {name for name in examiner.repositories if _proves(examiner, name, repository)}
    if of_invitations and pending.invitation.name not in of_invitations:
        raise SubmissionFault(
            Verdict.POLICY_VIOLATION, "Images of this repository are submitted with another invitation."
        )


def earlier_that_counts(
    examiner: Examiner, arrival: Arrival, image: ReferredImage | UploadedImage, image_id: str
) -> Submission | None:
    """The submission that holds the image; one of this arrival first. None if the image is free.

    Raises:
        StoreError: the store does not answer.
    """
    earlier = list(earlier_submissions(examiner.store, image_id))
    for submission in earlier:
        if submission.arrival == arrival:
            return submission
    is_proven = _proves(examiner, arrival.invitation, _repository(examiner, image))
    for submission in earlier:
        removed = read_decisions(examiner.store, submission.id, examiner.workspace.trusted).removal
        if not removed and (not is_proven or _was_proven(examiner, submission, arrival.invitation)):
            return submission
    return None


def _was_proven(examiner: Examiner, submission: Submission, invitation: str) -> bool:
    """Whether a submission is the maintainer's, of this invitation, or of one that names its repository."""
    arrival = submission.arrival
    if arrival.by == "here" or arrival.invitation == invitation:
        return True
    if arrival.by != "reference":
        return False
    image = ReferredImage(reference=submission.image.reference)
    try:
        return _proves(examiner, arrival.invitation, _repository(examiner, image))
    except SubmissionFault:  # its registry is no longer read
        return False


def _repository(examiner: Examiner, image: ReferredImage | UploadedImage) -> str:
    """`HOST/NAME`; empty for an uploaded image, whose reference proves nothing."""
    if not isinstance(image, ReferredImage):
        return ""
    return str(read_reference(image.reference, examiner.settings.registries).repository)


def _proves(examiner: Examiner, invitation: str, repository: str) -> bool:
    """Whether an invitation names the repository, or a folder above it; a host alone is no proof."""
    named = [name for name in examiner.repositories.get(invitation, ()) if "/" in name]
    return any(f"{repository}/".startswith(f"{name}/") for name in named)
