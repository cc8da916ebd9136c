"""`judge withdraw|disqualify|reinstate`: decisions about a submission, recorded as signed events with a reason."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from judge.cli.output import print_done
from judge.cli.reasons import checked_reason
from judge.config import UsageError
from judge.evaluation.request import choose_submissions
from judge.intake.status import write_statuses
from judge.records.decisions import Decisions, EventKind, read_decisions, record_event
from judge.records.results import read_submissions
from judge.workspace import open_workspace
from submissions.progress import Reporter

Id = Annotated[str, typer.Argument(metavar="ID", help="submission")]

_CONSEQUENCES = {
    EventKind.WITHDRAWN: "It will not be judged, and has no rank",
    EventKind.DISQUALIFIED: "It will not be judged, and has no rank",
    EventKind.REINSTATED: "It is in the ranking again; judge evaluate judges what is missing",
}


def run_withdraw(id: str, reason: str, as_json: bool) -> None:
    """Takes a submission out of the ranking because its author asks for it. Its results are kept."""
    _decide(id, EventKind.WITHDRAWN, reason, as_json)


def run_disqualify(id: str, reason: str, as_json: bool) -> None:
    """Takes a submission out of the ranking because it breaks a rule. Its results are kept."""
    _decide(id, EventKind.DISQUALIFIED, reason, as_json)


def run_reinstate(id: str, reason: str, as_json: bool) -> None:
    """Takes a withdrawn or disqualified submission back into the ranking."""
    _decide(id, EventKind.REINSTATED, reason, as_json)


def _decide(id: str, kind: EventKind, reason: str, as_json: bool) -> None:
    words, workspace = checked_reason(reason), open_workspace()
    store = workspace.store
    submission = choose_submissions(read_submissions(store), [id])[0].id
    decisions = read_decisions(store, submission, workspace.trusted)
    _check_change(submission, decisions, kind)
    key = workspace.signing_key(Reporter(Console(stderr=True)).say)
    event = record_event(store, key, kind, submission, words, after=decisions.last_time)
    print_done(
        as_json,
        {"submission": submission, "decision": str(kind), "time": f"{event.time:%Y-%m-%dT%H:%M:%SZ}", "reason": words},
        f"{submission}: {kind} on {event.time:%Y-%m-%d}: {words}",
        f"{_CONSEQUENCES[kind]}. Next: judge site build",
    )
    write_statuses(workspace)


def _check_change(submission: str, decisions: Decisions, kind: EventKind) -> None:
    """Returns if the decision changes anything, and does not turn a disqualification into a withdrawal.

    Raises:
        UsageError: otherwise.
    """
    if kind is EventKind.REINSTATED:
        if decisions.removal is None:
            raise UsageError(f"{submission} is in the ranking: there is nothing to reinstate")
    elif decisions.removal is not None and (decisions.removal.kind is kind or kind is EventKind.WITHDRAWN):
        raise UsageError(f"{submission} was {decisions.in_words}: to change that, judge reinstate {submission} first")
