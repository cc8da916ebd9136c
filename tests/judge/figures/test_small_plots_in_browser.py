"""Small plots in a real browser: beside each other or one below the other, and each answers to the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.publishing.site_files import build_site
from judge.records.items_file import items_path, pack_items
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.kinds.registry import KINDS
from tests.judge.figures.figures_page_in_browser import FiguresPage
from tests.servers.site_server import served
from tests.world import swings
from tests.world.board_records import save

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow
# The left ends of the plots, as shares of the whole, each once.
COLUMNS = """() => {
  const { _fullLayout } = document.querySelector("#profile-angle .plot");
  const axes = Object.keys(_fullLayout).filter((name) => /^xaxis/.test(name));
  return new Set(axes.map((name) => _fullLayout[name].domain[0])).size;
}"""
HEIGHT = "() => document.querySelector('#profile-angle .plot').clientHeight"
N_ITEMS, N_MODELS = 5, 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page of a task with curves of five pendulums by two models."""
    folder = tmp_path_factory.mktemp("swings")
    store = LocalStore(folder / "store")
    with KINDS.also(swings.Swings()):
        for row in swings.pendulum_board(N_MODELS).rows:
            results = [line.result for line in row.tasks if line.result is not None]
            save(store, [row.submission], results)
            for each in results:
                table = pack_items(swings.swings(N_ITEMS, n_broken=1))
                store.put(items_path(each.submission, each.task, each.result_key), table)
        build_site(store, swings.SUITE, folder / "site", sources=Sources(public=swings.PUBLIC))
    with served(folder / "site") as url:
        yield f"{url}tasks/known.html"


def test_plots_are_in_one_column_where_there_is_little_room(browser: Browser, address: str) -> None:
    """Also after the window was made narrow or wide."""
    with FiguresPage(browser, address, viewport={"width": 1280, "height": 900}) as figures:
        figures.show("profile-angle")
        wide = figures.page.evaluate(HEIGHT)
        assert figures.page.evaluate(COLUMNS) == 3
        figures.page.set_viewport_size({"width": 400, "height": 900})
        figures.page.wait_for_function(f"() => ({COLUMNS})() === 1")
        assert figures.page.evaluate(HEIGHT) > 2 * wide
        assert figures.page.evaluate("document.documentElement.scrollWidth") == 400
        figures.page.set_viewport_size({"width": 1280, "height": 900})
        figures.page.wait_for_function(f"() => ({COLUMNS})() === 3")
        assert figures.page.evaluate(HEIGHT) == wide
        assert figures.messages == []


def test_the_keyboard_reaches_every_plot(browser: Browser, address: str) -> None:
    with FiguresPage(browser, address, viewport={"width": 1280, "height": 900}) as figures:
        figures.show("profile-angle")
        figure, page = figures.figure("profile-angle"), figures.page
        status = figure.get_by_role("status")
        figure.get_by_role("application").focus()
        heard = []
        page.keyboard.press("ArrowRight")
        for _ in range(N_ITEMS * (N_MODELS + 1)):
            expect(status).not_to_be_empty()
            heard.append(status.text_content() or "")
            page.keyboard.press("ArrowDown")
            page.wait_for_timeout(100)
        assert len(set(heard)) == len(heard)
        assert sum("model a" in text for text in heard) == sum("reference" in text for text in heard) == N_ITEMS
        figures.show("progress")
        runs = figures.figure("progress")
        runs.get_by_role("application").focus()
        page.keyboard.press("ArrowRight")
        expect(runs.get_by_role("status")).to_contain_text(f"25 %, 0.25 ps: {swings.BROKEN}")
        assert figures.messages == []
