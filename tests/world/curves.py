"""A board with curves: dynamics of a hidden and of a public data set, and pairs of atoms; the frame of its pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from judge.disclosure.public_leaderboard import public_board
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Leaderboard, TaskLine
from judge.records.records import Result
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from submissions.records import Submission
from tasks.kinds.nve import DRIFT_COLUMNS, NveParameters
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric, MetricPart
from tasks.physicality.kind import PhysicalityParameters
from tasks.physicality.measures import DIATOMICS, curve_columns
from tasks.suites.suite import Suite, Task
from tests.world.board_records import frames_metrics, items_of, result, runs, submission, task

Curves = NDArray[np.float64]

N_TENTHS = len(DRIFT_COLUMNS)
NVE = NveParameters(steps=1000)
PAIRS = PhysicalityParameters(diatomics=("H", "Cu", "Zn"), n_distances=60)
CRYSTALS = task("crystals", "labelled_frames", "Inorganic Materials")
KNOWN = replace(task("known", "nve", "Inorganic Materials"), parameters=NVE)
SECRET = replace(task("secret", "nve", "Molecules"), parameters=NVE)
LAWS = replace(task("laws", "physicality", "Inorganic Materials"), parameters=PAIRS)
HIDDEN_LAWS = replace(task("hidden-laws", "physicality", "Molecules"), parameters=PAIRS)
SUITE = Suite(name="small", version="1", title="Curves", tasks=(CRYSTALS, KNOWN, SECRET, LAWS, HIDDEN_LAWS))
PUBLIC = frozenset({CRYSTALS.dataset, KNOWN.dataset, LAWS.dataset})


def dynamics(deviation: Curves, name: str = "run") -> Items:
    """The items of runs whose energies differ from the start by (k, 11) [eV/atom]."""
    items = runs([1e-6] * len(deviation))
    names = [f"{name} {i}" for i in range(len(deviation))]
    columns = {**items.columns, **dict(zip(DRIFT_COLUMNS, deviation.T, strict=True))}
    return replace(items, id=names, group=names, cluster=names, columns=columns)


def drifting(n: int, seed: int = 0, largest: float = 1e-3) -> Curves:
    """(n, 11) deviations [eV/atom] of both signs, 0 at the start."""
    deviation = np.random.default_rng(seed).uniform(-largest, largest, (n, N_TENTHS))
    deviation[:, 0] = 0.0
    return deviation


def pairs(energies: Curves, symbols: Sequence[str] = PAIRS.diatomics) -> Items:
    """The items of pairs with energies (k, n) [eV]."""
    k, n = energies.shape
    columns = dict(zip(curve_columns(n), energies.T, strict=True))
    names, groups = [f"{symbol}2" for symbol in symbols], [DIATOMICS] * k
    return Items(id=names, group=groups, cluster=list(symbols), cause=np.zeros(k, np.int8), columns=columns)


def wells(depth: float = 2.0, seed: int = 0) -> Curves:
    """(3, 60) energies [eV] with a wall and a well, not quite smooth."""
    r = np.linspace(0.8, 3.0, PAIRS.n_distances)
    noise = np.random.default_rng(seed).uniform(0.0, 1e-3, (len(PAIRS.diatomics), len(r)))
    return np.asarray(depth * ((1.2 / r) ** 12 - 2 * (1.2 / r) ** 6) + noise)


def results_of(model: Submission, relative: float, parts: Sequence[MetricPart] = ()) -> list[Result]:
    """The results of a model, all OK; its errors are the baseline's times `relative`."""
    slope = {"slope_geomean": Metric(value=1e-6, unit="eV/atom/ps", n_items=2)}
    return [
        result(model, CRYSTALS, frames_metrics(relative), parts=tuple(parts)),
        *(result(model, each, slope) for each in (KNOWN, SECRET)),
        *(result(model, each, {}) for each in (LAWS, HIDDEN_LAWS)),
    ]


def board_of(submissions: Sequence[Submission], results: Sequence[Result], suite: Suite = SUITE) -> Leaderboard:
    return build_leaderboard(suite, submissions, results, items_of)


@cache
def three() -> Leaderboard:
    """The board of three models; the best was submitted last."""
    models = [submission(name) for name in ("first", "second-of-them", "last")]
    every = zip(models, (0.5, 0.2, 0.4), strict=True)
    return board_of(models, [each for model, relative in every for each in results_of(model, relative)])


def frame_of(
    board: Leaderboard, items: Mapping[tuple[str, str], Items] | None = None, public: frozenset[str] = PUBLIC
) -> Frame:
    """The frame of a board with these items."""
    return frame(public_board(board, public), Sources(public=public, items=items or {}))


def line_of(board: Leaderboard, task: Task, row: int = 0) -> TaskLine:
    return next(line for line in board.rows[row].tasks if line.task == task)
