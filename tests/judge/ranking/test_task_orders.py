"""The order within a task is of the same value as its page shows, and of paired draws."""

from __future__ import annotations

import numpy as np
import pytest

from judge.view.score_shares import task_scores
from scoring.bootstrap import ItemDraws
from scoring.intervals import resampled_scores
from scoring.names import ERRORS, SCORES
from scoring.order import NO_ORDER, pair_order, tie_groups
from tests.judge.pages.page_reader import page_frame
from tests.world.board_records import SUITE, good_results, submission


def test_a_unit_has_the_value_of_the_score_over_this_task_alone() -> None:
    """Force-field errors have label types above the tasks; property errors have metrics below them."""
    models = [submission(name) for name in "AB"]
    results = [each for model, x in zip(models, (0.1, 0.7), strict=True) for each in good_results(model, x)]
    board = page_frame(SUITE, models, results).board
    seen = set()
    for row in board.rows:
        shown = task_scores(board, row)
        for key in ERRORS:
            tree = row.scores[key].node
            drawn = {leaf.key: np.array([leaf.raw.value]) for leaf in tree.leaves if leaf.raw.value is not None}
            units = resampled_scores({"m": tree}, ItemDraws.same({"m": drawn}))["m"].units
            for task, values in units.items():
                assert values == pytest.approx([shown[task].value])
                seen.add((SCORES[key].by_label_type, task))
    assert seen == {(True, "crystals"), (True, "molecules"), (False, "barriers")}


def test_the_order_of_pairs_is_that_of_groups_of_two() -> None:
    """Models with random values, some of them close together, and one that is equal to another."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=400)
    drawn = {f"m{i}": 0.1 * i + common + 0.15 * rng.normal(size=400) for i in range(9)}
    drawn["twin"] = drawn["m3"]
    for lower in (True, False):
        order = pair_order(drawn, lower_is_better=lower)
        values = {model: float(np.median(of_model)) for model, of_model in drawn.items()}
        for row, first in enumerate(order.models):
            for column, second in enumerate(order.models):
                pair = {model: values[model] for model in {first, second}}
                groups = tie_groups(pair, drawn, lower_is_better=lower)
                assert order.better[row, column] == (len(groups) == 2 and groups[0] == (first,))
        assert 10 < order.better.sum() < 40


def test_without_models_there_is_no_order() -> None:
    order = pair_order({}, lower_is_better=True)
    assert order.models == NO_ORDER.models
    assert order.better.shape == (0, 0)
