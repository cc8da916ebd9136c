"""What the preflight says where a model fails over charge and 2S+1."""

from __future__ import annotations

import re
from collections.abc import Mapping

from submissions.records import Check
from tasks.structures.predictions import Cause, Predictions

STATE_SENTENCE = (
    'The judge sets atoms.info["charge"] and atoms.info["spin"] (2S+1) of every structure, as whole numbers, also for '
    "neutral closed-shell molecules: accept them, or ignore them."
)
_ABOUT_STATES = re.compile(r"\b(charge|spin|multiplicity|info)\b", re.IGNORECASE)


def concerns_state(error: str) -> bool:
    """Whether the line of an error names charge, spin or `info`."""
    return bool(_ABOUT_STATES.search(error.replace("_", " ")))


def state_check(failed: Mapping[str, Predictions]) -> tuple[Check, ...]:
    """A row if structures failed with an error that names charge, spin or `info`.

    Args:
        failed: by name of the structure, the answer to it alone.
    """
    names = [name for name, answer in failed.items() if _failed_over_state(answer)]
    if not names:
        return ()
    return (
        Check(name="charge and spin", passed=False, value=f"{', '.join(names)} failed over them. {STATE_SENTENCE}"),
    )


def _failed_over_state(answer: Predictions) -> bool:
    error = answer.errors.get(0)
    return error is not None and error.cause is Cause.ERROR and concerns_state(f"{error.kind}: {error.text}")
