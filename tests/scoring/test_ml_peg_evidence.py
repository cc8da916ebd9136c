"""The explanation of each ML-PEG number, its level of theory, and its resamples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring.evaluation import Draw
from scoring.ml_peg import LevelGap, Scheme, mismatches, ml_peg_score
from tests.scoring.small_ml_peg import A1, UNITS, VALUES, A, at, measured, scored, small
from tests.world.one_tree import score


def test_every_number_says_why() -> None:
    term = scored({})
    leaf = at(term, "A", "a1", "e")
    assert leaf.raw is not None
    assert leaf.raw.facts == (("good", 1.0), ("bad", 5.0), ("level of theory", "CCSD(T)/CBS"))
    assert (leaf.raw.unit, leaf.raw.n_items) == ("kcal/mol", 10)
    assert leaf.rule == "linear from 0 at 5 to 1 at 1 kcal/mol, capped"
    assert at(term, "B", "b1", "m").rule == "linear in the logarithm from 0 at 1 to 1 at 0.01 eV, capped"
    assert (leaf.source, at(term, "A", "a1").source, term.source) == ("a1.yml", "a1.yml", "worked by hand")
    assert at(term, "A").rule == "weighted mean of the benchmarks; a missing one counts 0"
    assert leaf.share == 0.25
    assert at(term, "A").share == pytest.approx(2 / 3)


def test_nan_is_named_in_the_evidence() -> None:
    leaf = at(scored({("a1", "r"): math.nan}), "A", "a1", "r")
    assert leaf.raw is not None
    assert ("answered", "NaN") in leaf.raw.facts


def test_levels_of_theory_are_compared_and_flagged() -> None:
    flags = mismatches(small(), {"A": "PBE", "B": "PBE"})
    assert [tuple(flag) for flag in flags] == [
        ("a1", "e", "CCSD(T)/CBS", "PBE", LevelGap.HIGH_LEVEL),
        ("b1", "m", "Experimental", "PBE", LevelGap.EXPERIMENT),
    ]
    # The benchmark's level takes precedence over its category's; names are compared as text.
    flags = mismatches(small(), {"A": "PBE", "a1": "CCSD(T)/CBS", "B": "r2SCAN"})
    assert [(f.benchmark, f.metric, f.gap) for f in flags] == [
        ("b1", "m", LevelGap.EXPERIMENT),
        ("b1", "z", LevelGap.FUNCTIONAL),
    ]
    # A model without a level differs from every level; a metric without a level is not compared.
    assert {(f.benchmark, f.metric) for f in mismatches(small(), {})} == set(UNITS) - {("a1", "r")}


def test_a_mismatch_is_a_fact_of_the_metric_and_changes_no_score() -> None:
    term = ml_peg_score(measured(VALUES), small(), levels={"A": "PBE"})
    facts = at(term, "A", "a1", "e").raw.facts  # type: ignore[union-attr]
    assert facts[-2:] == (("level of theory of the model", "PBE"), ("held against", "a higher level of theory"))
    assert len(at(term, "A", "a2", "f").raw.facts) == 3  # type: ignore[union-attr]
    assert term.value == scored({}).value


def test_draws_give_the_scores_of_the_drawn_metrics() -> None:
    tree = Scheme.of(small()).tree(measured(VALUES))
    drawn = np.array([1.0, 3.0, 5.0, np.nan])
    expected = [scored({("a1", "e"): None if np.isnan(x) else float(x)}).value for x in drawn]
    assert score(tree, metrics={("a1", "e"): drawn}) == pytest.approx(expected)


def test_drawn_weights_and_benchmarks() -> None:
    tree = Scheme.of(small()).tree(measured(VALUES))
    weights = {("overall", "A"): np.array([1.0, 0.0]), ("overall", "B"): np.array([0.0, 1.0])}
    assert score(tree, Draw(weights=weights)) == pytest.approx([A, 0.5])
    drawn = Draw(units={"a1": np.array([2.0, 0.0]), "a2": np.array([0.0, 2.0])})
    assert score(tree, drawn) == pytest.approx([(2 * A1 + 0.5) / 3, (2 * 0.75 + 0.5) / 3])
    assert [node.name for _, node in tree.walk() if node.pool] == ["A", "B"]
    assert tree.units == ("a1", "a2", "b1")
