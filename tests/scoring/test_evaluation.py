"""Values of trees, against the definition; they do not depend on the other trees that are evaluated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring import explain, explain_all
from scoring.evaluation import Draw, Evaluated, Metrics, scores, tree_groups
from scoring.ranking import ranks
from scoring.tree import AsItIs, How, Leaf, Node, RawMetric
from tests.world.one_tree import score

N_DRAWN = 7
VALUES = (None, 0.0, 0.25, 1.0, 3.7, 0.1, float("inf"))


def tree(rng: np.random.Generator, shape: np.random.Generator) -> Node:
    """A random tree: `shape` draws what trees of one shape have in common, `rng` draws their numbers."""

    def leaf(task: str, i: int) -> Node:
        value = VALUES[rng.integers(len(VALUES))]
        raw = RawMetric(task, f"m{i}", value)
        left_out = bool(shape.uniform() < 0.1)
        return Node(f"m{i}", "", float(shape.integers(0, 4)), leaf=Leaf(raw, AsItIs(), left_out))

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


def drawn(trees: dict[str, Node], seed: int, n_drawn: int) -> tuple[dict[str, Metrics], Draw]:
    rng = np.random.default_rng([seed, 7])
    nodes = [(path, node) for each in trees.values() for path, node in each.walk()]
    keys = sorted({node.leaf.key for _, node in nodes if node.leaf and rng.uniform() < 0.7})
    some = [key for key in keys if rng.uniform() < 0.5]
    metrics: dict[str, Metrics] = {
        model: {key: rng.choice([0.0, 0.3, 1.1, np.nan, np.inf], n_drawn) for key in (keys, some)[rng.integers(2)]}
        for model in trees
    }
    units = {node.unit: rng.integers(0, 3, n_drawn).astype(np.float64) for _, node in nodes if node.unit}
    weights = {path: rng.uniform(0, 2, n_drawn) for path, _ in nodes if rng.uniform() < 0.2}
    return metrics, Draw(units=units, weights=weights)


class Number:
    """A node and its parts by the definition in docs/leaderboard-json.md, with plain floats."""

    def __init__(self, node: Node, metrics: Metrics, draw: Draw, b: int, path: tuple[str, ...] = ()) -> None:
        path = (*path, node.name)
        self.parts = [Number(part, metrics, draw, b, path) for part in node.parts]
        weight = draw.weights[path][b] if path in draw.weights else node.weight
        self.weight = weight * (draw.units[node.unit][b] if node.unit in draw.units else 1.0)
        if node.leaf is None:
            self.value = self._mean(node)
            self.weight *= any(part.weight > 0 for part in self.parts)
            return
        raw = metrics[node.leaf.key][b] if node.leaf.key in metrics else node.leaf.raw.value
        self.value = math.nan if raw is None or math.isnan(raw) else float(node.leaf.scale(np.array(raw)))
        self.weight *= not node.leaf.left_out

    def _mean(self, node: Node) -> float:
        if not any(part.weight > 0 and not math.isnan(part.value) for part in self.parts):
            return math.nan
        weighed = [(part.weight, part.value) for part in self.parts if part.weight > 0]
        if node.absent is None:
            weighed = [(weight, value) for weight, value in weighed if not math.isnan(value)]
        else:
            weighed = [(weight, node.absent if math.isnan(value) else value) for weight, value in weighed]
        total = math.fsum(weight for weight, _ in weighed)

        def mean(numbers: list[float]) -> float:
            return sum(float(weight) / total * value for (weight, _), value in zip(weighed, numbers, strict=True))

        values = [value for _, value in weighed]
        if any(map(math.isnan, values)):
            return math.nan
        if node.how is How.LOGARITHMIC_MEAN:
            result = math.exp(mean([math.log(value) if value else -math.inf for value in values]))
        elif node.how is How.HARMONIC_MEAN:
            inverse = mean([1 / value if value else math.inf for value in values])
            result = 1 / inverse if inverse else math.inf
        else:
            result = mean(values)
        result = min(max(result, min(values)), max(values)) if not math.isnan(result) else result
        return result if node.decimals is None or math.isinf(result) else float(np.round(result, node.decimals))

    def walk(self) -> list[float]:
        return [self.value, *(value for part in self.parts for value in part.walk())]


@pytest.mark.parametrize("n_drawn", [1, N_DRAWN])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_every_node_has_the_value_of_the_definition(n_drawn: int, seed: int) -> None:
    trees = forest(seed)
    metrics, draw = drawn(trees, seed, n_drawn)
    for group in tree_groups(trees, draw, metrics):
        together = [node.values for node in group.evaluate(draw).walk()]
        for i, model in enumerate(group.models):
            for b in range(n_drawn):
                expected = Number(trees[model], metrics[model], draw, b).walk()
                values = [float(np.broadcast_to(values[i], n_drawn)[b]) for values in together]
                np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("n_drawn", [1, N_DRAWN, 5000])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=8, deadline=None)
def test_a_value_depends_on_nothing_that_is_evaluated_with_it(n_drawn: int, seed: int) -> None:
    """To the last bit, a value depends neither on other models nor on other alternatives."""
    trees = forest(seed, n=3 if n_drawn > N_DRAWN else 5)
    metrics, draw = drawn(trees, seed, n_drawn)
    for model, values in scores(trees, draw, metrics).items():
        alone = scores({model: trees[model]}, draw, metrics)[model]
        np.testing.assert_array_equal(np.broadcast_to(values, n_drawn), np.broadcast_to(alone, n_drawn))
        first_draw = Draw({k: v[:1] for k, v in draw.units.items()}, {k: v[:1] for k, v in draw.weights.items()})
        first = scores({model: trees[model]}, first_draw, {model: {k: v[:1] for k, v in metrics[model].items()}})[model]
        np.testing.assert_array_equal(first[0], np.broadcast_to(values, n_drawn)[0])


@given(seed=st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_an_explanation_has_the_evaluated_values(seed: int) -> None:
    trees = forest(seed)
    together = explain_all(trees)
    assert list(together) == list(trees)
    for model, tree in trees.items():
        term = together[model]
        assert repr(term) == repr(explain(tree))  # NaN in a term is not equal to itself
        (group,) = tree_groups({model: tree})
        shares = [1.0, *_shares(group.evaluate())]
        for (_, below), number, share in zip(term.walk(), Number(tree, {}, Draw(), 0).walk(), shares, strict=True):
            assert (math.nan if below.value is None else below.value) == pytest.approx(number, rel=1e-12, nan_ok=True)
            assert below.share == share
        assert (math.nan if term.value is None else term.value) == pytest.approx(float(score(tree)), nan_ok=True)


def _shares(evaluated: Evaluated) -> list[float]:
    shares: list[float] = []
    for share, part in zip(evaluated.shares, evaluated.parts, strict=True):
        shares += [float(share.reshape(-1)[0]), *_shares(part)]
    return shares


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.inf, -np.inf, np.nan]), max_size=12), st.booleans())
def test_the_rank_is_one_plus_the_number_of_better_models(values: list[float], lower_is_better: bool) -> None:
    cost = [np.inf if np.isnan(v) else v if lower_is_better else -v for v in values]
    expected = [1 + sum(other < c for other in cost) for c in cost]
    table = np.array([values, values[::-1]]).T.reshape(len(values), 2)
    rank = ranks(table, lower_is_better=lower_is_better)
    assert rank[:, 0].tolist() == expected
    assert rank[:, 1].tolist()[::-1] == expected
