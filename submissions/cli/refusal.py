"""An image that does not pass, on the console: verdict, what to change, the error's own text, and what was printed."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from sandbox.events import plain
from sandbox.wire.session import SessionOutcome
from submissions.preflight.log import printable_end
from submissions.records import PreflightReport

MAX_SHOWN = 1000
SHOWN_LINES = 40
MAX_LINE = 300  # characters
ENTRYPOINT_WORDS = (
    "The image has an ENTRYPOINT, which the judge does not run: it runs Python itself. What it sets (PATH, "
    "variables, an environment of conda) belongs into ENV, or into the label org.lambench.python, e.g. "
    '["/opt/conda/bin/python"].'
)


def show_refusal(console: Console, subject: str, ending: str, outcome: SessionOutcome[PreflightReport]) -> None:
    """Shows why `subject` was refused.

    Args:
        ending: of the headline, such as `would not be judged`.
    """
    console.print(f"[bold red]✗ {outcome.verdict}[/]  {escape(plain(subject, MAX_SHOWN))} {ending}.", soft_wrap=True)
    console.print(f"  {escape(outcome.sentence)}", soft_wrap=True)
    show_log(console, "What it said (the preflight's structures are public):", outcome.private)


def show_log(console: Console, title: str, log: str) -> None:
    """Shows the first line of a log, which states the error, and its end; long lines are cut."""
    lines = printable_end(log).splitlines()
    if len(lines) > SHOWN_LINES:
        lines = [lines[0], f"… {len(lines) - SHOWN_LINES} lines …", *lines[1 - SHOWN_LINES :]]
    if lines:
        console.print(f"\n[dim]{title}[/]")
        console.print("\n".join(f"  │ {bounded(line)}" for line in lines), markup=False, soft_wrap=True)


def bounded(line: str) -> str:
    """The line, cut if it is long."""
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} … ({len(line) - MAX_LINE} more characters)"
