"""The figures: their numbers are the board's, their drawings are SVG and nothing more, whatever a model is called."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from judge.disclosure.public_leaderboard import public_board
from judge.figures import drawing
from judge.figures.axes import Axis, linear, log
from judge.figures.failures import failures_by_cause, failures_of, verdicts_by_task
from judge.figures.figure import Figure, Heading
from judge.figures.heat_map import heat_map, task_errors
from judge.figures.pareto import Point, front, pareto
from judge.figures.radar import radar, radar_of, spokes
from judge.pages import figures_page
from judge.ranking.leaderboard import Row
from judge.ranking.load import read_board
from judge.view import formatting
from judge.view.leaderboard_export import hardware_of
from judge.view.page_context import Frame, frame
from judge.view.score_shares import task_scores
from judge.view.sources import Sources
from judge.view.table_cells import shown
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tests.judge.pages.board_records import SUITE, frames_metrics, good_results, refused, result, save, submission

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "</title></svg><b>&amp;</b>",
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd",
    "{{ 7 * 7 }}%{x}" + "W" * 180,
    "🧪" * 60 + "\x00\x1b[31m\ufffe",
)
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "desc", "g", "line", "path", "polygon", "circle", "rect", "text", "defs", "pattern"}


def frame_of(folder: Path) -> Frame:
    board = read_board(LocalStore(folder), SUITE, pytest.fail)
    return frame(public_board(board, ()), Sources())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """Five models that came through, one that failed items, one with a task out of time and one that was not judged."""
    folder = tmp_path_factory.mktemp("figures")
    store = LocalStore(folder)
    for number, name in enumerate(HOSTILE):
        of = submission(name)
        save(store, [of], good_results(of, 0.1 + 0.15 * number))
    failing = submission("failing")
    results = good_results(failing, 0.5)
    results[0] = result(
        failing, SUITE.tasks[0], frames_metrics(0.5, virial=True), failures={"NON_FINITE": 2, "ERROR": 1}
    )
    save(store, [failing], results)
    late = submission("late")
    save(store, [late], [*good_results(late, 0.9)[1:], refused(late, SUITE.tasks[0], Verdict.TIME_LIMIT)])
    save(store, [submission("absent")], [])
    return frame_of(folder)


def all_figures(of: Frame) -> Iterator[Figure]:
    for draw in figures_page.DRAWN:
        found = draw(of)
        if found is not None:
            yield found
    for row in of.board.rows:
        for one in (radar_of(of, row), failures_of(of, row)):
            if one is not None:
                yield one


def row_called(of: Frame, name: str) -> Row:
    return next(row for row in of.board.rows if row.submission.card.name == name)


def with_models(of: Frame, n: int) -> Frame:
    """The frame with so many models, all alike but for their ids and names."""
    row = of.board.rows[0]
    rows = tuple(
        replace(
            row,
            rank=number + 1,
            submission=row.submission.model_copy(
                update={
                    "id": f"{row.submission.id}-{number}",
                    "card": row.submission.card.model_copy(update={"name": f"model {number}"}),
                }
            ),
        )
        for number in range(n)
    )
    return frame(replace(of.board, rows=rows), of.sources)


def assert_plain_svg(markup: Markup) -> None:
    """Well-formed, with the elements and attributes of a drawing alone, and no number that is not finite."""
    top = ElementTree.fromstring(str(markup))
    assert top.tag == f"{SVG}svg"
    assert top.get("role") == "img"
    ids = {element.get("id") for element in top.iter() if element.get("id")}
    assert set((top.get("aria-labelledby") or "").split()) <= ids
    for element in top.iter():
        assert element.tag.removeprefix(SVG) in DRAWN
        assert not [name for name in element.attrib if name.startswith("on") or name in ("style", "href")]
    assert "NaN" not in markup.replace("NaN-", "")
    assert 'inf"' not in markup


def test_drawings_are_svg_without_style_or_script(hostile: Frame) -> None:
    figures = list(all_figures(hostile))
    assert {figure.key for figure in figures} >= {"radar", "pareto", "heat-map", "failures", "verdicts"}
    for figure in figures:
        assert_plain_svg(figure.drawing)


def test_a_page_of_hostile_names_has_them_as_text(hostile: Frame) -> None:
    page = figures_page.pages(hostile)["figures.html"].decode()
    for tag in ("<script>alert", "<img", "<b>&amp;</b>", "{{ 7", "\u202e", "\x00", "\ufffe"):
        assert (tag in page) == (tag == "{{ 7")  # a template's braces mean nothing in a page
    assert page.count("<script") == page.count('<script type="application/json">') + 1  # main.js


class TableReader(HTMLParser):
    """The cells of a figure's table, read as js/figure_table.js does."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self.lines: list[list[dict[str, Any]]] = []
        self.feed(table)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.lines.append([])
        elif tag in ("th", "td"):
            self.lines[-1].append({"tag": tag, "said": "", **dict(attrs)})

    def handle_data(self, data: str) -> None:
        self.lines[-1][-1]["said"] += data

    @property
    def rows(self) -> list[list[Any]]:
        found: list[list[Any]] = []
        for cells in self.lines[1:]:
            above = found[-1][: len(self.lines[0]) - len(cells)] if found else []
            found.append([*above, *map(value_of, cells)])
        return found

    def assert_filled(self) -> None:
        """Rows and what reaches into them from above are as wide as the head: there is no hole."""
        until = [0] * len(self.lines[0])
        for line, cells in enumerate(self.lines):
            free = [column for column, end in enumerate(until) if end <= line]
            assert len(free) == len(cells)
            for column, cell in zip(free, cells, strict=True):
                until[column] = line + int(cell.get("rowspan", "1"))
        assert set(until) == {len(self.lines)}


