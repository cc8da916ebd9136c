"""`ScoringError`: facts or metrics that cannot be scored."""

from __future__ import annotations


class ScoringError(ValueError):
    """Facts or metrics that cannot be scored; one line naming the release or task and the field."""
