"""Curves and runs of a kind that the judge does not know: on a model's page, and by model on a task's page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from judge.disclosure.public_curves import HIDDEN_DIGITS, PUBLIC_DIGITS
from judge.disclosure.redaction import rounded
from judge.figures.chosen_models import MOST_MODELS, ChosenModel, chosen_models
from judge.figures.figure import Figure
from judge.figures.profiles import MOST_POINTS, profiles_by_model, profiles_of
from judge.figures.run_progress import SMALLEST, progress_by_model, progress_of
from judge.figures.small_plots import MOST_PLOTS
from judge.records.few_items import LEAST_ITEMS
from judge.view.page_context import Frame
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause
from tasks.suites.suite import Task
from tests.judge.figures.hostile_board import plot_of
from tests.world.swings import (
    ANGLES,
    BROKEN,
    KNOWN,
    SECRET,
    TIMES,
    Swings,
    pendulum_board,
    pendulum_frame,
    swings,
)


@pytest.fixture(autouse=True, scope="module")
def with_swings() -> Iterator[None]:
    with KINDS.also(Swings()):
        yield


def models(frame: Frame, task: Task) -> list[ChosenModel]:
    return chosen_models(frame, task.name, frame.board.rows)


def by_model(frame: Frame, task: Task) -> Figure:
    """The figure of the angles."""
    (figure,) = profiles_by_model(frame, task, models(frame, task))
    return figure


def progress(frame: Frame, task: Task) -> Figure | None:
    return progress_by_model(frame, models(frame, task))


def hidden_words(items: Items) -> set[str]:
    """The ids, and each angle to the digits of a public data set."""
    angles = {f"{rounded(float(value), PUBLIC_DIGITS)}" for name in ANGLES for value in items.columns[name]}
    return set(items.id) | angles


def words_of(figure: Figure) -> str:
    return f"{figure.about} {figure.rows} {figure.plot}"


def test_public_curves_are_shown_whole_and_hidden_ones_as_their_mean() -> None:
    items = swings(LEAST_ITEMS)
    board = pendulum_board()
    for task, n_plots in ((KNOWN, LEAST_ITEMS), (SECRET, 1)):
        frame = pendulum_frame(board, {task.name: items})
        of_model = profiles_of(frame, frame.board.rows[0])
        assert of_model is not None
        for figure in (of_model, by_model(frame, task)):
            plot = plot_of(figure)
            lines = [trace for trace in plot["data"] if trace["name"] != "reference"]
            assert len(lines) == n_plots
            shown = {word for word in hidden_words(items) if word in words_of(figure)}
            assert shown == (hidden_words(items) if task is KNOWN else set())
            references = [trace["y"] for trace in plot["data"] if trace["name"] == "reference"]
            assert references == ([[7.0 + k] * len(TIMES) for k in range(n_plots)] if task is KNOWN else [])
    means = [items.columns[name].mean() for name in ANGLES]
    np.testing.assert_allclose(lines[0]["y"], means, rtol=10.0 ** (1 - HIDDEN_DIGITS))
    assert lines[0]["x"] == TIMES.tolist()


def test_fewer_hidden_items_are_not_shown_at_all() -> None:
    frame = pendulum_frame(pendulum_board(), {"secret": swings(LEAST_ITEMS - 1)})
    assert profiles_by_model(frame, SECRET, models(frame, SECRET)) == []
    assert progress(frame, SECRET) is None
    assert profiles_of(frame, frame.board.rows[0]) is progress_of(frame, frame.board.rows[0]) is None


def test_a_line_for_each_of_the_first_models_with_one_entry_in_the_legend() -> None:
    frame = pendulum_frame(pendulum_board(MOST_MODELS + 2), {"known": swings(3)})
    figure = by_model(frame, KNOWN)
    plot = plot_of(figure)
    names = [row.submission.card.name for row in frame.board.rows[:MOST_MODELS]]
    assert [heading.name for heading in figure.headings] == ["Item", "time / s", "Reference", *names]
    assert len(plot["data"]) == 3 * (MOST_MODELS + 1)
    for trace_name in (*names, "reference"):
        traces = [trace for trace in plot["data"] if trace["name"] == trace_name]
        assert [trace["xaxis"] for trace in traces] == ["x", "x2", "x3"]
        assert [trace["showlegend"] for trace in traces] == [True, False, False]
    colours = {trace["name"]: trace["meta"]["colour"] for trace in plot["data"]}
    assert colours == {name: series for series, name in enumerate(names)} | {"reference": "rest"}
    assert len(figure.rows) == 3 * len(TIMES)


def test_further_curves_are_thin_lines_with_their_names_and_are_hidden_with_their_data_set() -> None:
    of_each = np.arange(222.0, 222.0 + LEAST_ITEMS)
    guides = {"guide_a": np.full(LEAST_ITEMS, 111.0), "guide_b": of_each, "guide_c": np.full(LEAST_ITEMS, np.nan)}
    items = swings(LEAST_ITEMS)
    items = replace(items, columns={**items.columns, **guides})
    frame = pendulum_frame(pendulum_board(2), {"known": items, "secret": items})
    of_task, of_model = by_model(frame, KNOWN), profiles_of(frame, frame.board.rows[0])
    assert of_model is not None
    names = [row.submission.card.name for row in frame.board.rows]
    assert [heading.name for heading in of_task.headings][2:] == ["Reference", "guide_a", "guide_b", *names]
    assert list(of_task.rows[len(TIMES)])[:5] == ["pendulum 1", 0.0, 8.0, 111.0, 223.0]
    assert [heading.name for heading in of_model.headings][4:] == ["Reference", "guide_a", "guide_b"]
    assert list(of_model.rows[0])[4:] == [7.0, 111.0, 222.0]
    assert list(of_model.rows[-1])[4:] == [None, None, None]  # the mean over the hidden data set
    for figure in (of_task, of_model):
        traces = [trace for trace in plot_of(figure)["data"] if trace["name"] == "guide_b"]
        assert [trace["y"][0] for trace in traces] == [222.0 + k for k in range(LEAST_ITEMS)]
        assert len({trace["line"]["dash"] for trace in traces}) == 1
        assert all(trace["line"]["width"] < 1 for trace in traces)
        assert "Thin lines, for comparison: guide_a, guide_b." in figure.about
    assert "guide" not in words_of(by_model(frame, SECRET))


def test_models_of_other_label_sets_have_their_own_reference() -> None:
    frame = pendulum_frame(pendulum_board(3, ("PBE", "r2SCAN")), {"known": swings(2)})
    figure = by_model(frame, KNOWN)
    names = [heading.name for heading in figure.headings]
    assert names[2:] == ["Reference, PBE", "Reference, r2SCAN", "model a", "model b", "model c"]
    assert figure.rows[0][2:4] == (7.0, 7.0)


def test_plots_and_tables_are_bounded() -> None:
    n = MOST_POINTS // len(TIMES) + 50
    frame = pendulum_frame(pendulum_board(2), {"known": swings(n)})
    of_model = profiles_of(frame, frame.board.rows[0])
    assert of_model is not None
    n_listed = MOST_POINTS // len(TIMES)
    for figure in (of_model, by_model(frame, KNOWN)):
        assert len({trace["xaxis"] for trace in plot_of(figure)["data"]}) == MOST_PLOTS
        assert len(figure.rows) == MOST_POINTS
        assert f"{MOST_PLOTS} of {n} " in figure.about
        assert f"the table has the first {n_listed}." in figure.about


def test_small_plots_are_in_one_column_on_a_narrow_page() -> None:
    figure = by_model(pendulum_frame(pendulum_board(), {"known": swings(7)}), KNOWN)
    assert plot_of(figure)["layout"]["grid"]["columns"] == 3
    assert figure.narrow_height is not None
    assert figure.narrow_height > 2 * figure.height


def test_runs_that_ended_early_have_their_cause_in_words() -> None:
    frame = pendulum_frame(pendulum_board(2), {"known": swings(4, n_broken=1)})
    figure = progress(frame, KNOWN)
    assert figure is not None
    (bars,) = plot_of(figure)["data"]  # of the first pendulum; the others are alike
    assert (bars["x"], bars["y"], bars["text"]) == ([25.0, 25.0], ["model a", "model b"], [BROKEN, BROKEN])
    assert bars["customdata"] == [f"25 %, 0.25 ps: {BROKEN}"] * 2
    assert "The plots show 1 of 4 systems: those in which a run ended early; the table has all." in figure.about
    assert figure.rows[0] == ("pendulum 0", "model a", 25.0, 0.25, BROKEN)
    assert figure.rows[-1] == ("pendulum 3", "model b", 100.0, 1.0, "to the end")
    of_model = progress_of(frame, frame.board.rows[0])
    assert of_model is not None
    assert [row[1:] for row in of_model.rows[:2]] == [
        ("pendulum 0", 25.0, 0.25, BROKEN),
        ("pendulum 1", 100.0, 1.0, "to the end"),
    ]
    assert plot_of(of_model)["data"][0]["x"] == [25.0, 100.0, 100.0, 100.0]


def test_of_hidden_runs_the_mean_and_the_counts_are_shown() -> None:
    items = swings(7, n_broken=2)
    frame = pendulum_frame(pendulum_board(), {"secret": items})
    of_task, of_model = progress(frame, SECRET), progress_of(frame, frame.board.rows[0])
    assert of_task is not None
    assert of_model is not None
    counts = f"5 to the end, 2 {BROKEN}"  # 5.5 of 7 is 78.57 %
    assert of_task.rows == [("mean over the runs", "model a", 79.0, None, counts)]
    assert of_model.rows == [("Secret", "mean over the runs", 79.0, None, counts)]
    for figure in (of_task, of_model):
        plot_of(figure)
        assert not [name for name in items.id if name in words_of(figure)]


def test_a_run_that_ended_at_its_start_has_a_bar_to_write_on() -> None:
    items = swings(2, n_broken=1)
    items.columns["share"][0] = 0.0
    figure = progress(pendulum_frame(pendulum_board(), {"known": items}), KNOWN)
    (bars,) = plot_of(figure)["data"]
    assert (bars["x"], bars["text"], bars["customdata"]) == ([SMALLEST], [BROKEN], [f"0 %, 0 ps: {BROKEN}"])


def test_a_run_without_a_number_is_left_out() -> None:
    items = swings(3)
    items.columns["share"][1] = np.nan
    figure = progress(pendulum_frame(pendulum_board(), {"known": items}), KNOWN)
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["pendulum 0", "pendulum 2"]


def test_the_curves_of_each_sort_are_drawn_though_one_sort_has_many() -> None:
    """A model's page has room for few plots: the first task does not take them all."""
    frame = pendulum_frame(pendulum_board(), {"known": swings(40), "secret": swings(40)})
    figure = profiles_of(frame, frame.board.rows[0])
    assert figure is not None
    titles = [note["text"] for note in plot_of(figure)["layout"]["annotations"]]
    assert titles[-1] == "Secret: mean over the items"
    assert len(titles) == MOST_PLOTS


@pytest.mark.parametrize("kind", ["dynamics", "nve"])
def test_words_of_the_kinds_of_dynamics(kind: str) -> None:
    progress_of_runs = KINDS[kind].traits.progress
    assert progress_of_runs is not None
    words = {cause: progress_of_runs.word(cause) for cause in Cause}
    assert len(set(words.values())) == len(Cause)
    assert [words[c] for c in (Cause.NONE, Cause.EXPLODED, Cause.NON_FINITE, Cause.NO_FORCES)] == [
        "to the end",
        "exploded",
        "NaN or infinite",
        "no force acted",
    ]
    assert words[Cause.UNSTABLE] == ("an atom escaped" if kind == "dynamics" else "unstable")
