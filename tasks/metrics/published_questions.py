"""The note that a task keeps published questions or stored starts, which tell a part of the answers."""

from __future__ import annotations

from collections.abc import Mapping

# The notes of a measurement that say so: of relaxations about their starts, of equations of state about their volumes,
# of dynamics about stored starts.
STORED_STARTS = "stored starts"
NOTES = ("starts", "volumes", STORED_STARTS)


def published_note(notes: Mapping[str, str]) -> str:
    """What published questions or stored starts give away; empty if the questions are drawn."""
    return next((notes[name] for name in NOTES if name in notes), "")
