"""Failures: the share of items without a number, by cause; and the share of models whose task failed, by verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judge.figures.figure import N_COLOURS, Figure, Heading, Trace, axis
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.formatting import count, verdict_words
from judge.view.page_context import Frame

N_BARS = 30
_OTHERS = "others"


class FailureBar(NamedTuple):
    """A bar: the number of failures of each cause, and the number of all items or models."""

    name: str
    total: int
    failures: Mapping[str, int]

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    def percent(self, cause: str) -> float:
        """The share of a cause in the total."""
        return 100.0 * self.failures.get(cause, 0) / self.total if self.total else 0.0


def failures_by_cause(frame: Frame) -> Figure | None:
    """For each model, the share of items that failed, by cause; None if no item failed."""
    rows = frame.board.rows
    names = model_names(rows)
    bars = [_items_of(names[row.submission.id], row.tasks) for row in rows]
    failing = sorted((bar for bar in bars if bar.failed), key=lambda bar: -bar.failed / bar.total)
    about = f"Share of failed items among all items of a model, by cause. {_left_out(len(bars), failing)}".strip()
    return _figure("failures", "Failed items by cause", about, failing, "Model", "items")


def failures_of(frame: Frame, row: Row) -> Figure | None:
    """For each task of one model, the share of items that failed, by cause; None if no item failed."""
    bars = [_items_of(line.task.label, (line,)) for line in row.tasks]
    failing = [bar for bar in bars if bar.failed]
    about = "Share of failed items among all items of a task, by cause. Tasks without a failed item are left out."
    return _figure("failures", "Failed items by cause", about, failing, "Task", "items")


def verdicts_by_task(frame: Frame) -> Figure | None:
    """For each task, the share of models with a verdict other than OK; None if all verdicts are OK."""
    lines = [[row.tasks[number] for row in frame.board.rows] for number in range(len(frame.board.suite.tasks))]
    bars = [_verdicts_of(task.label, of_task) for task, of_task in zip(frame.board.suite.tasks, lines, strict=True)]
    failing = sorted((bar for bar in bars if bar.failed), key=lambda bar: -bar.failed / bar.total)
    about = "Share of models with a verdict other than OK. Tasks in which every model has OK are left out."
    return _figure("verdicts", "Failed tasks by verdict", about, failing, "Task", "models")


def _items_of(name: str, lines: Sequence[TaskLine]) -> FailureBar:
    causes: Counter[str] = Counter()
    total = 0
    for line in lines:
        total += line.n_items
        causes.update({cause: n for cause, n in line.failures.items() if n})
    return FailureBar(name, total, causes)


def _verdicts_of(name: str, lines: Sequence[TaskLine]) -> FailureBar:
    judged = [line for line in lines if line.is_judged]
    return FailureBar(name, len(judged), Counter(verdict_words(line.status) for line in judged if not line.ok))


def _left_out(n_models: int, failing: Sequence[FailureBar]) -> str:
    n_sound = n_models - len(failing)
    words = f"{count(n_sound, 'model')} without a failed item left out." if n_sound else ""
    if len(failing) > N_BARS:
        words += f" The plot has the {N_BARS} models with the largest share; the table has all."
    return words


def _figure(key: str, title: str, about: str, bars: Sequence[FailureBar], name: str, unit: str) -> Figure | None:
    if not bars:
        return None
    totals = Counter[str]()
    for bar in bars:
        totals.update(bar.failures)
    causes = [cause for cause, _ in totals.most_common()]
    drawn = [_with_others(bar, causes) for bar in bars[:N_BARS]]
    series = causes if len(causes) <= N_COLOURS else [*causes[: N_COLOURS - 1], _OTHERS]
    labels = short_names([bar.name for bar in drawn], 24)
    return Figure(
        key,
        title,
        about,
        (Heading(name), Heading(f"All {unit}"), *(Heading(verdict_words(cause).lower(), "%") for cause in causes)),
        [(bar.name, bar.total, *(bar.percent(cause) for cause in causes)) for bar in bars],
        [_trace(number, cause, drawn, labels) for number, cause in enumerate(series)],
        {
            "barmode": "stack",
            "xaxis": axis(f"share of all {unit}", ticksuffix=" %", rangemode="tozero"),
            "yaxis": {"type": "category", "autorange": "reversed"},
            "legend": {"orientation": "h", "traceorder": "normal"},
        },
        height=180 + 19 * len(drawn),
    )


def _with_others(bar: FailureBar, causes: Sequence[str]) -> FailureBar:
    """The bar with one colour for each cause: the rarest causes together are one."""
    if len(causes) <= N_COLOURS:
        return bar
    kept = {cause: bar.failures.get(cause, 0) for cause in causes[: N_COLOURS - 1]}
    return bar._replace(failures=kept | {_OTHERS: bar.failed - sum(kept.values())})


def _trace(number: int, cause: str, bars: Sequence[FailureBar], labels: Sequence[str]) -> Trace:
    return {
        "type": "bar",
        "orientation": "h",
        "name": verdict_words(cause).lower(),
        "x": [bar.percent(cause) for bar in bars],
        "y": labels,
        "hovertemplate": "%{y}: %{x:.3g} %",
        "meta": {"colour": number},
    }
