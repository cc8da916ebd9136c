"""Whether a command reports its progress."""

from __future__ import annotations

from contextvars import ContextVar

QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
"""True: results and problems are printed, and no progress. Read where a reporter is made."""
