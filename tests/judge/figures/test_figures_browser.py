"""The figures in a real browser: plotly comes late and breaks no rule of the page, and downloads are what is shown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from markupsafe import Markup

from judge.disclosure.public_leaderboard import public_board
from judge.figures.figure import Figure, Heading
from judge.pages import figures_page
from judge.publishing.site_files import build_site
from judge.ranking.load import read_board
from judge.view.leaderboard_schema import LeaderboardFile
from judge.view.page_context import frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.store.local import LocalStore
from tests.judge.pages.board_records import SUITE, frames_metrics, good_results, refused, result, save, submission
from tests.judge.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

HOSTILE = '=<b>bold</b><a href="https://example.org">%{x}</a>, "q"'

pytestmark = pytest.mark.slow

# Whether all plots are as wide as their places, and legends below the plots where these are narrow.
FILLED = """() => [...document.querySelectorAll('.plot')].every((place) => {
  const { width, legend } = place._fullLayout;
  return width === place.clientWidth && (width >= 560 || !legend || legend.orientation === 'h');
})"""
LOW = {"width": 1280, "height": 120}  # so low that nothing is near the view at first


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

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

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
    with Watched(browser, address, viewport={"width": 1280, "height": 1000}) as watched:
        for key in watched.figures():
            watched.show(key)
        yield watched


def test_plotly_comes_once_when_a_figure_is_near_and_breaks_no_rule(browser: Browser, address: str) -> None:
    """No request for it before; then every figure is drawn, nothing jumps, and the console has nothing to say."""
    with Watched(browser, address, viewport=LOW) as watched:
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


SIZES = """(keys) => keys.map((key) => {
  const place = document.querySelector(`#${key} .plot`);
  return place._fullLayout.width === place.clientWidth;
})"""
NARROWED = """([keys, shares]) => new Promise((resolve) => {
  const next = () => {
    const share = shares.shift();
    if (share === undefined) return resolve();
    for (const key of keys) document.querySelector(`#${key} .stage`).style.maxWidth = `${share}px`;
    requestAnimationFrame(next);
  };
  next();
})"""
COUNTED = """() => {
  const react = Plotly.react;
  globalThis.drawnAnew = [];
  Plotly.react = (place, ...others) => {
    globalThis.drawnAnew.push(place.closest("figure").id);
    if (globalThis.drawnAnew.length === 1) throw new Error("not this one");
    return react(place, ...others);
  };
}"""


def test_plots_follow_their_room_once_it_stays(browser: Browser, address: str) -> None:
    """Not at each frame of a window that is drawn larger, nor where a width is no whole number; one fails by itself."""
    keys = ["pareto", "radar"]
    with Watched(browser, address, viewport=LOW) as watched:
        page = watched.page
        page.evaluate(NARROWED, [keys, [700.5]])
        watched.show(keys[0])
        page.evaluate(COUNTED)
        watched.show(keys[1])
        assert page.evaluate(SIZES, keys) == [True, True]
        page.wait_for_timeout(200)  # twice the pause, in which nothing is to happen
        assert page.evaluate("drawnAnew") == []
        page.evaluate(NARROWED, [keys, [640.5, 600, 560, 520, 480, 440, 400, 360]])
        page.wait_for_function(f"keys => ({SIZES})(keys).includes(true)", arg=keys)
        assert page.evaluate("drawnAnew") == keys
        assert page.evaluate(SIZES, keys) == [False, True]
        assert watched.said == [f"{keys[0]}: not this one"]


# Of a plot: the ranges of its axes, the colour of its texts, and which of its curves are shown.
DONE = """() => {
  const { data, _fullLayout } = document.querySelector("#failures .plot");
  const ranges = ["xaxis", "yaxis"].map((name) => _fullLayout[name].range);
  return [ranges, _fullLayout.font.color, data.map((trace) => trace.visible ?? true)];
}"""


def test_what_a_reader_did_to_a_plot_stays(browser: Browser, address: str) -> None:
    """What is hidden in the legend, and the part that is looked at, in another room and in other colours."""
    with Watched(browser, address, viewport={"width": 1280, "height": 900}) as watched:
        page = watched.page
        watched.show("failures")
        page.locator("#failures .legendtoggle").first.click()
        page.wait_for_function(f"() => ({DONE})()[2].includes('legendonly')")
        [before, ink, _] = page.evaluate(DONE)
        box = page.locator("#failures .nsewdrag").first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=3)
        page.mouse.up()
        page.wait_for_function(f"before => String(({DONE})()[0]) !== String(before)", arg=before)
        [zoomed, _, shown] = page.evaluate(DONE)
        page.set_viewport_size({"width": 900, "height": 900})
        page.wait_for_function(FILLED)
        assert page.evaluate(DONE) == [zoomed, ink, shown]
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"ink => ({DONE})()[1] !== ink", arg=ink)
        [still_zoomed, _, still_shown] = page.evaluate(DONE)
        assert (still_zoomed, still_shown) == (zoomed, shown)
        assert watched.said == []


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


UNSEEN = "all => all.map((one) => one.closest('[aria-hidden=true]') !== null)"


def test_the_keyboard_goes_from_point_to_point(opened: Watched) -> None:
    """What the pointer would be shown is shown and said; and nothing keeps the focus."""
    page = opened.page
    for key, told in (("heat-map", ["alpha", "crystals"]), ("radar", ["forces and energies"])):
        figure = page.locator(f"figure#{key}")
        place, words = figure.get_by_role("application"), figure.get_by_role("status")
        title = figure.get_by_role("heading").text_content() or ""
        expect(place).to_have_accessible_name(title)
        expect(place).to_have_accessible_description(re.compile(r"\w.* Arrow keys go from point to point"))
        assert figure.locator("svg:visible").evaluate_all(UNSEEN) == [True] * figure.locator("svg:visible").count()
        place.focus()
        page.keyboard.press("ArrowRight")
        for word in told:
            expect(words).to_contain_text(word)
        first = words.text_content() or ""
        page.keyboard.press("ArrowRight")
        expect(words).not_to_have_text(first)
        expect(figure.locator(".hovertext")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(figure.locator(".hovertext")).to_have_count(0)
        expect(words).to_be_empty()
        page.keyboard.press("Tab")
        expect(place).not_to_be_focused()
    assert opened.said == []


def test_downloads_are_the_table(opened: Watched, site: Path) -> None:
    published = LeaderboardFile.model_validate_json((site / "leaderboard.json").read_bytes())
    of = frame(public_board(read_board(LocalStore(site.parent / "store"), SUITE, pytest.fail), ()), Sources())
    drawn = {figure.key: figure for draw in figures_page.DRAWN if (figure := draw(of)) is not None}
    for key in opened.figures():
        told = json.loads(opened.file(key, "JSON"))
        lines = list(csv.reader(io.StringIO(opened.file(key, "CSV"))))
        assert told["rows"] == [list(row) for row in drawn[key].rows]
        assert [(column["name"], column["unit"]) for column in told["columns"]] == list(drawn[key].headings)
        assert told["title"] == drawn[key].title
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
    colours = "all => [...new Set(all.map((e) => getComputedStyle(e).fill))]"
    with browser.new_page() as alone:
        alone.goto((tmp_path / "alone.svg").as_uri())
        found = alone.locator("svg g > rect:not([fill^=url])").evaluate_all(colours)
    here = opened.page.locator("#failures svg.drawing g > rect.mark").evaluate_all(colours)
    assert set(here) <= set(found)
    assert len(here) == 2


# Of the cells over many rows, those whose text is to be seen: within the frame, the cell, and below the headings.
IN_SIGHT = """(frame) => {
  const [top, low] = [frame.querySelector("thead th"), frame].map((one) => one.getBoundingClientRect().bottom);
  const text = document.createRange();
  return [...frame.querySelectorAll("[rowspan]")].filter((cell) => {
    text.selectNodeContents(cell);
    const [seen, own] = [text, cell].map((one) => one.getBoundingClientRect());
    return seen.top >= top && seen.bottom <= Math.min(low, own.bottom);
  }).map((cell) => cell.textContent);
}"""


def test_a_name_over_many_rows_stays_in_sight(browser: Browser, address: str) -> None:
    """Below the headings of a frame that scrolls, as long as there is room beside its rows."""
    rows = [(model, f"{model}'s", float(i)) for model in ("alpha", "beta") for i in range(20)]
    table = Figure("k", "t", "a", tuple(map(Heading, "xyz")), rows, Markup()).table
    with Watched(browser, address) as watched:
        figure = watched.page.locator("figure#pareto")
        figure.locator("summary").click()
        figure.locator("table").evaluate("(table, made) => { table.innerHTML = made; }", str(table))
        frame = figure.locator(".table-frame")
        for line, name in ((0, "alpha"), (9, "alpha"), (16, "alpha"), (30, "beta")):
            to_line = "(frame, line) => { frame.scrollTop = frame.querySelectorAll('tbody tr')[line].offsetTop; }"
            frame.evaluate(to_line, line)
            assert frame.evaluate(IN_SIGHT)[:2] == [name, f"{name}'s"], line


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
    with Watched(browser, address, java_script_enabled=False) as plain:
        for key in plain.page.locator("nav .jump a").all():
            figure = plain.page.locator(f"figure{key.get_attribute('href')}")
            assert figure.locator("svg.drawing").is_visible()
            assert figure.locator(".downloads").is_hidden()
            figure.locator("summary").click()
            assert figure.locator("table.numbers").is_visible()
        assert plain.plotly_asked == 0


def test_where_plotly_does_not_come_the_drawings_stay(browser: Browser, address: str) -> None:
    with Watched(browser, "about:blank") as watched:
        watched.page.route("**/plotly-*", lambda route: route.abort())
        with watched.page.expect_console_message(lambda message: "plotly could not be loaded" in message.text):
            watched.page.goto(address)
        assert watched.page.locator("#pareto svg.drawing").evaluate("e => getComputedStyle(e).visibility") == "visible"


def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(opened: Watched) -> None:
    for width in (360, 3840, 1280):
        opened.page.set_viewport_size({"width": width, "height": 900})
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        opened.page.wait_for_function(wide, timeout=5000)  # plots follow a moment later
        opened.page.wait_for_function(FILLED, timeout=5000)
    assert opened.said == []
    for summary in opened.page.locator("figure summary").all():
        summary.click()
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=cast(Any, scheme))
        found = Axe().run(opened.page)
        assert found.violations_count == 0, found.generate_report()
