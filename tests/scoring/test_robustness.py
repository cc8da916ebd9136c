"""Rank ranges over random weights and without single tasks: three tasks by hand, and the laws of the Dirichlet."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring.errors import ScoringError
from scoring.evaluation import Draw
from scoring.robustness import RankRange, leave_one_out, random_weights, rank_ranges
from scoring.tree import AsItIs, Leaf, Node, RawMetric
from tests.world.one_tree import score


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def leaf(name: str, value: float | None, weight: float = 1.0) -> Node:
    return Node(name, "", weight, unit=name, leaf=Leaf(RawMetric(name, "mae", value), AsItIs()))


def tree(*values: float | None, weights: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Node:
    parts = tuple(leaf(f"t{i}", v, w) for i, (v, w) in enumerate(zip(values, weights, strict=True), 1))
    return Node("error", "", parts=parts, absent=10.0)


# Means: a 3, b 4, c 5. Without t1: a 4.5, b 4, c 2.5; without t2: a 2.5, b 4, c 7; without t3: a 2, b 4, c 5.5.
THREE = {"a": tree(0.0, 4.0, 5.0), "b": tree(4.0, 4.0, 4.0), "c": tree(10.0, 1.0, 4.0)}


def test_leave_one_out_by_hand() -> None:
    result = leave_one_out(THREE, lower_is_better=True)
    assert {m: r.rank for m, r in result.items()} == {"a": 1, "b": 2, "c": 3}
    assert {m: dict(r.without) for m, r in result.items()} == {
        "a": {"t1": 3, "t2": 1, "t3": 1},
        "b": {"t1": 2, "t2": 2, "t3": 2},
        "c": {"t1": 1, "t2": 3, "t3": 3},
    }
    assert {m: r.decisive for m, r in result.items()} == {"a": ("t1",), "b": (), "c": ("t1",)}


def test_leave_one_out_where_higher_is_better() -> None:
    result = leave_one_out(THREE, lower_is_better=False)
    assert {m: r.rank for m, r in result.items()} == {"a": 3, "b": 2, "c": 1}
    assert result["a"].without["t1"] == 1


def test_a_unit_is_left_out_wherever_it_stands() -> None:
    """A task whose energy and force stand in different branches."""

    def model(energy: tuple[float, float], force: float) -> Node:
        energies = Node("energy", "", parts=(leaf("t1", energy[0]), leaf("t2", energy[1])))
        return Node("error", "", parts=(energies, Node("force", "", parts=(leaf("t2", force),))))

    result = leave_one_out({"a": model((1.0, 5.0), 5.0), "b": model((2.0, 2.0), 2.0)}, lower_is_better=True)
    assert (result["a"].rank, result["a"].without) == (2, {"t1": 2, "t2": 1})


def test_the_only_unit_is_not_left_out() -> None:
    trees = {"a": Node("error", "", parts=(leaf("t1", 1.0),)), "none": Node("error", "", parts=(leaf("t1", None),))}
    result = leave_one_out(trees, lower_is_better=True)
    assert (result["a"].rank, result["a"].without, result["a"].decisive) == (1, {}, ())
    assert result["none"].rank is None
    assert leave_one_out({}, lower_is_better=True) == {}


def test_random_weights_have_the_mean_of_the_scheme_and_sum_to_one() -> None:
    weights = random_weights([tree(1.0, 2.0, 3.0, weights=(0.9, 0.9, 0.2))], 20_000, rng())
    drawn = np.array([weights["error", f"t{i}"] for i in (1, 2, 3)])
    assert drawn.sum(axis=0) == pytest.approx(np.ones(20_000))
    assert drawn.mean(axis=1) == pytest.approx(np.array([0.45, 0.45, 0.1]), abs=0.01)
    shares = np.array([0.45, 0.45, 0.1])  # the concentrations sum to 3
    assert drawn.var(axis=1) == pytest.approx(shares * (1 - shares) / (3 + 1), rel=0.05)


def test_equal_weights_are_drawn_uniformly() -> None:
    """In a flat Dirichlet distribution of two parts, each share is uniform."""
    share = random_weights([Node("e", "", parts=(leaf("a", 1.0), leaf("b", 1.0)))], 20_000, rng())["e", "a"]
    assert np.quantile(share, [0.05, 0.25, 0.5, 0.75, 0.95]) == pytest.approx([0.05, 0.25, 0.5, 0.75, 0.95], abs=0.015)


def test_a_part_without_weight_gets_none() -> None:
    weights = random_weights([tree(1.0, 2.0, 3.0, weights=(1.0, 0.0, 1.0))], 100, rng())
    assert (weights["error", "t2"] == 0).all()
    assert np.ptp(weights["error", "t1"]) > 0.5


def test_with_one_part_nothing_changes() -> None:
    lone = Node("error", "", parts=(Node("domain", "", parts=(leaf("t1", 4.0),)),))
    assert random_weights([lone], 100, rng()) == {}
    better = Node("error", "", parts=(Node("domain", "", parts=(leaf("t1", 3.0),)),))
    assert rank_ranges({"a": lone, "b": better}, {}, lower_is_better=True) == {
        "a": RankRange(2, 2, 2, 2, 2),
        "b": RankRange(1, 1, 1, 1, 1),
    }


def test_weights_move_the_score_as_drawn() -> None:
    weights = random_weights(THREE.values(), 50, rng())
    w = [weights["error", f"t{i}"] for i in (1, 2, 3)]
    assert score(THREE["a"], Draw(weights=weights)) == pytest.approx(4 * w[1] + 5 * w[2])


def test_rank_ranges_under_random_weights() -> None:
    """The best model in everything stays ahead; two that each win one of two equal tasks lead half of the time."""
    pair = {
        "best": (1.0, 1.0),
        "left": (2.0, 4.0),
        "right": (4.0, 2.5),
        "worst": (9.0, 9.0),
    }
    trees = {m: Node("error", "", parts=(leaf("t1", v[0]), leaf("t2", v[1]))) for m, v in pair.items()}
    result = rank_ranges(trees, random_weights(trees.values(), 2000, rng()), lower_is_better=True)
    assert result == {
        "best": RankRange(1, 1, 1, 1, 1),
        "left": RankRange(2, 2, 3, 2, 3),
        "right": RankRange(3, 2, 3, 2, 3),
        "worst": RankRange(4, 4, 4, 4, 4),
    }


def test_the_90_percent_range_leaves_rare_weights_out() -> None:
    """left is ahead of right unless the first share is below 2 %."""
    trees = {
        "left": Node("error", "", parts=(leaf("t1", 1.0), leaf("t2", 1.01))),
        "right": Node("error", "", parts=(leaf("t1", 1.49), leaf("t2", 1.0))),
    }
    result = rank_ranges(trees, random_weights(trees.values(), 4000, rng()), lower_is_better=True)
    assert result["left"] == RankRange(1, 1, 2, 1, 1)


def test_draws_depend_neither_on_order_nor_on_other_trees() -> None:
    alone = random_weights([THREE["a"]], 50, rng())
    other = Node("other", "", parts=(leaf("x", 1.0), leaf("y", 1.0)))
    beside = random_weights([other, *reversed(THREE.values())], 50, rng())
    for path, values in alone.items():
        assert np.array_equal(values, beside[path])
    turned = dict(reversed(THREE.items()))
    weights = random_weights(turned.values(), 50, rng())
    assert rank_ranges(turned, weights, lower_is_better=True) == rank_ranges(THREE, weights, lower_is_better=True)


def test_weights_that_differ_between_models_stay() -> None:
    """Those of other branches are drawn."""
    trees = [
        Node("error", "", parts=(Node("domain", "", parts=(leaf("t1", 1.0, weight), leaf("t2", 2.0))), leaf("t3", 3.0)))
        for weight in (1.0, 2.0)
    ]
    assert set(random_weights(trees, 10, rng())) == {("error", "domain"), ("error", "t3")}
    assert len(random_weights(trees[:1], 10, rng())) == 4


@pytest.mark.parametrize("weights", [(0.0, 0.0, 0.0), (1.0, -1.0, 1.0), (1.0, math.nan, 1.0), (1.0, math.inf, 1.0)])
def test_weights_that_cannot_be_shared_out_are_refused(weights: tuple[float, ...]) -> None:
    with pytest.raises(ScoringError, match="error: weights"):
        random_weights([tree(1.0, 1.0, 1.0, weights=weights)], 10, rng())


def test_parts_of_the_same_name_are_refused() -> None:
    twins = Node("error", "", parts=(leaf("t1", 1.0), leaf("t1", 2.0)))
    with pytest.raises(ScoringError, match="error: parts of the same name"):
        random_weights([twins], 10, rng())
