"""Curves of items that kinds state: what of them is public, and the figure of a model's page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from judge.disclosure.public_curves import HIDDEN_DIGITS, HIDDEN_POINTS, PUBLIC_DIGITS, public_profile
from judge.figures.profiles import profiles_of
from judge.figures.small_plots import MOST_PLOTS
from judge.ranking.leaderboard import Leaderboard
from judge.records.few_items import LEAST_ITEMS
from judge.records.records import Result
from tasks.kinds.reaction_paths import ReactionPathsParameters
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.metrics.profiles import ProfileCurve
from tasks.simulation.reaction_path import BandSettings
from tasks.suites.suite import Suite, Task
from tests.judge.figures.hostile_board import plot_of
from tests.world.board_records import result, submission, task
from tests.world.curves import board_of, frame_of, line_of

N_IMAGES = 5
PARAMETERS = ReactionPathsParameters(band=BandSettings(n_images=N_IMAGES), unit="meV")
KNOWN = replace(task("known", "reaction_paths", "Molecules"), parameters=PARAMETERS)
SECRET = replace(task("secret", "reaction_paths", "Molecules"), parameters=PARAMETERS)
SUITE = Suite(name="small", version="1", title="Paths", tasks=(KNOWN, SECRET))
PUBLIC = frozenset({KNOWN.dataset})
(PROFILE,) = KINDS["reaction_paths"].traits.profiles


def paths(n: int, seed: int = 0) -> Items:
    """The items of `n` paths, whose energies are in meV."""
    energies = np.random.default_rng(seed).uniform(0.0, 1e3, (n, N_IMAGES))
    energies[:, 0] = 0.0
    names = [f"path {k}" for k in range(n)]
    columns = {f"path_{k:03d}": energies[:, k] for k in range(N_IMAGES)}
    return Items(id=names, group=names, cluster=names, cause=np.zeros(n, np.int8), columns=columns)


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    model = submission("model")
    metric = {"barrier_mae": Metric(value=10.0, unit="meV", n_items=6, charged=10.0, baseline=300.0, failure_cost=3e3)}
    results: list[Result] = [result(model, each, metric) for each in (KNOWN, SECRET)]
    return board_of([model], results, SUITE)


def items_of(board: Leaderboard, of_task: Mapping[Task, Items]) -> dict[tuple[str, str], Items]:
    return {(board.rows[0].submission.id, each.name): items for each, items in of_task.items()}


def test_each_item_of_a_public_data_set_is_shown_in_ev(board: Leaderboard) -> None:
    items = paths(3)
    curves = public_profile(line_of(board, KNOWN), items, PROFILE, PUBLIC)
    assert [curve.name for curve in curves] == list(items.id)
    for k, curve in enumerate(curves):
        assert curve.x == (0.0, 0.25, 0.5, 0.75, 1.0)
        stored = [items.columns[f"path_{image:03d}"][k] / 1000 for image in range(N_IMAGES)]
        np.testing.assert_allclose(np.array(curve.y, np.float64), stored, rtol=10.0 ** (1 - PUBLIC_DIGITS), atol=1e-12)


def test_of_a_hidden_data_set_only_the_mean_over_enough_items_is_shown(board: Leaderboard) -> None:
    line = line_of(board, SECRET)
    assert public_profile(line, paths(LEAST_ITEMS - 1), PROFILE, PUBLIC) == ()
    items = paths(LEAST_ITEMS)
    (curve,) = public_profile(line, items, PROFILE, PUBLIC)
    means = [items.columns[f"path_{image:03d}"].mean() / 1000 for image in range(N_IMAGES)]
    np.testing.assert_allclose(np.array(curve.y, np.float64), means, rtol=10.0 ** (1 - HIDDEN_DIGITS), atol=1e-12)
    assert (curve.name, curve.reference) == ("", ())
    for name in items.id:
        figure = profiles_of(frame_of(board, items_of(board, {SECRET: items}), PUBLIC), board.rows[0])
        assert figure is not None
        assert name not in str(figure.rows)


def test_a_gap_of_one_hidden_item_hides_the_point(board: Leaderboard) -> None:
    items = paths(LEAST_ITEMS)
    items.columns["path_002"][0] = np.nan
    (curve,) = public_profile(line_of(board, SECRET), items, PROFILE, PUBLIC)
    assert curve.y[2] is None
    assert None not in (curve.y[1], curve.y[3])


def test_a_hidden_mean_has_few_points(board: Leaderboard) -> None:
    names = [f"item {k}" for k in range(LEAST_ITEMS)]
    grid = np.arange(60) / 60

    def curves(items: Items, parameters: object) -> list[ProfileCurve]:
        return [ProfileCurve(name, grid, grid**2) for name in names]

    profile = replace(PROFILE, curves=curves)
    (hidden,) = public_profile(line_of(board, SECRET), paths(1), profile, PUBLIC)
    assert len(hidden.x) == len(hidden.y) == HIDDEN_POINTS
    assert (hidden.x[0], hidden.x[-1]) == (0.0, pytest.approx(59 / 60, rel=1e-3))
    np.testing.assert_allclose(np.array(hidden.y, np.float64), np.array(hidden.x) ** 2, rtol=0.1, atol=1e-3)
    assert len(public_profile(line_of(board, KNOWN), paths(1), profile, PUBLIC)[0].x) == 60


def test_the_figure_has_a_plot_for_each_item_and_all_numbers(board: Leaderboard) -> None:
    frame = frame_of(board, items_of(board, {KNOWN: paths(MOST_PLOTS + 2), SECRET: paths(LEAST_ITEMS)}), PUBLIC)
    figure = profiles_of(frame, frame.board.rows[0])
    assert figure is not None
    plot = plot_of(figure)
    assert len(plot["data"]) == len({trace["xaxis"] for trace in plot["data"]}) == MOST_PLOTS
    assert plot["layout"]["xaxis"]["title"]["text"] == "share of the path"
    assert len(figure.rows) == N_IMAGES * (MOST_PLOTS + 2 + 1)
    assert f"{MOST_PLOTS} of {MOST_PLOTS + 3} curves are drawn; the table has all." in figure.about


def test_a_model_without_curves_has_no_figure(board: Leaderboard) -> None:
    assert profiles_of(frame_of(board, {}, PUBLIC), board.rows[0]) is None
