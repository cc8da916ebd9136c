"""Reads submissions, the results that count, and held units from the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from typing import NamedTuple

from judge.records.attempts import read_histories, submission_of
from judge.records.decisions import Rounds, read_all_decisions, rounds_that_count
from judge.records.records import End, Result
from judge.records.result_selection import ResultFacts, select_counting
from submissions.records import Submission
from submissions.store.interface import Store
from submissions.store.read_record import read_record


class HeldUnit(NamedTuple):
    """A unit that is held for a person, with the end of its last attempt."""

    submission: str
    task: str
    end: End


def submission_ids(store: Store) -> list[str]:
    """The IDs of all submissions, sorted."""
    return [submission_of(key) for key in store.list("submissions/") if key.endswith("/submission.json")]


def read_submissions(store: Store) -> list[Submission]:
    """All submissions, in the order in which they came."""
    keys = [f"submissions/{id}/submission.json" for id in submission_ids(store)]
    return sorted((read_record(store, key, Submission) for key in keys), key=lambda s: (s.created, s.id))


def load_results(
    store: Store,
    submissions: Sequence[str],
    current: Container[str] | None = None,
    *,
    of_all_suites: bool = False,
    trusted: Collection[str] | None = None,
    rounds: Rounds | None = None,
    is_asked: Callable[[Result], bool] = lambda _: True,
) -> list[Result]:
    """One result for each submission and task: the one that counts, sorted by submission and task.

    A result counts only if the last attempt of its unit ended with its observation, and if it is of the round that
    counts. If several do (other limits, labels or versions), a result in `current` is preferred, then the newest.

    Args:
        current: keys in the store of the results that fit the present data sets and versions; None: not known.
        of_all_suites: one result for each data set of a task name: two suites may have a task of the same name.
        trusted: public keys; one of them must have signed each event about rounds; None: any key may have.
        rounds: used in place of the rounds that the events state.
        is_asked: false for results that are left out, see `judge.records.asked_results.asked_by`.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    histories = read_histories(store, submissions)
    if rounds is None:
        rounds = rounds_that_count(read_all_decisions(store, submissions, trusted))
    keys = (key for submission in submissions for key in store.list(f"results/{submission}/") if key.endswith(".json"))
    results = {key: result for key in keys if is_asked(result := read_record(store, key, Result))}
    facts = (ResultFacts.from_result(key, result) for key, result in results.items())
    counting = select_counting(facts, histories, rounds, current, of_all_suites=of_all_suites)
    return [results[each.key] for each in counting]


def load_held(store: Store, submissions: Iterable[str]) -> list[HeldUnit]:
    """The units of `submissions` that are held."""
    held = []
    for prefix, history in read_histories(store, submissions).items():
        if history.held:
            _, submission, task, _, _ = prefix.split("/")
            held.append(HeldUnit(submission, task, history.held))
    return held
