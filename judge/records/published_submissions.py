"""What a manifest states of submissions beside their results: what each says of itself, its log, decisions about it.

None of it is ever written again, so what was published once must be there, byte by byte. A submission carries no
signature, since its author has no key here; from the first publication on the manifest's stands for one.
"""

from __future__ import annotations

from typing import NamedTuple

from judge.records.manifest import Broken, Chain, lost_files, manifest_path, sha256
from judge.records.results import read_record
from submissions.preflight.log import log_path
from submissions.records import Submission, submission_id
from submissions.store.interface import Store, StoreError

FOLDER = "submissions/"
RECORD = "submission.json"


class SubmissionFiles(NamedTuple):
    """sha256 of the stored bytes by key: of submissions with their logs, and of the decisions about them."""

    submissions: dict[str, str]
    events: dict[str, str]


def submission_files(store: Store) -> SubmissionFiles:
    """What the store holds now of all submissions that are whole.

    Raises:
        StoreError: the store does not answer, or something vanished in the middle.
    """
    submissions: dict[str, str] = {}
    events: dict[str, str] = {}
    keys = dict.fromkeys(store.list(FOLDER))
    whole = {id for id in (key.split("/")[1] for key in keys) if record_path(id) in keys}
    for key in keys:
        id = key.split("/")[1]
        is_event = key.startswith(f"{FOLDER}{id}/events/")
        if id not in whole or not (is_event or key in (record_path(id), log_path(id))):
            continue
        try:
            (events if is_event else submissions)[key] = sha256(store.get(key))
        except KeyError:
            raise StoreError(f"store: {key} vanished meanwhile: do it again") from None
    return SubmissionFiles(submissions, events)


def unlike_published(store: Store, chain: Chain) -> list[Broken]:
    """What a manifest names of submissions and that is gone or changed, and logs that came after it.

    A log is stored before its submission: where a published submission had none, none can come.
    """
    broken = lost_files(store, chain)
    late: dict[str, int] = {}
    there = set(store.list(FOLDER))
    for stored in chain.manifests:
        stated = stored.manifest.submissions
        for log in (log_path(key.split("/")[1]) for key in stated if key.endswith(f"/{RECORD}")):
            if log in there - stated.keys():
                late.setdefault(log, stored.manifest.n)
    return broken + [
        Broken(log, f"was not there when its submission was published ({manifest_path(n)}): remove it")
        for log, n in sorted(late.items())
    ]


def misnamed(store: Store) -> list[Broken]:
    """The submissions that lie under another name than theirs; those that cannot be read are passed over."""
    broken = []
    for key in store.list(FOLDER):
        if not key.endswith(f"/{RECORD}"):
            continue
        try:
            why = why_misnamed(key.split("/")[1], read_record(store, key, Submission))
        except StoreError:  # the board names it
            continue
        if why:
            broken.append(Broken(key, why))
    return broken


def why_misnamed(id: str, submission: Submission) -> str:
    """Why `submission`, stored as that of `id`, is not it; empty where it is."""
    if submission.id != id:
        return f"it calls itself {submission.id}: restore it"
    if id != submission_id(submission.card.name, submission.image.id):
        return "its ID does not follow from its card's name and its image: restore it"
    return ""


def record_path(id: str) -> str:
    """Where a submission lies."""
    return f"{FOLDER}{id}/{RECORD}"
