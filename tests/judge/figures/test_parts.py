"""Errors by element, on the periodic table, and by group of structures."""

from __future__ import annotations

from dataclasses import replace
from math import log10

import pytest

from judge.figures.elements import SYMBOLS, elements_figure, elements_of, place_of
from judge.figures.groups import DRAWN, groups_of
from judge.view.page_context import Frame
from tasks.metrics.metric import MetricPart
from tests.judge.figures.hostile_board import plot_of
from tests.world.board_records import FORCE, result, submission
from tests.world.curves import CRYSTALS, KNOWN, PUBLIC, SUITE, board_of, frame_of, results_of


def with_parts(*parts: MetricPart) -> Frame:
    model = submission("alpha")
    return frame_of(board_of([model], results_of(model, 0.2, parts)))


def part(by: str, name: str, value: float | None, metric: str = FORCE, n_items: int = 10) -> MetricPart:
    return MetricPart(by=by, name=name, metric=metric, value=value, unit="eV/Å", n_items=n_items)


def test_every_element_has_a_place_of_its_own() -> None:
    places = {symbol: place_of(symbol) for symbol in SYMBOLS}
    assert len(set(places.values())) == len(SYMBOLS) == 118
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
    plot = plot_of(figure)
    assert figure is not None
    assert list(figure.rows) == [("O", 0.5, 10, 0), ("Cu", 0.0123, 10, 0), ("Zn", None, 7, 0)]
    assert figure.headings[1] == ("Force RMSE", "eV/Å")
    absent, failed, known = plot["data"]
    assert len(absent["text"]) == len(SYMBOLS) - 3
    assert failed["text"] == ["Zn\n×"]
    assert failed["hovertext"] == ["Zn: failed, 7 items"]
    assert known["hovertext"][0] == "O: 500 meV/Å, 10 items, 0 failed"
    assert dict(zip(known["text"], known["marker"]["color"], strict=True)) == {
        "O\n500": pytest.approx(log10(0.5)),
        "Cu\n12": pytest.approx(log10(0.0123)),
    }
    assert plot["layout"]["coloraxis"]["cmin"] == pytest.approx(log10(0.0123))
    over_all = elements_figure(made, CRYSTALS.name)
    assert over_all is not None
    assert list(over_all.rows) == list(figure.rows)
    assert elements_figure(made, KNOWN.name) is None


def test_the_median_over_models_is_that_of_the_models_with_a_value() -> None:
    """The number of failed items is that of the worst model, also in the hover text."""
    models = [submission(name) for name in ("alpha", "beta", "gamma")]
    each_part = [part("element", "Cu", 0.1), part("element", "Cu", 0.3), part("element", "Cu", None)]
    each_part[2] = replace(each_part[2], n_failed=9)
    results = [each for model, one in zip(models, each_part, strict=True) for each in results_of(model, 0.2, (one,))]
    figure = elements_figure(frame_of(board_of(models, results)), CRYSTALS.name)
    assert figure is not None
    assert list(figure.rows) == [("Cu", 0.2, 10, 9)]
    assert figure.headings[3].name == "Failed in the worst model"
    assert "in “Crystals” by element, the median over 2 models with a value." in figure.about
    assert plot_of(figure)["data"][2]["hovertext"] == ["Cu: 200 meV/Å, 10 items, 9 failed in the worst model"]


def test_the_task_with_the_most_elements_is_drawn() -> None:
    other = replace(CRYSTALS, name="others", dataset="others@1")
    suite = replace(SUITE, tasks=(CRYSTALS, other))
    model = submission("alpha")
    few = result(model, CRYSTALS, {}, parts=(part("element", "Cu", 1.0),))
    many = result(model, other, {}, parts=(part("element", "Cu", 2.0), part("element", "O", 3.0)))
    made = frame_of(board_of([model], [few, many], suite), public=PUBLIC | {other.dataset})
    figure = elements_of(made, made.board.rows[0])
    assert figure is not None
    assert [row[1] for row in figure.rows] == [3.0, 2.0]
    assert "in “Others”" in figure.about


def test_parts_of_few_items_of_a_hidden_set_are_in_no_figure() -> None:
    model = submission("alpha")
    parts = (part("element", "Cu", 1.0, n_items=4), part("group", "few", 1.0, n_items=4))
    made = frame_of(board_of([model], results_of(model, 0.2, parts)), public=frozenset())
    assert elements_of(made, made.board.rows[0]) is None
    assert groups_of(made, made.board.rows[0]) is None


def test_errors_by_group_are_relative_to_that_of_the_task() -> None:
    made = with_parts(
        *(part("group", f"group {i}", 0.2 * (i + 1)) for i in range(DRAWN + 2)),
        part("group", "failed", None),
        part("element", "Cu", 1.0),
    )
    figure = groups_of(made, made.board.rows[0])
    plot = plot_of(figure)
    assert figure is not None
    assert len(figure.rows) == DRAWN + 3
    by_name = {row[0]: row for row in figure.rows}
    assert by_name["group 1"][3:6] == (0.4, "eV/Å", pytest.approx(0.4 / 0.2))
    assert by_name["failed"][5] is None
    assert plot["layout"]["yaxis"]["ticktext"] == ["Crystals:", *(f"group {i}" for i in range(DRAWN + 1, 1, -1))]
    (trace,) = plot["data"]
    assert trace["y"] == list(range(1, DRAWN + 1))
    assert trace["x"] == [by_name[f"group {i}"][5] for i in range(DRAWN + 1, 1, -1)]
