"""`submissions/<id>/preflight.log`: what a container said in the preflight. No other log of it is ever kept.

It may be shown, since the container had seen public structures alone. It is a stranger's text all the same: what would
move a terminal's cursor, or turn a line around, is escaped.
"""

from __future__ import annotations

from submissions.store.interface import Store

MAX_BYTES = 64 * 1024


def printable_end(text: str, max_bytes: int = MAX_BYTES) -> str:
    """The end of `text`, every character escaped that does not print; in whole lines, if it has any.

    Args:
        max_bytes: of what is returned, in UTF-8.
    """
    lines: list[str] = []
    room = max_bytes
    for line in reversed(text[-max_bytes:].rstrip().split("\n")):
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.rstrip("\r"))
        room -= len(shown.encode()) + 1
        if room < 0:
            if not lines:  # one endless line
                lines.append(shown.encode()[1 - max_bytes :].decode("utf-8", "ignore"))
            break
        lines.append(shown)
    return "\n".join(reversed(lines))


def store_log(store: Store, submission: str, said: str) -> None:
    """Keeps the end of what a container said, if it said anything.

    Raises:
        StoreError: it cannot be written.
    """
    if text := printable_end(said):
        store.put_if_absent(log_path(submission), text.encode())


def read_log(store: Store, submission: str) -> str:
    """What the container of a submission said; empty where it said nothing, or nothing is kept of it.

    Raises:
        StoreError: the store does not answer.
    """
    try:
        return printable_end(store.get(log_path(submission)).decode("utf-8", "replace"))
    except KeyError:
        return ""


def log_path(submission: str) -> str:
    """Where the log of a submission lies."""
    return f"submissions/{submission}/preflight.log"
