"""What is known of a model from being asked, timed or judged more than once, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from judge.ranking.leaderboard import Row, TaskLine
from judge.view.formatting import count, percent, thousands

ASKED_AGAIN = "asked again"  # as the preflight's check is called


def repeats_of(row: Row) -> tuple[str, ...]:
    """A sentence for each way in which something of the model was repeated, the judging itself first."""
    return (_rounds(row), *_asked_again(row), *_timed_again(row), *_in_the_preflight(row))


def _rounds(row: Row) -> str:
    judged = [line for line in row.tasks if line.result is not None]
    anew = [f"{line.task.name} (round {line.result.round})" for line in judged if line.result and line.result.round]
    if not judged:
        return "Nothing was judged yet."
    if anew:
        return f"What counts is of a later round of judging in {', '.join(anew)}; every other task is of its first."
    return "Judged once: no task counts from a later round, so how far a second judging would differ is not known."


def _asked_again(row: Row) -> Iterator[str]:
    """Structures of the timing tasks that a fresh container was asked again, and what it answered."""
    asked = otherwise = 0.0
    for line in _timed(row):
        metrics = _values(line)
        asked += metrics.get("n_rechecked", 0.0)
        otherwise += metrics.get("n_inconsistent", 0.0)
    if asked:
        found = thousands(round(otherwise)) if otherwise else "none"
        yield f"Asked again in a fresh container, {found} of {count(round(asked), 'structure')} got another answer."


def _timed_again(row: Row) -> Iterator[str]:
    spreads = {line.task.name: spread for line in _timed(row) if (spread := _values(line).get("time_spread"))}
    if spreads:
        said = ", ".join(f"{percent(spread)} in {name}" for name, spread in spreads.items())
        yield f"The middle half of the times of single structures spans, of their median: {said}."


def _in_the_preflight(row: Row) -> Iterator[str]:
    for check in row.submission.preflight.checks:
        if check.name.startswith(ASKED_AGAIN):
            yield f"In the preflight, {check.name}: {check.value}."


def _timed(row: Row) -> Iterator[TaskLine]:
    return (line for line in row.tasks if line.task.traits.times and line.result is not None)


def _values(line: TaskLine) -> dict[str, float]:
    metrics = {} if line.result is None else line.result.metrics
    return {name: metric.value for name, metric in metrics.items() if metric.value is not None}
