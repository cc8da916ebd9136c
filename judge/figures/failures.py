"""Failures: which share of the items had no number, and why; and which tasks came to another verdict than OK."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from judge.figures.axes import Axis, linear
from judge.figures.drawing import N_COLOURS, PATTERNS, WIDTH, clean, group, hatched, hatches, line, shortened, svg, text
from judge.figures.figure import Cell, Figure, Heading
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row, TaskLine
from judge.view.formatting import count, verdict_words
from judge.view.formatting import number as number_text
from judge.view.page_context import Frame

N_BARS = 30
_LEFT, _RIGHT = 190.0, WIDTH - 60.0
_BAR, _STEP, _TOP = 12.0, 19.0, 14.0
_OTHERS = "others"
_IN_LINE = 4  # entries of the legend


class Bar(NamedTuple):
    """A bar of so many parts, by their name."""

    name: str
    total: int
    parts: Mapping[str, int]

    @property
    def failed(self) -> int:
        return sum(self.parts.values())

    def share(self, part: str) -> float:
        """Of the total, in percent."""
        return 100.0 * self.parts.get(part, 0) / self.total if self.total else 0.0


def failures_by_cause(frame: Frame) -> Figure | None:
    """By model, the share of items that failed, by cause; None where none did."""
    rows = frame.board.rows
    names = model_names(rows)
    bars = [_items_of(names[row.submission.id], row.tasks) for row in rows]
    failing = sorted((bar for bar in bars if bar.failed), key=lambda bar: -bar.failed / bar.total)
    about = f"Share of all items that a model was asked and that it failed, by cause. {_spared(len(bars), failing)}"
    return _figure("failures", "Failures by cause", about, failing, "Model", "items")


def failures_of(frame: Frame, row: Row) -> Figure | None:
    """By task of one model, the share of items that failed, by cause; None where none did."""
    bars = [_items_of(line.task.name, (line,)) for line in row.tasks]
    failing = [bar for bar in bars if bar.failed]
    about = "Share of the items of a task that the model failed, by cause. Tasks without a failure are left out."
    return _figure("failures", "Failures by cause", about, failing, "Task", "items")


def verdicts_by_task(frame: Frame) -> Figure | None:
    """By task, the share of models that came to no OK, by verdict; None where all did."""
    lines = [[row.tasks[number] for row in frame.board.rows] for number in range(len(frame.board.suite.tasks))]
    bars = [_verdicts_of(task.name, own) for task, own in zip(frame.board.suite.tasks, lines, strict=True)]
    missed = sorted((bar for bar in bars if bar.failed), key=lambda bar: -bar.failed / bar.total)
    about = (
        "Share of the models that came to another verdict than OK in a task. Tasks that all came through are left out."
    )
    return _figure("verdicts", "Verdicts other than OK", about, missed, "Task", "models")


def _items_of(name: str, lines: Sequence[TaskLine]) -> Bar:
    causes: Counter[str] = Counter()
    total = 0
    for line_ in lines:
        if line_.result is not None:
            total += line_.result.n_items
            causes.update({cause: n for cause, n in line_.result.failures.items() if n})
    return Bar(name, total, causes)


def _verdicts_of(name: str, lines: Sequence[TaskLine]) -> Bar:
    judged = [line_ for line_ in lines if line_.result is not None]
    return Bar(name, len(judged), Counter(verdict_words(line_.status) for line_ in judged if not line_.ok))


def _spared(n_models: int, failing: Sequence[Bar]) -> str:
    spared = n_models - len(failing)
    words = f"{count(spared, 'model')} without any failure left out." if spared else ""
    if len(failing) > N_BARS:
        words += f" Drawn are the {N_BARS} with most; the table has all."
    return words.strip()


def _figure(key: str, title: str, about: str, bars: Sequence[Bar], name: str, of: str) -> Figure | None:
    if not bars:
        return None
    totals = Counter[str]()
    for bar in bars:
        totals.update(bar.parts)
    parts = [part for part, _ in totals.most_common()]
    shown = [_folded(bar, parts) for bar in bars[:N_BARS]]
    drawn = parts if len(parts) <= N_COLOURS else [*parts[: N_COLOURS - 1], _OTHERS]
    return Figure(
        key,
        title,
        about,
        (Heading(name), Heading(f"All {of}"), *(Heading(_words(part), "%") for part in parts)),
        [_row(bar, parts) for bar in bars],
        _drawing(key, title, about, shown, drawn),
        {"data": [_trace(number, part, shown) for number, part in enumerate(drawn)], "layout": _layout(of)},
    )


def _folded(bar: Bar, parts: Sequence[str]) -> Bar:
    """The bar with no more parts than there are colours: the least of all bars together become one."""
    if len(parts) <= N_COLOURS:
        return bar
    kept = parts[: N_COLOURS - 1]
    others = sum(n for part, n in bar.parts.items() if part not in kept)
    return bar._replace(parts={part: n for part, n in bar.parts.items() if part in kept} | {_OTHERS: others})


def _row(bar: Bar, parts: Sequence[str]) -> tuple[Cell, ...]:
    return (bar.name, bar.total, *(bar.share(part) for part in parts))


def _words(part: str) -> str:
    return verdict_words(part).lower()


def _drawing(key: str, title: str, about: str, bars: Sequence[Bar], parts: Sequence[str]) -> Markup:
    """Horizontal bars, each of its parts one after the other, the share of all behind it."""
    legend_lines = math.ceil(len(parts) / _IN_LINE)
    top = _TOP + 18 * legend_lines
    bottom = top + _STEP * len(bars)
    x = linear([0.0, *(_failed_share(bar) for bar in bars)], _LEFT, _RIGHT)
    grid = [line((x(tick.value), top - 4), (x(tick.value), bottom), "grid") for tick in x.ticks]
    ticks = [text((x(tick.value), bottom + 14), f"{tick.label} %", "tick", "middle") for tick in x.ticks]
    drawn = [_bar(key, bar, parts, x, top + _STEP * number) for number, bar in enumerate(bars)]
    entries = [_entry(key, number, part) for number, part in enumerate(parts)]
    return svg(key, title, about, WIDTH, bottom + 24, hatches(key), *entries, *grid, *ticks, *drawn)


def _bar(key: str, bar: Bar, parts: Sequence[str], x: Axis, top: float) -> Markup:
    left, drawn = 0.0, []
    for number, part in enumerate(parts):
        share = bar.share(part)
        if share:
            told = f"{bar.name}: {_words(part)} {share:.3g} %"
            corner = (x(left), top)
            drawn.append(hatched(key, corner, x(left + share) - x(left), _BAR, number, told))
            left += share
    name = text((_LEFT - 6, top + _BAR - 2.5), shortened(clean(bar.name), 32), "small", "end")
    return group(name, *drawn, text((x(left) + 5, top + _BAR - 2.5), f"{number_text(left, 2)} %", "small number"))


def _entry(key: str, number: int, part: str) -> Markup:
    at = (_LEFT + 136 * (number % _IN_LINE), 4 + 18 * (number // _IN_LINE))
    return group(hatched(key, at, 16, 10, number), text((at[0] + 22, at[1] + 9), _words(part), "small"))


def _failed_share(bar: Bar) -> float:
    return sum(bar.share(part) for part in bar.parts)


def _trace(number: int, part: str, bars: Sequence[Bar]) -> dict[str, object]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": _words(part),
        "x": [bar.share(part) for bar in bars],
        "y": [bar.name for bar in bars],
        "marker": {"pattern": {"shape": PATTERNS[number % len(PATTERNS)]}},
        "hovertemplate": "%{y}: %{x:.3g} %",
        "meta": {"colour": number},
    }


def _layout(of: str) -> dict[str, object]:
    return {
        "barmode": "stack",
        "xaxis": {"title": {"text": f"share of all {of}"}, "ticksuffix": " %", "rangemode": "tozero"},
        "yaxis": {"type": "category", "autorange": "reversed"},
        "legend": {"orientation": "h", "traceorder": "normal"},
    }
