"""The drift of the total energy: means over runs and tasks, and the runs of public data sets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judge.figures.drift import SMALLEST, drift_figure, drift_of
from judge.figures.figure import N_COLOURS
from judge.ranking.leaderboard import Leaderboard
from tasks.kinds.nve import NveParameters
from tasks.suites.suite import Suite
from tests.judge.figures.hostile_board import plot_of
from tests.world.board_records import submission
from tests.world.curves import (
    KNOWN,
    PUBLIC,
    SECRET,
    board_of,
    drifting,
    dynamics,
    frame_of,
    results_of,
    three,
)


def numbered(n: int) -> Leaderboard:
    """`n` models, each worse than the one before."""
    models = [submission(f"model-{i:02d}") for i in range(n)]
    return board_of(models, [each for i, model in enumerate(models) for each in results_of(model, 0.1 + 0.8 * i / n)])


def test_the_drift_of_a_model_is_the_mean_over_its_tasks() -> None:
    first, second = drifting(3, 1), drifting(6, 2)
    items = {}
    for row in three().rows[:2]:
        items[row.submission.id, KNOWN.name], items[row.submission.id, SECRET.name] = dynamics(first), dynamics(second)
    figure = drift_figure(frame_of(three(), items))
    traces = plot_of(figure)["data"]
    assert figure is not None
    assert [row[0] for row in figure.rows] == [row.submission.card.name for row in three().rows[:2]]
    expected = (abs(first).mean(axis=0) + abs(second).mean(axis=0)) / 2
    for row in figure.rows:
        assert row[2:4] == (2, 9)  # tasks and runs
        np.testing.assert_allclose(
            np.array(row[4:], np.float64), 1000 * expected[1:], rtol=0.03
        )  # two digits of the hidden
    assert [trace["y"][0] for trace in traces] == [figure.rows[0][4]] * 2
    assert [heading.name for heading in figure.headings[4:6]] == ["At 0.1 ps", "At 0.2 ps"]
    assert [trace["meta"]["colour"] for trace in traces] == [1, 0]
    assert len(three().rows) == 3
    assert "Without a line: 1 model; too few runs reached the first time, 0.1 ps." in figure.about


def test_a_line_ends_where_one_of_its_tasks_does() -> None:
    ends, goes_on = drifting(2, 1), drifting(2, 2)
    ends[0, 3:], ends[1, 5:] = np.nan, np.nan
    model_id = three().rows[0].submission.id
    items = {(model_id, KNOWN.name): dynamics(ends), (model_id, SECRET.name): dynamics(goes_on)}
    figure = drift_figure(frame_of(three(), items, PUBLIC | {SECRET.dataset}))
    assert figure is not None
    (row,) = figure.rows
    assert row[3] == 1 + 2
    assert [value is not None for value in row[4:]] == [True] * 4 + [False] * 6


def test_runs_of_different_lengths_are_drawn_over_their_share() -> None:
    longer = replace(SECRET, parameters=NveParameters(steps=5000))
    suite = Suite(name="two", version="1", title="Two", tasks=(KNOWN, longer))
    model = submission("alpha")
    board = board_of([model], [each for each in results_of(model, 0.2) if each.task in ("known", "secret")], suite)
    items = {(model.id, task.name): dynamics(drifting(6)) for task in (KNOWN, longer)}
    figure = drift_figure(frame_of(board, items))
    assert figure is not None
    assert figure.headings[4].name == "At 10 %"
    assert plot_of(figure)["layout"]["xaxis"]["title"]["text"] == "share of the run / %"


def test_beyond_the_best_models_are_grey() -> None:
    board = numbered(N_COLOURS + 3)
    items = {(row.submission.id, KNOWN.name): dynamics(drifting(2, i)) for i, row in enumerate(board.rows)}
    figure = drift_figure(frame_of(board, items))
    traces = plot_of(figure)["data"]
    assert figure is not None
    assert len(figure.rows) == N_COLOURS + 3
    assert "in colour, the others in grey" in figure.about
    assert "Without a line" not in figure.about
    assert [trace["name"] for trace in traces if trace["showlegend"]] == [f"model-{i:02d}" for i in range(N_COLOURS)][
        ::-1
    ]
    colours = [trace["meta"]["colour"] for trace in traces]
    assert colours == ["rest"] * 3 + list(range(N_COLOURS))[::-1]  # the last line lies on top
    assert traces[-1]["name"] == "model-00"


def test_the_drift_of_one_model_has_the_runs_of_public_sets_with_their_sign() -> None:
    row = three().rows[0]
    deviation = drifting(2, 4)
    items = {
        (row.submission.id, KNOWN.name): dynamics(deviation),
        (row.submission.id, SECRET.name): dynamics(deviation),
    }
    items[row.submission.id, SECRET.name] = dynamics(drifting(6, 5))
    figure = drift_of(frame_of(three(), items), row)
    traces = plot_of(figure)["data"]
    assert figure is not None
    lines = {name: [row for row in figure.rows if row[0] == name] for name in {row[0] for row in figure.rows}}
    assert set(lines) == {"Known: mean size", "Known: run 0", "Known: run 1", "Secret: mean size"}
    np.testing.assert_allclose([row[3] for row in lines["Known: run 1"]], 1000 * deviation[1], rtol=1e-3)
    assert {row[2] for row in lines["Secret: mean size"]} == {6}
    assert [trace["name"] for trace in traces if trace["meta"]["colour"] == "rest"] == ["Known: run 0", "Known: run 1"]
    assert drift_of(frame_of(three(), items), three().rows[1]) is None


def test_no_drift_at_all_is_drawn_at_the_bound_of_rounding() -> None:
    model_id = three().rows[0].submission.id
    figure = drift_figure(frame_of(three(), {(model_id, KNOWN.name): dynamics(0.0 * drifting(2))}))
    traces = plot_of(figure)["data"]
    assert figure is not None
    assert traces[0]["y"] == [SMALLEST] * 10
    assert figure.rows[0][4:] == (0.0,) * 10
