"""The leaderboard of what a store holds."""

from __future__ import annotations

from collections.abc import Callable, Collection

from judge.gc_pause import long_lived
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard
from judge.records.decisions import Decisions, read_decisions
from judge.records.items_file import items_path, unpack_items
from judge.records.records import Result
from judge.records.results import load_results, read_record
from submissions.records import Submission
from submissions.store.interface import Store, StoreError
from tasks.metrics.measurement import Items
from tasks.suites.suite import Suite


def read_board(
    store: Store,
    suite: Suite,
    on_problem: Callable[[str], None],
    current: Collection[str] | None = None,
    trusted: Collection[str] | None = None,
    references: Collection[str] = (),
) -> Leaderboard:
    """The leaderboard of a suite from all that is in the store.

    Args:
        on_problem: told a line about each record that cannot be read or added up, and is left out.
        current: keys of the results that fit the present data sets, where that is known: see `load_results`.
        trusted: keys, of which one must have signed each event; None: whoever did. `current_results` has asked already.
        references: names or ids of submissions that are there for comparison.
    """
    with long_lived():
        submissions, results, decisions_by_id = _read(store, on_problem, current, trusted)
        board = build_leaderboard(
            suite,
            submissions,
            results,
            lambda result: load_items(store, result),
            decisions_by_id=decisions_by_id,
            references=references,
        )
    for problem in board.problems:
        on_problem(problem)
    return board


def _read(
    store: Store,
    on_problem: Callable[[str], None],
    current: Collection[str] | None,
    trusted: Collection[str] | None,
) -> tuple[list[Submission], list[Result], dict[str, Decisions]]:
    """All submissions that can be read with all their results, these, and where they stand. One broken record leaves
    its row out: the page must not say "not judged" of what was judged.
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
            of_submission = load_results(store, [submission.id], current, rounds=decisions.rounds)
        except StoreError as error:
            on_problem(error.remedy)
            continue
        submissions.append(submission)
        decisions_by_id[submission.id] = decisions
        results += of_submission
    return submissions, results, decisions_by_id


def load_items(store: Store, result: Result) -> Items | None:
    """The items table of a result; None where it is gone or broken."""
    try:
        return unpack_items(store.get(items_path(result.submission, result.task, result.result_key)))
    except (KeyError, ValueError):
        return None
