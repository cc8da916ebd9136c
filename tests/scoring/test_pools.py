"""The pools of test sets in LAMBench's trees, and the rank of what was left out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scoring import (
    Answers,
    AskedTask,
    Node,
    Run,
    RunOutcome,
    as_data,
    efficiency_tree,
    explain,
    force_field_tree,
    instability_tree,
    load_release,
    property_tree,
)
from scoring.bootstrap import ItemDraws, pools
from scoring.evaluation import Draw
from scoring.intervals import resampled_scores
from scoring.order import with_ranks
from scoring.set_spread import draw_sets
from scoring.tree import Float, Key, with_left_out
from tests.world.made_answers import answers_of
from tests.world.one_tree import score

RULES = load_release()
LABELS = ("energy", "force")


def _answers(**errors: float) -> Answers:
    """By task, the same error of each label type."""
    return answers_of({task: dict.fromkeys(LABELS, (value, 1.0)) for task, value in errors.items()})


def force_field() -> Node:
    tasks = [AskedTask(name, domain, LABELS) for name, domain in (("a", "X"), ("b", "X"), ("c", "Y"))]
    return force_field_tree(tasks, _answers(a=0.1, b=0.4, c=0.2), RULES.force_field)


def properties() -> Node:
    tasks = [AskedTask("p", "X", ("m", "n")), AskedTask("q", "X", ("m",)), AskedTask("r", "Y", ("m",))]
    answers = answers_of({"p": {"m": (0.1, 1.0), "n": (0.3, 1.0)}, "q": {"m": (0.8, 1.0)}, "r": {"m": (0.5, 1.0)}})
    return property_tree(tasks, answers, RULES.property_error)


def test_test_sets_are_drawn_among_those_of_their_domain() -> None:
    assert pools([force_field()]) == {
        ("Force-field error", "X"): ("a", "b"),
        ("Force-field error", "Y"): ("c",),
    }
    assert pools([properties()]) == {("Property error", "X"): ("p", "q"), ("Property error", "Y"): ("r",)}


def test_timed_sets_and_runs_are_drawn_among_all() -> None:
    timed = efficiency_tree({"a": 100.0, "b": 300.0}, RULES.efficiency)
    assert list(pools([timed]).values()) == [("a", "b")]
    runs = instability_tree([Run("one", RunOutcome.COMPLETED, 1e-3), Run("two", RunOutcome.FAILED)], RULES.instability)
    assert list(pools([runs]).values()) == [("one", "two")]


def test_a_test_set_drawn_twice_weighs_twice_with_all_its_columns() -> None:
    twice_a = Draw(units={"a": np.array([2.0]), "b": np.array([0.0])})
    assert score(force_field(), twice_a)[0] == pytest.approx((0.1 + 0.2) / 2)
    twice_p = Draw(units={"p": np.array([2.0]), "q": np.array([1.0])})
    assert score(properties(), twice_p)[0] == pytest.approx(((2 * (0.1 + 0.3) + 0.8) / 5 + 0.5) / 2)


def test_what_was_left_out_counts_as_worst_in_the_rank() -> None:
    """A model whose drifting run times out has a better score, but no better rank."""
    drifting, quiet = Run("drifting", RunOutcome.COMPLETED, 4.9e-3), Run("quiet", RunOutcome.COMPLETED, 1e-9)
    whole = instability_tree([drifting, quiet], RULES.instability)
    slow = instability_tree([drifting._replace(outcome=RunOutcome.UNMEASURED), quiet], RULES.instability)
    assert (whole.leaves_out, slow.leaves_out) == (False, True)
    assert (float(score(whole)), float(score(slow))) == pytest.approx((1.0, 0.0))
    assert float(score(with_left_out(slow))) == pytest.approx(2.5) == explain(slow).at_worst
    assert float(score(with_left_out(whole))) == pytest.approx(1.0)


def test_ranks_may_go_by_other_trees_than_scores() -> None:
    quiet, slow = Run("a", RunOutcome.COMPLETED, 1e-9), Run("b", RunOutcome.UNMEASURED)
    runs = {
        "one": [quiet, slow],
        "two": [quiet, Run("b", RunOutcome.COMPLETED, 2e-3)],
        "three": [Run("a", RunOutcome.FAILED), slow],
    }
    trees = {model: instability_tree(model_runs, RULES.instability) for model, model_runs in runs.items()}
    worst = {model: with_left_out(tree) for model, tree in trees.items()}
    metrics: dict[str, dict[Key, Float]] = {model: {} for model in trees}
    sets = draw_sets(pools(trees.values()), 200, np.random.default_rng(1))
    draws = ItemDraws.same(metrics)
    by_score = with_ranks(resampled_scores(trees, draws, sets), lower_is_better=True)
    by_worst = with_ranks(resampled_scores(worst, draws, sets), lower_is_better=True)
    assert [by_score[model].rank for model in trees] != [by_worst[model].rank for model in trees]
    for model, mixed in with_ranks(resampled_scores(trees, draws, sets, worst), lower_is_better=True).items():
        scored, ranked = by_score[model], by_worst[model]
        assert (mixed.value, mixed.score, mixed.nodes) == (scored.value, scored.score, scored.nodes)
        assert (mixed.rank, mixed.rank_interval, mixed.group) == (ranked.rank, ranked.rank_interval, ranked.group)


def test_all_left_out_has_no_score_and_no_rank() -> None:
    nothing = instability_tree([Run("one", RunOutcome.UNMEASURED)], RULES.instability)
    assert math.isnan(score(nothing))
    assert math.isnan(score(with_left_out(nothing)))


def test_a_missing_number_states_what_it_counts() -> None:
    """The value of a node follows from the counted values and the shares of its parts."""
    tasks = [AskedTask("a", "X", LABELS), AskedTask("b", "Y", LABELS)]
    whole = explain(force_field_tree(tasks, _answers(a=0.2), RULES.force_field))
    measured, missing = whole.parts
    assert (measured.counted, missing.counted) == (None, 1.0)
    assert [leaf.counted for label in missing.parts for leaf in label.parts] == [1.0, 1.0]
    assert whole.value == pytest.approx(measured.share * 0.2 + missing.share * 1.0)
    data = as_data(whole)
    assert isinstance(data["parts"], list)
    assert data["parts"][1]["counted"] == 1.0


def test_as_published_states_the_unit_of_time_of_slopes() -> None:
    rule = load_release("lambench-0.3.1").instability
    term = explain(instability_tree([Run("one", RunOutcome.COMPLETED, 1e-3)], rule))
    raw = term.parts[0].raw
    assert raw is not None
    facts = dict(raw.facts)
    assert isinstance(facts["time unit [ps]"], float)
    assert isinstance(facts["tolerance"], float)
    assert term.value == pytest.approx(math.log10(1e-3 * facts["time unit [ps]"] / facts["tolerance"]))
