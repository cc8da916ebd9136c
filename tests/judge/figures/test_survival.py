"""The curve of survival: its points by hand, and its area."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.disclosure.public_leaderboard import public_board
from judge.figures.chosen_models import chosen_models
from judge.figures.survival import curve, survival_by_model
from judge.view.page_context import frame
from submissions.store.local import LocalStore
from tests.judge.pages import simulated_site


def test_points_by_hand() -> None:
    assert curve([20.0, 20.0, 60.0, 100.0]) == [(0.0, 100.0), (20.0, 50.0), (60.0, 25.0), (100.0, 25.0)]
    assert curve([100.0, 100.0]) == [(0.0, 100.0), (100.0, 100.0)]
    assert curve([0.0]) == [(0.0, 100.0), (0.0, 0.0), (100.0, 0.0)]


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=20))
def test_the_area_below_is_the_mean_share(percents: list[float]) -> None:
    x, y = np.array(curve(sorted(percents))).T
    assert float(np.diff(x) @ y[:-1]) / 100 == pytest.approx(np.mean(percents), abs=1e-6)


def test_the_curves_of_a_public_data_set_are_drawn_and_a_hidden_one_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = simulated_site.PARAMETERS.model_copy(update={"survival": True})
    tasks = tuple(replace(each, parameters=parameters) for each in simulated_site.SUITE.tasks)
    monkeypatch.setattr(simulated_site, "SUITE", replace(simulated_site.SUITE, tasks=tasks))
    site = simulated_site.simulated_site(LocalStore(tmp_path / "store"), tmp_path / "data")
    sources = site.with_all()
    made = frame(public_board(site.board, sources.public), sources)
    for name, hidden in ((simulated_site.KNOWN.name, False), (simulated_site.SECRET.name, True)):
        figure = survival_by_model(made, chosen_models(made, name, list(made.board.rows)))
        assert (figure is None) == hidden
        if figure is not None:
            curves = {trace["name"]: list(zip(trace["x"], trace["y"], strict=True)) for trace in figure.traces}
            assert curves["whole"] == [(0.0, 100.0), (100.0, 100.0)]
            ended = 100.0 * (simulated_site.BROKEN_AT - 1) / (simulated_site.N_STORED - 1)
            assert curves["broken"][1] == (pytest.approx(ended, rel=0.01), 50.0)
