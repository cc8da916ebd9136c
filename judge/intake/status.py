"""What an invited author is told: what became of each letter, and how far each submission is.

Of a submission its author sees what `judge show --author` shows, and the scores that are published already. Of anybody
else's submission nothing is told: a letter with the image of another one learns that one's ID alone, and in the queue
the others are a number.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from judge.config import ConfigError
from judge.data.datasets import is_there
from judge.disclosure.author_view import AuthorTask, author_view
from judge.disclosure.redaction import public_sets
from judge.intake.invitations import Invited, read_invitations
from judge.intake.progress import Work, work_of
from judge.intake.retry_queue import read_all_delayed
from judge.intake.status_bucket import mail_names, write_status
from judge.records.decisions import EventKind, Standing, read_standings, rounds_that_count
from judge.records.manifest import Manifest, newest_manifest
from judge.records.record_index import open_index
from judge.records.records import Result
from judge.records.results import read_record, submission_ids
from judge.workspace import Workspace
from sandbox.events import plain
from sandbox.verdict import JudgeFault
from submissions.preflight.log import read_log
from submissions.records import Submission, utc_now
from submissions.requests import Fate, Progress, Status, TaskState, log_name
from submissions.store.interface import Store
from tasks.suites.suite import Suite, SuiteError, load_suite

_OUT = {EventKind.WITHDRAWN: "withdrawn", EventKind.DISQUALIFIED: "disqualified"}
NO_MORE = (
    "Too many letters were refused, or were of images submitted before: nothing more is taken. Ask the maintainer for "
    "another invitation."
)


def invitation_status(
    invited: Invited, progress: Mapping[str, Progress], delayed: Sequence[Fate], now: datetime
) -> Status:
    """What the author who has the invitation is told.

    Args:
        progress: by submission; only those are told of that came with this invitation.
        delayed: letters that wait for the judge to correct its own fault.
    """
    fates = [stored.fate for stored in invited.fates.values()]
    fates += [fate for fate in delayed if fate.slot not in invited.fates]
    own = [fate.submission for fate in fates if fate.came == "submitted"]
    quota = invited.quota
    revoked = f"Revoked: {invited.revocation.reason}" if invited.revocation else ""
    return Status(
        written=now,
        invitation=invited.invitation.name,
        revoked=revoked or invited.halted or (NO_MORE if invited.is_exhausted else ""),
        quota=quota,
        fates=tuple(sorted(fates, key=lambda fate: (fate.received, fate.slot))),
        submissions=tuple(progress[id] for id in own if id in progress),
    )


def read_progress(workspace: Workspace, suite: Suite, ids: Collection[str]) -> dict[str, Progress]:
    """How far each of the submissions `ids` is, by its ID.

    Raises:
        StoreError: a record cannot be read, or nobody trusted signed an event; one line that names it.
    """
    if not ids:
        return {}
    settings, store, trusted = workspace.settings, workspace.store, workspace.trusted
    facts = open_index(settings, store).facts(submission_ids(store))
    everybody = sorted((own.submission for own in facts.values()), key=lambda s: (s.created, s.id))
    standings = read_standings(store, facts, trusted)
    rounds = rounds_that_count(standings)
    tasks = {task.name: task.dataset for task in suite.tasks if is_there(settings.data, task.dataset)}
    tasks = tasks or {task.name: task.dataset for task in suite.tasks}
    work = {id: work_of(own, tasks, rounds) for id, own in facts.items()}
    view = _View(
        suite=suite,
        queue=[each for each in everybody if work[each.id].pending and not standings[each.id].out],
        public=public_sets(settings.data, tasks.values(), utc_now().date()),
        manifest=newest_manifest(store, suite.name, trusted),
        site_url=settings.site_url,
    )
    own = [each for each in everybody if each.id in ids]
    return {each.id: _progress(store, each, standings[each.id], work[each.id], view) for each in own}


class _View(NamedTuple):
    """What the progress of every submission is told from.

    Args:
        queue: submissions that wait to be judged, in the order in which they came.
        public: names of the data sets that are public.
        manifest: of the newest publication of the suite.
    """

    suite: Suite
    queue: Sequence[Submission]
    public: Collection[str]
    manifest: Manifest | None
    site_url: str


def _progress(store: Store, submission: Submission, standing: Standing, work: Work, view: _View) -> Progress:
    results = [read_record(store, key, Result) for key in work.done]
    scores = view.manifest.scores.get(submission.id) if view.manifest else None
    published = view.manifest is not None and all(key in view.manifest.results for key in work.done)
    if work.pending:
        state = "judging" if work.begun else "waiting"
    elif work.held:
        state = "held"
    else:
        state = "published" if scores and published else "judged"
    if standing.out:
        state = _OUT[standing.out.kind]
    ahead = [each for each in view.queue if each.image.driver == submission.image.driver]
    place = next((n for n, each in enumerate(ahead, 1) if each.id == submission.id), None)
    shown = author_view(submission, results, "", view.public).tasks
    page = f"{view.site_url.rstrip('/')}/submissions/{submission.id}.html" if scores and view.site_url else ""
    return Progress.model_validate(
        {
            "submission": submission.id,
            "name": submission.card.name,
            "version": submission.card.version,
            "image_id": submission.image.id,
            "submitted": submission.created,
            "state": state,
            "position": place,
            "n_tasks": len(view.suite.tasks),
            "tasks": tuple(_task_state(task) for task in shown),
            "scores": scores.model_dump(exclude={"rank"}) if scores else {},
            "rank": scores.rank if scores else None,
            "page": page,
        }
    )


def _task_state(task: AuthorTask) -> TaskState:
    peaks = task.peaks
    return TaskState(
        task=task.task,
        verdict=task.verdict,
        phase=task.phase,
        sentence=task.sentence,
        wall_s=peaks.wall_s if peaks else None,
        memory_bytes=peaks.memory_bytes if peaks else None,
    )


def say_to_stderr(line: str) -> None:
    """Prints `line` where a person sees it, and a machine that reads the output does not."""
    print(line, file=sys.stderr)


def write_mail(
    workspace: Workspace,
    suite: Suite | None = None,
    say: Callable[[str], None] = say_to_stderr,
    everybody: Sequence[Invited] | None = None,
) -> bool:
    """Whether the status of every invitation was written anew. What hindered it is said in a line, and nothing fails.

    Args:
        suite: at which the progress of submissions is told; None for that of the settings.
        everybody: whose mail it is, as read already; None: all are read.
    """
    if not workspace.settings.mail:
        return True
    try:
        everybody = read_invitations(workspace.store) if everybody is None else everybody
        _write_all(workspace, suite or load_suite(workspace.settings.suite), everybody)
    except (JudgeFault, SuiteError, ConfigError) as error:
        say(f"! What authors are told was not written anew: {plain(str(error), 500)}")
        return False
    return True


def _write_all(workspace: Workspace, suite: Suite, everybody: Sequence[Invited]) -> None:
    if not everybody:
        return
    store = workspace.store
    submitted = {f.fate.submission for each in everybody for f in each.fates.values() if f.fate.came == "submitted"}
    progress = read_progress(workspace, suite, submitted)
    delayed, mail = read_all_delayed(store), mail_names(workspace)
    for invited in everybody:
        name, secret = invited.invitation.name, invited.invitation.secret
        status = invitation_status(invited, progress, delayed.get(name, ()), utc_now())
        there = mail.get(secret, ())  # what a container said is written once: it need not be read again
        ids = [each.submission for each in status.submissions if log_name(each.submission) not in there]
        write_status(workspace, invited, status, {id: read_log(store, id) for id in ids})
