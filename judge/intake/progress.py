"""What is left to be done for a submission at a suite, told from the index of the records alone.

`judge plan` tells it from the data sets too, to which keys belong that change with versions and limits. What a version
left behind is judged anew some day; to its author it is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from judge.records.decisions import Rounds
from judge.records.record_index import Facts
from judge.records.result_selection import those_that_count


class Work(NamedTuple):
    """The tasks of a suite, for one submission.

    Args:
        done: keys in the store of the results that count.
        held: tasks that wait for a person.
        pending: tasks that wait for a judge.
        begun: whether anything was tried.
    """

    done: tuple[str, ...]
    held: frozenset[str]
    pending: frozenset[str]
    begun: bool


def work_of(own: Facts, tasks: Mapping[str, str], rounds: Rounds) -> Work:
    """What is done, held and left of `tasks`.

    Args:
        own: of the submission.
        tasks: by name, their data sets.
        rounds: that count.
    """
    histories = own.histories
    counting = those_that_count(own.results, histories, rounds, of_all_suites=True)
    done = {result.task: result.key for result in counting if tasks.get(result.task) == result.dataset}
    left = tasks.keys() - done.keys()
    held = {prefix.split("/")[2] for prefix, history in histories.items() if history.held}
    again = {prefix.split("/")[2] for prefix, history in histories.items() if history.open}  # --retry-held is at it
    waits = frozenset(left & (held - again))
    return Work(tuple(done.values()), waits, frozenset(left - waits), bool(histories))
