"""Rates and remaining times, and no bar without a terminal."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console

from submissions.progress import Reporter, duration, rate_text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"), (-1, "0 s")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_pace() -> None:
    assert rate_text(0, 10, "frames", 3.0) == "0/10 frames"
    assert rate_text(120, 400, "frames", 4.0) == "120/400 frames, 30/s, 9 s left"
    assert rate_text(1, 3, "steps", 10.0) == "1/3 steps, 10 s each, 20 s left"


def test_a_pipe_gets_plain_lines() -> None:
    output = StringIO()
    with Reporter(Console(file=output)) as reporter:
        reporter.expect(1)
        with reporter.unit("emt [copper]") as report:
            report(1, 2, "frames")
        reporter.say("done [bold]x[/]")
    assert output.getvalue() == "done [bold]x[/]\n"


def test_a_terminal_gets_bars() -> None:
    output = StringIO()
    with Reporter(Console(file=output, force_terminal=True, width=120), "judging") as reporter:
        reporter.expect(2)
        with reporter.unit("emt [copper]") as report:
            report(1, 2, "frames")
            time.sleep(0.3)  # bars are drawn ten times a second
    assert "emt [copper]" in output.getvalue()
    assert "1/2 frames" in output.getvalue()
