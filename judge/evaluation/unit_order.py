"""The order in which one of several workers takes units, so that they seldom want the same one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from judge.evaluation.plan import Planned, Step
from judge.records.attempts import attempt_files


class Taken(NamedTuple):
    """What the keys in a store say of units, without a record being read.

    Args:
        claimed: prefixes of the units with an attempt.
        ended: prefixes of those with an attempt that has ended.
        measured: (submission, task) with a result.
    """

    claimed: frozenset[str]
    ended: frozenset[str]
    measured: frozenset[tuple[str, str]]


def taken(attempts: Iterable[str], results: Iterable[str]) -> Taken:
    """The same from the keys below `attempts/` and `results/`."""
    claimed, ended = set(), set()
    for file in attempt_files(attempts):
        claimed.add(file.prefix)
        if file.name == "end.json":
            ended.add(file.prefix)
    parts = (key.split("/") for key in results)
    measured = frozenset((part[1], part[2]) for part in parts if len(part) > 3)
    return Taken(frozenset(claimed), frozenset(ended), measured)


def own_order(plan: Sequence[Planned], worker: str, is_here: Callable[[str], bool]) -> list[Planned]:
    """The units in the order of one worker: submissions whose image is here come first, then an order that differs from
    worker to worker. The units of a submission stay together, and in their order.

    Args:
        worker: its identity.
        is_here: whether this host has the image of a submission, by its ID.
    """

    def place(submission: str) -> tuple[bool, bytes]:
        return not is_here(submission), draw(worker, submission)

    places = {id: place(id) for id in {planned.unit.submission.id for planned in plan}}
    return sorted(plan, key=lambda planned: places[planned.unit.submission.id])  # a stable sort


def draw(worker: str, name: str) -> bytes:
    """The place of `name` in the order of one worker."""
    return sha256(f"{worker} {name}".encode()).digest()


def is_shared(known: Taken) -> bool:
    """Whether somebody works on one of these units, or has died over it."""
    return not known.claimed <= known.ended


def is_judged(planned: Planned, known: Taken) -> bool:
    """Whether others have judged a unit since the plan was made."""
    unit = planned.unit
    if planned.step is not Step.OBSERVE or unit.prefix not in known.ended:
        return False
    return unit.is_part or (unit.submission.id, unit.task.name) in known.measured
