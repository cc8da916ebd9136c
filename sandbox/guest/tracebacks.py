"""Tracebacks as their author needs them: the author's frames, without the guest's own."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import Dict, List, Set, Tuple

from .start import home_notice

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_FRAMES = 30
MAX_PRINTED = 3


def print_error(error: BaseException) -> None:
    """Prints a traceback without frames of the guest and of the import system, and the middle of a long one.

    Exceptions that led to others come first, as Python itself prints them.
    """
    with suppress(Exception):  # an author's class may raise when it is looked at, and stderr may be closed
        print("".join(readable_lines(error)) + home_notice(), file=sys.stderr, flush=True)


def readable_lines(error: BaseException) -> List[str]:
    """The lines of a traceback; none if no frame of it is the author's: then the message says it all."""
    told = traceback.TracebackException.from_exception(error)
    folded = fold(told)
    if not any(one.stack for one in shown(told)) and not isinstance(error, SyntaxError):
        return []
    lines = list(told.format())
    if folded:
        lines.append("(%d frames of the judge's guest and of Python's import are left out)\n" % folded)
    return lines


def fold(told: traceback.TracebackException) -> int:
    """Takes the frames of the guest out of a traceback and of those shown with it; how many they were."""
    folded = 0
    for one in shown(told):
        kept = [frame for frame in one.stack if not is_ours(frame.filename)]
        folded += len(one.stack) - len(kept)
        if len(kept) > MAX_FRAMES:
            kept[MAX_FRAMES // 2 : -MAX_FRAMES // 2] = []
        one.stack = traceback.StackSummary.from_list(kept)
    return folded


def shown(told: traceback.TracebackException) -> List[traceback.TracebackException]:
    """A traceback and those that Python prints with it: its cause, or a context that is not suppressed; and so on."""
    found: Dict[int, traceback.TracebackException] = {}
    todo: List[traceback.TracebackException] = [told]
    while todo:
        one = todo.pop()
        if id(one) in found:
            continue
        found[id(one)] = one
        if one.__cause__ is not None:
            todo.append(one.__cause__)
        elif one.__context__ is not None and not one.__suppress_context__:
            todo.append(one.__context__)
        todo += getattr(one, "exceptions", None) or []  # of a group, since Python 3.11
    return list(found.values())


def is_ours(filename: str) -> bool:
    """Whether a frame's file belongs to the guest or to Python's import system."""
    return filename.startswith((HERE, "<frozen importlib")) or os.path.basename(filename) == "runpy.py"


class FirstErrors:
    """Prints the first few errors of structures, each place once."""

    def __init__(self) -> None:
        self._printed: Set[Tuple[str, str, int]] = set()

    def __call__(self, error: BaseException) -> None:
        """Prints `error`, unless its like or enough others were printed."""
        if len(self._printed) >= MAX_PRINTED:
            return
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1] if frames else None
        place = (type(error).__name__, last.filename if last else "", int(last.lineno or 0) if last else 0)
        if place not in self._printed:
            self._printed.add(place)
            print_error(error)
