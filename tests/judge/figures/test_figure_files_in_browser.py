"""The numbers and files of a figure in a real browser, also without scripts and without plotly."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.figures.figure import Figure, Heading
from judge.pages import figures_page
from judge.ranking.load import read_board
from judge.view.leaderboard_schema import LeaderboardFile
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tests.judge.figures.figures_page_in_browser import HOSTILE_NAME, FiguresPage
from tests.world.board_records import SUITE

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"


def test_downloads_are_the_table(opened: FiguresPage, figures_site: Path) -> None:
    published = LeaderboardFile.model_validate_json((figures_site / "leaderboard.json").read_bytes())
    board = read_board(LocalStore(figures_site.parent / "store"), SUITE, pytest.fail)
    page_frame = frame(public_board(board, ()), Sources())
    drawn = {figure.key: figure for draw in figures_page.DRAWN if (figure := draw(page_frame)) is not None}
    for key in opened.figure_ids():
        file = json.loads(opened.download(key, "JSON"))
        lines = list(csv.reader(io.StringIO(opened.download(key, "CSV"))))
        assert file["rows"] == [list(row) for row in drawn[key].rows]
        assert [(column["name"], column["unit"]) for column in file["columns"]] == list(drawn[key].headings)
        assert file["title"] == drawn[key].title
        assert [column["name"] for column in file["columns"]] == [name.partition(" [")[0] for name in lines[0]]
        assert len(lines) == 1 + len(file["rows"])
        for line, row in zip(lines[1:], file["rows"], strict=True):
            for field, cell in zip(line, row, strict=True):
                if isinstance(cell, int | float):
                    assert float(field) == cell
                else:
                    # A spreadsheet takes no such text for a formula.
                    assert field == (f"'{cell}" if cell and cell.startswith("=") else cell or "")
        shown = opened.page.locator(f"figure#{key} table.numbers tbody tr")
        assert shown.count() == len(file["rows"])
    ranked = [model.rank for model in published.models if model.rank]
    assert [row[1] for row in json.loads(opened.download("pareto", "JSON"))["rows"]] == ranked
    assert opened.messages == []


def test_the_downloaded_plot_is_an_svg_with_the_plot_and_nothing_to_load(opened: FiguresPage) -> None:
    for key in opened.figure_ids():
        top = ElementTree.fromstring(opened.download(key, "SVG"))
        assert top.tag == f"{SVG}svg"
        shown = opened.figure(key).locator(".plot").bounding_box()
        assert shown is not None
        assert (float(top.get("width", 0)), float(top.get("height", 0))) == (round(shown["width"]), shown["height"])
        assert not [e for e in top.iter() if e.tag in (f"{SVG}image", f"{SVG}script", f"{SVG}a")]
    names = [e.text for e in ElementTree.fromstring(opened.download("radar", "SVG")).iter(f"{SVG}text")]
    assert HOSTILE_NAME in names
    assert opened.messages == []


# The cells that span rows and whose text is visible: inside the frame and the cell, and below the headings.
IN_SIGHT = """(frame) => {
  const [top, low] = [frame.querySelector("thead th"), frame].map((element) => element.getBoundingClientRect().bottom);
  const text = document.createRange();
  return [...frame.querySelectorAll("[rowspan]")].filter((cell) => {
    text.selectNodeContents(cell);
    const [seen, own] = [text, cell].map((element) => element.getBoundingClientRect());
    return seen.top >= top && seen.bottom <= Math.min(low, own.bottom);
  }).map((cell) => cell.textContent);
}"""


def test_a_name_over_many_rows_stays_in_sight(browser: Browser, address: str) -> None:
    """It stays below the headings of a scrolling frame, as long as its rows have room for it."""
    rows = [(model, f"{model}'s", float(i)) for model in ("alpha", "beta") for i in range(20)]
    table = Figure("k", "t", "a", tuple(map(Heading, "xyz")), rows, (), {}).table
    with FiguresPage(browser, address) as figures:
        figure = figures.page.locator("figure#pareto")
        figure.locator("summary").click()
        figure.locator("table").evaluate("(table, made) => { table.innerHTML = made; }", str(table))
        frame = figure.locator(".table-frame")
        for line, name in ((0, "alpha"), (9, "alpha"), (16, "alpha"), (30, "beta")):
            to_line = "(frame, line) => { frame.scrollTop = frame.querySelectorAll('tbody tr')[line].offsetTop; }"
            frame.evaluate(to_line, line)
            assert frame.evaluate(IN_SIGHT)[:2] == [name, f"{name}'s"], line


def test_without_a_script_a_figure_has_title_caption_and_table(browser: Browser, address: str) -> None:
    with FiguresPage(browser, address, java_script_enabled=False) as figures:
        for key in figures.figure_ids():
            figure = figures.figure(key)
            assert figure.get_by_role("heading").is_visible()
            assert figure.locator(".about").is_visible()
            assert figure.locator("noscript .note").is_visible()
            assert figure.locator(".downloads").is_hidden()
            figure.locator("summary").click()
            assert figure.locator("table.numbers").is_visible()
        assert figures.plotly_requests == 0


def test_without_plotly_the_page_says_so_and_keeps_the_numbers(browser: Browser, address: str) -> None:
    with FiguresPage(browser, "about:blank") as figures:
        figures.page.route("**/plotly-*", lambda route: route.abort())
        figures.page.goto(address)
        figure = figures.figure("pareto")
        figure.get_by_text("The plot could not be drawn.").wait_for()
        figure.locator("summary").click()
        assert figure.locator("table.numbers").is_visible()
        assert json.loads(figures.download("pareto", "JSON"))["rows"]
        assert "pareto: plotly could not be loaded" in figures.messages
