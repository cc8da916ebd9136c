"""Plots in a real browser: plotly is loaded late, obeys the page's policy, and responds to pointer and keyboard."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from tests.judge.figures.figures_page_in_browser import HOSTILE_NAME, LOW, FiguresPage
from tests.world.board_records import submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.slow

# Whether all plots are as wide as their places, and legends are below the plots where these are narrow.
FILLED = """() => [...document.querySelectorAll('.plot')].every((place) => {
  const { width, legend } = place._fullLayout;
  return width === place.clientWidth && (width >= 560 || !legend || legend.orientation === 'h');
})"""
# Whether each of these plots is as wide as its place.
FITS = """(keys) => keys.map((key) => {
  const place = document.querySelector(`#${key} .plot`);
  return place._fullLayout.width === place.clientWidth;
})"""
# Gives the stages of these figures one width after the other, a frame each.
NARROWED = """([keys, widths]) => new Promise((resolve) => {
  const next = () => {
    const width = widths.shift();
    if (width === undefined) return resolve();
    for (const key of keys) document.querySelector(`#${key} .stage`).style.maxWidth = `${width}px`;
    requestAnimationFrame(next);
  };
  next();
})"""
# Records which plots are drawn again; the first of them fails.
RECORDED = """() => {
  const react = Plotly.react;
  globalThis.drawnAgain = [];
  Plotly.react = (place, ...others) => {
    globalThis.drawnAgain.push(place.closest("figure").id);
    if (globalThis.drawnAgain.length === 1) throw new Error("not this one");
    return react(place, ...others);
  };
}"""
# Of a plot: the ranges of its axes, the colour of its texts, and which of its traces are shown.
STATE = """() => {
  const { data, _fullLayout } = document.querySelector("#failures .plot");
  const ranges = ["xaxis", "yaxis"].map((name) => _fullLayout[name].range);
  return [ranges, _fullLayout.font.color, data.map((trace) => trace.visible ?? true)];
}"""
HIDDEN_FROM_READERS = "all => all.map((svg) => svg.closest('[aria-hidden=true]') !== null)"


def test_plotly_is_loaded_once_when_a_figure_is_near_and_obeys_the_policy(browser: Browser, address: str) -> None:
    """It is not requested before. Then each figure is drawn, the page keeps its height, and the console is empty."""
    with FiguresPage(browser, address, viewport=LOW) as figures:
        page, keys = figures.page, figures.figure_ids()
        assert {"pareto", "radar", "heat-map", "failures", "verdicts"} <= set(keys)
        page.locator("figure .downloads button").first.wait_for(state="attached")  # the script has started
        assert figures.plotly_requests == 0
        height = page.evaluate("document.documentElement.scrollHeight")
        for key in keys:
            figures.show(key)
        assert figures.plotly_requests == 1
        assert page.evaluate("document.documentElement.scrollHeight") == height
        assert page.locator("style").count() == 0
        assert figures.messages == []


def test_plots_follow_their_width_once_it_stays(browser: Browser, address: str) -> None:
    """It is not drawn at each frame of a resize, nor for a fractional width. A failing plot does not affect others."""
    keys = ["pareto", "radar"]
    with FiguresPage(browser, address, viewport=LOW) as figures:
        page = figures.page
        page.evaluate(NARROWED, [keys, [700.5]])
        figures.show(keys[0])
        page.evaluate(RECORDED)
        figures.show(keys[1])
        assert page.evaluate(FITS, keys) == [True, True]
        page.wait_for_timeout(200)  # twice the pause: no plot may be drawn in it
        assert page.evaluate("drawnAgain") == []
        page.evaluate(NARROWED, [keys, [640.5, 600, 560, 520, 480, 440, 400, 360]])
        page.wait_for_function(f"keys => ({FITS})(keys).includes(true)", arg=keys)
        assert page.evaluate("drawnAgain") == keys
        assert page.evaluate(FITS, keys) == [False, True]
        assert figures.messages == ["pareto: not this one"]


@pytest.mark.parametrize("width", [400, 1280])
def test_plots_by_element_and_group_are_in_their_frame(browser: Browser, address: str, width: int) -> None:
    """The periodic table, its colour bar and all titles. The unit of the colour bar is above its numbers."""
    page_address = address.replace("figures.html", f"submissions/{submission('alpha').id}.html")
    with FiguresPage(browser, page_address, viewport={"width": width, "height": 900}) as figures:
        for key in ("elements", "groups"):
            figures.page.locator("details", has=figures.figure(key)).first.evaluate("each => (each.open = true)")
            figures.show(key)
            frame = figures.figure(key).locator(".stage").bounding_box()
            texts = [text.bounding_box() for text in figures.figure(key).locator(".main-svg text").all()]
            boxes = [box for box in texts if box and box["width"] > 0]
            assert frame is not None
            assert len(boxes) > 5
            assert min(box["x"] for box in boxes) >= frame["x"]
            assert max(box["x"] + box["width"] for box in boxes) <= frame["x"] + frame["width"]
        cells = figures.figure("elements").locator(".bartext").all_text_contents()
        assert {"H", "Og"} <= set(cells) if width == 400 else {"H100", "Og380"} <= set(cells)
        colour_bar = figures.figure("elements").locator(".infolayer .colorbar")
        unit, *numbers = (colour_bar.locator("text", has_text=text).bounding_box() for text in ("meV/Å", "100", "380"))
        assert unit is not None
        assert all(number is not None and unit["y"] + unit["height"] <= number["y"] for number in numbers)


def test_zoom_and_hidden_traces_stay(browser: Browser, address: str) -> None:
    """They stay when the width or the colours change."""
    with FiguresPage(browser, address, viewport={"width": 1280, "height": 900}) as figures:
        page = figures.page
        figures.show("failures")
        page.locator("#failures .legendtoggle").first.click()
        page.wait_for_function(f"() => ({STATE})()[2].includes('legendonly')")
        [before, ink, _] = page.evaluate(STATE)
        box = page.locator("#failures .nsewdrag").first.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=3)
        page.mouse.up()
        page.wait_for_function(f"before => String(({STATE})()[0]) !== String(before)", arg=before)
        [zoomed, _, shown] = page.evaluate(STATE)
        page.set_viewport_size({"width": 900, "height": 900})
        page.wait_for_function(FILLED)
        assert page.evaluate(STATE) == [zoomed, ink, shown]
        page.emulate_media(color_scheme="dark")
        page.wait_for_function(f"ink => ({STATE})()[1] !== ink", arg=ink)
        [still_zoomed, _, still_shown] = page.evaluate(STATE)
        assert (still_zoomed, still_shown) == (zoomed, shown)
        assert figures.messages == []


def test_names_in_plots_are_text(opened: FiguresPage) -> None:
    assert opened.page.locator(".plot a").count() == 0
    legend = opened.page.locator("#radar .legendtext").all_text_contents()
    assert HOSTILE_NAME in legend
    ticks = opened.page.locator("#heat-map .ytick text").all_text_contents()
    assert any("<b>bold</b>" in tick for tick in ticks)
    assert opened.messages == []


def test_the_heat_map_answers_to_the_pointer(opened: FiguresPage) -> None:
    """Each cell has its model, domain, task and error; a mark has the reason why there is no error."""
    bars = opened.page.locator("#heat-map .plot .point path:visible")
    bars.first.scroll_into_view_if_needed()
    hover_text = opened.page.locator("#heat-map .plot .hovertext")
    for cell, text in (
        (bars.first, "1. alphaInorganic Materials - Crystals: 0.100"),
        (opened.page.locator("#heat-map .scatterlayer .point").first, "lateCrystals: time limit"),
    ):
        box = cell.bounding_box()
        assert box is not None
        opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
        expect(hover_text).to_have_text(text)
    assert opened.messages == []


def test_the_keyboard_goes_from_point_to_point(opened: FiguresPage) -> None:
    """The hover text of a point is shown and announced, and the plot does not keep the focus."""
    page = opened.page
    for key, expected in (("heat-map", ["alpha", "Crystals"]), ("radar", ["forces and energies"])):
        figure = opened.figure(key)
        place, status = figure.get_by_role("application"), figure.get_by_role("status")
        title = figure.get_by_role("heading").text_content() or ""
        expect(place).to_have_accessible_name(title)
        expect(place).to_have_accessible_description(re.compile(r"\w.* Arrow keys go from point to point"))
        svgs = figure.locator("svg:visible")
        assert svgs.evaluate_all(HIDDEN_FROM_READERS) == [True] * svgs.count()
        place.focus()
        page.keyboard.press("ArrowRight")
        for word in expected:
            expect(status).to_contain_text(word)
        first = status.text_content() or ""
        page.keyboard.press("ArrowRight")
        expect(status).not_to_have_text(first)
        expect(figure.locator(".hovertext")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(figure.locator(".hovertext")).to_have_count(0)
        expect(status).to_be_empty()
        page.keyboard.press("Tab")
        expect(place).not_to_be_focused()
    assert opened.messages == []


def test_dark_and_light_and_back_again(opened: FiguresPage) -> None:
    """A plot has the colours of the scheme, also when the scheme changes."""
    line = opened.page.locator("#pareto .plot .scatterlayer .js-line").first
    colours = []
    for scheme in ("light", "dark", "light"):
        opened.page.emulate_media(color_scheme=cast(Any, scheme))
        colour = opened.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--c0')")
        as_stroke = "([line, colour]) => { const div = document.createElement('div'); div.style.color = colour; "
        as_stroke += "return getComputedStyle(line).stroke === div.style.color; }"
        opened.page.wait_for_function(as_stroke, arg=[line.element_handle(), colour])
        colours.append(colour)
    assert colours[0] != colours[1]
    assert colours[0] == colours[2]
    assert opened.messages == []


def test_on_paper_a_figure_has_its_plot_and_no_buttons(opened: FiguresPage) -> None:
    opened.page.emulate_media(media="print")
    assert opened.figure("radar").locator(".plot").is_visible()
    assert opened.figure("radar").locator(".downloads").is_hidden()
    opened.page.emulate_media(media="screen")


def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(opened: FiguresPage) -> None:
    for width in (360, 3840, 1280):
        opened.page.set_viewport_size({"width": width, "height": 900})
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        opened.page.wait_for_function(wide, timeout=5000)  # plots are redrawn a moment later
        opened.page.wait_for_function(FILLED, timeout=5000)
    assert opened.messages == []
    for summary in opened.page.locator("figure summary").all():
        summary.click()
    for scheme in ("dark", "light"):
        opened.page.emulate_media(color_scheme=cast(Any, scheme))
        report = Axe().run(opened.page)
        assert report.violations_count == 0, report.generate_report()
