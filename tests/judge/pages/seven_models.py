"""Seven models of a comparison: one has a hostile name, and one failed a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.ranking.load import read_board
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tests.world.board_records import SUITE, good_results, refused, save, submission

HOSTILE = "<img src=x onerror=alert(1)> \u202eturned"
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", HOSTILE)
FAILED = "zeta"


def make_seven_models(folder: Path) -> Frame:
    """Six models, each worse in error than the one before, and one that failed a task."""
    store = LocalStore(folder)
    models = [submission(name, n_parameters=1000, precision="float32") for name in (*NAMES, FAILED)]
    results = [each for k, model in enumerate(models) for each in good_results(model, 0.1 * (k + 1))]
    results[-4] = refused(models[-1], SUITE.tasks[1], Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
    save(store, models, results)
    return frame(public_board(read_board(store, SUITE, pytest.fail), ()), Sources())
