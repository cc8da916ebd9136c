"""What several commands print in the same way."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout

from rich.console import Console
from rich.markup import escape


def print_json(content: object, indent: int | None = 1) -> None:
    """Prints JSON for a program, in ASCII."""
    print(json.dumps(content, indent=indent))


def print_done(as_json: bool, facts: Mapping[str, object], *lines: str) -> None:
    """Prints what a command did: `facts` as JSON for a program, else `lines` for a person."""
    if as_json:
        print_json(facts)
    else:
        print("\n".join(lines))


@contextmanager
def lines_aside(as_json: bool) -> Iterator[None]:
    """A context in which what is printed for a person goes to standard error, if standard output is JSON."""
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        yield


def print_scores_json(content: object) -> None:
    """Prints scores as JSON for a program.

    Raises:
        ValueError: a number is not finite.
    """
    print(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def finite(value: float | None) -> float | None:
    """The value; None if it is not finite, because JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Prints each line as it is, without markup. A long line is not cut."""
    for line in lines:
        console.print(escape(line), soft_wrap=True)
