"""Draws of test sets like those of a suite, against a variance by hand and against the t distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring.bootstrap import ItemDraws, pools
from scoring.intervals import UNKNOWN, Interval, ResampledScore, resampled_scores, unranked
from scoring.lambench.answers import RelativeError
from scoring.order import with_ranks
from scoring.set_spread import draw_sets
from scoring.tree import AsItIs, Float, How, Leaf, Node, RawMetric, Scale

B = 20_000


def domain(name: str, values: list[float], how: How = How.LOGARITHMIC_MEAN, scale: Scale | None = None) -> Node:
    leaves = tuple(
        Node(task, "", unit=task, leaf=Leaf(RawMetric(task, "mae", value), scale or AsItIs()))
        for task, value in ((f"{name}{i}", value) for i, value in enumerate(values))
    )
    return Node(name, "", parts=leaves, how=how, pool=True)


def score(*domains: Node) -> Node:
    return Node("error", "", parts=domains)


def draws(tree: Node, seed: int = 1) -> Float:
    sets = draw_sets(pools([tree]), B, np.random.default_rng(seed))
    drawn = resampled_scores({"m": tree}, ItemDraws.same({"m": {}}), sets)["m"].drawn_like_these
    assert drawn is not None
    return drawn


def test_one_domain_has_the_t_interval_of_its_logarithms() -> None:
    """By hand: logarithms 0, 1, 2 and 3, with the variance 5/3 and Student's t of three degrees, 3.182."""
    low, high = np.quantile(np.log(draws(score(domain("a", [math.exp(i) for i in range(4)])))), [0.025, 0.975])
    half = 3.182 * math.sqrt(5 / 3 / 4)
    assert (low, high) == pytest.approx((1.5 - half, 1.5 + half), abs=0.1)


def test_a_domain_of_one_set_has_the_spread_of_the_others() -> None:
    """By hand: variances 1/2 and 2 of one degree each give 5/4 of two degrees, and Student's t is 4.303."""
    one, a, b = domain("one", [1.0]), domain("a", [1.0, math.e]), domain("b", [1.0, math.exp(2)])
    tree = Node("error", "", parts=(one, Node("rest", "", weight=0.0, parts=(a, b))))
    low, high = np.quantile(np.log(draws(tree)), [0.025, 0.975])
    half = 4.303 * math.sqrt(5 / 4)
    assert (low, high) == pytest.approx((-half, half), rel=0.06)


def test_four_degrees_of_freedom_come_from_the_other_domains() -> None:
    """By hand: the variance (1 × 2 + 4 × 1) / 5 over two sets; t of five degrees has the variance 5/3."""
    own = domain("own", [0.0, 2.0], How.MEAN)
    other = domain("other", [-2.0, -1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0, math.sqrt(2), -math.sqrt(2), 0.0], How.MEAN)
    assert np.var([leaf.raw.value for leaf in other.leaves], ddof=1) == pytest.approx(1.4)
    drawn = draws(Node("error", "", parts=(own, Node("rest", "", weight=0.0, parts=(other,)))))
    low, high = np.quantile(drawn, [0.025, 0.975])
    half = 2.571 * math.sqrt((2 + 4 * 1.4) / 5 / 2)
    assert (low, high) == pytest.approx((1 - half, 1 + half), abs=0.12)


def test_one_set_a_domain_gives_no_interval_and_no_order_that_carries_over() -> None:
    trees = {m: score(domain("a", [v]), domain("b", [v])) for m, v in (("good", 0.1), ("bad", 0.9))}
    sets = draw_sets(pools(trees.values()), 100, np.random.default_rng(0))
    drawn = {"a0": (0.1, 0.9)}
    metrics = {m: {("a0", "mae"): np.full(100, drawn["a0"][i])} for i, m in enumerate(trees)}
    result = with_ranks(resampled_scores(trees, ItemDraws.same(metrics), sets), lower_is_better=True)
    assert [result[m].group for m in ("good", "bad")] == [1, 2]
    assert [result[m].carries_over for m in ("good", "bad")] == [False, False]
    assert not result["good"].like_these.known


def test_sets_that_are_hard_for_all_models_move_no_difference() -> None:
    """One model has 1.1 times the errors of the other in every set: the order carries over."""
    hard = [0.1, 0.4, 1.0]
    trees = {m: score(domain("a", [f * v for v in hard]), domain("b", hard)) for m, f in (("good", 1.0), ("bad", 1.1))}
    sets = draw_sets(pools(trees.values()), 500, np.random.default_rng(0))
    metrics = {m: {leaf.key: np.full(500, leaf.raw.value) for leaf in tree.leaves} for m, tree in trees.items()}
    result = with_ranks(resampled_scores(trees, ItemDraws.same(metrics), sets), lower_is_better=True)
    assert [result[m].group for m in ("good", "bad")] == [1, 2]
    assert [result[m].carries_over for m in ("good", "bad")] == [True, True]
    assert result["good"].like_these.high > 2 * result["good"].value


def test_each_group_is_compared_with_the_next_better_one_and_the_first_with_the_second() -> None:
    """By hand: sets spread about 1 by a third; `last` is far behind, and the two before it are close."""
    drawn = np.linspace(-1.0, 1.0, 401)
    wide = {"first": 1.0 + drawn, "second": 1.1 + drawn[::-1], "last": 9.0 + drawn}
    scores = {
        model: ResampledScore(
            unranked(1.0, {("",): Interval(0.0, 1.0)}, {}, 99, {}, (UNKNOWN, UNKNOWN)), value, own, of_model
        )
        for (model, of_model), value in zip(wide.items(), (1.0, 1.1, 9.0), strict=True)
        for own in [np.full(401, value)]
    }
    result = with_ranks(scores, lower_is_better=True)
    assert {model: result[model].group for model in wide} == {"first": 1, "second": 2, "last": 3}
    assert {model: result[model].carries_over for model in wide} == {"first": False, "second": False, "last": True}


def test_no_draw_is_beyond_what_a_score_can_be() -> None:
    drawn = draws(score(domain("a", [0.9, 0.2], scale=RelativeError(1.0, cap=1.0, floor=1e-3))))
    assert drawn.min() == pytest.approx(1e-3)
    assert drawn.max() == pytest.approx(1.0)
