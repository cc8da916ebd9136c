"""Which test sets are drawn anew among themselves in LAMBench's trees, and what was left out is ranked as worst."""

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
from scoring.bootstrap import draw_units, pools
from scoring.evaluation import Draw
from scoring.intervals import uncertainty
from scoring.tree import Float, Key, with_left_out
from tests.world.made_answers import answers_of
from tests.world.one_tree import score

RULES = load_release()
LABELS = ("energy", "force")


def _answers(**errors: float) -> Answers:
    """By task, the same error of each label type."""
    return answers_of({task: dict.fromkeys(LABELS, (value, 1.0)) for task, value in errors.items()})


def force_field() -> Node:
    asked = [AskedTask(name, domain, LABELS) for name, domain in (("a", "X"), ("b", "X"), ("c", "Y"))]
    return force_field_tree(asked, _answers(a=0.1, b=0.4, c=0.2), RULES.force_field)


def properties() -> Node:
    asked = [AskedTask("p", "X", ("m", "n")), AskedTask("q", "X", ("m",)), AskedTask("r", "Y", ("m",))]
    answers = answers_of({"p": {"m": (0.1, 1.0), "n": (0.3, 1.0)}, "q": {"m": (0.8, 1.0)}, "r": {"m": (0.5, 1.0)}})
    return property_tree(asked, answers, RULES.property_error)


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


def test_what_was_left_out_is_worst_where_one_ranks() -> None:
    """To let the drifting run time out lifts the score, and never the rank."""
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
    trees = {model: instability_tree(of, RULES.instability) for model, of in runs.items()}
    worst = {model: with_left_out(of) for model, of in trees.items()}
    metrics: dict[str, dict[Key, Float]] = {model: {} for model in trees}
    units = draw_units(pools(trees.values()), 200, np.random.default_rng(1))
    by_score = uncertainty(trees, metrics, units, lower_is_better=True)
    by_worst = uncertainty(worst, metrics, units, lower_is_better=True)
    assert [by_score[model].rank for model in trees] != [by_worst[model].rank for model in trees]
    for model, own in uncertainty(trees, metrics, units, lower_is_better=True, ranked_by=worst).items():
        there, ranked = by_score[model], by_worst[model]
        assert (own.value, own.score, own.nodes) == (there.value, there.score, there.nodes)
        assert (own.rank, own.rank_interval, own.group) == (ranked.rank, ranked.rank_interval, ranked.group)


def test_all_left_out_has_no_score_and_no_rank() -> None:
    nothing = instability_tree([Run("one", RunOutcome.UNMEASURED)], RULES.instability)
    assert math.isnan(score(nothing))
    assert math.isnan(score(with_left_out(nothing)))


def test_a_number_that_is_missing_says_what_it_counts() -> None:
    """From what counts, and the shares, the number above follows."""
    asked = [AskedTask("a", "X", LABELS), AskedTask("b", "Y", LABELS)]
    whole = explain(force_field_tree(asked, _answers(a=0.2), RULES.force_field))
    there, missing = whole.parts
    assert (there.counted, missing.counted) == (None, 1.0)
    assert [leaf.counted for label in missing.parts for leaf in label.parts] == [1.0, 1.0]
    assert whole.value == pytest.approx(there.share * 0.2 + missing.share * 1.0)
    said = as_data(whole)
    assert isinstance(said["parts"], list)
    assert said["parts"][1]["counted"] == 1.0


def test_as_published_states_the_time_that_slopes_are_per() -> None:
    rule = load_release("lambench-0.3.1").instability
    term = explain(instability_tree([Run("one", RunOutcome.COMPLETED, 1e-3)], rule))
    raw = term.parts[0].raw
    assert raw is not None
    facts = dict(raw.facts)
    assert isinstance(facts["time unit [ps]"], float)
    assert isinstance(facts["tolerance"], float)
    assert term.value == pytest.approx(math.log10(1e-3 * facts["time unit [ps]"] / facts["tolerance"]))


def test_test_sets_that_a_model_skipped_count_as_worst_when_they_are_drawn() -> None:
    """Of two sets it has one: drawn twice the other, it has nothing, and that is 1, not a draw to be passed over."""
    asked = [AskedTask("a", "X", LABELS), AskedTask("b", "X", LABELS)]
    tree = force_field_tree(asked, _answers(a=0.25), RULES.force_field)
    units = {"a": np.array([2.0, 1.0, 0.0]), "b": np.array([0.0, 1.0, 2.0])}
    found = uncertainty({"one": tree}, {"one": {}}, units, lower_is_better=True)["one"]
    assert found.value == pytest.approx(0.5)
    assert (found.score.low, found.score.high) == pytest.approx((0.25, 1.0))
