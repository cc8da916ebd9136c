"""Draws of test sets like those of a suite: how far the value of a pool, such as a domain, moves with its sets.

The sets of a pool are a sample from the sets that could be in it. Few of them tell little of their own spread. So the
variance of a pool with T sets is shrunken towards that of the other pools: its own variance has T − 1 degrees of
freedom, and `PRIOR` more have the variance that the others have together. The mean of the sets then has Student's t of
T − 1 + `PRIOR` degrees of freedom. A pool of one set has the spread of the others alone. If no pool has two sets, no
spread is known.

A deviation of a set is that of the jackknife: (T − 1) times the change of the pool's value when the set is left out. It
is exact for a mean over sets, on a logarithmic scale for a logarithmic mean. Values of a model that are all positive
are on that scale. All models have the same random numbers, so that sets which are hard for all models move no
difference of two models.

The spread between sets contains that of their items. Only the prior's share of the variance comes from other sets, so
the items of the pool add this share of theirs. Failures that no item shows are in no spread between sets: they add all
that they change.

Source: G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 3, 3 (2004) (variances that are shrunken, with the degrees of
freedom of the prior added); Davison and Hinkley, Bootstrap Methods and their Application, Cambridge 1997, section 2.7.3
(jackknife).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scoring.bootstrap import Pools
from scoring.evaluation import Draw, Evaluated, TreeGroup, with_values
from scoring.named_generators import named_generator, seed_of
from scoring.tree import Float, Node, Path

PRIOR = 4.0
"""Degrees of freedom that the pooled variance of the other pools counts; fewer if these have fewer."""


class PoolDraws(NamedTuple):
    """The draws of one pool.

    Args:
        coefficients: (B, U) of the deviations of all units of `SetDraws`; their sum is the deviation of the pool.
        item_share: from 0 to 1, the factor on the deviations that the items cause.
    """

    coefficients: Float
    item_share: float


class SetDraws(NamedTuple):
    """Draws of the sets of all pools, the same for all models; no pool if no spread is known.

    Args:
        units: (U,) those in pools of several.
        columns: by path of a pool of several, the places of its units in `units`.
    """

    units: tuple[str, ...]
    columns: Mapping[Path, slice]
    pools: Mapping[Path, PoolDraws]


NO_SETS = SetDraws((), {}, {})


def draw_sets(pools: Pools, n_resamples: int, rng: np.random.Generator) -> SetDraws:
    """Draws of the sets of these pools; they depend only on the generator and the pools."""
    seed, units = seed_of(rng), {path: sorted(set(pools[path])) for path in sorted(pools)}
    columns: dict[Path, slice] = {}
    begin = 0
    for path, names in units.items():
        if len(names) > 1:
            columns[path] = slice(begin, begin + len(names))
            begin += len(names)
    drawn: dict[Path, PoolDraws] = {}
    for path, names in units.items():
        own, others = len(names) - 1, begin - len(columns) - (len(names) - 1)
        prior = min(PRIOR, others)
        freedom = own + prior
        if freedom > 0:
            generator = named_generator(seed, "sets", *path)
            weights = np.full(begin, prior / others if others else 0.0)
            weights[columns.get(path, slice(0))] = 1.0
            spread = np.sqrt(weights / generator.chisquare(freedom, (n_resamples, 1)) / len(names))
            drawn[path] = PoolDraws(spread * generator.standard_normal((n_resamples, begin)), (prior / freedom) ** 0.5)
    return SetDraws(tuple(name for path in columns for name in units[path]), columns, drawn)


def like_these(
    group: TreeGroup, original: Evaluated, resampled: Evaluated, sets: SetDraws, with_unseen: Evaluated | None = None
) -> list[Float | None]:
    """(m,) for each model, (B,) its values on sets like these; None if no spread is known.

    Args:
        original: the values of the group on the sets themselves.
        resampled: the same on resampled items.
        with_unseen: the same with unseen failures, too; None: without.
    """
    nodes = {node.path: node for node in original.walk() if node.path in sets.pools}
    n_models = len(group.models)
    if not nodes:
        return [None] * n_models
    leave_one_out = Draw(units=dict(zip(sets.units, 1.0 - np.eye(len(sets.units)), strict=True)))
    without = {
        node.path: node.values for node in group._replace(metrics=[{}] * n_models).evaluate(leave_one_out).walk()
    }
    shape = n_models, len(sets.units)
    values = {path: np.broadcast_to(node.values, (n_models, 1)) for path, node in nodes.items()}
    left_out = {
        path: _without_sets(nodes[path], np.broadcast_to(without[path], shape)[:, sets.columns[path]])
        for path in nodes
        if path in sets.columns
    }
    logarithmic = _are_positive([*values.values(), *left_out.values()])
    deviations = np.zeros(shape)
    for path, of_pool in left_out.items():
        moved = _to(values[path], logarithmic) - _to(of_pool, logarithmic)
        deviations[:, sets.columns[path]] = (of_pool.shape[1] - 1) * np.where(np.isnan(values[path]), 0.0, moved)
    items, all_items = (
        {node.path: node.values for node in evaluated.walk() if node.path in nodes}
        for evaluated in (resampled, with_unseen or resampled)
    )
    drawn = {
        path: _moved(
            values[path],
            items[path],
            all_items[path],
            deviations,
            sets.pools[path],
            logarithmic,
            _bounds(node.nodes[0]),
        )
        for path, node in nodes.items()
    }
    scores = np.broadcast_to(with_values(original, drawn), (n_models, len(next(iter(drawn.values()))[0])))
    is_known = np.asarray(np.isfinite(deviations).all(axis=1)).tolist()
    return [row if known else None for row, known in zip(scores, is_known, strict=True)]


def _without_sets(pool: Evaluated, values: Float) -> Float:
    """(m, T) the values of a pool without each of its sets; what it counts as absent if no other set was answered."""
    absent = pool.nodes[0].absent
    alone = pool.values if absent is None or np.isnan(absent) else absent
    return np.where(np.isnan(values), np.where(np.isnan(pool.values), np.nan, alone), values)


def _are_positive(values: list[Float]) -> NDArray[np.bool_]:
    """(m, 1) True for a model all whose values (m, …) are positive or missing."""
    return np.asarray(~np.concatenate([each <= 0 for each in values], axis=1).any(axis=1, keepdims=True))


def _moved(
    values: Float,
    items: Float,
    all_items: Float,
    deviations: Float,
    pool: PoolDraws,
    logarithmic: NDArray[np.bool_],
    bounds: tuple[float, float],
) -> Float:
    """(m, B) the values of a pool on sets like these.

    Args:
        items: (m, B) its values on resampled items.
        all_items: the same with unseen failures.
    """
    centre, seen = _to(values, logarithmic), _to(items, logarithmic)
    # One product for each model: BLAS may add in another order for another number of rows.
    by_sets = np.array([pool.coefficients @ row for row in deviations])
    with np.errstate(invalid="ignore", over="ignore"):
        moved = centre + pool.item_share * (seen - centre) + (_to(all_items, logarithmic) - seen) + by_sets
        return np.clip(np.where(logarithmic, np.exp(np.where(logarithmic, moved, 0.0)), moved), *bounds)


def _to(values: Float, logarithmic: NDArray[np.bool_]) -> Float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(logarithmic, np.log(values), values)


def _bounds(node: Node) -> tuple[float, float]:
    """The smallest and the largest value that is possible."""
    low, high = zip(*(leaf.scale.bounds for leaf in node.leaves), strict=True)
    return min(low), max(high)
