"""A kind with curves and runs that no package of the judge knows: pendulums; and boards of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from judge.ranking.leaderboard import Leaderboard
from judge.view.page_context import Frame
from tasks.kind import Traits
from tasks.metrics.measurement import Items
from tasks.metrics.profiles import Profile, ProfileCurve
from tasks.metrics.run_progress import ProgressOfRuns, RunProgress
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite
from tests.judge.own_kind import STRETCH, Stretch
from tests.world.board_records import error, result, submission, task
from tests.world.curves import board_of, frame_of

TIMES = np.array([0.0, 0.5, 1.0, 1.5])
ANGLES = tuple(f"angle_{k}" for k in range(len(TIMES)))
BROKEN = "the string broke"
KNOWN = task("known", "swings", "Inorganic Materials")
SECRET = task("secret", "swings", "Molecules")
SUITE = Suite(name="pendulums", version="1", title="Pendulums", tasks=(KNOWN, SECRET))
PUBLIC = frozenset({KNOWN.dataset})


def angle_curves(items: Items, parameters: object) -> list[ProfileCurve]:
    angles = np.array([items.columns[name] for name in ANGLES]).T
    guides = [(name, column) for name, column in items.columns.items() if name.startswith("guide")]
    return [
        ProfileCurve(
            name,
            TIMES,
            angles[k],
            np.full(len(TIMES), 7.0 + k),
            tuple((guide, np.full(len(TIMES), column[k])) for guide, column in guides),
        )
        for k, name in enumerate(items.id)
    ]


def ends(items: Items, parameters: object) -> list[RunProgress]:
    shares = items.columns["share"].tolist()
    return [RunProgress(*run) for run in zip(items.id, shares, shares, map(Cause, items.cause.tolist()), strict=True)]


class Swings(Stretch):
    """How pendulums swing."""

    name: str = "swings"
    traits: Traits = replace(
        Stretch.traits,
        title="swings",
        profiles=(Profile("angle", "Angle", "time / s", "angle / °", angle_curves),),
        progress=ProgressOfRuns(ends, {Cause.UNSTABLE: BROKEN}),
    )


def swings(n: int, seed: int = 0, n_broken: int = 0) -> Items:
    """The items of `n` pendulums; the string of the first ones broke at a quarter of the time."""
    columns = dict(zip(ANGLES, np.random.default_rng(seed).uniform(-30.0, 30.0, (len(ANGLES), n)), strict=True))
    broken = np.arange(n) < n_broken
    columns["share"] = np.where(broken, 0.25, 1.0)
    names = [f"pendulum {k}" for k in range(n)]
    cause = np.where(broken, Cause.UNSTABLE, Cause.NONE).astype(np.int8)
    return Items(id=names, group=names, cluster=names, cause=cause, columns=columns)


def pendulum_board(n_models: int = 1, label_sets: Sequence[str] = ("exact",)) -> Leaderboard:
    """Models, the best first, with errors of both tasks; they have the label sets in turn."""
    models = [submission(f"model {chr(ord('a') + number)}") for number in range(n_models)]
    results = [
        result(
            model,
            each,
            {STRETCH.metric.name: error(0.05 * (1 + number), "meV/atom")},
            label_set=label_sets[number % len(label_sets)],
        )
        for number, model in enumerate(models)
        for each in SUITE.tasks
    ]
    return board_of(models, results, SUITE)


def pendulum_frame(board: Leaderboard, items: Mapping[str, Items]) -> Frame:
    """The frame of the board; all models have these items by task."""
    tables = {(row.submission.id, name): table for row in board.rows for name, table in items.items()}
    return frame_of(board, tables, PUBLIC)
