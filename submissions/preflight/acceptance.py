"""Makes, stores and finds the records of submissions, in whichever way their images came."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.driver import Image, Question
from submissions.preflight.log import store_log
from submissions.records import (
    Arrival,
    ImageRecord,
    ModelCard,
    PreflightReport,
    Submission,
    submission_id,
    utc_now,
)
from submissions.store.interface import Store
from submissions.store.read_record import read_record


def questions(card: ModelCard, gpu: str | None) -> list[Question]:
    """The preflight's questions: one for each domain that `card` declares, or one without a domain.

    Args:
        gpu: UUID of the GPU to run on; None for the CPU.
    """
    domains = tuple(card.label_sets) or (None,)
    return [Question(domain=domain, device="cuda" if gpu else "cpu", gpu=gpu) for domain in domains]


def make_submission(
    author: str,
    card: ModelCard,
    image: Image,
    report: PreflightReport,
    arrival: Arrival | None = None,
    mirror: str = "",
) -> Submission:
    """The record of `image`, which passed the preflight.

    Args:
        arrival: how it came; None if on the judge's own machine.
        mirror: `name@sha256:…` in the judge's own registry; empty for none.
    """
    return Submission(
        id=submission_id(card.name, image.id),
        created=utc_now(),
        author=author,
        card=card,
        image=ImageRecord(
            reference=image.reference,
            id=image.id,
            mirror=mirror,
            digests=image.digests,
            architecture=image.architecture,
            size_bytes=image.size_bytes,
            driver=image.driver,
            trainer=image.trainer,
        ),
        arrival=arrival or Arrival(),
        preflight=report,
    )


def submission_path(submission: str) -> str:
    """The key of a submission's record in the store."""
    return f"submissions/{submission}/submission.json"


def store_submission(store: Store, submission: Submission, log: str) -> bool:
    """Stores a submission with its log. False if there is another one with that ID.

    Args:
        log: what the container printed in the preflight.

    Raises:
        StoreError: it cannot be written.
    """
    store_log(store, submission.id, log)  # first, so that every stored submission is complete
    return store.put_if_absent(submission_path(submission.id), submission.model_dump_json(indent=1).encode())


def earlier_submission(store: Store, image_id: str) -> Submission | None:
    """A submission of the image with that ID; None if there is none.

    Raises:
        StoreError: the store does not answer, or a record that may be of this image cannot be read.
    """
    return next(earlier_submissions(store, image_id), None)


def earlier_submissions(store: Store, image_id: str) -> Iterator[Submission]:
    """The submissions of the image with that ID. Raises as `earlier_submission`."""
    digits = submission_id("any", image_id).rpartition("-")[2]
    for key in store.list("submissions/"):
        if key.endswith("/submission.json") and key.split("/")[1].endswith(digits):
            earlier = read_record(store, key, Submission)
            if earlier.image.id == image_id:
                yield earlier


def arrived_submission(store: Store, name: str, arrival: Arrival) -> Submission | None:
    """The submission of a model `name` with that arrival; None if there is none.

    Args:
        arrival: with an invitation and a slot, which is filled once.

    Raises:
        StoreError: the store does not answer, or the record of a model of that name cannot be read.
    """
    slug = submission_id(name, "sha256:" + "0" * 64).rpartition("-")[0]
    for key in store.list(f"submissions/{slug}-"):
        if key.endswith("/submission.json") and key.split("/")[1].rpartition("-")[0] == slug:
            submission = read_record(store, key, Submission)
            if submission.arrival == arrival:
                return submission
    return None
