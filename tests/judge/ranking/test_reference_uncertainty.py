"""No rank is claimed within the uncertainty of the references: an error within it counts as that uncertainty."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.pages.index_page import pages
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.score_inputs import REFERENCE_UNCERTAINTY
from judge.records.records import Result
from scoring.names import FORCE_FIELD, ML_PEG, PROPERTY_ERROR
from tasks.metrics.metric import Metric
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.judge.ranking.small_board import board
from tests.world.board_records import SUITE, good_results, submission

NAMES, ERRORS = ("A", "B", "C"), (0.01, 0.1, 0.99)
MODELS = [submission(name) for name in NAMES]
UNCERTAINTY = 0.12  # of the trivial model's error, in every task


def results(uncertainty: float | None) -> list[Result]:
    made = []
    for model, x in zip(MODELS, ERRORS, strict=True):
        for each in good_results(model, x):
            metrics = {
                name: metric
                if uncertainty is None
                else replace(metric, reference_uncertainty=uncertainty * (metric.baseline or 1.0))
                for name, metric in each.metrics.items()
            }
            made.append(each.model_copy(update={"metrics": metrics}))
    return made


def ranks(shown: Leaderboard) -> dict[str, int | None]:
    return {row.submission.card.name: row.rank for row in shown.rows}


def values(shown: Leaderboard, key: str, *, published: bool = False) -> list[float]:
    rows = {row.submission.card.name: row for row in shown.rows}
    terms = [(rows[name].as_published if published else rows[name].scores)[key] for name in NAMES]
    return [term.value for term in terms if term.value is not None]


def test_models_inside_tie_in_all_corrected_scores_and_one_outside_does_not() -> None:
    plain, uncertain = board(MODELS, results(None)), board(MODELS, results(UNCERTAINTY))
    assert ranks(plain) == {"A": 1, "B": 2, "C": 3}
    assert ranks(uncertain) == {"A": 1, "B": 1, "C": 3}
    for key in (FORCE_FIELD, PROPERTY_ERROR, ML_PEG):
        first, second, third = values(uncertain, key)
        assert first == second
        assert third == values(plain, key)[2] != first
        assert values(uncertain, key, published=True) == values(plain, key, published=True)
    assert values(uncertain, PROPERTY_ERROR)[0] == pytest.approx(UNCERTAINTY)


def test_intervals_and_ranks_on_resamples_tie_too() -> None:
    moved = page_frame(SUITE, MODELS, results(UNCERTAINTY), n_items=99).board.robustness
    a, b, c = (model.id for model in MODELS)
    force_field = moved.intervals[FORCE_FIELD]
    assert force_field[a].score == force_field[b].score != force_field[c].score
    assert force_field[a].group == force_field[b].group != force_field[c].group
    for key in (FORCE_FIELD, PROPERTY_ERROR):
        assert moved.intervals[key][a].rank == moved.intervals[key][b].rank == 1
        assert moved.intervals[key][c].rank == 3
        assert moved.weights[key][a] == moved.weights[key][b]


def test_the_main_table_says_so() -> None:
    read = PageReader(pages(page_frame(SUITE, MODELS, results(UNCERTAINTY), n_items=99))["index.html"])
    assert [read.row(name)[0][0].strip() for name in NAMES] == ["1", "1", "3"]
    assert [name for name in NAMES if any("tied with no. 1" in cell for cell in read.row(name)[1])] == ["B"]
    plain = PageReader(pages(page_frame(SUITE, MODELS, results(None), n_items=99))["index.html"])
    assert [plain.row(name)[0][0].strip() for name in NAMES] == ["1", "2", "3"]


def test_the_explanation_states_the_uncertainty() -> None:
    shown = board(MODELS, results(UNCERTAINTY))
    raw = {
        row.submission.card.name: [leaf.raw for leaf in row.scores[PROPERTY_ERROR].node.leaves] for row in shown.rows
    }
    for metric in raw["A"]:
        facts = dict(metric.facts)
        assert metric.value == facts[REFERENCE_UNCERTAINTY] == pytest.approx(UNCERTAINTY * float(facts["baseline"]))
        assert metric.uncharged != metric.value
    assert not any(REFERENCE_UNCERTAINTY in dict(metric.facts) for metric in raw["C"])


@pytest.mark.parametrize(
    ("charged", "uncertainty", "counted"),
    [(0.1, None, 0.1), (0.1, 0.2, 0.2), (0.2001, 0.2, 0.2), (0.3, 0.2, 0.3), (None, 0.2, None)],
)
def test_what_is_counted(charged: float | None, uncertainty: float | None, counted: float | None) -> None:
    assert Metric(0.1, "eV", 3, charged=charged, reference_uncertainty=uncertainty).counted == counted
