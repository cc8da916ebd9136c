"""`judge withdraw|disqualify|reinstate`: decisions about a submission, recorded as signed events with a reason."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from judge.cli.options import Reason, checked_reason
from judge.config import UsageError, load_settings
from judge.evaluation.request import choose_submissions
from judge.intake.status import write_mail
from judge.records.decisions import EventKind, Standing, read_standing, record_event
from judge.records.results import read_submissions
from judge.records.signing import own_key, safe_key_file, trusted_keys
from submissions.progress import Reporter
from submissions.store.open_store import open_store

Id = Annotated[str, typer.Argument(metavar="ID", help="submission")]

_SAID = {
    EventKind.WITHDRAWN: "It is not judged any more, and has no rank",
    EventKind.DISQUALIFIED: "It is not judged any more, and has no rank",
    EventKind.REINSTATED: "It is in the ranking again; what is missing is judged by judge evaluate",
}


def withdraw_command(id: Id, reason: Reason = "") -> None:
    """Takes a submission out of the ranking at its author's wish. What was judged is kept."""
    _decide(id, EventKind.WITHDRAWN, reason)


def disqualify_command(id: Id, reason: Reason = "") -> None:
    """Takes a submission out of the ranking against its author's wish. What was judged is kept."""
    _decide(id, EventKind.DISQUALIFIED, reason)


def reinstate_command(id: Id, reason: Reason = "") -> None:
    """Takes a withdrawn or disqualified submission back into the ranking."""
    _decide(id, EventKind.REINSTATED, reason)


def _decide(id: str, kind: EventKind, reason: str) -> None:
    words, settings = checked_reason(reason), load_settings()
    store = open_store(settings.store, settings.endpoint_url)
    submission = choose_submissions(read_submissions(store), [id])[0].id
    standing = read_standing(store, submission, trusted_keys(settings))
    _check_change(submission, standing, kind)
    key = own_key(safe_key_file(settings), Reporter(Console(stderr=True)).say)
    event = record_event(store, key, kind, submission, words, after=standing.last)
    print(f"{submission}: {kind} on {event.time:%Y-%m-%d}: {words}")
    print(f"{_SAID[kind]}. Next: judge site build")
    write_mail(settings, store)


def _check_change(submission: str, standing: Standing, kind: EventKind) -> None:
    """Lets `kind` pass, if it changes anything and makes no less of a disqualification.

    Raises:
        UsageError: else.
    """
    if kind is EventKind.REINSTATED:
        if standing.out is None:
            raise UsageError(f"{submission} is in the ranking: there is nothing to reinstate")
    elif standing.out is not None and (standing.out.kind is kind or kind is EventKind.WITHDRAWN):
        raise UsageError(f"{submission} was {standing.in_words}: to change that, judge reinstate {submission} first")
