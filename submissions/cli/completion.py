"""Names that a shell completes. A completion must be fast and silent: what cannot be read gives no names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import typer

Named = tuple[str, str]
"""A name, and what it is, for shells that show it."""

Completer = Callable[[typer.Context, str], list[Named]]


def completer(names: Callable[[typer.Context, str], Iterable[Named]]) -> Completer:
    """What typer calls: the names that begin as what was typed; none if anything fails."""

    def complete(context: typer.Context, incomplete: str) -> list[Named]:
        try:
            return [named for named in names(context, incomplete) if named[0].startswith(incomplete)]
        except Exception:  # noqa: BLE001  a shell shows nothing but names
            return []

    return complete


@completer
def sent_submissions(context: typer.Context, incomplete: str) -> Iterator[Named]:
    """IDs of what this machine has sent with the invitation, with the names of the models; no server is asked."""
    from submissions.client.sent_record import read_sent_record  # here, since help needs none of these
    from submissions.client.status_bucket import read_invite
    from submissions.records import submission_id
    from submissions.settings import INVITE_VARIABLE

    invite = read_invite(Path(context.params.get("invite") or os.environ[INVITE_VARIABLE]))
    for request in read_sent_record(invite).requests:
        yield (submission_id(request.name, request.image_id), request.name) if request.image_id else (request.name, "")
