"""Quarantine: data sets and GPUs that spoilt the attempts of several submissions.

It follows from the attempts in the store. So a judge that is started again knows it, and uses up no attempts of other
submissions on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from judge.evaluation.plan import Unit
from judge.records.attempts import History, submission_of
from judge.records.records import End
from sandbox.verdict import Verdict

MIN_SUBMISSIONS = 2  # if only one is concerned, it may be the cause itself


class Quarantine(NamedTuple):
    """A data set or GPU in quarantine, the last attempt that it spoilt, and the submissions concerned."""

    resource: str
    end: End
    submissions: tuple[str, ...]


def bad_datasets(units: Iterable[Unit], histories: Mapping[str, History]) -> dict[str, Quarantine]:
    """The quarantined data sets, by name: our own code spoilt the last attempts of two submissions on them.

    A data set on which any model has a verdict is not quarantined: then the other models' answers cause the errors.

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
    """The quarantined GPUs, by UUID: they spoilt attempts of two submissions since the last verdict OK on them.

    Other verdicts do not count, since a failing GPU may cause them.

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
        later = [(id, end) for id, end in spoilt if uuid not in worked or end.ended > worked[uuid]]
        submissions = tuple(sorted({id for id, _ in later}))
        if len(submissions) >= MIN_SUBMISSIONS:
            quarantined[uuid] = Quarantine(
                f"gpu {uuid}", max((end for _, end in later), key=lambda e: e.ended), submissions
            )
    return quarantined
