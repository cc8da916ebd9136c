"""How far answers, times and results of a model repeat, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from judge.ranking.leaderboard import Row, TaskLine
from judge.view.formatting import count, percent, thousands

CONSISTENCY_CHECK = "asked again"  # the name of the check in stored preflights begins so


def repeats_of(row: Row) -> tuple[str, ...]:
    """A sentence for each kind of repetition: judging, answers, times, and answers in the preflight."""
    return (_rounds(row), *_consistency(row), *_spread_of_times(row), *_in_the_preflight(row))


def _rounds(row: Row) -> str:
    judged = [line for line in row.tasks if line.result is not None]
    repeated = [
        f"{line.task.label} (round {line.result.round})" for line in judged if line.result and line.result.round
    ]
    if not judged:
        return "No task was judged yet."
    if repeated:
        return f"Results of a later round count in {', '.join(repeated)}; those of the first round in all other tasks."
    return "Each task was judged once, so the difference to a second judging is not known."


def _consistency(row: Row) -> Iterator[str]:
    """How many structures of the timing tasks got another answer from a fresh container."""
    n_repeated = n_different = 0.0
    for line in _timed(row):
        metrics = _values(line)
        n_repeated += metrics.get("n_rechecked", 0.0)
        n_different += metrics.get("n_inconsistent", 0.0)
    if n_repeated:
        different = thousands(round(n_different)) if n_different else "None"
        yield f"{different} of {count(round(n_repeated), 'structure')} got another answer in a fresh container."


def _spread_of_times(row: Row) -> Iterator[str]:
    spreads = {line.task.label: spread for line in _timed(row) if (spread := _values(line).get("time_spread"))}
    if spreads:
        shares = ", ".join(f"{percent(spread)} in {name}" for name, spread in spreads.items())
        yield f"Interquartile range of the times of single structures, relative to their median: {shares}."


def _in_the_preflight(row: Row) -> Iterator[str]:
    for check in row.submission.preflight.checks:
        if check.name.startswith(CONSISTENCY_CHECK):
            yield f"In the preflight, {check.name}: {check.value}."


def _timed(row: Row) -> Iterator[TaskLine]:
    return (line for line in row.tasks if line.task.traits.times and line.result is not None)


def _values(line: TaskLine) -> dict[str, float]:
    metrics = {} if line.result is None else line.result.metrics
    return {name: metric.value for name, metric in metrics.items() if metric.value is not None}