def value_of(cell: dict[str, Any]) -> Any:
    if "data-is" in cell:
        return json.loads(cell["data-is"])
    if cell["tag"] == "th" or cell.get("class") == "word":
        return cell["said"]
    return None if cell["said"] == "–" else float(cell["said"].replace("−", "-").replace("\u202f", ""))


def test_a_table_has_the_numbers_whole(hostile: Frame) -> None:
    for figure in all_figures(hostile):
        table = TableReader(figure.table)
        assert table.rows == [
            [formatting.plain(cell) if isinstance(cell, str) else cell for cell in row] for row in figure.rows
        ]
        assert [cell.get("data-unit", "") for cell in table.lines[0]] == [heading.unit for heading in figure.headings]
        table.assert_filled()


names = st.sampled_from(["a", "b", "", "−5", "7", HOSTILE[0]])
numbers = st.none() | st.integers(-(10**6), 10**9) | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(names, names, names | numbers, numbers, numbers), max_size=8), st.integers(1, 6))
def test_any_table_is_read_back(rows: list[tuple[Any, ...]], digits: int) -> None:
    """Texts that look like numbers stay texts, and a name that spans rows is that of each."""
    headings = tuple(Heading(name, unit) for name, unit in zip("vwxyz", ("", "", "", "eV", "K"), strict=True))
    table = TableReader(Figure("k", "t", "a", headings, rows, Markup(), digits=digits).table)
    assert table.rows == [list(row) for row in rows]
    table.assert_filled()


def test_a_name_over_several_rows_stands_once() -> None:
    rows = [("a", "one", 1.0), ("a", "one", 2.0), ("a", "two", 3.0), ("b", "two", 4.0)]
    table = TableReader(Figure("k", "t", "a", tuple(map(Heading, "xyz")), rows, Markup()).table)
    assert [[cell["said"] for cell in line] for line in table.lines[1:]] == [
        ["a", "one", "1.00"],
        ["2.00"],
        ["two", "3.00"],
        ["b", "two", "4.00"],
    ]
    assert [cell.get("rowspan") for line in table.lines[1:] for cell in line[:-1]] == ["3", "2", None, None, None]


