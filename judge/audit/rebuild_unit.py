"""Rebuilds the unit of a stored result from submission, task and data set.

Guests, limits and machine are taken from the result. Both keys of the unit must equal the stored ones: this proves that
everything they hash is unchanged since the result was judged.
"""

from __future__ import annotations

from pydantic import ValidationError

from judge.data.testset import TestSet
from judge.evaluation.plan import Circumstances, TaskUnits, Unit
from judge.records.records import End, Result
from sandbox.limits import Limits
from submissions.records import Submission
from tasks.kind import Kind
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Task


class NotDerivable(ValueError):
    """A result does not follow from submission, suite and data set; one line with the reason and the remedy."""


def rebuild_unit(result: Result, end: End, submission: Submission, task: Task, testset: TestSet, secret: bytes) -> Unit:
    """The unit of `result`.

    Args:
        secret: of the store.

    Raises:
        NotDerivable: the rebuilt unit has other keys than the result.
    """
    kind = KINDS[task.kind]
    _check_versions(result, kind)
    _check_data(result, task, testset)
    try:
        limits = Limits.model_validate(result.provenance.limits)
    except ValidationError:
        raise NotDerivable(f"its limits are not valid: judge rejudge {result.submission}") from None
    origin = result.provenance.origin
    common = Circumstances(origin.guest, limits, origin.hardware, secret=secret, training_guest=origin.training_guest)
    unit = TaskUnits(task, kind, testset, common).unit(submission, result.round)
    for name, stored, key in (
        ("observation", result.observation_key, unit.observation_key),
        ("result", result.result_key, unit.result_key(end)),
    ):
        if stored != key:
            raise NotDerivable(
                f"its {name} key does not follow from submission, suite, data set, and its own limits and guests: one "
                "of these was changed since: restore it, or judge evaluate"
            )
    return unit


def _check_versions(result: Result, kind: Kind) -> None:
    stated = result.provenance
    for word, version, here in (
        ("observed", stated.observe_version, kind.observe_version),
        ("measured", stated.measure_version, kind.measure_version),
    ):
        if version != here:
            raise NotDerivable(f"{word} by version {version} of {kind.name}; this judge has {here}: judge evaluate")


def _check_data(result: Result, task: Task, testset: TestSet) -> None:
    stated, remedy = result.provenance, "restore these, or judge evaluate"
    if stated.dataset != task.dataset:
        raise NotDerivable(f"it is of data set {stated.dataset}, the suite's task of {task.dataset}: judge evaluate")
    if stated.frames_sha256 != testset.frames_sha256:
        raise NotDerivable(f"it was observed on other structures than {task.dataset} has: {remedy}")
    if stated.labels_sha256 != testset.labels_sha256:
        raise NotDerivable(f"it was measured with other labels than {task.dataset} has: {remedy}")
