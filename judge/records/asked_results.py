"""Which results are of the tasks of a suite: another suite, or another version, may have a task of the same name."""

from __future__ import annotations

from collections.abc import Callable

from judge.records.content_keys import parameters_hash
from judge.records.records import Result
from tasks.suites.suite import Suite


def asked_by(suite: Suite) -> Callable[[Result], bool]:
    """Whether a result is of kind, data set and parameters of the task of its name, as far as it states them.

    True for results of other tasks.
    """
    asked = {task.name: (task.kind, task.dataset, {"", parameters_hash(task.parameters)}) for task in suite.tasks}

    def is_asked(result: Result) -> bool:
        if result.task not in asked:
            return True
        kind, dataset, parameters = asked[result.task]
        stated = result.provenance
        return result.kind == kind and stated.dataset == dataset and stated.parameters in parameters

    return is_asked