def test_a_plot_is_json_that_cannot_end_its_element(hostile: Frame) -> None:
    for figure in all_figures(hostile):
        assert "<" not in figure.data
        assert set(json.loads(figure.data)) <= {"data", "layout"}


def test_what_is_not_finite_is_a_word_or_nothing() -> None:
    rows = [("a", math.inf), ("b", -math.inf), ("c", math.nan)]
    plot = {"data": [{"y": [math.inf, math.nan, 1.0]}]}
    figure = Figure("k", "t", "a", (Heading("m"), Heading("v")), rows, Markup(), plot)
    assert TableReader(figure.table).rows == [["a", "Infinity"], ["b", "-Infinity"], ["c", None]]
    assert json.loads(figure.data)["data"][0]["y"] == [None, None, 1.0]


@given(st.floats(-1e7, 1e7) | st.floats(-1.0, 1.0), st.integers(1, 6))
def test_numbers_of_cells_are_as_everywhere(value: float, digits: int) -> None:
    assert shown(value, digits) == formatting.number(value, digits)


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=1, max_size=12))
def test_a_line_goes_through_its_points(points: list[drawing.Point]) -> None:
    """Steps from point to point do not add up to a shift."""
    steps = (ElementTree.fromstring(str(drawing.polyline(points))).get("d") or "")[1:]
    start, *moves = (list(map(float, re.findall(r"-?[\d.]+", piece))) for piece in steps.split("l"))
    x, y = start
    found = [(x, y)]
    for dx, dy in zip(*(iter(moves[0]),) * 2, strict=True) if moves else ():
        x, y = x + dx, y + dy
        found.append((x, y))
    rounded = [(round(10 * x) / 10, round(10 * y) / 10) for x, y in points]
    np.testing.assert_allclose(found, [place for place, _ in groupby(rounded)], atol=1e-6)


def test_each_row_has_a_cell_for_each_heading(hostile: Frame) -> None:
    for figure in all_figures(hostile):
        assert {len(row) for row in figure.rows} == {len(figure.headings)}


def test_the_radar_is_one_less_the_errors_of_the_board(hostile: Frame) -> None:
    figure = radar(hostile)
    assert figure is not None
    assert [(spoke.score, spoke.domain) for spoke in spokes(hostile)] == [
        ("force_field", "Inorganic Materials"),
        ("force_field", "Molecules"),
        ("property_error", "Molecules"),
    ]
    best = [row for row in hostile.board.rows if row.rank is not None][:5]
    assert [values[0] for values in figure.rows] == [drawing.clean(row.submission.card.name) for row in best]
    for (_, *values), row in zip(figure.rows, best, strict=True):
        parts = (*row.scores.force_field.parts, *row.scores.property_error.parts)
        assert values == pytest.approx([1 - (part.value or 0.0) for part in parts])


def test_the_radar_of_a_model_has_the_best_beside_it(hostile: Frame) -> None:
    late, first = row_called(hostile, "late"), hostile.board.rows[0]
    figure, of_best = radar_of(hostile, late), radar_of(hostile, first)
    assert figure is not None
    assert of_best is not None
    assert [values[0] for values in figure.rows] == ["late", drawing.clean(HOSTILE[0])]
    assert figure.rows[0][1] is None  # out of time in the only task of that domain
    assert of_best.rows[1][0] != of_best.rows[0][0]


def test_the_radar_of_a_model_without_any_value_shows_the_best_alone(hostile: Frame) -> None:
    figure = radar_of(hostile, row_called(hostile, "absent"))
    assert figure is not None
    assert figure.rows[0] == ("absent", None, None, None)


