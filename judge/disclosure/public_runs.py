"""How far runs got, as far as it is public: a pure function of an items table.

Of a hidden data set no single run is public: only the mean share over at least `LEAST_ITEMS` runs, to two digits, and
how many of them ended in which way, in words of a closed list. Such counts of failures are public with every result.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from judge.disclosure.public_curves import HIDDEN_DIGITS, PUBLIC_DIGITS, is_hidden
from judge.disclosure.redaction import rounded
from judge.ranking.leaderboard import TaskLine
from judge.records.few_items import LEAST_ITEMS
from tasks.metrics.measurement import Items
from tasks.metrics.run_progress import RunProgress

_PERCENT = 100.0


class PublicRun(NamedTuple):
    """A run of a public data set.

    Args:
        percent: its share of the whole run, 0 to 100.
        ended_ps: the time until which it was sound [ps].
        end: how it ended, in words.
        has_backbone: whether it has dihedrals of a protein.
    """

    name: str
    percent: float
    ended_ps: float
    end: str
    has_backbone: bool


class PublicRuns(NamedTuple):
    """The runs of a task of a submission.

    Args:
        mean_percent: of all runs.
        ends: how many ended in which way, the most frequent first.
        each: empty for a hidden data set.
    """

    mean_percent: float
    ends: tuple[tuple[str, int], ...]
    each: tuple[PublicRun, ...]


def public_runs(line: TaskLine, items: Items | None, public: Collection[str]) -> PublicRuns | None:
    """The public runs of a task; None if it has none, or if they are hidden and too few.

    Args:
        public: names of the public data sets.
    """
    progress = line.task.traits.progress
    if items is None or line.result is None or progress is None:
        return None
    runs = [run for run in progress.runs(items, line.task.parameters) if math.isfinite(run.share + run.ended_ps)]
    hidden = is_hidden(line, public)
    if len(runs) < (LEAST_ITEMS if hidden else 1):
        return None
    mean = rounded(_PERCENT * sum(run.share for run in runs) / len(runs), HIDDEN_DIGITS if hidden else PUBLIC_DIGITS)
    ends = Counter(progress.word(run.cause) for run in runs).most_common()
    each = tuple(_shown(run, progress.word(run.cause)) for run in runs) if not hidden else ()
    return PublicRuns(mean, tuple(ends), each)


def _shown(run: RunProgress, end: str) -> PublicRun:
    percent, ended_ps = rounded(_PERCENT * run.share, PUBLIC_DIGITS), rounded(run.ended_ps, PUBLIC_DIGITS)
    return PublicRun(run.name, percent, ended_ps, end, run.has_backbone)
