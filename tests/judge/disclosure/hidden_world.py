"""A world whose only data set is hidden and has canaries, and its public pages."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from judge.disclosure.redaction import public_sets
from judge.pages.site import render
from judge.publishing.site_sources import with_stored
from judge.ranking.load import read_board
from judge.view.assets import plotly
from judge.view.sources import Sources
from tasks.suites.suite import load_suite
from tests.judge.disclosure.leaks import SUITE, save_secret
from tests.world.world import World


def hidden_world(root: Path, driver: str = "process") -> World:
    """A world with the hidden data set and its suite, and without a submission."""
    save_secret(root / "data")
    (root / "small.toml").write_text(SUITE)
    world = World(root)
    world.write_settings(driver=driver)
    return world


def ids(world: World) -> list[str]:
    """The IDs of all submissions."""
    return sorted({key.split("/")[1] for key in world.store.list("submissions/")})


def rendered(world: World) -> dict[str, bytes]:
    """The files of the site, with the logs of the preflight and without plotly.js, which is third-party code."""
    suite, problems = load_suite(world.settings.suite), []
    board = read_board(world.store, suite, problems.append)
    public = public_sets(world.settings.data, [task.dataset for task in suite.tasks], date(2030, 1, 1))
    assert not public
    files = render(board, with_stored(Sources(public=public), world.store, board))
    return {path: content for path, content in files.items() if content != plotly()}
