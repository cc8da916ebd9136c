"""The intervals of single metrics, which `compare.html` loads: `leaderboard.json` has those of scores alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from judge.disclosure.redaction import rounded
from judge.view.page_context import Frame
from judge.view.score_display import known, uncertainty_of
from scoring.names import ERRORS

DIGITS = 3
"""As many as the page of a task shows."""

MetricIntervals = Mapping[tuple[str, str], tuple[float, float]]
"""By task and metric, the ends of an interval in the metric's unit."""


def metric_intervals(frame: Frame) -> dict[str, MetricIntervals]:
    """By submission, the known intervals of all metrics that an error counts."""
    found: dict[str, MetricIntervals] = {}
    for row in frame.board.rows:
        uncertainties = [uncertainty_of(frame.board, key, row) for key in ERRORS]
        found[row.submission.id] = {
            key: (rounded(interval.low, DIGITS), rounded(interval.high, DIGITS))
            for uncertainty in uncertainties
            if uncertainty is not None
            for key, each in uncertainty.metrics.items()
            if (interval := known(each)) is not None
        }
    return found


def intervals_file(intervals: Mapping[str, MetricIntervals]) -> bytes:
    """The file: task and metric of each column, and by submission the interval in each column, or null."""
    columns = sorted({key for of_model in intervals.values() for key in of_model})
    models = {id: [of_model.get(key) for key in columns] for id, of_model in intervals.items()}
    return json.dumps({"columns": columns, "models": models}, separators=(",", ":"), allow_nan=False).encode()
