"""The records of submissions that a manifest lists beside results: submission, preflight log, decisions about it.

They are never rewritten: what was published once must stay in the store, byte by byte. A submission has no signature,
because its author has no key. From its first publication on, the manifest's signature covers it.
"""

from __future__ import annotations

from typing import NamedTuple

from judge.records.attempts import submission_of
from judge.records.manifest import Defect, ManifestChain, lost_files, manifest_path, sha256
from judge.records.results import submission_ids
from submissions.preflight.log import log_path
from submissions.records import Submission, submission_id
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record

FOLDER = "submissions/"
RECORD = "submission.json"


class SubmissionFiles(NamedTuple):
    """sha256 of stored bytes by key, of submissions with their logs and of decisions."""

    submissions: dict[str, str]
    events: dict[str, str]


def submission_files(store: Store) -> SubmissionFiles:
    """The files of all submissions in the store that have a record.

    Raises:
        StoreError: the store does not answer, or a file vanished meanwhile.
    """
    submissions: dict[str, str] = {}
    events: dict[str, str] = {}
    keys = dict.fromkeys(store.list(FOLDER))
    with_record = {id for id in (submission_of(key) for key in keys) if record_path(id) in keys}
    for key in keys:
        id = submission_of(key)
        is_event = key.startswith(f"{FOLDER}{id}/events/")
        if id not in with_record or not (is_event or key in (record_path(id), log_path(id))):
            continue
        try:
            (events if is_event else submissions)[key] = sha256(store.get(key))
        except KeyError:
            raise StoreError(f"store: {key} vanished meanwhile: do it again") from None
    return SubmissionFiles(submissions, events)


def unlike_published(store: Store, chain: ManifestChain) -> list[Defect]:
    """Published files of submissions that are gone or changed, and logs that appeared after the publication.

    A log is stored before its submission. So a submission that was published without a log can never get one.
    """
    defects = lost_files(store, chain)
    late: dict[str, int] = {}
    keys = set(store.list(FOLDER))
    for stored in chain.manifests:
        stated = stored.manifest.submissions
        for log in (log_path(submission_of(key)) for key in stated if key.endswith(f"/{RECORD}")):
            if log in keys - stated.keys():
                late.setdefault(log, stored.manifest.n)
    return defects + [
        Defect(log, f"was not there when its submission was published ({manifest_path(n)}): remove it")
        for log, n in sorted(late.items())
    ]


def misnamed(store: Store) -> list[Defect]:
    """The submissions that are stored under another ID than their own; unreadable ones are left out."""
    defects = []
    for id in submission_ids(store):
        try:
            why = why_misnamed(id, read_record(store, record_path(id), Submission))
        except StoreError:  # the leaderboard reports it
            continue
        if why:
            defects.append(Defect(record_path(id), why))
    return defects


def why_misnamed(id: str, submission: Submission) -> str:
    """The reason why the submission stored under `id` is not that one; empty if it is."""
    if submission.id != id:
        return f"it calls itself {submission.id}: restore it"
    if id != submission_id(submission.card.name, submission.image.id):
        return "its ID does not follow from its card's name and its image: restore it"
    return ""


def record_path(id: str) -> str:
    """The key of a submission's record."""
    return f"{FOLDER}{id}/{RECORD}"
