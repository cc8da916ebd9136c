"""Every model has a different name in a figure, also if cards have the same name."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from judge.figures.drift import drift_figure
from judge.figures.failures import failures_by_cause
from judge.figures.heat_map import heat_map
from judge.figures.history import history_figure
from judge.figures.names import distinct, short_names
from judge.figures.pareto import pareto
from judge.figures.radar import radar, radar_of
from submissions.records import ModelCard
from submissions.store.local import LocalStore
from tests.judge.figures.hostile_board import frame_of, plot_of
from tests.world import curves
from tests.world.board_records import SUITE, frames_metrics, good_results, result, save, submission


def test_two_models_of_one_name_are_two_in_every_figure(tmp_path: Path) -> None:
    long = "a name so long that no legend has room for its end"
    cards = [
        ModelCard(name=name, version=version)
        for name, version in ((long, "1"), (long, "2"), (long, "2"), ("alone", "3"))
    ]
    models = [submission(f"m{i}").model_copy(update={"card": card}) for i, card in enumerate(cards)]
    results = [good_results(model, 0.2 + i / 10) for i, model in enumerate(models)]
    for model, by_task in zip(models[:3], results, strict=False):
        by_task[0] = result(model, SUITE.tasks[0], frames_metrics(0.2, virial=True), failures={"ERROR": 1})
    save(LocalStore(tmp_path), models, [each for by_task in results for each in by_task])
    page_frame = frame_of(tmp_path)
    names = {f"{long} 1", f"{long} 2", f"{long} 2 (2)", "alone"}
    for draw in (pareto, radar, history_figure, heat_map):
        figure = draw(page_frame)
        assert figure is not None
        assert {re.sub(r"^\d\. ", "", str(row[0])) for row in figure.rows} == names
        called = [trace["name"] for trace in plot_of(figure)["data"] if trace.get("name", "").startswith(long)]
        assert len(called) == len(set(called))
    heat, failures = heat_map(page_frame), failures_by_cause(page_frame)
    labels = plot_of(heat)["layout"]["yaxis"]["ticktext"], plot_of(failures)["data"][0]["y"]
    assert [len(set(names)) for names in labels] == [4, 3]
    beside = radar_of(page_frame, page_frame.board.rows[1])
    assert beside is not None
    assert {row[0] for row in beside.rows} == {f"{long} 1", f"{long} 2"}


@given(st.lists(st.sampled_from(["a", "a (2)", "b\u202e", "b", "a long name", "a long one"])), st.integers(4, 30))
def test_all_names_are_different(names: list[str], length: int) -> None:
    assert len(set(distinct(names))) == len(names)
    assert len(set(short_names(names, length))) == len(names)


def test_two_models_of_one_name_are_two_lines_of_drift() -> None:
    cards = [ModelCard(name="same", version=version) for version in "12"]
    same = [submission(card.version).model_copy(update={"card": card}) for card in cards]
    results = [each for i, model in enumerate(same) for each in curves.results_of(model, 0.1 + i / 10)]
    items = {(model.id, curves.KNOWN.name): curves.dynamics(curves.drifting(6)) for model in same}
    figure = drift_figure(curves.frame_of(curves.board_of(same, results), items))
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["same 1", "same 2"]
    assert {trace["name"] for trace in plot_of(figure)["data"]} == {"same 1", "same 2"}
