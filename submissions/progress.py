"""Reports progress: bars with rate and remaining time on a terminal, else a line after five seconds and every ten."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text

from submissions.quiet import QUIET

PLAIN_FIRST_S, PLAIN_EVERY_S = 5.0, 10.0

Report = Callable[[int, int, str], None]


def duration(seconds: float) -> str:
    """`8 s`, `3 min 5 s`, `2 h 4 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(n: int, noun: str) -> str:
    """1 task, 2 tasks."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def rate_text(done: int, total: int, unit: str, elapsed: float) -> str:
    """`120/400 frames, 37.2/s, 8 s left`."""
    if total <= 0:
        return "starting …"
    text = f"{done}/{total} {unit}".rstrip()
    if done <= 0 or elapsed <= 0:
        return text
    rate = done / elapsed
    speed = f"{rate:.3g}/s" if rate >= 1 else f"{1 / rate:.3g} s each"
    return f"{text}, {speed}, {duration((total - done) / rate)} left"


class _RateColumn(ProgressColumn):
    """Count, rate and remaining time of a bar."""

    def render(self, task: Task) -> Text:
        unit = str(task.fields.get("unit", ""))
        return Text(rate_text(int(task.completed), int(task.total or 0), unit, task.elapsed or 0.0), style="dim")


class Reporter:
    """Reports what a command is doing. On a terminal it shows two bars: one for all units, one for the present unit.

    Args:
        console: of standard output, or of standard error if standard output is JSON. With `QUIET`, only problems are
            printed.
    """

    def __init__(self, console: Console, title: str = "") -> None:
        self.console = console
        self._title = title
        self._count = 0
        self._total = 0
        self._quiet = QUIET.get()
        self._bars: Progress | None = None
        if console.is_terminal and not self._quiet:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                _RateColumn(),
            )
            self._bars = Progress(*columns, console=console, transient=True)
        self._all = self._bars.add_task(title, total=None, unit="", visible=False) if self._bars else None

    def __enter__(self) -> Self:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars:
            self._bars.stop()

    def expect(self, total: int) -> None:
        """Sets the number of units."""
        self._total = total
        if self._bars and self._all is not None:
            self._bars.update(self._all, total=total, unit="units", visible=total > 1)

    def say(self, text: str) -> None:
        """Prints a line for a person, unless the command is quiet; `text` has no markup."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Prints a line about a problem; `text` has no markup."""
        self.console.print(escape(text), highlight=False, soft_wrap=True)

    @contextmanager
    def unit(self, name: str) -> Iterator[Report]:
        """A function to report the progress of one unit: it is called with (done, total, unit)."""
        self._count += 1
        try:
            if self._bars:
                with self._bar(self._bars, name) as report:
                    yield report
            else:
                yield self._plain(name)
        finally:
            if self._bars and self._all is not None:
                self._bars.advance(self._all)

    @contextmanager
    def _bar(self, bars: Progress, name: str) -> Iterator[Report]:
        bar = bars.add_task(escape(name), total=None, unit="")

        def report(done: int, total: int, unit: str) -> None:
            bars.update(bar, completed=done, total=total, unit=unit)

        try:
            yield report
        finally:
            bars.remove_task(bar)

    def _plain(self, name: str) -> Report:
        start = time.monotonic()
        last = start + PLAIN_FIRST_S - PLAIN_EVERY_S
        position = f"[{self._count}/{self._total}] " if self._total else ""

        def report(done: int, total: int, unit: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_EVERY_S:
                last = now
                self.say(f"  {position}{name}: {rate_text(done, total, unit, now - start)}")

        return report
