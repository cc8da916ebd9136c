"""Rates and remaining times, and no bar without a terminal."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console

from submissions import progress
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


def test_a_pipe_gets_a_line_after_five_seconds_and_every_ten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PLAIN_FIRST_S", 0.2)
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.6)
    output, at = StringIO(), []
    with Reporter(Console(file=output, width=200)).unit("reading") as report:
        begin = time.monotonic()
        while time.monotonic() - begin < 1.2:
            report(1, 2, "frames")
            if output.getvalue().count("\n") > len(at):
                at.append(time.monotonic() - begin)
            time.sleep(0.01)
    assert len(at) == 2
    assert 0.2 <= at[0] < 0.6 <= at[1]
    assert "reading: 1/2 frames" in output.getvalue()


def test_a_terminal_gets_bars() -> None:
    output = StringIO()
    with Reporter(Console(file=output, force_terminal=True, width=120), "judging") as reporter:
        reporter.expect(2)
        with reporter.unit("emt [copper]") as report:
            report(1, 2, "frames")
            time.sleep(0.3)  # bars are drawn ten times a second
    assert "emt [copper]" in output.getvalue()
    assert "1/2 frames" in output.getvalue()
