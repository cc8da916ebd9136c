"""Figures of learning: curves with their bands, stretches of time, unseen molecules; their numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.figures.figure import Figure
from judge.figures.learning import learned_models
from judge.figures.learning_curves import COMPOSITION_ONLY, band, learning_curves, learning_curves_of, ticks
from judge.figures.time_windows import window_figures, windows_of_model
from judge.figures.unseen_molecules import molecule_figures, molecules_of_model
from judge.view.page_context import Frame
from submissions.store.local import LocalStore
from tests.judge.pages.learning_site import CURVES, SETS, learning_frame, make_learning_store


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> tuple[Frame, Frame]:
    """The frame with public data sets, and that with hidden ones."""
    store = LocalStore(tmp_path_factory.mktemp("learning") / "store")
    suite = make_learning_store(store)
    return learning_frame(store, suite), learning_frame(store, suite, hidden=True)


def of_task(made: Frame, index: int) -> list[Figure]:
    task = made.board.suite.tasks[index]
    models = learned_models(made, task, made.board.rows)
    curves = learning_curves(made, models)
    return [*([curves] if curves else []), *window_figures(made, models), *molecule_figures(made, models)]


def titles(figure: Figure) -> list[str]:
    return [note["text"] for note in figure.layout["annotations"]]


def test_ticks_and_bands_by_hand() -> None:
    assert ticks(30, 700) == [50, 100, 200, 500]
    assert ticks(0.9, 1.1e4) == [1, 10, 100, 1000, 10_000]
    assert band(2.0, 0.5) == (1.5, 2.5)
    assert band(2.0, 2.0) == (0.02, 4.0)


def test_a_line_a_model_and_its_band_in_each_plot(frames: tuple[Frame, Frame]) -> None:
    (figure,) = of_task(frames[0], 0)
    assert titles(figure) == ["all atoms", "force on C", "force on H", "force on O", "energy"]
    first = [trace for trace in figure.traces if trace["xaxis"] == "x"]
    lines = {trace["name"]: trace for trace in first if "fill" not in trace}
    assert list(lines) == [COMPOSITION_ONLY, "careful", "hasty"]
    assert lines["careful"]["x"] == list(CURVES.sizes)
    around = next(trace for trace in first if trace.get("fill") and trace["name"] == "careful")
    n = len(CURVES.sizes)
    for mean, high, low in zip(lines["careful"]["y"], around["y"][:n], reversed(around["y"][n:]), strict=True):
        assert low < mean < high
        assert mean - low == pytest.approx(high - mean)
    (row,) = (r for r in frames[0].board.rows if r.submission.card.name == "careful")
    parts = [p for p in row.tasks[0].result.parts if (p.by, p.metric) == ("training", "learned_force_mae")]  # type: ignore[union-attr]
    assert lines["careful"]["y"] == pytest.approx([1000 * p.value for p in parts])  # type: ignore[operator]
    failed = next(r for r in figure.rows if r[:3] == ("hasty", "all atoms", 800))
    assert failed[-2:] == (3, 2)


def test_a_hidden_task_has_no_band_and_no_element(frames: tuple[Frame, Frame]) -> None:
    (figure,) = of_task(frames[1], 0)
    assert titles(figure) == ["all atoms", "energy"]
    assert not any("fill" in trace for trace in figure.traces)
    assert "hidden data set" in figure.about


def test_stretches_have_a_matrix_for_each_size_and_the_similarity(frames: tuple[Frame, Frame]) -> None:
    figures = of_task(frames[0], 1)
    assert [figure.key for figure in figures] == ["windows-0", "windows-1"]
    assert titles(figures[0]) == ["200 frames", "1000 frames", "similarity to what is asked"]
    cells = [trace for trace in figures[0].traces if trace["type"] == "bar"]
    assert sum(text != "" for trace in cells for text in trace["text"]) == 2 * 15
    assert cells[0]["name"] == "0 %"
    assert len(figures[0].rows) == 30
    shortest = [row for row in figures[0].rows if row[2] == "60–90 %"]
    assert all(isinstance(row[-1], float) for row in shortest)


def test_unseen_molecules_have_a_matrix_for_all_atoms_and_each_element(frames: tuple[Frame, Frame]) -> None:
    figure, _ = of_task(frames[0], 2)
    assert titles(figure) == ["all atoms", "force on C", "force on H", "force on O"]
    whole = [trace for trace in figure.traces if trace["xaxis"] == "x"]
    assert [trace["name"] for trace in whole] == list(SETS.sets)
    filled = {(t["name"], x) for t in whole for x, text in zip(t["x"], t["text"], strict=True) if text}
    assert filled == {(members, unseen) for members in SETS.sets for unseen in SETS.unseen(members)}
    assert "d naphthalene" in figure.about
    (hidden, _) = of_task(frames[1], 2)
    assert titles(hidden) == ["all atoms"]
    assert all(len(text.replace(".", "").rstrip("0")) <= 2 for t in hidden.traces for text in t["text"])


def test_the_page_of_a_model_has_them_all_and_that_of_one_without_a_trainer_none(frames: tuple[Frame, Frame]) -> None:
    rows = {row.submission.card.name: row for row in frames[0].board.rows}
    for draw in (learning_curves_of, windows_of_model, molecules_of_model):
        assert draw(frames[0], rows["careful"]) is not None
        assert draw(frames[0], rows["zero-shot"]) is None


def test_without_items_the_curves_of_all_atoms_are_drawn(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    (figure,) = of_task(learning_frame(store, make_learning_store(store), with_items=False), 0)
    assert titles(figure) == ["all atoms", "energy"]
