"""`ScoringError`: facts or metrics that cannot be added up."""

from __future__ import annotations


class ScoringError(ValueError):
    """Facts or metrics that cannot be added up; one line naming the release or task and the field."""
