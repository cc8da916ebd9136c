"""Why the rank or the scores of a model changed: its own results, the scoring, or the models above it."""

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
"""Key and sha256 of a model's result by task; the sha256 is empty if it is not known."""


class Reason(NamedTuple):
    """A clause that ends with names of models or tasks, which are text of others.

    Args:
        more: how many further names there are.
    """

    words: str
    names: tuple[str, ...] = ()
    more: int = 0


@dataclass(frozen=True)
class Publication:
    """The scores and results of one publication, without the models that are there for comparison.

    Args:
        when: the time of publication; None if it is not published yet.
        judge: the version of the judge.
        results: sha256 by key in the store; empty if it is not known.
    """

    when: datetime | None
    release: str
    judge: str
    scores: Mapping[str, ManifestScores]
    results: Mapping[str, str]

    @cached_property
    def by_task(self) -> Mapping[str, ByTask]:
        """The results that are shown of each submission."""
        by_submission: dict[str, dict[str, tuple[str, str]]] = {}
        for key, digest in self.results.items():
            _, submission, task, _ = key.split("/", 3)
            by_submission.setdefault(submission, {})[task] = key, digest
        return by_submission

    @cached_property
    def tasks(self) -> frozenset[str]:
        """The tasks with a result of any model."""
        return frozenset(task for results in self.by_task.values() for task in results)

    def above(self, id: str) -> frozenset[str]:
        """The models with a better rank than this model."""
        rank = self.scores[id].rank
        return frozenset() if rank is None else self._before[rank]

    @cached_property
    def _before(self) -> Mapping[int, frozenset[str]]:
        """For each rank, the models with a better one."""
        ranked = sorted((scores.rank, id) for id, scores in self.scores.items() if scores.rank is not None)
        better: dict[int, frozenset[str]] = {}
        for position, (rank, _) in enumerate(ranked):
            if rank not in better:
                better[rank] = frozenset(id for _, id in ranked[:position])
        return better


def reasons(
    id: str, before: Publication, after: Publication, name_of: Callable[[str], str], title_of: Callable[[str], str]
) -> tuple[Reason, ...]:
    """Why the rank or the scores of a model changed between two publications.

    Args:
        name_of: the name of a model by its id.
        title_of: the title of a task by its name.
    """
    results = _changed_results(before.by_task.get(id, {}), after.by_task.get(id, {}))
    changed = [reason._replace(names=tuple(map(title_of, reason.names))) for reason in results]
    then, now = before.scores[id], after.scores[id]
    if _ranking(then) == _ranking(now) and then.rank != now.rank and None not in (then.rank, now.rank):
        changed += _changed_competitors(id, before, after, name_of)
    return tuple(changed or [_changed_scoring(id, before, after)])


def _ranking(scores: ManifestScores) -> tuple[float | None, float | None]:
    """The scores that determine the rank."""
    return scores.force_field, scores.property_error


def _changed_results(before: ByTask, after: ByTask) -> list[Reason]:
    """How the results of a model changed."""
    again = [task for task in before.keys() & after.keys() if _differ(before[task], after[task])]
    first, gone = after.keys() - before.keys(), before.keys() - after.keys()
    clauses = (("measured again:", again), ("judged for the first time:", first), ("result removed:", gone))
    return [Reason(words, tuple(sorted(tasks))) for words, tasks in clauses if tasks]


def _differ(before: tuple[str, str], after: tuple[str, str]) -> bool:
    if before[0] != after[0]:
        return True
    return bool(before[1]) and bool(after[1]) and before[1] != after[1]


def _changed_scoring(id: str, before: Publication, after: Publication) -> Reason:
    """Why the scores of a model changed though its results did not, as far as the manifests show."""
    if before.release != after.release:
        return Reason("new release of the scoring")
    if before.tasks != after.tasks:
        return Reason("the suite has other tasks")
    if before.judge != after.judge:
        return Reason(f"new version of the judge: {after.judge}, before {before.judge}")
    if _other_results_changed(id, before, after):
        return Reason("its tasks are also scored from the results of other models, which changed")
    return Reason("the manifests do not show the reason")


def _other_results_changed(id: str, before: Publication, after: Publication) -> bool:
    """Whether a result of any other model changed, models for comparison included."""
    others = (before.by_task.keys() | after.by_task.keys()) - {id}
    return any(_changed_results(before.by_task.get(other, {}), after.by_task.get(other, {})) for other in others)


def _changed_competitors(
    id: str, before: Publication, after: Publication, name_of: Callable[[str], str]
) -> list[Reason]:
    """The models that came above this model, and those that are no longer above it."""
    above_before, above_after = before.above(id), after.above(id)
    risen, went = above_after - above_before, above_before - above_after
    new, overtook = risen - before.scores.keys(), risen & before.scores.keys()
    gone, fell = went - after.scores.keys(), went & after.scores.keys()
    changes = []
    if new:
        changes.append(Reason(f"{_number(len(new))} new {'model' if len(new) == 1 else 'models'} above"))
    if overtook:
        changes.append(_named("overtaken by", overtook, after, name_of))
    if gone:
        changes.append(Reason(f"{_number(len(gone))} {'model' if len(gone) == 1 else 'models'} above removed"))
    if fell:
        changes.append(_named("no longer behind", fell, after, name_of))
    return changes


def _named(words: str, ids: Collection[str], now: Publication, name_of: Callable[[str], str]) -> Reason:
    """A reason with the names of the best of these models."""
    ordered = sorted(ids, key=lambda id: (now.scores[id].rank is None, now.scores[id].rank or 0, id))
    return Reason(words, tuple(map(name_of, ordered[:_NAMED])), max(0, len(ordered) - _NAMED))


def _number(n: int) -> str:
    return _WORDS[n] if n < len(_WORDS) else formatting.thousands(n)
