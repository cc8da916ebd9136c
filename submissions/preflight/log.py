"""`submissions/<id>/preflight.log`: what a container printed in the preflight. No other log of it is stored.

It may be shown, since the container saw public structures only. It is a stranger's text: control characters and changes
of text direction are escaped.
"""

from __future__ import annotations

from submissions.store.interface import Store

MAX_BYTES = 64 * 1024


def printable_end(text: str, max_bytes: int = MAX_BYTES) -> str:
    """The last lines of `text`, with unprintable characters escaped.

    Args:
        max_bytes: of the result, in UTF-8.
    """
    lines: list[str] = []
    room = max_bytes
    for line in reversed(text[-max_bytes:].rstrip().split("\n")):
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.rstrip("\r"))
        room -= len(shown.encode()) + 1
        if room < 0:
            if not lines:  # a single line that is too long
                lines.append(shown.encode()[1 - max_bytes :].decode("utf-8", "ignore"))
            break
        lines.append(shown)
    return "\n".join(reversed(lines))


def store_log(store: Store, submission: str, log: str) -> None:
    """Stores the end of a log, unless it is empty.

    Raises:
        StoreError: it cannot be written.
    """
    if text := printable_end(log):
        store.put_if_absent(log_path(submission), text.encode())


def read_log(store: Store, submission: str) -> str:
    """What the container of a submission printed; empty if nothing was stored.

    Raises:
        StoreError: the store does not answer.
    """
    try:
        return printable_end(store.get(log_path(submission)).decode("utf-8", "replace"))
    except KeyError:
        return ""


def log_path(submission: str) -> str:
    """The key of a submission's log in the store."""
    return f"submissions/{submission}/preflight.log"
