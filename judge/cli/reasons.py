"""The reason of a decision, as the pages show it."""

from __future__ import annotations

from judge.config import UsageError
from judge.records.decisions import MAX_REASON
from sandbox.events import plain


def checked_reason(reason: str) -> str:
    """`reason` in one line.

    Raises:
        UsageError: it is empty, or too long.
    """
    words = plain(" ".join(reason.split()), len(reason))
    if not words:
        raise UsageError("give a reason: --reason TEXT")
    if len(words) > MAX_REASON:
        raise UsageError(f"--reason: {len(words)} characters; {MAX_REASON} are allowed")
    return words
