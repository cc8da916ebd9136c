"""Writes each invited author's status: the decisions about requests, and the progress of submissions.

An author sees of an own submission what `judge show --author` prints. Of other submissions an author learns only the ID
of an earlier submission of the same image, and how many submissions are ahead in the queue.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from judge.config import ConfigError
from judge.data.datasets import is_there
from judge.disclosure.author_view import task_states
from judge.disclosure.redaction import public_sets
from judge.intake.invitations import InvitationState, read_invitations
from judge.intake.retry_queue import read_delayed
from judge.intake.status_bucket import file_names, write_status
from judge.records.decisions import Decisions, EventKind, read_all_decisions, rounds_that_count
from judge.records.manifest import Manifest, newest_manifest
from judge.records.record_cache import open_cache
from judge.records.records import Result
from judge.records.results import submission_ids
from judge.records.suite_progress import SuiteProgress, suite_progress
from judge.workspace import Workspace
from sandbox.events import plain
from sandbox.verdict import JudgeFault
from submissions.preflight.log import read_log
from submissions.records import Submission, utc_now
from submissions.requests import InvitationStatus, RequestDecision, SubmissionProgress, log_name
from submissions.store.interface import Store
from submissions.store.read_record import read_record
from tasks.suites.suite import Suite, SuiteError, load_suite

_OUT = {EventKind.WITHDRAWN: "withdrawn", EventKind.DISQUALIFIED: "disqualified"}
EXHAUSTED = (
    "Too many requests were refused, or were of images submitted before: no more are taken. Ask the maintainer for "
    "another invitation."
)


def invitation_status(
    state: InvitationState,
    progress: Mapping[str, SubmissionProgress],
    delayed: Sequence[RequestDecision],
    now: datetime,
) -> InvitationStatus:
    """The status of an invitation, for its author.

    Args:
        progress: by submission; only submissions of this invitation are taken from it.
        delayed: the delayed requests of this invitation.
    """
    decisions = [stored.decision for stored in state.decisions.values()]
    decisions += [decision for decision in delayed if decision.slot not in state.decisions]
    submitted = [decision.submission for decision in decisions if decision.outcome == "submitted"]
    revoked = f"Revoked: {state.revocation.reason}" if state.revocation else ""
    return InvitationStatus(
        written=now,
        invitation=state.name,
        revoked=revoked or state.suspended or (EXHAUSTED if state.is_exhausted else ""),
        quota=state.quota,
        decisions=tuple(sorted(decisions, key=lambda decision: (decision.received, decision.slot))),
        submissions=tuple(progress[id] for id in submitted if id in progress),
    )


def read_progress(workspace: Workspace, suite: Suite, ids: Collection[str]) -> dict[str, SubmissionProgress]:
    """The progress of the submissions `ids`, by ID.

    Raises:
        StoreError: a record cannot be read, or an event is not signed by a trusted key; one line that names it.
    """
    if not ids:
        return {}
    settings, store, trusted = workspace.settings, workspace.store, workspace.trusted
    facts = open_cache(settings, store).facts(submission_ids(store))
    submissions = sorted((each.submission for each in facts.values()), key=lambda s: (s.created, s.id))
    decisions = read_all_decisions(store, facts, trusted)
    rounds = rounds_that_count(decisions)
    datasets = {task.name: task.dataset for task in suite.tasks if is_there(workspace.data, task.dataset)}
    datasets = datasets or {task.name: task.dataset for task in suite.tasks}
    by_id = {id: suite_progress(each, datasets, rounds) for id, each in facts.items()}
    context = _Context(
        suite=suite,
        queue=[each for each in submissions if by_id[each.id].pending and not decisions[each.id].removal],
        public=public_sets(workspace.data, datasets.values(), utc_now().date()),
        manifest=newest_manifest(store, suite.name, trusted),
        site_url=settings.site_url,
    )
    chosen = [each for each in submissions if each.id in ids]
    return {each.id: _progress(store, each, decisions[each.id], by_id[each.id], context) for each in chosen}


class _Context(NamedTuple):
    """What the progress of all submissions depends on.

    Args:
        queue: submissions that wait to be judged, in the order in which they arrived.
        public: names of the data sets that are public.
        manifest: of the suite's newest publication.
    """

    suite: Suite
    queue: Sequence[Submission]
    public: Collection[str]
    manifest: Manifest | None
    site_url: str


def _progress(
    store: Store, submission: Submission, decisions: Decisions, tasks: SuiteProgress, context: _Context
) -> SubmissionProgress:
    results = [read_record(store, key, Result) for key in tasks.done]
    manifest = context.manifest
    scores = manifest.scores.get(submission.id) if manifest else None
    published = manifest is not None and all(key in manifest.results for key in tasks.done)
    if tasks.pending:
        state = "judging" if tasks.started else "waiting"
    elif tasks.held:
        state = "held"
    else:
        state = "published" if scores and published else "judged"
    if decisions.removal:
        state = _OUT[decisions.removal.kind]
    queue = [each.id for each in context.queue if each.image.driver == submission.image.driver]
    site_url = context.site_url.rstrip("/")
    return SubmissionProgress.model_validate(
        {
            "submission": submission.id,
            "name": submission.card.name,
            "version": submission.card.version,
            "image_id": submission.image.id,
            "submitted": submission.created,
            "state": state,
            "position": queue.index(submission.id) + 1 if submission.id in queue else None,
            "n_tasks": len(context.suite.tasks),
            "tasks": task_states(results, context.public),
            "scores": scores.model_dump(exclude={"rank"}) if scores else {},
            "rank": scores.rank if scores else None,
            "page": f"{site_url}/submissions/{submission.id}.html" if scores and site_url else "",
        }
    )


def say_to_stderr(line: str) -> None:
    """Prints `line` to standard error, so that standard output stays JSON."""
    print(line, file=sys.stderr)


def write_statuses(
    workspace: Workspace,
    suite: Suite | None = None,
    say: Callable[[str], None] = say_to_stderr,
    states: Sequence[InvitationState] | None = None,
) -> bool:
    """True if the status of every invitation was written. Else `say` gets one line with the reason, and nothing fails.

    Args:
        suite: whose progress is shown; None for that of the settings.
        states: the invitations, if they were read already; None: all are read.
    """
    if not workspace.settings.status_bucket:
        return True
    try:
        states = read_invitations(workspace.store) if states is None else states
        _write_all(workspace, suite or load_suite(workspace.settings.suite), states)
    except (JudgeFault, SuiteError, ConfigError) as error:
        say(f"! The authors' status was not written: {plain(str(error), 500)}")
        return False
    return True


def _write_all(workspace: Workspace, suite: Suite, states: Sequence[InvitationState]) -> None:
    if not states:
        return
    store = workspace.store
    decisions = [stored.decision for state in states for stored in state.decisions.values()]
    submitted = {decision.submission for decision in decisions if decision.outcome == "submitted"}
    progress = read_progress(workspace, suite, submitted)
    delayed, existing = read_delayed(store), file_names(workspace)
    for state in states:
        status = invitation_status(state, progress, delayed.get(state.name, ()), utc_now())
        names = existing.get(state.invitation.secret, ())  # a log never changes: it is written once
        ids = [each.submission for each in status.submissions if log_name(each.submission) not in names]
        write_status(workspace, state, status, {id: read_log(store, id) for id in ids})
