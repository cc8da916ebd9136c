"""The contribution of a task to the scores of a model: its normalised metrics and their shares, read from the trees."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.score_inputs import REFERENCE_UNCERTAINTY
from judge.view.formatting import evidence_words
from judge.view.score_display import known
from scoring import RawMetric, Term
from scoring.intervals import Interval, Uncertainty
from scoring.names import LAMBENCH, SCORES, of_scheme
from scoring.tree import Path

_FACTS_OF_A_MODEL = frozenset(
    {"mean", "mean unit", "level of theory of the model", "held against", "success rate", REFERENCE_UNCERTAINTY}
)


class Counted(NamedTuple):
    """One metric of a task in a score of one model.

    Args:
        metric: its name in the record.
        term: the leaf of the tree; its value is normalised.
        weight: relative to the other metrics of the task.
        share: its share of the whole score, 0 to 1.
        path: the path of its node in the tree.
    """

    metric: str
    term: Term
    weight: float
    share: float
    path: Path

    @property
    def worth(self) -> float | None:
        """Its value in the score: the measured one, else the one that counts in its place."""
        return self.term.counted if self.term.value is None else self.term.value


class TaskScore(NamedTuple):
    """A task in a score of one model. A task whose kind enters no score has no `TaskScore`."""

    key: str
    parts: tuple[Counted, ...]

    @property
    def value(self) -> float | None:
        """The score over this task alone; None if the model has no metric of it."""
        if all(part.term.value is None for part in self.parts):
            return None
        return self.counted

    @property
    def counted(self) -> float | None:
        """The task's value in the score, also if the model has no metric of it; None if it is left out."""
        return _mean((part.weight, part.worth) for part in self.parts)

    @property
    def share(self) -> float:
        """The share of the task in the whole score, 0 to 1."""
        return math.fsum(part.share for part in self.parts)

    def interval(self, uncertainty: Uncertainty | None) -> Interval | None:
        """The interval from its metrics' lower ends to their upper ends, rather too wide; None if one is not known."""
        if uncertainty is None or self.value is None:
            return None
        weighted = [(part.weight, _interval(part, uncertainty)) for part in self.parts if part.weight > 0]
        intervals = [(weight, interval) for weight, interval in weighted if interval is not None]
        if len(intervals) < len(weighted):
            return None
        low = _mean((weight, interval.low) for weight, interval in intervals)
        high = _mean((weight, interval.high) for weight, interval in intervals)
        if low is None or high is None:
            return None
        return Interval(low, high, n_held=sum(interval.n_held for _, interval in intervals))


def task_scores(board: Leaderboard, row: Row) -> dict[str, TaskScore]:
    """The score of each task of a model, by task. Each kind enters one of LAMBench's scores, or none."""
    return scores_by_task(board, {key: row.scores[key] for key in of_scheme(LAMBENCH)})


def scores_by_task(board: Leaderboard, scores: Mapping[str, Term]) -> dict[str, TaskScore]:
    """As `task_scores`, for the scores in `scores`."""
    names = frozenset(task.name for task in board.suite.tasks)
    by_task: dict[str, TaskScore] = {}
    for key, tree in scores.items():
        parts: dict[str, list[Counted]] = {}
        for counted, shares, raw in _leaves(tree, (), ()):
            if (task := _task_of(raw, names)) is None:
                continue
            if SCORES[key].by_label_type:
                label = counted.path[-2]
                metric = board.release.force_field.columns.get(label, label)
                counted = counted._replace(metric=metric, weight=shares[-2])
            parts.setdefault(task, []).append(counted)
        by_task |= {task: TaskScore(key, tuple(of_task)) for task, of_task in parts.items()}
    return by_task


def other_counts(tree: Term, names: Collection[str]) -> tuple[Counted, ...]:
    """The metrics, in a tree of another scheme, of the tasks or benchmarks with these names."""
    return tuple(counted for counted, _, raw in _leaves(tree, (), ()) if raw.task in names)


def held_against(term: Term) -> str:
    """The evidence of a metric that is the same for all models, in words: baseline, thresholds, tolerance."""
    if term.raw is None:
        return ""
    facts = tuple(fact for fact in term.raw.facts if fact[0] not in _FACTS_OF_A_MODEL)
    return evidence_words(term.raw._replace(value=None, uncharged=None, n_items=0, n_failed=0, facts=facts))


def _leaves(
    term: Term, path: Path, shares: tuple[float, ...]
) -> Iterator[tuple[Counted, tuple[float, ...], RawMetric]]:
    """The leaves, each with the shares of the nodes above it and its metric."""
    path, shares = (*path, term.name), (*shares, term.share)
    if term.raw is not None:
        counted = Counted(term.raw.metric, term, term.share, math.prod(shares[1:]), path)
        yield counted, shares, term.raw
    for part in term.parts:
        yield from _leaves(part, path, shares)


def _task_of(raw: RawMetric, names: Collection[str]) -> str | None:
    """The task of a leaf. A run is named `task: run`; hidden runs are one leaf, which has the name of their task."""
    task = raw.task if raw.task in names else raw.task.partition(": ")[0]
    return task if task in names else None


def _interval(part: Counted, uncertainty: Uncertainty) -> Interval | None:
    if part.term.value is None:
        counted = part.term.counted
        return None if counted is None else Interval(counted, counted)
    return known(uncertainty.nodes.get(part.path))


def _mean(weighted_values: Iterable[tuple[float, float | None]]) -> float | None:
    """The weighted mean of the values that are not None; None if none of them has a weight."""
    used = [(weight, value) for weight, value in weighted_values if value is not None and weight > 0]
    total = math.fsum(weight for weight, _ in used)
    return math.fsum(weight * value for weight, value in used) / total if used else None