def test_pareto_has_the_scores_of_the_board(hostile: Frame) -> None:
    figure = pareto(hostile)
    assert figure is not None
    ranked = [row for row in hostile.board.rows if row.rank is not None]
    expected = [
        (row.rank, row.scores.force_field.value, row.scores.efficiency.value, hardware_of(row)) for row in ranked
    ]
    assert [(values[1], values[2], values[5], values[6]) for values in figure.rows] == expected
    # The more accurate is the slower one (see `good_metrics`), but times have two digits: of two as fast one is beaten.
    assert [(values[2], values[-1]) for values in figure.rows] == [
        (0.1, "yes"),
        (0.25, "yes"),
        (0.4, "yes"),
        (0.5, "yes"),
        (0.55, "no"),
        (0.7, "yes"),
    ]


points = st.builds(
    Point,
    st.just("m"),
    st.just(1),
    st.integers(0, 6).map(lambda n: n / 4),
    st.none(),
    st.none(),
    st.integers(1, 6).map(float),
    st.just(""),
)


def beats(one: Point, other: Point) -> bool:
    as_good = one.error <= other.error and one.efficiency >= other.efficiency
    return as_good and (one.error, one.efficiency) != (other.error, other.efficiency)


@given(st.lists(points, max_size=12))
def test_the_front_is_what_no_other_beats(found: list[Point]) -> None:
    best = {id(point) for point in front(found)}
    assert best == {id(point) for point in found if not any(beats(other, point) for other in found)}


