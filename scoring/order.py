"""Which of two models is better: the difference of paired draws, in which both have the same clusters of items.

A model is better than another if that holds in the middle `LEVEL` of the draws (`scoring.intervals`): the interval of
their difference does not include 0. Ranks, groups of tied models, and the order in a single task follow from it. Draws
for an order contain no failures that nobody has seen (`scoring.unseen_failures`), so an order may be clear where the
intervals of single models overlap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.intervals import LEVEL, ResampledScore, SingleFloat, Uncertainty, middle_intervals
from scoring.ranking import costs, ranks
from scoring.tree import Float


class PairOrder(NamedTuple):
    """Which of M models is better than which.

    Args:
        better: (M, M) True in row i and column j if model i is better than model j.
    """

    models: tuple[str, ...]
    better: NDArray[np.bool_]


NO_ORDER = PairOrder((), np.zeros((0, 0), np.bool_))


def pair_order(drawn: Mapping[str, Float | SingleFloat], *, lower_is_better: bool) -> PairOrder:
    """The order of each two of the models.

    Args:
        drawn: (B,) by model, a score on the same resamples.
    """
    models = tuple(sorted(drawn))
    cost = costs(np.array([drawn[model] for model in models]), lower_is_better=lower_is_better)
    better = np.zeros((len(models), len(models)), np.bool_)
    middles = np.median(cost, axis=1) if models else np.zeros(0)
    for row, own in enumerate(cost):
        others = np.flatnonzero(middles > middles[row])
        better[row, others] = _is_better(own, cost[others])
    return PairOrder(models, better)


def with_ranks(scores: Mapping[str, ResampledScore], *, lower_is_better: bool) -> dict[str, Uncertainty]:
    """By model, in alphabetical order, the uncertainty of one score, with ranks among these models."""
    if not scores:
        return {}
    scores = dict(sorted(scores.items()))
    values = {model: score.value for model, score in scores.items()}
    drawn = {model: score.drawn for model, score in scores.items() if score.drawn is not None}
    table = np.broadcast_arrays(*(drawn.get(model, np.array([value])) for model, value in values.items()))
    rank_now = ranks(np.array(list(values.values())), lower_is_better=lower_is_better).tolist()
    rank_ends = middle_intervals(ranks(np.array(table), lower_is_better=lower_is_better).astype(np.float64))
    with_order = {model: value for model, value in values.items() if scores[model].uncertainty.has_order}
    groups = tie_groups(with_order, drawn, lower_is_better=lower_is_better)
    group = {model: number for number, models in enumerate(groups, 1) for model in models}
    carries_over = _carry_over(groups, scores, lower_is_better)
    ranked = {}
    for place, (model, score) in enumerate(scores.items()):
        result = score.uncertainty
        interval = result.rank_interval
        if model in drawn and model in group:
            interval = interval._replace(low=rank_ends[place].low, high=rank_ends[place].high)
        rank = None if math.isnan(values[model]) else rank_now[place]
        ranked[model] = replace(
            result,
            rank=rank,
            rank_interval=interval,
            group=group.get(model),
            carries_over=carries_over.get(model),
        )
    return ranked


def _carry_over(
    groups: Sequence[Sequence[str]], scores: Mapping[str, ResampledScore], lower_is_better: bool
) -> dict[str, bool]:
    """By model of several groups, `Uncertainty.carries_over`."""
    leaders = [scores[models[0]].drawn_like_these for models in groups]
    others = [leaders[1], *leaders[:-1]] if len(groups) > 1 else []
    return {
        model: _differ(other, scores[model].drawn_like_these, lower_is_better)
        for models, other in zip(groups, others, strict=False)
        for model in models
    }


def tie_groups(
    scores: Mapping[str, float], resampled: Mapping[str, Float], *, lower_is_better: bool
) -> tuple[tuple[str, ...], ...]:
    """Models in groups from best to worst; all models of a group are tied with its leader, which is the first.

    Models are ordered by score, then by name. A model joins the leader's group if the interval of their paired
    difference includes 0; the first model that does not join leads the next group. Models without a score are in no
    group.

    Args:
        resampled: (B,) scores on the same resamples. A model without them is tied with any leader.
    """
    cost = {m: float(costs(np.array(scores[m]), lower_is_better=lower_is_better)) for m in sorted(scores)}
    groups: list[list[str]] = []
    for model in sorted((m for m in cost if not math.isnan(scores[m])), key=lambda m: (cost[m], m)):
        if groups and not _differ(resampled.get(groups[-1][0]), resampled.get(model), lower_is_better):
            groups[-1].append(model)
        else:
            groups.append([model])
    return tuple(map(tuple, groups))


def _differ(leader: Float | None, other: Float | None, lower_is_better: bool) -> bool:
    """True if the order of two models is known."""
    if leader is None or other is None:
        return False
    leader_cost, other_cost = (costs(values, lower_is_better=lower_is_better) for values in (leader, other))
    return bool(_is_better(leader_cost, other_cost) or _is_better(other_cost, leader_cost))


def _is_better(cost: Float, others: Float) -> NDArray[np.bool_]:
    """(...,) True if a model with costs (B,) is better than one with costs (..., B)."""
    tail = int((1 - LEVEL) / 2 * (len(cost) - 1))
    # A sum of bytes takes half the time of `count_nonzero`.
    n_not_better = np.asarray(cost >= others).view(np.int8).sum(axis=-1, dtype=np.int32)
    return np.asarray(n_not_better <= tail)
