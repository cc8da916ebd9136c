"""The ranking within a task: two models have an order only if the interval of their difference does not include 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.disclosure.public_leaderboard import public_board
from judge.pages.tasks.task_pages import pages
from judge.pages.tasks.task_ranking import PlaceRange, TaskRank, _placed
from judge.pages.tasks.task_rows import chip
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Row
from judge.records.records import Result
from judge.view.jinja import environment
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from scoring.intervals import Interval
from scoring.order import PairOrder
from scoring.tree import Float
from tasks.metrics.measurement import Items
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.world.board_records import SUITE, error, good_results, result, submission, timed


def test_equal_models_have_overlapping_places(read: dict[str, PageReader]) -> None:
    page = read["tasks/crystals.html"]
    assert [page.row(name)[0][0].strip() for name in ("Good", "Worse")] == ["1", "2"]
    assert "have no order" not in page.words
    models = [submission("A"), submission("B")]
    alike = PageReader(
        pages(page_frame(SUITE, models, [each for model in models for each in good_results(model, 0.3)]))[
            "tasks/crystals.html"
        ]
    )
    assert [alike.row(name)[0][0].strip() for name in ("A", "B")] == ["1–2", "1–2"]
    assert "Here no two models have an order" in alike.words


def test_fewer_than_thirty_items_give_no_places() -> None:
    models = [submission("A"), submission("B")]
    results = [each for model, x in zip(models, (0.1, 0.9), strict=True) for each in good_results(model, x)]
    for n_items, places in ((29, ["1–2", "1–2"]), (30, ["1", "2"])):
        page = PageReader(pages(page_frame(SUITE, models, results, n_items=n_items))["tasks/crystals.html"])
        assert [page.row(name)[0][0].strip() for name in ("A", "B")] == places
        says = "no two models have an order : there are fewer than 30 independent items"
        assert (says.replace(" :", ":") in page.words.replace(" :", ":")) == (n_items < 30)


@given(st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=1, max_size=8), st.sets(st.integers(0, 7)))
def test_a_place_counts_better_and_worse_models(above: list[list[bool]], without: set[int]) -> None:
    """A model without an interval has no order to any other."""
    n = len(above)
    better = np.triu(np.array(above)[:, :n], 1)  # a model is better than models of higher numbers only
    order = PairOrder(tuple(row.submission.id for row in _rows()[:n]), better)
    lines = [
        TaskRank(row, row.tasks[0], 1.0, None, None if i in without else Interval(0.0, 2.0), None, ())
        for i, row in enumerate(_rows()[:n])
    ]
    known = [i for i in range(n) if i not in without]
    for i, line in enumerate(_placed(lines, order)):
        n_better = sum(better[j, i] for j in known) if i in known else 0
        n_worse = sum(better[i, j] for j in known) if i in known else 0
        assert line.place == PlaceRange(1 + n_better, n - n_worse)


def test_models_have_an_order_though_their_intervals_overlap() -> None:
    """One has errors that are larger by 10 % in each of 60 items; their own intervals overlap."""
    errors = 0.1 * np.random.default_rng(0).gamma(1.0, 1.0, 60)  # [eV], far below the baseline
    page = page_of_errors({"A": errors, "B": 1.1 * errors, "C": 1.1 * errors[::-1]})
    assert [page.row(name)[0][0].strip() for name in ("A", "B", "C")] == ["1–2", "2–3", "1–3"]


def page_of_errors(errors: Mapping[str, Float]) -> PageReader:
    """The page of a task of differences of models with these errors of its items [eV]."""
    models = {name: submission(name) for name in errors}
    (barriers,) = [task for task in SUITE.tasks if task.name == "barriers"]
    results = [result(models[name], barriers, {"mae": error(float(of.mean()), "eV")}) for name, of in errors.items()]
    by_id = {models[name].id: of for name, of in errors.items()}

    def items(result: Result) -> Items:
        of_result = by_id[result.submission]
        names = [f"item {i}" for i in range(len(of_result))]
        cause, none = np.zeros(len(names), np.int8), np.zeros(len(names))
        columns = {"error": of_result, "count": none + 1.0, "off": none}
        return Items(id=names, group=names, cluster=names, cause=cause, columns=columns)

    board = build_leaderboard(SUITE, [*models.values()], results, items)
    return PageReader(pages(frame(public_board(board, ()), Sources()))["tasks/barriers.html"])


@cache
def _rows() -> tuple[Row, ...]:
    return page_frame(SUITE, [submission(name) for name in "ABCDEFGH"]).board.rows


def test_times_are_placed_within_one_class_of_machine() -> None:
    fast, slow = submission("Fast"), submission("Slow")
    (speed,) = [each for each in SUITE.tasks if each.name == "speed"]
    results = []
    for model, us, hardware in ((fast, 10.0, "GPU A"), (slow, 90.0, "2 × B")):
        made = result(model, speed, {"time_mean": timed(us)})
        origin = made.provenance.origin.model_copy(update={"hardware": hardware})
        provenance = made.provenance.model_copy(update={"origin": origin})
        results.append(made.model_copy(update={"provenance": provenance}))
    page = PageReader(pages(page_frame(SUITE, [fast, slow], results))["tasks/speed.html"])
    assert [page.row(name)[0][0].strip() for name in ("Fast", "Slow")] == ["1", "1"]
    assert "GPU A" in page.words
    assert "2 × B" in page.words
    assert "Times compare only within one hardware class" in page.words


def test_a_model_without_a_time_does_not_hide_that_the_others_have_no_order() -> None:
    """It stands in a group of its own, which has no two models to be ordered."""
    models = [submission("A"), submission("B"), submission("C")]
    (speed,) = [each for each in SUITE.tasks if each.name == "speed"]
    timings = zip(models, (10.0, 90.0), strict=False)
    results = [result(model, speed, {"time_mean": timed(microseconds)}) for model, microseconds in timings]
    page = PageReader(pages(page_frame(SUITE, models, results, n_items=4))["tasks/speed.html"])
    assert [page.row(name)[0][0].strip() for name in ("A", "B", "C")] == ["1–2", "1–2", "–"]
    assert "there are fewer than 30 independent items" in page.words


def test_a_model_for_comparison_takes_no_place(three: Frame) -> None:
    rows = tuple(
        replace(row, rank=None, reference="for comparison") if row.submission.card.name == "Good" else row
        for row in three.board.rows
    )
    page = PageReader(pages(replace(three, board=replace(three.board, rows=rows)))["tasks/molecules.html"])
    assert page.row("Good")[0][0].strip() == "–"
    assert page.row("Worse")[0][0].strip() == "2"
    assert page.row("Broken")[0][0].strip() == "1"


@pytest.mark.parametrize("status", ["OK", "NOT JUDGED", *(str(verdict) for verdict in Verdict)])
def test_a_verdict_looks_as_on_every_page(status: str) -> None:
    module = environment().get_template("parts.html").module
    assert chip(status) == " ".join(str(module.chip(status)).split())  # type: ignore[attr-defined]


def test_models_inside_the_uncertainty_of_the_references_tie_and_one_outside_does_not() -> None:
    """Three models, each better than the next: without the uncertainty they have an order."""
    rows = _rows()[:3]
    order = PairOrder(tuple(row.submission.id for row in rows), np.triu(np.ones((3, 3), np.bool_), 1))

    def places(*inside: bool) -> list[tuple[int, int]]:
        lines = [
            TaskRank(row, row.tasks[0], 1.0, None, Interval(0.0, 2.0), None, (), as_references=is_inside)
            for row, is_inside in zip(rows, inside, strict=True)
        ]
        return [tuple(line.place) for line in _placed(lines, order) if line.place is not None]

    assert places(False, False, False) == [(1, 1), (2, 2), (3, 3)]
    assert places(True, True, False) == [(1, 2), (1, 2), (3, 3)]
    assert places(True, True, True) == [(1, 3)] * 3


def test_the_page_marks_a_model_that_the_references_cannot_tell_from_themselves() -> None:
    models = [submission(name) for name in ("A", "B", "C")]
    results = []
    for model, x in zip(models, (0.01, 0.1, 0.99), strict=True):
        for each in good_results(model, x):
            uncertain = {
                name: replace(metric, reference_uncertainty=0.12 * (metric.baseline or 1.0))
                for name, metric in each.metrics.items()
            }
            results.append(each.model_copy(update={"metrics": uncertain}) if each.task == "crystals" else each)
    page = PageReader(pages(page_frame(SUITE, models, results, n_items=99))["tasks/crystals.html"])
    marked = [name for name in ("A", "B", "C") if any("own uncertainty" in cell[0] for cell in page.row(name))]
    assert marked == ["A", "B"]
    assert [page.row(name)[0][0].strip() for name in ("A", "B", "C")] == ["1–2", "1–2", "3"]
    assert "as good as the references can tell" in page.words
    assert "Uncertainty of the references" in page.words
    other = PageReader(pages(page_frame(SUITE, models, results, n_items=99))["tasks/barriers.html"])
    assert "Uncertainty of the references" not in other.words
