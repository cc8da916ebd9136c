"""Stretches of time that trainings learn from, in percent of a trajectory: all of some lengths from some starts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tasks.learning.training import LEARNED_SHARE

PERCENT = 100
LEARNED_PERCENT = round(PERCENT * LEARNED_SHARE)


class Window(NamedTuple):
    """A stretch of a trajectory from `start` to `stop` [% of its frames]."""

    start: int
    stop: int

    @property
    def shares(self) -> tuple[float, float]:
        """The same as shares."""
        return self.start / PERCENT, self.stop / PERCENT

    @property
    def label(self) -> str:
        """As figures and tables write it."""
        return f"{self.start}–{self.stop} %"


def windows_of(starts: Iterable[int], lengths: Iterable[int]) -> tuple[Window, ...]:
    """Each length from each start, in this order, if it ends before the frames that are asked about."""
    starts = tuple(starts)
    every = (Window(start, start + length) for length in lengths for start in starts)
    return tuple(window for window in every if window.stop <= LEARNED_PERCENT)
