"""Figures of data: drift, pairs, elements, groups and scores over time. Their tables hold what was measured."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from ase.data import chemical_symbols
from hypothesis import given
from hypothesis import strategies as st

from judge.figures.dates import N_TICKS, dates
from judge.figures.diatomic import clipped, diatomics_of
from judge.figures.drawing import N_COLOURS
from judge.figures.drift import SMALLEST, drift_figure, drift_of
from judge.figures.elements import LARGEST, elements_figure, elements_of, place_of
from judge.figures.figure import Figure
from judge.figures.groups import DRAWN, groups_of
from judge.figures.history import history_figure
from judge.ranking.leaderboard import Leaderboard
from judge.records.manifest import Manifest, PublishedScores
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from tasks.kinds.nve import NveParameters
from tasks.metrics.measurement import MetricPart
from tasks.suites.suite import Suite
from tests.judge.figures.curve_world import (
    CRYSTALS,
    KNOWN,
    LAWS,
    PUBLIC,
    SECRET,
    SUITE,
    board_of,
    drifting,
    dynamics,
    frame_of,
    pairs,
    results_of,
    three,
    wells,
)
from tests.judge.pages.board_records import FORCE, NOON, result, submission

SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "g", "line", "path", "polygon", "circle", "rect", "text"}
HOSTILE = '<script>alert(1)</script>"&\u202e\x00'


def drawn(figure: Figure | None) -> ElementTree.Element:
    """The drawing, which must be well-formed and have no style or script of its own."""
    assert figure is not None
    root = ElementTree.fromstring(figure.drawing)
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in ELEMENTS
        assert not {"style", "fill", "stroke", "onload", "href"} & set(element.attrib)
    assert all(len(row) == len(figure.headings) for row in figure.rows)
    assert figure.data  # there is no number in it that JSON has not
    return root


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def of_class(root: ElementTree.Element, *names: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if set(names) <= set(each.get("class", "").split())]


def numbered(n: int) -> Leaderboard:
    """So many models, one worse than the other."""
    found = [submission(f"model-{i:02d}") for i in range(n)]
    return board_of(found, [one for i, of in enumerate(found) for one in results_of(of, 0.1 + 0.8 * i / n)])


def with_parts(*parts: MetricPart) -> Frame:
    of = submission("alpha")
    return frame_of(board_of([of], results_of(of, 0.2, parts)))


def part(by: str, name: str, value: float | None, metric: str = FORCE, n_items: int = 10) -> MetricPart:
    return MetricPart(by=by, name=name, metric=metric, value=value, unit="eV/Å", n_items=n_items)


def test_the_drift_of_a_model_is_the_mean_over_its_tasks() -> None:
    first, second = drifting(3, 1), drifting(6, 2)
    items = {}
    for row in three().rows[:2]:
        items[row.submission.id, KNOWN.name], items[row.submission.id, SECRET.name] = dynamics(first), dynamics(second)
    figure = drift_figure(frame_of(three(), items))
    root = drawn(figure)
    assert figure is not None
    assert [row[0] for row in figure.rows] == [row.submission.card.name for row in three().rows[:2]]
    expected = (abs(first).mean(axis=0) + abs(second).mean(axis=0)) / 2
    for row in figure.rows:
        assert row[2:4] == (2, 9)  # tasks and runs
        np.testing.assert_allclose(
            np.array(row[4:], np.float64), 1000 * expected[1:], rtol=0.03
        )  # two digits of the hidden
    assert [trace["y"][0] for trace in figure.plot["data"]] == [figure.rows[0][4]] * 2
    assert [heading.name for heading in figure.headings[4:6]] == ["At 0.1 ps", "At 0.2 ps"]
    assert len(of_class(root, "line", "c0")) == 2  # the line, and its piece in the legend


def test_a_line_ends_where_one_of_its_tasks_does() -> None:
    ends, goes_on = drifting(2, 1), drifting(2, 2)
    ends[0, 3:], ends[1, 5:] = np.nan, np.nan
    own = three().rows[0].submission.id
    items = {(own, KNOWN.name): dynamics(ends), (own, SECRET.name): dynamics(goes_on)}
    figure = drift_figure(frame_of(three(), items, PUBLIC | {SECRET.dataset}))
    assert figure is not None
    (row,) = figure.rows
    assert row[3] == 1 + 2
    assert [value is not None for value in row[4:]] == [True] * 4 + [False] * 6


def test_runs_of_different_lengths_are_drawn_over_their_share() -> None:
    longer = replace(SECRET, parameters=NveParameters(steps=5000))
    suite = Suite(name="two", version="1", title="Two", tasks=(KNOWN, longer))
    of = submission("alpha")
    board = board_of([of], [one for one in results_of(of, 0.2) if one.task in ("known", "secret")], suite)
    items = {(of.id, task.name): dynamics(drifting(6)) for task in (KNOWN, longer)}
    figure = drift_figure(frame_of(board, items))
    assert figure is not None
    assert figure.headings[4].name == "At 10 %"
    assert "share of the run / %" in words(drawn(figure))


def test_beyond_the_best_models_are_grey() -> None:
    board = numbered(N_COLOURS + 3)
    items = {(row.submission.id, KNOWN.name): dynamics(drifting(2, i)) for i, row in enumerate(board.rows)}
    figure = drift_figure(frame_of(board, items))
    root = drawn(figure)
    assert figure is not None
    assert len(figure.rows) == N_COLOURS + 3
    assert len(of_class(root, "line", "rest")) == 3 + 1  # and in the legend
    colours = [trace["meta"]["colour"] for trace in figure.plot["data"]]
    assert colours == ["rest"] * 3 + list(range(N_COLOURS))[::-1]  # what is drawn last lies on top
    assert figure.plot["data"][-1]["name"] == "model-00"


def test_the_drift_of_one_model_has_the_runs_of_public_sets_with_their_sign() -> None:
    own = three().rows[0]
    deviation = drifting(2, 4)
    items = {
        (own.submission.id, KNOWN.name): dynamics(deviation),
        (own.submission.id, SECRET.name): dynamics(deviation),
    }
    items[own.submission.id, SECRET.name] = dynamics(drifting(6, 5))
    figure = drift_of(frame_of(three(), items), own)
    root = drawn(figure)
    assert figure is not None
    lines = {name: [row for row in figure.rows if row[0] == name] for name in {row[0] for row in figure.rows}}
    assert set(lines) == {"known: mean size", "known: run 0", "known: run 1", "secret: mean size"}
    np.testing.assert_allclose([row[3] for row in lines["known: run 1"]], 1000 * deviation[1], rtol=1e-3)
    assert {row[2] for row in lines["secret: mean size"]} == {6}
    assert len(of_class(root, "line", "rest")) == 2 + 1
    assert drift_of(frame_of(three(), items), three().rows[1]) is None


def test_no_drift_at_all_is_drawn_at_the_bound_of_rounding() -> None:
    own = three().rows[0].submission.id
    figure = drift_figure(frame_of(three(), {(own, KNOWN.name): dynamics(0.0 * drifting(2))}))
    drawn(figure)
    assert figure is not None
    assert figure.plot["data"][0]["y"] == [SMALLEST] * 10
    assert figure.rows[0][4:] == (0.0,) * 10


def test_pairs_are_drawn_to_one_scale_and_the_table_goes_beyond_it() -> None:
    own = three().rows[0]
    energies = wells(depth=3.0)
    energies[2] = np.nan
    figure = diatomics_of(frame_of(three(), {(own.submission.id, LAWS.name): pairs(energies)}), own)
    root = drawn(figure)
    assert figure is not None
    assert "from −3 to 1.5 eV" in figure.about
    told = [title.text for title in root.iter(f"{SVG}title")]
    assert "H–H" in told
    assert "Zn–Zn" not in told
    assert "failed" in words(root)
    assert [word for word in words(root) if word in ("H", "Cu", "Zn")] == ["H", "Cu", "Zn"]
    in_table = [row[2] for row in figure.rows if row[0] == "H"]
    assert max(value for value in in_table if value is not None) > 10.0
    assert {row[2] for row in figure.rows if row[0] == "Zn"} == {None}
    assert diatomics_of(frame_of(three()), own) is None


@given(
    st.lists(st.floats(-100, 100) | st.just(float("nan")), min_size=2, max_size=12),
    st.floats(-50, -0.5),
    st.floats(0.5, 50),
)
def test_a_clipped_line_is_the_line_within_its_bounds(values: list[float], low: float, high: float) -> None:
    points = [(float(x), y) for x, y in enumerate(values)]
    found = [point for point in clipped(points, low, high) if not np.isnan(point[0])]
    xs = np.arange(len(values))
    for x, y in found:
        assert low - 1e-9 <= y <= high + 1e-9
        left = min(int(x), len(values) - 2)
        near = [np.interp(x, xs[i : i + 2], values[i : i + 2]) for i in {left, max(left - 1, 0), max(round(x) - 1, 0)}]
        assert any(y == pytest.approx(value, abs=1e-6) for value in near)
    for before, after in pairwise(points):
        if low <= before[1] <= high and low <= after[1] <= high:
            assert {before, after} <= set(found)


def test_every_element_has_a_place_of_its_own() -> None:
    places = {symbol: place_of(symbol) for symbol in chemical_symbols[1 : LARGEST + 1]}
    assert len(set(places.values())) == LARGEST
    assert all(0 <= place.column <= 17 for place in places.values())
    column = {symbol: place.column for symbol, place in places.items()}
    for group in ("H Li Na K Rb Cs Fr", "B Al Ga In Tl Nh", "Ti Zr Hf Rf", "He Ne Ar Kr Xe Rn Og", "Cu Ag Au Rg"):
        assert len({column[symbol] for symbol in group.split()}) == 1
    for period in ("H He", "B Ne", "K Kr", "Cs Hf Rn", "La Ce Lu", "Ac Lr"):
        assert len({places[symbol].row for symbol in period.split()}) == 1


def test_errors_by_element_are_on_the_periodic_table() -> None:
    made = with_parts(
        part("element", "Cu", 0.0123),
        part("element", "O", 0.5),
        part("element", "Zn", None, n_items=7),
        part("element", "nonsense", 3.0),
        part("element", "Cu", 9.0, metric="energy_rmse_per_atom"),
        part("group", "Fe", 7.0),
    )
    figure = elements_of(made, made.board.rows[0])
    root = drawn(figure)
    assert figure is not None
    assert list(figure.rows) == [("O", 0.5, 10, 0), ("Cu", 0.0123, 10, 0), ("Zn", None, 7, 0)]
    assert figure.headings[1] == ("Force RMSE", "eV/Å")
    assert set(words(root)) >= {"12", "500", "× failed", "H", "Og"}
    (empty,) = of_class(root, "cell", "absent")
    assert empty.get("d", "").count("M") == LARGEST - 3
    assert [len(of_class(root, "cell", name)) for name in ("h0", "h8", "fault")] == [1, 1, 1]
    over_all = elements_figure(made, CRYSTALS.name)
    assert over_all is not None
    assert list(over_all.rows) == list(figure.rows)
    assert elements_figure(made, KNOWN.name) is None


def test_of_several_tasks_that_with_most_elements_is_drawn() -> None:
    other = replace(CRYSTALS, name="others", dataset="others@1")
    suite = replace(SUITE, tasks=(CRYSTALS, other))
    of = submission("alpha")
    few = result(of, CRYSTALS, {}, parts=(part("element", "Cu", 1.0),))
    many = result(of, other, {}, parts=(part("element", "Cu", 2.0), part("element", "O", 3.0)))
    made = frame_of(board_of([of], [few, many], suite), public=PUBLIC | {other.dataset})
    figure = elements_of(made, made.board.rows[0])
    assert figure is not None
    assert [row[1] for row in figure.rows] == [3.0, 2.0]
    assert "in others" in figure.about


def test_parts_of_few_items_of_a_hidden_set_are_in_no_figure() -> None:
    of = submission("alpha")
    parts = (part("element", "Cu", 1.0, n_items=4), part("group", "few", 1.0, n_items=4))
    made = frame_of(board_of([of], results_of(of, 0.2, parts)), public=frozenset())
    assert elements_of(made, made.board.rows[0]) is None
    assert groups_of(made, made.board.rows[0]) is None


def test_errors_by_group_are_beside_that_of_the_task() -> None:
    made = with_parts(
        *(part("group", f"group {i}", 0.2 * (i + 1)) for i in range(DRAWN + 2)),
        part("group", "failed", None),
        part("element", "Cu", 1.0),
    )
    figure = groups_of(made, made.board.rows[0])
    root = drawn(figure)
    assert figure is not None
    assert len(figure.rows) == DRAWN + 3
    by_name = {row[0]: row for row in figure.rows}
    assert by_name["group 1"][3:6] == (0.4, "eV/Å", pytest.approx(0.4 / 0.2))
    assert by_name["failed"][5] is None
    shown = [word for word in words(root) if word.startswith("group ")]
    assert shown == [f"group {i}" for i in range(DRAWN + 1, 1, -1)]  # the largest errors first
    assert len(of_class(root, "mark")) == DRAWN + 1  # and in the legend


def test_the_best_until_then_is_a_staircase() -> None:
    figure = history_figure(frame_of(three()))
    drawn(figure)
    assert figure is not None
    dots = [(row[0], row[3], row[4]) for row in figure.rows]
    scores = {row.submission.card.name: row.scores.force_field.value for row in frame_of(three()).board.rows}
    a, b, c = scores["last"], scores["first"], scores["second-of-them"]
    assert dots == [("last", a, a), ("first", b, a), ("second-of-them", c, c)]
    best = next(trace for trace in figure.plot["data"] if trace["name"] == "best until then")
    assert best["y"] == [a, a, c]


def manifest(n: int, scores: dict[str, float | None]) -> Manifest:
    none = {"property_error": None, "efficiency": None, "instability": None, "rank": None}
    found = {name: PublishedScores(force_field=score, **none) for name, score in scores.items()}
    stated = {"suite": "small", "release": "1", "judge_version": "1", "judge_commit": "", "previous": ""}
    lists = {"files": {}, "results": {}, "submissions": {}, "events": {}, "selftests": ()}
    return Manifest.model_validate(
        {"n": n, "published": NOON + timedelta(days=30 * n), "scores": found, **stated, **lists}
    )


def test_the_best_are_followed_over_publications() -> None:
    best, second, third = (row.submission.id for row in three().rows)
    manifests = [
        manifest(1, {best: 0.3, second: 0.5, third: None, "withdrawn": 0.01}),
        manifest(2, {best: 0.25, second: None, "withdrawn": 0.01}),
    ]
    figure = history_figure(frame(three(), Sources(public=PUBLIC, manifests=manifests)))
    drawn(figure)
    assert figure is not None
    followed = [row for row in figure.rows if row[1] == "published"]
    name = three().rows[0].submission.card.name
    assert followed == [(name, "published", "2025-04-03", 0.3, None), (name, "published", "2025-05-03", 0.25, None)]


def test_who_is_not_ranked_has_no_part_in_it() -> None:
    of, other = submission("alpha"), submission("beta")
    refused = result(other, KNOWN, {}, Verdict.TIME_LIMIT)
    kept = [one for one in results_of(other, 0.01) if one.task != KNOWN.name]
    figure = history_figure(frame_of(board_of([of, other], [*results_of(of, 0.2), *kept, refused])))
    drawn(figure)
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["alpha"]
    assert history_figure(frame_of(board_of([other], [*kept, refused]))) is None


@given(st.floats(0.0, 3650.0))
def test_ticks_of_dates_lie_on_the_axis(days: float) -> None:
    axis = dates([NOON, NOON + timedelta(days=days)], 0.0, 100.0)
    values = [tick.value for tick in axis.ticks]
    assert 1 <= len(values) <= N_TICKS + 1
    assert values == sorted(set(values))
    assert axis.low <= values[0]
    assert values[-1] <= axis.high
    assert len({tick.label for tick in axis.ticks}) == len(values)
    assert 0.0 < axis(NOON.timestamp()) < 100.0


def test_a_board_without_anything_has_no_figure() -> None:
    empty = frame_of(board_of([], []))
    assert drift_figure(empty) is None
    assert history_figure(empty) is None
    assert elements_figure(empty, CRYSTALS.name) is None
    of = submission("alpha")
    nothing = frame_of(board_of([of], []))
    (row,) = nothing.board.rows
    for make in (drift_of, diatomics_of, elements_of, groups_of):
        assert make(nothing, row) is None
    assert history_figure(nothing) is None


def test_names_are_text() -> None:
    of = submission("alpha")
    hostile = of.model_copy(update={"card": of.card.model_copy(update={"name": HOSTILE})})
    parts = (part("group", HOSTILE, 1.0), part("group", "other", 0.3), part("element", "Cu", 1.0))
    board = board_of([hostile], results_of(hostile, 0.2, parts))
    items = {(of.id, KNOWN.name): dynamics(drifting(2), HOSTILE), (of.id, LAWS.name): pairs(wells())}
    made = frame_of(board, items)
    (row,) = made.board.rows
    everyone = (drift_figure(made), history_figure(made))
    own = [make(made, row) for make in (drift_of, diatomics_of, elements_of, groups_of)]
    for figure in (*everyone, *own):
        drawn(figure)
        assert figure is not None
        assert "<script" not in figure.drawing
        assert "<script" not in figure.data
    assert any("<script>alert(1)" in word for word in words(drawn(everyone[0])))
