"""Trees evaluated together give what each gives by itself, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.explained_forest import explained_forest, forest_numbers
from scoring.explanation import explained, own_numbers
from scoring.forest import forest_scores, stands
from scoring.ranking import ranks
from scoring.term import Evidence
from scoring.tree import AsItIs, Draw, Float, How, Key, Leaf, Node, evaluate, score

N_DRAWN = 7
VALUES = (None, 0.0, 0.25, 1.0, 3.7, 0.1, float("inf"))


def tree(rng: np.random.Generator, shape: np.random.Generator) -> Node:
    """A random tree: `shape` draws what trees of one stand have in common, `rng` their numbers."""

    def leaf(task: str, i: int) -> Node:
        value = VALUES[rng.integers(len(VALUES))]
        evidence = Evidence(task, f"m{i}", value)
        left_out = bool(shape.uniform() < 0.1)
        return Node(f"m{i}", "", float(shape.integers(0, 4)), leaf=Leaf(evidence, AsItIs(), left_out))

    def branch(name: str, depth: int) -> Node:
        how = list(How)[shape.integers(3)]
        absent = (None, 0.5, float("nan"), 1.0)[shape.integers(4)]
        n = int(shape.integers(0, 11 if depth == 0 else 5))
        parts = [
            leaf(name, i) if depth == 0 or shape.uniform() < 0.3 else branch(f"{name}{i}", depth - 1) for i in range(n)
        ]
        unit = name if depth == 0 else ""
        decimals = (None, 3)[shape.integers(2)]
        return Node(name, "", float(shape.uniform(0.1, 2)), tuple(parts), how, absent, None, unit, depth == 1, decimals)

    return branch("t", 2)


def forest(seed: int, n: int = 5) -> dict[str, Node]:
    """Models of two shapes."""
    return {
        f"model {i}": tree(np.random.default_rng([seed, i]), np.random.default_rng([seed, 99, i % 2])) for i in range(n)
    }


def drawn(trees: dict[str, Node], seed: int, n_drawn: int) -> tuple[dict[str, dict[Key, Float]], Draw]:
    rng = np.random.default_rng([seed, 7])
    nodes = [(path, node) for each in trees.values() for path, node in each.walk()]
    keys = sorted({node.leaf.key for _, node in nodes if node.leaf and rng.uniform() < 0.7})
    some = [key for key in keys if rng.uniform() < 0.5]
    metrics = {
        model: {key: rng.choice([0.0, 0.3, 1.1, np.nan, np.inf], n_drawn) for key in (keys, some)[rng.integers(2)]}
        for model in trees
    }
    units = {node.unit: rng.integers(0, 3, n_drawn).astype(np.float64) for _, node in nodes if node.unit}
    weights = {path: rng.uniform(0, 2, n_drawn) for path, _ in nodes if rng.uniform() < 0.2}
    return metrics, Draw(units=units, weights=weights)


@pytest.mark.parametrize("n_drawn", [1, N_DRAWN])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_every_node_has_the_value_that_it_has_alone(n_drawn: int, seed: int) -> None:
    trees = forest(seed)
    metrics, draw = drawn(trees, seed, n_drawn)
    for stand in stands(trees, metrics):
        for i, model in enumerate(stand.models):
            with np.errstate(all="ignore"):
                alone = evaluate(trees[model], Draw(metrics[model], draw.units, draw.weights))
            together = list(stand.evaluate(draw).walk())
            pending = [alone]
            for grown in together:
                own = pending.pop(0)
                pending = [*own.parts, *pending]
                assert grown.nodes[i] is own.node
                np.testing.assert_array_equal(np.broadcast_to(grown.value[i], np.shape(own.value)), own.value)


@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_what_is_explained_is_what_is_evaluated(seed: int) -> None:
    for each in forest(seed).values():
        with np.errstate(all="ignore"):
            pending = [(evaluate(each), own_numbers(each))]
        while pending:
            one, other = pending.pop()
            np.testing.assert_array_equal(float(one.value), other.value)
            np.testing.assert_array_equal([float(share) for share in one.shares], other.shares)
            pending += zip(one.parts, other.parts, strict=True)


def test_blocks_of_models_give_what_all_give_at_once() -> None:
    trees = forest(3, n=12)
    draw = drawn(trees, 3, 5000)[1]
    with np.errstate(all="ignore"):
        for model, own in forest_scores(trees, draw).items():
            np.testing.assert_array_equal(own, np.broadcast_to(score(trees[model], draw), own.shape))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.inf, -np.inf, np.nan]), max_size=12), st.booleans())
def test_the_rank_is_one_more_than_how_many_are_better(values: list[float], lower_is_better: bool) -> None:
    cost = [np.inf if np.isnan(v) else v if lower_is_better else -v for v in values]
    expected = [1 + sum(other < own for other in cost) for own in cost]
    table = np.array([values, values[::-1]]).T.reshape(len(values), 2)
    found = ranks(table, lower_is_better=lower_is_better)
    assert found[:, 0].tolist() == expected
    assert found[:, 1].tolist()[::-1] == expected


@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_scores_explained_together_say_what_each_says_by_itself(seed: int) -> None:
    trees = forest(seed)
    together = explained_forest(trees)
    assert list(together) == list(trees)
    for model, term in together.items():
        assert repr(term) == repr(explained(trees[model]))  # NaN in a term is like no other


@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_own_numbers_with_some_set_are_those_of_each_by_itself(seed: int) -> None:
    trees = forest(seed)
    keys = sorted({node.leaf.key for each in trees.values() for _, node in each.walk() if node.leaf})
    rng = np.random.default_rng([seed, 8])
    chosen = {model: {key: float(rng.uniform(0, 2)) for key in keys if rng.uniform() < 0.5} for model in trees}
    drawn = {model: {key: np.array([value]) for key, value in of.items()} for model, of in chosen.items()}
    for model, own in forest_numbers(trees, drawn).items():
        with np.errstate(all="ignore"):
            assert repr(own) == repr(own_numbers(trees[model], chosen[model]))