def test_the_heat_map_has_the_errors_of_the_tasks(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    assert [heading.name for heading in figure.headings] == ["Model", "crystals", "molecules", "barriers"]
    for values, row in zip(figure.rows[:5], hostile.board.rows, strict=False):
        relative = row.scores.property_error.value
        assert relative is not None
        assert values[0] == f"{row.rank}. {drawing.clean(row.submission.card.name)}"
        assert values[1:] == pytest.approx([relative] * 3)  # every error of theirs is the same share


def test_the_heat_map_marks_what_has_no_value(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    by_name = {str(values[0]): values for values in figure.rows}
    assert by_name["late"][1] == "time limit"
    assert by_name["absent"][1:] == ("not judged",) * 3
    signs = [
        e for e in ElementTree.fromstring(str(figure.drawing)).iter(f"{SVG}path") if "sign" in (e.get("class") or "")
    ]
    counts: Counter[str | None] = Counter()
    for sign in signs:
        counts[sign.get("class")] += (sign.get("d") or "").count("M")
    assert counts == {"sign fault": 1 + 1, "sign absent": 3 + 1}  # one each in the legend


def test_a_missing_label_type_counts_as_it_does_in_the_score(tmp_path: Path) -> None:
    """The virials of the crystals are asked; a model without them has their error 1, with the virials' weight."""
    store = LocalStore(tmp_path)
    whole, without = submission("whole"), submission("without")
    results = good_results(without, 0.2)
    results[0] = result(without, SUITE.tasks[0], frames_metrics(0.2))
    save(store, [whole, without], [*good_results(whole, 0.2), *results])
    of = frame_of(tmp_path)
    errors = {row.submission.card.name: task_errors(of.board, row) for row in of.board.rows}
    row = row_called(of, "without")
    crystals = row.scores.force_field.parts[0].value
    assert errors["whole"]["crystals"] == pytest.approx(0.2)
    assert errors["without"]["crystals"] == pytest.approx(crystals)
    assert crystals is not None
    assert crystals > 0.2


def test_a_cell_of_the_heat_map_is_the_number_of_the_tasks_page(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    names = [heading.name for heading in figure.headings[1:]]
    for own, row in zip(figure.rows, hostile.board.rows, strict=True):
        scores = task_scores(hostile.board, row)
        numbers = {name: cell for name, cell in zip(names, own[1:], strict=True) if isinstance(cell, float)}
        expected = {name: scores[name].value for name in names if name in scores}
        assert numbers == {name: pytest.approx(v, rel=1e-5) for name, v in expected.items() if v is not None}


def test_failures_are_shares_of_all_items(hostile: Frame) -> None:
    figure, own = failures_by_cause(hostile), failures_of(hostile, row_called(hostile, "failing"))
    assert figure is not None
    assert own is not None
    row = row_called(hostile, "failing")
    n_items = sum(line.result.n_items for line in row.tasks if line.result)
    assert [heading.name for heading in figure.headings] == ["Model", "All items", "non finite", "error"]
    assert figure.rows == [("failing", n_items, pytest.approx(200 / n_items), pytest.approx(100 / n_items))]
    assert own.rows == [("crystals", 10, 20.0, 10.0)]


def test_verdicts_other_than_ok_by_task(hostile: Frame) -> None:
    figure = verdicts_by_task(hostile)
    assert figure is not None
    n_judged = len(HOSTILE) + 2
    assert figure.rows == [("crystals", n_judged, pytest.approx(100 / n_judged))]
    assert figure.headings[-1] == Heading("time limit", "%")


def test_more_causes_than_colours_are_drawn_as_one_and_told_each(hostile: Frame) -> None:
    row = row_called(hostile, "failing")
    line = row.tasks[0]
    assert line.result is not None
    causes = ("ERROR", "UNSUPPORTED", "NON_FINITE", "WRONG_SHAPE", "OUT_OF_MEMORY", "NOT_CONVERGED", "EXPLODED")
    failures = {cause: 20 - n for n, cause in enumerate((*causes, "OVER_TIME", "MISSING", "INCONSISTENT"))}
    many = line.result.model_copy(update={"failures": failures, "n_items": 1000})
    figure = failures_of(hostile, replace(row, tasks=(replace(line, result=many),)))
    assert figure is not None
    assert len(figure.headings) == 2 + len(failures)
    names = [trace["name"] for trace in figure.plot["data"]]
    assert len(names) == drawing.N_COLOURS
    assert names[-1] == "others"
    assert figure.plot["data"][-1]["x"] == [pytest.approx((13 + 12 + 11) / 10)]


def test_no_model_has_a_page_that_says_so(tmp_path: Path) -> None:
    of = frame_of(tmp_path)
    assert list(all_figures(of)) == []
    assert "nothing to draw yet" in figures_page.pages(of)["figures.html"].decode()


@pytest.mark.parametrize("n", [1, 200])
def test_one_model_and_two_hundred(hostile: Frame, n: int) -> None:
    of = with_models(hostile, n)
    found = [figure for draw in figures_page.DRAWN if (figure := draw(of)) is not None]
    by_key = {figure.key: figure for figure in found}
    assert {"radar", "pareto", "heat-map"} <= set(by_key)
    for figure in found:
        assert_plain_svg(figure.drawing)
    assert len(by_key["heat-map"].rows) == len(by_key["pareto"].rows) == n


finite = st.floats(-1e9, 1e9, allow_nan=False)


def assert_sound(axis: Axis, values: Sequence[float]) -> None:
    places = [axis(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(axis.start <= place <= axis.end for place in places)
    assert all(axis.low <= tick.value <= axis.high or math.isclose(tick.value, axis.low) for tick in axis.ticks)
    assert len({tick.label for tick in axis.ticks}) == len(axis.ticks) <= 24


@given(st.lists(finite, max_size=6))
def test_a_linear_axis_keeps_order_and_has_ticks_within(values: list[float]) -> None:
    assert_sound(linear(values, 10.0, 500.0), values)


@given(st.lists(st.floats(1e-12, 1e12), max_size=6))
def test_an_axis_by_decades_keeps_order_and_has_ticks_within(values: list[float]) -> None:
    assert_sound(log(values, 10.0, 500.0), values)


@given(st.text(max_size=40), st.integers(0, 8))
def test_text_in_a_drawing_is_text(words: str, series: int) -> None:
    told = drawing.mark((1, 2), series, told=words)
    made = drawing.svg("k", words, words, 10, 10, drawing.text((1, 2), words), told)
    top = ElementTree.fromstring(str(made))
    assert {element.tag.removeprefix(SVG) for element in top.iter()} <= DRAWN
    shown = top.find(f"{SVG}text")
    assert shown is not None
    assert (shown.text or "").split() == drawing.clean(words).split()
