"""How far a ranking depends on choices: on the weights of a scheme, and on single test sets.

Weights are drawn from Dirichlet distributions whose mean is the scheme's weights: n parts of shares w have
concentrations n · w, so equal weights are drawn uniformly from all possible weights. All models are ranked under the
same draw.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringError
from scoring.evaluation import NOTHING_DRAWN, Draw, scores
from scoring.intervals import middle
from scoring.named_generators import named_generator, seed_of
from scoring.ranking import ranks
from scoring.tree import Float, Node, Path

LEVEL = 0.9
"""Between the 5 % and the 95 % quantile."""


class RankRange(NamedTuple):
    """The rank of a model under its scheme's weights, and under others: best, worst, and the middle 90 % of the draws.

    `rank` is None if the model has no score.
    """

    rank: int | None
    best: int
    worst: int
    low: int
    high: int


@dataclass(frozen=True)
class LeftOut:
    """The rank of a model without single units.

    Args:
        rank: with all units; None if the model has no score.
        without: by unit, the rank without it.
        decisive: the units whose removal changes the rank most, in alphabetical order; none if no removal does.
    """

    rank: int | None
    without: Mapping[str, int]
    decisive: tuple[str, ...]


def random_weights(trees: Iterable[Node], n_draws: int, rng: np.random.Generator) -> dict[Path, Float]:
    """(n_draws,) weights by path, for `Draw.weights`, of all parts of branches that have several.

    The weights of a branch depend only on the generator, its path, and the weights and names of its parts. They are not
    drawn if they differ between trees, as if only some models have virials in a domain.

    Raises:
        ScoringError: a path has several nodes, or the sum of the weights is not positive.
    """
    seed = seed_of(rng)
    drawn: dict[Path, Float] = {}
    for path, weights in sorted(_branches(trees).items()):
        if len(weights) > 1:
            names = sorted(weights)
            shares = _dirichlet(path, np.array([weights[name] for name in names]), n_draws, seed)
            drawn.update({(*path, name): share for name, share in zip(names, shares, strict=True)})
    return drawn


def rank_ranges(
    trees: Mapping[str, Node], weights: Mapping[Path, Float], *, lower_is_better: bool
) -> dict[str, RankRange]:
    """By model, how its rank moves under other weights, from `random_weights`."""
    models = sorted(trees)
    now = _ranks_now(trees, lower_is_better)
    under = _ranks(trees, Draw(weights=weights), lower_is_better)
    low, high = middle(under.astype(np.float64), LEVEL)
    return {
        model: RankRange(now[model], int(under[i].min()), int(under[i].max()), int(low[i]), int(high[i]))
        for i, model in enumerate(models)
    }


def leave_one_out(trees: Mapping[str, Node], *, lower_is_better: bool) -> dict[str, LeftOut]:
    """By model, its rank without each unit (task or run) in turn.

    A unit without which no model has a score is not left out.
    """
    models = sorted(trees)
    units = sorted({unit for tree in trees.values() for unit in tree.units})
    now = _ranks_now(trees, lower_is_better)
    if not units:
        return {model: LeftOut(now[model], {}, ()) for model in models}
    times = dict(zip(units, 1.0 - np.eye(len(units)), strict=True))
    values = _scores(trees, Draw(units=times))
    under = ranks(values, lower_is_better=lower_is_better)
    kept = [i for i in range(len(units)) if not np.isnan(values[:, i]).all()]
    return {
        model: _left_out(now[model], {units[i]: int(under[place, i]) for i in kept})
        for place, model in enumerate(models)
    }


def _left_out(rank: int | None, without: Mapping[str, int]) -> LeftOut:
    moved = {unit: 0 if rank is None else abs(then - rank) for unit, then in without.items()}
    most = max(moved.values(), default=0)
    return LeftOut(rank, without, tuple(unit for unit, by in moved.items() if most > 0 and by == most))


def _ranks_now(trees: Mapping[str, Node], lower_is_better: bool) -> dict[str, int | None]:
    values = _scores(trees)[:, 0] if trees else np.empty(0)
    placed = ranks(values, lower_is_better=lower_is_better).tolist()
    return {m: None if np.isnan(value) else rank for m, value, rank in zip(sorted(trees), values, placed, strict=True)}


def _ranks(trees: Mapping[str, Node], draw: Draw, lower_is_better: bool) -> NDArray[np.int64]:
    return ranks(_scores(trees, draw), lower_is_better=lower_is_better)


def _scores(trees: Mapping[str, Node], draw: Draw = NOTHING_DRAWN) -> Float:
    """(M, B) the score of each model, in alphabetical order, under each alternative."""
    values = scores(trees, draw)
    return np.array(np.broadcast_arrays(*[values[model] for model in sorted(trees)]))


def _branches(trees: Iterable[Node]) -> dict[Path, dict[str, float]]:
    """By path of a branch, the weights of its parts, if they are the same in all trees."""
    branches: dict[Path, dict[str, float]] = {}
    differing: set[Path] = set()
    for tree in trees:
        for path, node in tree.walk():
            if len({part.name for part in node.parts}) < len(node.parts):
                raise ScoringError(f"{' / '.join(path)}: parts of the same name; give each its own")
            weights = branches.setdefault(path, {})
            for part in node.parts:
                weight = weights.setdefault(part.name, part.weight)
                if weight != part.weight and not np.isclose(weight, part.weight, 1e-9, 0.0, equal_nan=True):
                    differing.add(path)
    return {path: weights for path, weights in branches.items() if path not in differing}


def _dirichlet(path: Path, weights: Float, n_draws: int, seed: list[int]) -> Float:
    """(k, n_draws) shares that sum to 1; their mean is the share of the weights; a weight of 0 stays 0."""
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ScoringError(f"{' / '.join(path)}: weights {weights.tolist()}: must not be negative, nor sum to 0")
    concentration = len(weights) * weights / weights.sum()
    gamma = named_generator(seed, "weights", *path).standard_gamma(concentration, (n_draws, len(weights)))
    return np.ascontiguousarray((gamma / gamma.sum(axis=1, keepdims=True)).T)
