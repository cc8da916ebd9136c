"""The figures in a real browser: plotly comes late and breaks no rule of the page, and downloads are what is shown."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, cast
from xml.etree import ElementTree

import pytest

from judge.site import build_site
from judge.web.leaderboard_file import LeaderboardFile
from sandbox.verdict import Verdict
from submissions.local_store import LocalStore
from tests.judge.board_records import SUITE, frames_metrics, good_results, refused, result, save, submission
from tests.judge.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = '=<b>bold</b><a href="https://example.org">%{x}</a>, "q"'

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models, one with a hostile name, one that failed items, and one that ran out of time."""
    folder = tmp_path_factory.mktemp("figures")
    store = LocalStore(folder / "store")
    for name, relative in (("alpha", 0.1), (HOSTILE, 0.2), ("gamma", 0.3)):
        of = submission(name)
        results = good_results(of, relative)
        failures = {"NON_FINITE": 2, "ERROR": 1} if name == "gamma" else {}
        results[0] = result(of, SUITE.tasks[0], frames_metrics(relative, virial=True), failures=failures)
        save(store, [of], results)
    late = submission("late")
    save(store, [late], [*good_results(late, 0.5)[1:], refused(late, SUITE.tasks[0], Verdict.TIME_LIMIT)])
    build_site(store, SUITE, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as found:
        yield f"{found}figures.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()


class Watched:
    """A page, what it asked for, and what the console said."""

    def __init__(self, browser: Browser, address: str, **context: Any) -> None:
        self.context: BrowserContext = browser.new_context(**context)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self._downloaded: deque[float] = deque(maxlen=8)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    @property
    def plotly_asked(self) -> int:
        return sum("/plotly-" in url for url in self.asked)

    def show(self, key: str) -> None:
        """Scrolls to a figure, and waits until plotly has drawn it."""
        stage = self.page.locator(f"figure#{key} .stage")
        stage.scroll_into_view_if_needed()
        stage.locator(".main-svg").first.wait_for()

    def file(self, key: str, kind: str) -> str:
        """What is downloaded of a figure. Chromium drops the eleventh download of a page within a second."""
        if len(self._downloaded) == self._downloaded.maxlen:
            self.page.wait_for_timeout(1000 * max(0.0, self._downloaded[0] + 1.2 - monotonic()))
        with self.page.expect_download() as found:
            self.page.get_by_role("button", name=f"Download {key} as {kind}").click()
        assert found.value.suggested_filename == f"{key}.{kind.lower()}"
        content = Path(found.value.path()).read_text(encoding="utf-8")
        self._downloaded.append(monotonic())
        return content

    def figures(self) -> list[str]:
        found = self.page.locator("figure[data-figure]").evaluate_all("all => all.map((one) => one.id)")
        return cast(list[str], found)


@pytest.fixture(scope="module")
def opened(browser: Browser, address: str) -> Iterator[Watched]:
    """A page whose figures are all drawn by plotly."""
    watched = Watched(browser, address, viewport={"width": 1280, "height": 1000})
    for key in watched.figures():
        watched.show(key)
    yield watched
    watched.context.close()


def test_plotly_comes_once_when_a_figure_is_near_and_breaks_no_rule(browser: Browser, address: str) -> None:
    """No request for it before; then every figure is drawn, nothing jumps, and the console has nothing to say."""
    # So low that nothing is near the view at first.
    watched = Watched(browser, address, viewport={"width": 1280, "height": 120})
    page, keys = watched.page, watched.figures()
    assert {"pareto", "radar", "heat-map", "failures", "verdicts"} <= set(keys)
    page.locator("figure .downloads button").first.wait_for(state="attached")  # the script has started
    assert watched.plotly_asked == 0
    height = page.evaluate("document.documentElement.scrollHeight")
    for key in keys:
        watched.show(key)
        figure = page.locator(f"figure#{key}")
        assert figure.locator(".plot").bounding_box() == figure.locator(".stage").bounding_box()
        assert figure.locator("svg.drawing").evaluate("e => getComputedStyle(e).visibility") == "hidden"
    assert watched.plotly_asked == 1
    assert page.evaluate("document.documentElement.scrollHeight") == height
    assert page.locator("style").count() == 0
    assert watched.said == []
    watched.context.close()


def test_names_in_plots_are_text(opened: Watched) -> None:
    assert opened.page.locator(".plot a").count() == 0
    legend = opened.page.locator("#radar .legendtext").all_text_contents()
    assert HOSTILE in legend
    ticks = opened.page.locator("#heat-map .ytick text").all_text_contents()
    assert any("<b>bold</b>" in tick for tick in ticks)
    assert opened.said == []


def test_the_heat_map_answers_to_the_pointer(opened: Watched) -> None:
    """Its cells are outlines, since the policy allows no image made by a script: each tells its model and task."""
    opened.page.locator("#heat-map .stage").scroll_into_view_if_needed()
    place = opened.page.locator("#heat-map .plot")
    cell = opened.page.locator("#heat-map .nsewdrag").first.bounding_box()
    assert cell is not None
    opened.page.mouse.move(cell["x"] + cell["width"] / 6, cell["y"] + cell["height"] / 8, steps=3)
    words = place.locator(".hovertext")
    words.wait_for()
    assert re.sub(r"\s+", "", words.text_content() or "") == "1.alphacrystals:0.100"
    assert opened.said == []


def test_downloads_are_the_table(opened: Watched, site: Path) -> None:
    published = LeaderboardFile.model_validate_json((site / "leaderboard.json").read_bytes())
    for key in opened.figures():
        told = json.loads(opened.file(key, "JSON"))
        lines = list(csv.reader(io.StringIO(opened.file(key, "CSV"))))
        own = json.loads(opened.page.locator(f"figure#{key} script").text_content() or "")
        assert told["rows"] == own["rows"]
        assert [[column["name"], column["unit"]] for column in told["columns"]] == own["headings"]
        assert [column["name"] for column in told["columns"]] == [name.partition(" [")[0] for name in lines[0]]
        assert len(lines) == 1 + len(told["rows"])
        for line, row in zip(lines[1:], told["rows"], strict=True):
            for field, cell in zip(line, row, strict=True):
                if isinstance(cell, int | float):
                    assert float(field) == cell
                else:
                    # No spreadsheet takes a text for a formula.
                    assert field == (f"'{cell}" if cell and cell.startswith("=") else cell or "")
        shown = opened.page.locator(f"figure#{key} table.numbers tbody tr")
        assert shown.count() == len(told["rows"])
    ranked = [model.rank for model in published.models if model.rank]
    assert [row[1] for row in json.loads(opened.file("pareto", "JSON"))["rows"]] == ranked
    assert opened.said == []


def test_the_drawing_by_itself_needs_no_stylesheet(opened: Watched, browser: Browser, tmp_path: Path) -> None:
    for key in opened.figures():
        content = opened.file(key, "SVG")
        top = ElementTree.fromstring(content)
        assert not [e for e in top.iter() if e.get("class") or e.get("style") or e.tag.endswith("}style")]
        assert float(top.get("width") or 0) > 0
    (tmp_path / "alone.svg").write_text(opened.file("failures", "SVG"), encoding="utf-8")
    alone = browser.new_page()
    alone.goto((tmp_path / "alone.svg").as_uri())
    colours = "all => [...new Set(all.map((e) => getComputedStyle(e).fill))]"
    found = alone.locator("svg g > rect:not([fill^=url])").evaluate_all(colours)
    here = opened.page.locator("#failures svg.drawing g > rect.mark").evaluate_all(colours)
    assert set(here) <= set(found)
    assert len(here) == 2
    alone.close()


def test_dark_and_light_and_back_again(opened: Watched) -> None:
    """Drawing and plot have the colours of the scheme, also when it changes under them."""
    line = opened.page.locator("#pareto .plot .scatterlayer .js-line").first
    seen = []
    for scheme in ("light", "dark", "light"):
        opened.page.emulate_media(color_scheme=cast(Any, scheme))
        drawn = opened.page.locator("#pareto svg.drawing .line.c0").first.evaluate("e => getComputedStyle(e).stroke")
        opened.page.wait_for_function(
            "([line, colour]) => getComputedStyle(line).stroke === colour", arg=[line.element_handle(), drawn]
        )
        seen.append(drawn)
    assert seen[0] != seen[1]
    assert seen[0] == seen[2]
    assert opened.said == []


def test_on_paper_and_without_script_the_drawings_are_there(browser: Browser, address: str, opened: Watched) -> None:
    opened.page.emulate_media(media="print")
    assert opened.page.locator("#radar svg.drawing").evaluate("e => getComputedStyle(e).visibility") == "visible"
    assert opened.page.locator("#radar .plot").is_hidden()
    opened.page.emulate_media(media="screen")
    plain = Watched(browser, address, java_script_enabled=False)
    for key in plain.page.locator("nav .jump a").all():
        figure = plain.page.locator(f"figure{key.get_attribute('href')}")
        assert figure.locator("svg.drawing").is_visible()
        assert figure.locator(".downloads").is_hidden()
        figure.locator("summary").click()
        assert figure.locator("table.numbers").is_visible()
    assert plain.plotly_asked == 0
    plain.context.close()


def test_where_plotly_does_not_come_the_drawings_stay(browser: Browser, address: str) -> None:
    watched = Watched(browser, "about:blank")
    watched.page.route("**/plotly-*", lambda route: route.abort())
    with watched.page.expect_console_message(lambda message: "plotly could not be loaded" in message.text):
        watched.page.goto(address)
    assert watched.page.locator("#pareto svg.drawing").evaluate("e => getComputedStyle(e).visibility") == "visible"
    watched.context.close()


def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(opened: Watched) -> None:
    for width in (360, 3840, 1280):
        opened.page.set_viewport_size({"width": width, "height": 900})
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        opened.page.wait_for_function(wide, timeout=5000)  # plots follow a moment later
    for summary in opened.page.locator("figure summary").all():
        summary.click()
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=cast(Any, scheme))
        found = Axe().run(opened.page)
        assert found.violations_count == 0, found.generate_report()
