"""The ranking within a task: two models have an order only if their intervals do not overlap."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.pages.tasks.task_pages import pages
from judge.pages.tasks.task_ranking import PlaceRange, TaskRank, _placed
from judge.pages.tasks.task_rows import chip
from judge.ranking.leaderboard import Row
from judge.view.jinja import environment
from judge.view.page_context import Frame
from sandbox.verdict import Verdict
from scoring.intervals import Interval
from tests.judge.pages.page_reader import PageReader, page_frame
from tests.world.board_records import SUITE, good_results, result, submission, timed


def test_places_overlap_where_intervals_do(read: dict[str, PageReader]) -> None:
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


@given(
    st.lists(
        st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 4))).map(
            lambda ends: None if ends is None else Interval(float(ends[0]), float(ends[0] + ends[1]))
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_a_place_counts_models_with_separate_intervals(intervals: list[Interval | None], lower: bool) -> None:
    row = _any_row()
    lines = [TaskRank(row, row.tasks[0], 1.0, None, interval, None, ()) for interval in intervals]
    for line, interval in zip(_placed(lines, lower), intervals, strict=True):
        better = sum(_better(other, interval, lower) for other in intervals)
        worse = sum(_better(interval, other, lower) for other in intervals)
        assert line.place == PlaceRange(1 + better, len(intervals) - worse)


@cache
def _any_row() -> Row:
    return page_frame(SUITE, [submission("A")]).board.rows[0]


def _better(first: Interval | None, second: Interval | None, lower: bool) -> bool:
    """Whether the first is better and the intervals do not overlap."""
    if first is None or second is None:
        return False
    return first.high < second.low if lower else first.low > second.high


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
    """Three models with separate intervals: without the uncertainty they have an order."""
    row = _any_row()
    ends = [Interval(0.10, 0.11), Interval(0.20, 0.21), Interval(0.30, 0.31)]

    def places(*inside: bool) -> list[tuple[int, int]]:
        lines = [
            TaskRank(row, row.tasks[0], interval.low, None, interval, None, (), as_references=each)
            for interval, each in zip(ends, inside, strict=True)
        ]
        return [tuple(line.place) for line in _placed(lines, lower=True) if line.place is not None]

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
