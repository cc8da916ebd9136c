"""What is set aside: a data set or a GPU over which one submission after another came to grief.

It follows from the attempts in the store, so a judge that is started again knows it, too, and no further submission's
tries are burnt on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from judge.attempts import History
from judge.plan import Unit
from judge.records import End

MIN_SUBMISSIONS = 2  # one alone may be what is odd
MIN_GPU_FAULTS = 2


class Standstill(NamedTuple):
    """A thing that is set aside, and the last attempt that came to grief over it."""

    culprit: str
    end: End
    submissions: tuple[str, ...]


def bad_datasets(units: Iterable[Unit], histories: Mapping[str, History]) -> dict[str, Standstill]:
    """By name: data sets whose last attempts of two submissions were spoilt in our own code, and that gave no verdict
    yet. One that some model was judged on is none: then it is the other models' answers that our code stumbles over.

    Args:
        histories: by the units' prefixes.
    """
    spoilt: dict[str, dict[str, End]] = {}
    judged = set()
    for unit in units:
        history = histories.get(unit.prefix, History())
        culprit = f"dataset {unit.testset.name}"
        last = history.last.end if history.last else None
        if history.end is not None:
            judged.add(culprit)
        elif last is not None and last.culprit == culprit:
            spoilt.setdefault(culprit, {})[unit.submission.id] = last
    return {
        culprit.partition(" ")[2]: Standstill(culprit, max(ends.values(), key=lambda e: e.ended), tuple(sorted(ends)))
        for culprit, ends in spoilt.items()
        if len(ends) >= MIN_SUBMISSIONS and culprit not in judged
    }


def bad_gpus(histories: Iterable[History]) -> dict[str, Standstill]:
    """By UUID: GPUs that spoilt two attempts since they last did their part in one that came to a verdict."""
    faults: dict[str, list[End]] = {}
    worked: dict[str, End] = {}
    for end in (attempt.end for history in histories for attempt in history.attempts if attempt.end):
        if end.verdict is not None and end.origin.gpu:
            uuid = end.origin.gpu
            worked[uuid] = max(end, worked.get(uuid, end), key=lambda e: e.ended)
        elif end.culprit.startswith("gpu "):
            faults.setdefault(end.culprit.removeprefix("gpu "), []).append(end)
    found = {}
    for uuid, ends in faults.items():
        since = [end for end in ends if uuid not in worked or end.ended > worked[uuid].ended]
        if len(since) >= MIN_GPU_FAULTS:
            found[uuid] = Standstill(f"gpu {uuid}", max(since, key=lambda e: e.ended), ())
    return found
