"""The intervals of metrics and domains, which `compare.html` loads: `leaderboard.json` has those of scores alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from judge.disclosure.redaction import rounded
from judge.pages.node_intervals import finite
from judge.view.page_context import Frame
from judge.view.score_display import known, uncertainty_of
from scoring.intervals import Interval
from scoring.names import ERRORS

DIGITS = 3
"""As many as the page of a task shows."""


class ModelIntervals(NamedTuple):
    """The known intervals of one model.

    Args:
        metrics: in the metric's unit, by task and metric, of all metrics that an error counts.
        parts: of the domains of each error, by score and domain.
    """

    metrics: Mapping[tuple[str, str], Interval]
    parts: Mapping[str, Mapping[str, Interval]]


NO_INTERVALS = ModelIntervals({}, {})


def model_intervals(frame: Frame) -> dict[str, ModelIntervals]:
    """The intervals of all submissions."""
    found: dict[str, ModelIntervals] = {}
    for row in frame.board.rows:
        metrics: dict[tuple[str, str], Interval] = {}
        parts: dict[str, dict[str, Interval]] = {}
        for key in ERRORS:
            uncertainty = uncertainty_of(frame.board, key, row)
            if uncertainty is None:
                continue
            for name, each in uncertainty.metrics.items():
                if known(each):
                    metrics[name] = Interval(rounded(each.low, DIGITS), rounded(each.high, DIGITS))
            domains = {path[1]: finite(each) for path, each in uncertainty.nodes.items() if len(path) == 2}
            parts[key] = {name: each for name, each in domains.items() if each is not None}
        found[row.submission.id] = ModelIntervals(metrics, parts)
    return found


def intervals_file(intervals: Mapping[str, ModelIntervals]) -> bytes:
    """The file: task and metric of each column, and by submission the interval in each column, or null.

    By submission, `parts` has the intervals of domains by score. An interval is its ends, and how many parts could not
    be resampled.
    """
    columns = sorted({key for of_model in intervals.values() for key in of_model.metrics})
    models = {id: [of_model.metrics.get(key) for key in columns] for id, of_model in intervals.items()}
    parts = {id: of_model.parts for id, of_model in intervals.items()}
    file = {"columns": columns, "models": models, "parts": parts}
    return json.dumps(file, separators=(",", ":"), allow_nan=False).encode()
