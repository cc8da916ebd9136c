"""In no figure are two models called alike, whatever their cards say."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from judge.figures.drift import drift_figure
from judge.figures.heat_map import heat_map
from judge.figures.history import history_figure
from judge.figures.names import distinct, short_names
from judge.figures.pareto import pareto
from judge.figures.radar import radar, radar_of
from submissions.records import ModelCard
from submissions.store.local import LocalStore
from tests.judge.figures import curve_world
from tests.judge.figures.test_figures import SVG, frame_of
from tests.judge.pages.board_records import good_results, save, submission


def test_two_models_of_one_name_are_two_in_every_figure(tmp_path: Path) -> None:
    long = "a name so long that no legend has room for its end"
    cards = [ModelCard(name=name, version=of) for name, of in ((long, "1"), (long, "2"), (long, "2"), ("alone", "3"))]
    ones = [submission(f"m{i}").model_copy(update={"card": card}) for i, card in enumerate(cards)]
    save(LocalStore(tmp_path), ones, [r for i, one in enumerate(ones) for r in good_results(one, 0.2 + i / 10)])
    of = frame_of(tmp_path)
    names = {f"{long} 1", f"{long} 2", f"{long} 2 (2)", "alone"}
    for draw in (pareto, radar, history_figure, heat_map):
        figure = draw(of)
        assert figure is not None
        assert {re.sub(r"^\d\. ", "", str(row[0])) for row in figure.rows} == names
        legend = [trace["name"] for trace in figure.plot["data"] if trace.get("name") in names]
        assert len(legend) == len(set(legend))
        words = [element.text for element in ElementTree.fromstring(str(figure.drawing)).iter(f"{SVG}text")]
        called = [word for word in words if word and word.startswith("a name so long")]
        assert len(called) == len(set(called))
    beside = radar_of(of, of.board.rows[1])
    assert beside is not None
    assert {row[0] for row in beside.rows} == {f"{long} 1", f"{long} 2"}


@given(st.lists(st.sampled_from(["a", "a (2)", "b\u202e", "b", "a long name", "a long one"])), st.integers(4, 30))
def test_no_two_names_are_alike(names: list[str], length: int) -> None:
    assert len(set(distinct(names))) == len(names)
    assert len(set(short_names(names, length))) == len(names)


def test_two_models_of_one_name_are_two_lines_of_drift() -> None:
    found = [submission(name) for name in ("a", "b")]
    same = [
        one.model_copy(update={"card": ModelCard(name="same", version=of)}) for one, of in zip(found, "12", strict=True)
    ]
    results = [each for i, one in enumerate(same) for each in curve_world.results_of(one, 0.1 + i / 10)]
    items = {(one.id, curve_world.KNOWN.name): curve_world.dynamics(curve_world.drifting(6)) for one in same}
    figure = drift_figure(curve_world.frame_of(curve_world.board_of(same, results), items))
    assert figure is not None
    assert [row[0] for row in figure.rows] == ["same 1", "same 2"]
    assert {trace["name"] for trace in figure.plot["data"]} == {"same 1", "same 2"}
