"""The leaderboard from the records of a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container

from judge.gc_pause import long_lived
from judge.ranking.build import build_leaderboard
from judge.ranking.derived_values import DerivedValues
from judge.ranking.interval_cache import IntervalCache
from judge.ranking.leaderboard import Leaderboard
from judge.records.asked_results import asked_by
from judge.records.decisions import Decisions, read_decisions
from judge.records.items_file import items_path, unpack_items
from judge.records.records import Result
from judge.records.results import load_results
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from submissions.store.read_record import read_record
from tasks.metrics.measurement import Items
from tasks.suites.suite import Suite


def read_board(
    store: Store,
    suite: Suite,
    on_problem: Callable[[str], None],
    current: Container[str] | None = None,
    trusted: Collection[str] | None = None,
    references: Collection[str] = (),
    cache: IntervalCache | None = None,
    derived: DerivedValues | None = None,
) -> Leaderboard:
    """The leaderboard of a suite from all records in the store.

    Args:
        on_problem: receives one line for each record that is left out because it cannot be read or scored.
        current: keys of the results that fit the present data sets, if known: see `load_results`.
        trusted: one of these keys must have signed each decision; None: any key. `current_results` checks results.
        references: names or ids of submissions that are compared only.
        cache: of scores and intervals; the caller closes it. None: nothing is kept.
        derived: values of the store's results, likewise.
    """
    with long_lived():
        submissions, results, decisions_by_id = _read(store, asked_by(suite), on_problem, current, trusted)
        board = build_leaderboard(
            suite,
            submissions,
            results,
            lambda result: load_items(store, result),
            decisions_by_id=decisions_by_id,
            references=references,
            cache=cache,
            derived=derived,
        )
    for problem in board.problems:
        on_problem(problem)
    return board


def _read(
    store: Store,
    is_asked: Callable[[Result], bool],
    on_problem: Callable[[str], None],
    current: Container[str] | None,
    trusted: Collection[str] | None,
) -> tuple[list[Submission], list[Result], dict[str, Decisions]]:
    """The submissions that can be read with all their results, these results, and the decisions about them.

    One broken record leaves out the whole submission: a page must not say "not judged" of a task that was judged.
    """
    submissions: list[Submission] = []
    results: list[Result] = []
    decisions_by_id: dict[str, Decisions] = {}
    for key in store.list("submissions/"):
        if not key.endswith("/submission.json"):
            continue
        try:
            submission = read_record(store, key, Submission)
            decisions = read_decisions(store, submission.id, trusted)
            loaded = load_results(store, [submission.id], current, rounds=decisions.rounds, is_asked=is_asked)
        except StoreError as error:
            on_problem(error.remedy)
            continue
        submissions.append(submission)
        decisions_by_id[submission.id] = decisions
        results += loaded
    return submissions, results, decisions_by_id


def settled_stamps(store: Store) -> dict[str, str]:
    """The stamps of results and items tables by key, without those that may change again and keep their stamp."""
    return {each.key: each.stamp for each in store.stamped("results/") if each.is_settled}


def load_items(store: Store, result: Result) -> Items | None:
    """The items table of a result; None if it is missing or broken."""
    try:
        return unpack_items(store.get(items_key(result)))
    except (KeyError, ValueError):
        return None


def items_key(result: Result) -> str:
    """The key of the items table of a result."""
    return items_path(result.submission, result.task, result.result_key)
