"""`judge withdraw|disqualify|reinstate`: decisions about a submission, recorded as signed events with a reason."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from judge.config import UsageError, load_settings
from judge.progress_view import write_mail
from judge.results import read_submissions
from judge.scope import choose_submissions
from judge.signing import own_key, safe_key_file, trusted_keys
from judge.standing import MAX_REASON, EventKind, Standing, read_standing, record_event
from sandbox.events import plain
from submissions.open_store import open_store
from submissions.progress import Reporter

Id = Annotated[str, typer.Argument(metavar="ID", help="submission")]
Reason = Annotated[str, typer.Option(help="why, for all to read: it stands on the page")]

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


def checked_reason(reason: str) -> str:
    """`reason` in one line.

    Raises:
        UsageError: it is empty, or too long.
    """
    words = plain(" ".join(reason.split()), len(reason))
    if not words:
        raise UsageError("say why, for all to read: --reason TEXT")
    if len(words) > MAX_REASON:
        raise UsageError(f"--reason: {len(words)} characters; {MAX_REASON} are allowed")
    return words


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
