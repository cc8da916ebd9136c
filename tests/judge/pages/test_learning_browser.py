"""The pages of tasks whose models are trained, in a real browser; and those of models that the judge really trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.pages.site import render
from judge.publishing.folder import publish
from judge.ranking.load import read_board
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir
from submissions.store.local import LocalStore
from tests.judge.evaluation.test_trainings import HONEST
from tests.judge.pages.learning_site import make_learning_store, sources_of
from tests.servers.site_server import served
from tests.world.small_data import save_frames
from tests.world.world import World

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser

from tests.judge.pages.test_site_axe import violations_on

pytestmark = pytest.mark.slow
OPEN = "for (const part of document.querySelectorAll('details.fold, .why details')) part.open = true"
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
SUITE = """
name = "small"
version = "1"
title = "Learning"

[[tasks]]
name = "curves"
kind = "sample_efficiency"
dataset = "copper@1"
domain = "Inorganic Materials"
time_limit_s = 60
parameters = { sizes = [5, 20], seeds = [1, 2], wall_s = 5.0, n_asked = 3 }
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("learning")
    store = LocalStore(folder / "store")
    board = read_board(store, make_learning_store(store), lambda line: None)
    publish(render(board, sources_of(store, board, hidden=False)), folder / "pages")
    with served(folder / "pages") as url:
        yield url.rstrip("/")


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_no_message_no_violation_and_nothing_is_cut(address: str, browser: Browser, width: int, scheme: str) -> None:
    messages: list[str] = []
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.on("console", lambda message: messages.append(message.text))
        for name in ("curves", "stretches", "molecules"):
            page.goto(f"{address}/tasks/{name}.html", wait_until="networkidle")
            page.evaluate(OPEN)
            for stage in page.locator("figure[data-figure] .stage").all():
                stage.scroll_into_view_if_needed()
                stage.locator(".main-svg").first.wait_for()
            assert violations_on(page) == []
            assert page.evaluate(FITS)
    assert messages == []


def test_models_that_were_trained_are_on_the_page(tmp_path: Path) -> None:
    """Two trainers, of which one fails with a seed, and a model without one, through the process driver."""
    world = World(tmp_path)
    world.settings.data.mkdir()
    save_frames(world.settings.data, "Cu", "copper", n_frames=40)
    (world.root / "small.toml").write_text(SUITE)
    world.write_settings()
    driver = ProcessDriver(RunDir(world.root / "run"))
    for name, first in (("steady", "pass"), ("broken", "if seed == 2: raise MemoryError")):
        folder = world.folder(name, HONEST.format(first=first, last="pass"))
        world.record(name, driver.resolve(f"{folder}?trainer=calculator:train"))
    world.submit("as-it-is")
    status, out, err = world.run_here("evaluate", "--all")
    assert status == 0, out + err
    status, out, err = world.run_here("site", "build")
    assert status == 0, out + err
    page = (world.settings.site_dir / "tasks" / "curves.html").read_text()
    ranking, apart = page.split('id="zero-shot-title"')
    assert "steady" in ranking
    assert "as-it-is" not in ranking.split('id="ranking-title"')[1]
    assert "as-it-is" in apart
    assert 'id="learning-curves"' in page
    assert "2 of 4" in page.split('id="failed-title"')[1]
