"""What the store holds: submissions, and of each task the one result that counts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from judge.attempts import History, read_histories, unit_prefix
from judge.records import End, Result
from judge.standing import Rounds, TaskOf, read_standings, rounds_that_count
from submissions.records import Record, Submission
from submissions.store import Store, StoreError

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
    best: dict[tuple[str, str, str], tuple[tuple[bool, float, str], Result]] = {}
    for submission in submissions:
        for key in store.list(f"results/{submission}/"):
            if not key.endswith(".json"):
                continue
            result = read_record(store, key, Result)
            task = TaskOf(result.submission, result.task, result.provenance.dataset)
            if result.round != counting.get(task, 0) or not _counts(result, histories):
                continue
            rank = (current is not None and key in current, result.measured.timestamp(), result.result_key)
            place = (result.submission, result.task, result.provenance.dataset if of_all_suites else "")
            if place not in best or rank > best[place][0]:
                best[place] = (rank, result)
    return [best[place][1] for place in sorted(best)]


def _counts(result: Result, histories: dict[str, History]) -> bool:
    history = histories.get(unit_prefix(result.submission, result.task, result.observation_key))
    end = history.end if history else None
    if end is None or end.observation != result.provenance.observation:
        return False
    return end.observation is not None or end.verdict == result.verdict  # what is measured has its own verdict


def load_held(store: Store, submissions: Iterable[str]) -> list[Held]:
    """The units of `submissions` that are held."""
    held = []
    for prefix, history in read_histories(store, submissions).items():
        if history.held:
            _, submission, task, _, _ = prefix.split("/")
            held.append(Held(submission, task, history.held))
    return held
