"""Tracebacks as their author needs them: the author's frames, without the guest's own."""

from __future__ import annotations

import os
import sys
import traceback
from typing import List, Set, Tuple

from .start import home_notice

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_FRAMES = 30
MAX_PRINTED = 3


def print_error(error: BaseException) -> None:
    """Prints a traceback without frames of the guest and of the import system, and the middle of a long one."""
    told = traceback.TracebackException.from_exception(error)
    folded = fold(told)
    ours_alone = not told.stack and not isinstance(error, SyntaxError)  # the message states it
    lines = [] if ours_alone else list(told.format())
    if lines and folded:
        lines.append("(%d frames of the judge's guest and of Python's import are left out)\n" % folded)
    print("".join(lines) + home_notice(), file=sys.stderr, flush=True)


def fold(told: traceback.TracebackException) -> int:
    """Takes the frames of the guest out of a traceback and of those that led to it; how many they were."""
    seen: Set[int] = set()
    todo: List[traceback.TracebackException] = [told]
    folded = 0
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kept = [frame for frame in one.stack if not is_ours(frame.filename)]
        folded += len(one.stack) - len(kept)
        if len(kept) > MAX_FRAMES:
            kept[MAX_FRAMES // 2 : -MAX_FRAMES // 2] = []
        one.stack = traceback.StackSummary.from_list(kept)
        todo += [other for other in (one.__cause__, one.__context__) if other is not None]
    return folded


def is_ours(filename: str) -> bool:
    """Whether a frame's file belongs to the guest or to Python's import system."""
    return filename.startswith((HERE, "<frozen importlib")) or os.path.basename(filename) == "runpy.py"


class FirstErrors:
    """Prints the first few errors of structures, each place once."""

    def __init__(self) -> None:
        self._printed: Set[Tuple[str, str, int]] = set()

    def __call__(self, error: BaseException) -> None:
        if len(self._printed) >= MAX_PRINTED:
            return
        frames = traceback.extract_tb(error.__traceback__)
        last = frames[-1] if frames else None
        place = (type(error).__name__, last.filename if last else "", int(last.lineno or 0) if last else 0)
        if place not in self._printed:
            self._printed.add(place)
            print_error(error)
