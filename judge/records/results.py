"""What the store holds: submissions, and of each task the one result that counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from judge.records.attempts import read_histories
from judge.records.decisions import Rounds, read_standings, rounds_that_count
from judge.records.records import End, Result
from judge.records.result_selection import ResultFacts, those_that_count
from submissions.records import Record, Submission
from submissions.store.interface import Store, StoreError

R = TypeVar("R", bound=Record)


class Held(NamedTuple):
    """A unit that waits for a person, after its last attempt was spoilt by this machine."""

    submission: str
    task: str
    end: End


def read_record(store: Store, key: str, record: type[R]) -> R:
    """The record under `key`.

    Raises:
        StoreError: it is gone or not valid; the message names key and field.
    """
    try:
        return record.read(store.get(key))
    except KeyError:
        raise StoreError(f"store: {key} is gone: restore it") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "content"
        raise StoreError(f"store: {key}: {field}: {first['msg']}: restore it, or delete it") from None


def submission_ids(store: Store) -> list[str]:
    """Of all submissions, by name."""
    return [key.split("/")[1] for key in store.list("submissions/") if key.endswith("/submission.json")]


def read_submissions(store: Store) -> list[Submission]:
    """All submissions, in the order in which they came."""
    keys = [key for key in store.list("submissions/") if key.endswith("/submission.json")]
    return sorted((read_record(store, key, Submission) for key in keys), key=lambda s: (s.created, s.id))


def load_results(
    store: Store,
    submissions: Sequence[str],
    current: Collection[str] | None = None,
    *,
    of_all_suites: bool = False,
    trusted: Collection[str] | None = None,
    rounds: Rounds | None = None,
) -> list[Result]:
    """Of each submission and task the one result that counts, by submission and task.

    A result counts only if its observation is the one that the last attempt of its unit ended with, and only if it is
    of the round that counts. Among those (other limits, labels or versions) one whose key is in `current` comes first,
    and then the newest.

    Args:
        current: keys in the store of the results that fit the present data sets and versions; None: not known.
        of_all_suites: of each data set that a task of that name has, since two suites may have tasks of one name.
        trusted: keys, of which one must have signed each event that makes a round count; None: whoever did.
        rounds: in place of those that count.

    Raises:
        StoreError: a record cannot be read; one line that names it.
    """
    histories = read_histories(store, submissions)
    counting = rounds_that_count(read_standings(store, submissions, trusted)) if rounds is None else rounds
    found: dict[str, Result] = {}
    for submission in submissions:
        for key in store.list(f"results/{submission}/"):
            if key.endswith(".json"):
                found[key] = read_record(store, key, Result)
    facts = (ResultFacts.of(key, result) for key, result in found.items())
    return [
        found[each.key] for each in those_that_count(facts, histories, counting, current, of_all_suites=of_all_suites)
    ]


def load_held(store: Store, submissions: Iterable[str]) -> list[Held]:
    """The units of `submissions` that are held."""
    held = []
    for prefix, history in read_histories(store, submissions).items():
        if history.held:
            _, submission, task, _, _ = prefix.split("/")
            held.append(Held(submission, task, history.held))
    return held
