"""The heat map has the normalised error of each model in each task, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.figures.heat_map import heat_map, task_errors
from judge.figures.names import clean
from judge.view.page_context import Frame
from judge.view.score_shares import task_scores
from submissions.store.local import LocalStore
from tests.judge.figures.hostile_board import frame_of, plot_of, row_called
from tests.world.board_records import SUITE, frames_metrics, good_results, result, save, submission


def test_the_heat_map_has_the_errors_of_the_tasks(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    assert [heading.name for heading in figure.headings] == ["Model", "Crystals", "Molecules", "Barriers"]
    for values, row in zip(figure.rows[:5], hostile.board.rows, strict=False):
        relative = row.scores["property_error"].value
        assert relative is not None
        assert values[0] == f"{row.rank}. {clean(row.submission.card.name)}"
        assert values[1:] == pytest.approx([relative] * 3)  # all errors of a model are the same share of the baseline


def test_the_heat_map_marks_cells_without_a_value(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    by_name = {str(values[0]): values for values in figure.rows}
    assert by_name["late"][1] == "time limit"
    assert by_name["absent"][1:] == ("not judged",) * 3
    *bars, marks = plot_of(figure)["data"]
    assert marks["text"] == [
        "late\nCrystals: time limit",
        *(f"absent\n{task}: not judged" for task in ("Crystals", "Molecules", "Barriers")),
    ]
    assert marks["marker"]["symbol"] == ["x-thin-open", *["line-ew-open"] * 3]
    assert [bar["y"].count(None) for bar in bars[-2:]] == [1, 3]


def test_a_missing_label_type_counts_as_it_does_in_the_score(tmp_path: Path) -> None:
    """The crystals have virials. For a model without virials their error counts 1, with the virials' weight."""
    store = LocalStore(tmp_path)
    whole, without = submission("whole"), submission("without")
    results = good_results(without, 0.2)
    results[0] = result(without, SUITE.tasks[0], frames_metrics(0.2))
    save(store, [whole, without], [*good_results(whole, 0.2), *results])
    made = frame_of(tmp_path)
    errors = {row.submission.card.name: task_errors(made.board, row) for row in made.board.rows}
    row = row_called(made, "without")
    crystals = row.scores["force_field"].parts[0].value
    assert errors["whole"]["crystals"] == pytest.approx(0.2)
    assert errors["without"]["crystals"] == pytest.approx(crystals)
    assert crystals is not None
    assert crystals > 0.2


def test_a_cell_of_the_heat_map_is_the_number_of_the_tasks_page(hostile: Frame) -> None:
    figure = heat_map(hostile)
    assert figure is not None
    names = [heading.name for heading in figure.headings[1:]]
    for values, row in zip(figure.rows, hostile.board.rows, strict=True):
        scores = task_scores(hostile.board, row)
        numbers = {name: cell for name, cell in zip(names, values[1:], strict=True) if isinstance(cell, float)}
        expected = {hostile.board.suite.labels[name]: score.value for name, score in scores.items()}
        expected = {name: value for name, value in expected.items() if name in names}
        assert numbers == {name: pytest.approx(v, rel=1e-5) for name, v in expected.items() if v is not None}
    bars = plot_of(figure)["data"][: len(figure.rows)]
    for (_, *cells), bar in zip(figure.rows, bars, strict=True):
        drawn = [colour for colour, height in zip(bar["marker"]["color"], bar["y"], strict=True) if height]
        assert drawn == pytest.approx([cell for cell in cells if isinstance(cell, float)], abs=5e-4)
