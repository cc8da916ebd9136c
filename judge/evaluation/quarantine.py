"""Quarantine: data sets and GPUs that spoilt the attempts of several submissions.

It follows from the attempts in the store, so a judge that is started again knows it, and spends no further submission's
tries on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from judge.evaluation.plan import Unit
from judge.records.attempts import History, submission_of
from judge.records.records import End
from sandbox.verdict import Verdict

MIN_SUBMISSIONS = 2  # one alone may be what is odd


class Quarantine(NamedTuple):
    """A data set or GPU in quarantine, the last attempt that it spoilt, and the submissions concerned."""

    resource: str
    end: End
    submissions: tuple[str, ...]


def bad_datasets(units: Iterable[Unit], histories: Mapping[str, History]) -> dict[str, Quarantine]:
    """By name: data sets whose last attempts of two submissions were spoilt in our own code, and that gave no verdict
    yet. One that some model was judged on is none: then it is the other models' answers that our code stumbles over.

    Args:
        histories: by the units' prefixes.
    """
    spoilt: dict[str, dict[str, End]] = {}
    judged = set()
    for unit in units:
        history = histories.get(unit.prefix, History())
        resource = f"dataset {unit.testset.name}"
        last = history.last.end if history.last else None
        if history.end is not None:
            judged.add(resource)
        elif last is not None and last.culprit == resource:
            spoilt.setdefault(resource, {})[unit.submission.id] = last
    return {
        resource.partition(" ")[2]: Quarantine(resource, max(ends.values(), key=lambda e: e.ended), tuple(sorted(ends)))
        for resource, ends in spoilt.items()
        if len(ends) >= MIN_SUBMISSIONS and resource not in judged
    }


def bad_gpus(histories: Mapping[str, History]) -> dict[str, Quarantine]:
    """By UUID: GPUs that spoilt attempts of two submissions since they last did their part in one that came out OK.

    Any other verdict on it may be what a failing GPU looks like.

    Args:
        histories: by the units' prefixes.
    """
    faults: dict[str, list[tuple[str, End]]] = {}
    worked: dict[str, datetime] = {}
    for prefix, history in histories.items():
        for end in (attempt.end for attempt in history.attempts if attempt.end):
            if end.verdict is Verdict.OK and end.origin.gpu:
                worked[end.origin.gpu] = max(end.ended, worked.get(end.origin.gpu, end.ended))
            elif end.culprit.startswith("gpu "):
                faults.setdefault(end.culprit.removeprefix("gpu "), []).append((submission_of(prefix), end))
    quarantined = {}
    for uuid, spoilt in faults.items():
        since = [(who, end) for who, end in spoilt if uuid not in worked or end.ended > worked[uuid]]
        submissions = tuple(sorted({who for who, _ in since}))
        if len(submissions) >= MIN_SUBMISSIONS:
            quarantined[uuid] = Quarantine(
                f"gpu {uuid}", max((end for _, end in since), key=lambda e: e.ended), submissions
            )
    return quarantined
