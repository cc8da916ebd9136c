"""Why a model moved: its own results, the scoring, or who is above it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from judge.records.manifest import ManifestScores
from judge.view import formatting

_NAMED = 3  # models that are named in a sentence
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

ByTask = Mapping[str, tuple[str, str]]
"""Key and sha256 of a model's result by task; the sha256 is empty where it is not known."""


class Reason(NamedTuple):
    """A clause, and the names that it ends with: of models or tasks, which is text of others.

    Args:
        more: how many are not named.
    """

    words: str
    names: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class Publication:
    """What one publication says of its models; rows that are there for comparison are not among them.

    Args:
        when: None while it is not published.
        judge: version.
        results: sha256 by key in the store, empty where it is not known.
    """

    when: datetime | None
    release: str
    judge: str
    scores: Mapping[str, ManifestScores]
    results: Mapping[str, str]

    @cached_property
    def by_task(self) -> Mapping[str, ByTask]:
        """By submission, what is shown of it."""
        found: dict[str, dict[str, tuple[str, str]]] = {}
        for key, digest in self.results.items():
            _, submission, task, _ = key.split("/", 3)
            found.setdefault(submission, {})[task] = key, digest
        return found

    @cached_property
    def tasks(self) -> frozenset[str]:
        """The tasks that anybody has a result of."""
        return frozenset(task for of in self.by_task.values() for task in of)

    def above(self, id: str) -> frozenset[str]:
        """The models that have a better rank than that one."""
        rank = self.scores[id].rank
        return frozenset() if rank is None else self._before[rank]

    @cached_property
    def _before(self) -> Mapping[int, frozenset[str]]:
        """By rank, the models with a better one."""
        placed = sorted((of.rank, id) for id, of in self.scores.items() if of.rank is not None)
        better: dict[int, frozenset[str]] = {}
        for place, (rank, _) in enumerate(placed):
            if rank not in better:
                better[rank] = frozenset(id for _, id in placed[:place])
        return better


def reasons(id: str, before: Publication, after: Publication, name_of: Callable[[str], str]) -> tuple[Reason, ...]:
    """Why a model that is in both publications moved.

    Args:
        name_of: the name of a model by its id.
    """
    found = list(_of_results(before.by_task.get(id, {}), after.by_task.get(id, {})))
    then, now = before.scores[id], after.scores[id]
    if _ranking(then) != _ranking(now):
        return tuple(found or [_of_scoring(id, before, after)])
    if then.rank != now.rank and None not in (then.rank, now.rank):
        found += _of_competitors(id, before, after, name_of)
    return tuple(found or [_of_scoring(id, before, after)])


def _ranking(scores: ManifestScores) -> tuple[float | None, float | None]:
    """The scores that models are ranked by."""
    return scores.force_field, scores.property_error


def _of_results(before: ByTask, after: ByTask) -> list[Reason]:
    """What became of the results of a model."""
    again = [task for task in before.keys() & after.keys() if _differ(before[task], after[task])]
    first, gone = after.keys() - before.keys(), before.keys() - after.keys()
    said = (("measured anew:", again), ("judged for the first time:", first), ("without a result now:", gone))
    return [Reason(words, tuple(sorted(tasks))) for words, tasks in said if tasks]


def _differ(one: tuple[str, str], other: tuple[str, str]) -> bool:
    if one[0] != other[0]:
        return True
    return bool(one[1]) and bool(other[1]) and one[1] != other[1]


def _of_scoring(id: str, before: Publication, after: Publication) -> Reason:
    """Why the scores of a model moved though no result of it did, as far as the manifests tell."""
    if before.release != after.release:
        return Reason("another release of the scoring")
    if before.tasks != after.tasks:
        return Reason("the suite has other tasks")
    if before.judge != after.judge:
        return Reason(f"another version of the judge: {after.judge}, before {before.judge}")
    if _others_differ(id, before, after):
        return Reason("what its tasks ask for was read off other models’ results, too, and these changed")
    return Reason("for a reason that the manifests do not tell")


def _others_differ(id: str, before: Publication, after: Publication) -> bool:
    """Whether the results of any other model do, of those that are there for comparison too."""
    others = (before.by_task.keys() | after.by_task.keys()) - {id}
    return any(_of_results(before.by_task.get(other, {}), after.by_task.get(other, {})) for other in others)


def _of_competitors(id: str, before: Publication, after: Publication, name_of: Callable[[str], str]) -> list[Reason]:
    """Who came above the model, and who is there no more, though nothing of its own moved."""
    above_before, above_after = before.above(id), after.above(id)
    came, went = above_after - above_before, above_before - above_after
    new, overtook = came - before.scores.keys(), came & before.scores.keys()
    gone, fell = went - after.scores.keys(), went & after.scores.keys()
    found = []
    if new:
        found.append(Reason(f"{_number(len(new))} new {'model' if len(new) == 1 else 'models'} above"))
    if overtook:
        found.append(_named("overtaken by", overtook, after, name_of))
    if gone:
        found.append(Reason(f"{_number(len(gone))} {'model' if len(gone) == 1 else 'models'} above gone"))
    if fell:
        found.append(_named("no longer behind", fell, after, name_of))
    return found


def _named(words: str, ids: Collection[str], now: Publication, name_of: Callable[[str], str]) -> Reason:
    """The best of these models by name."""
    ordered = sorted(ids, key=lambda id: (now.scores[id].rank is None, now.scores[id].rank or 0, id))
    return Reason(words, tuple(map(name_of, ordered[:_NAMED])), max(0, len(ordered) - _NAMED))


def _number(n: int) -> str:
    return _WORDS[n] if n < len(_WORDS) else formatting.thousands(n)
