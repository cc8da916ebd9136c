"""The unit that a stored result is of, made again from what it rests on.

That is the submission, the suite's task, the data set, and what the result says of guest, limits and machine. Its two
keys must come out as they are stored: so nothing that they hash was another when it was judged.
"""

from __future__ import annotations

from pydantic import ValidationError

from judge.data.testset import TestSet
from judge.evaluation.plan import Circumstances, Unit, make_unit
from judge.records.records import End, Result
from sandbox.limits import Limits
from submissions.records import Submission
from tasks.kind import Kind
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Task


class Unlike(ValueError):
    """A result that does not follow from submission, suite and data set; one line that says in what, and the remedy."""


def unit_again(result: Result, end: End, submission: Submission, task: Task, testset: TestSet) -> Unit:
    """The unit that `result` is of.

    Raises:
        Unlike: another one comes out.
    """
    kind = KINDS[task.kind]
    _check_versions(result, kind)
    _check_data(result, task, testset)
    try:
        limits = Limits.model_validate(result.provenance.limits)
    except ValidationError:
        raise Unlike(f"its limits cannot be: judge rejudge {result.submission}") from None
    origin = result.provenance.origin
    common = Circumstances(origin.guest, limits, origin.hardware)
    unit = make_unit(submission, task, kind, testset, common, result.round)
    for name, stored, key in (
        ("observation", result.observation_key, unit.observation_key),
        ("result", result.result_key, unit.result_key(end)),
    ):
        if stored != key:
            raise Unlike(
                f"its {name} key does not follow from submission, suite, data set, and what it says of limits and "
                "guest: one of these was changed since: restore it, or judge evaluate"
            )
    return unit


def _check_versions(result: Result, kind: Kind) -> None:
    stated = result.provenance
    for word, version, here in (
        ("observed", stated.observe_version, kind.observe_version),
        ("measured", stated.measure_version, kind.measure_version),
    ):
        if version != here:
            raise Unlike(f"{word} by version {version} of {kind.name}, here is version {here}: judge evaluate")


def _check_data(result: Result, task: Task, testset: TestSet) -> None:
    stated, remedy = result.provenance, "restore these, or judge evaluate"
    if stated.dataset != task.dataset:
        raise Unlike(f"it is of data set {stated.dataset}, the suite's task of {task.dataset}: judge evaluate")
    if stated.frames_sha256 != testset.frames_sha256:
        raise Unlike(f"it was observed on other structures than {task.dataset} has: {remedy}")
    if stated.labels_sha256 != testset.labels_sha256:
        raise Unlike(f"it was measured with other labels than {task.dataset} has: {remedy}")
