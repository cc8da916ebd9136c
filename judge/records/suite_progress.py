"""Which tasks of a suite are done, held and pending for a submission, from the submission's records alone.

`judge plan` also reads the data sets, since its keys depend on versions and limits. A task with a result of an earlier
version will be judged again some day; the author's status and `judge status` say that it is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from judge.records.decisions import Rounds
from judge.records.record_cache import SubmissionFacts
from judge.records.result_selection import select_counting


class SuiteProgress(NamedTuple):
    """The tasks of a suite, for one submission.

    Args:
        done: store keys of the results that count.
        held: tasks that wait for the maintainer.
        pending: tasks that wait for a judge.
        started: whether anything was tried.
    """

    done: tuple[str, ...]
    held: frozenset[str]
    pending: frozenset[str]
    started: bool


def suite_progress(facts: SubmissionFacts, datasets: Mapping[str, str], rounds: Rounds) -> SuiteProgress:
    """The progress of one submission.

    Args:
        datasets: of the suite's tasks, by task.
        rounds: that count.
    """
    histories = facts.histories
    counting = select_counting(facts.results, histories, rounds, of_all_suites=True)
    done = {result.task: result.key for result in counting if datasets.get(result.task) == result.dataset}
    left = datasets.keys() - done.keys()
    held = {prefix.split("/")[2] for prefix, history in histories.items() if history.held}
    retried = {prefix.split("/")[2] for prefix, history in histories.items() if history.open}  # with --retry-held
    waiting = frozenset(left & (held - retried))
    return SuiteProgress(tuple(done.values()), waiting, frozenset(left - waiting), bool(histories))
