"""A model's errors from plain numbers, for tests of scores."""

from __future__ import annotations

from collections.abc import Mapping

from scoring import Answers, MeasuredError, RawMetric


def answers_of(errors: Mapping[str, Mapping[str, tuple[float | None, float]]]) -> Answers:
    """The answers by task and column, from pairs of an error and its baseline."""
    return {
        task: {
            column: MeasuredError(RawMetric(task, column, value), baseline)
            for column, (value, baseline) in columns.items()
        }
        for task, columns in errors.items()
    }
