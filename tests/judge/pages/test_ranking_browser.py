"""The ranking in a real browser: sorting, filters, columns, and a view as a link."""

from __future__ import annotations

import re

import pytest

from tests.judge.pages.ranking_site import CARDS, Watched, column, names
from tests.world.board_records import submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import BrowserContext, expect

pytestmark = [pytest.mark.slow, pytest.mark.together("ranking in a browser")]


def test_sorting_by_mouse_and_keyboard(ranking: Watched) -> None:
    page = ranking.open()
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    property_error = page.locator("#ranking").get_by_role("button", name="Property error")
    property_error.click()
    property_error.click()
    assert names(page) == ["beta", "gamma", "alpha", "delta"]
    heading = page.locator("#ranking thead th", has_text="Property error")
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.locator("#ranking [aria-sort]").count() == 1
    expect(page.locator("[data-status]")).to_contain_text("Property error")
    assert page.locator("[data-status]").locator("xpath=ancestor::*[@role='status']").count() == 1
    page.locator("#ranking tr[data-id]").first.evaluate("tr => tr.classList.add('tied')")
    tie_line = "getComputedStyle(document.querySelector('#ranking .tied td.rank')).boxShadow"
    assert page.evaluate(tie_line) == "none"  # it would join models that are not tied
    page.locator("#ranking").get_by_role("button", name="Rank").click()
    assert page.evaluate(tie_line) != "none"
    property_error.click()
    property_error.click()

    page.keyboard.press("Enter")  # the heading keeps the focus
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == ["alpha", "gamma", "beta", "delta"]

    page.locator("#ranking").get_by_role("button", name="Model").click()
    assert names(page) == ["alpha", "beta", "gamma", "delta"]
    page.get_by_role("link", name="alpha").first.click()
    assert (page.locator("h1").text_content() or "").split()[0] == "alpha"


def test_all_modules_are_preloaded(ranking: Watched) -> None:
    """The page preloads exactly the modules that run: a module that is loaded later delays the page."""
    page = ranking.open()
    named = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
    main = page.locator("script[type=module]").evaluate("script => script.src")
    assert sorted({url for url in ranking.requests if url.endswith(".js")}) == sorted([main, *named])


def test_efficiency_is_ordered_within_a_class_of_hardware(ranking: Watched) -> None:
    """beta is faster than alpha; gamma lies between them, but was timed on other hardware."""
    page = ranking.open()
    page.locator("#ranking").get_by_role("button", name="Efficiency").click()
    assert names(page) == ["gamma", "beta", "alpha", "delta"]
    expect(page.locator("[data-status]")).to_contain_text("within each hardware class")
    best = page.locator("#ranking tr:has(td.best .class) th.model a").all_text_contents()
    assert [text.split()[0] for text in best] == ["gamma", "beta"]


LINKS = (
    ("search=ALPHA", ["alpha"]),
    ("search=1.2+alp", ["alpha"]),
    ("search=team", ["beta"]),
    ("level=PBE", ["alpha"]),
    ("open=1", ["alpha", "gamma"]),
    ("min=1000001", ["beta"]),
    ("max=1000000", ["alpha"]),
    ("elements=si", ["alpha", "delta"]),
    ("elements=Si+O", ["alpha"]),
    ("conservative=1", ["gamma"]),
    ("hardware=GPU+X", ["gamma"]),
    ("isolated=1", ["alpha", "beta", "delta"]),
    ("open=1&elements=H", ["alpha"]),
    ("min=-1&elements=&open=yes&sort=-&w.force_field/Molecules=none", ["alpha", "gamma", "beta", "delta"]),
    ("scheme=nothing&column=nothing&values=x&sort=-nothing", ["alpha", "gamma", "beta", "delta"]),
)


def test_a_link_shows_its_view(ranking: Watched) -> None:
    for query, shown in LINKS:
        page = ranking.open(f"?{query}")
        assert names(page) == shown, query
        n = "" if len(shown) == 4 else f"{len(shown)} of 4 models"
        expect(page.locator("[data-count]")).to_have_text(n)


def test_filters_are_set_shown_and_cleared(ranking: Watched) -> None:
    page = ranking.open()
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("Elements covered").fill("Si")
    assert names(page) == ["alpha", "delta"]
    page.get_by_label("Open weights").check()
    assert names(page) == ["alpha"]
    expect(page.get_by_role("button", name="Filters (2)")).to_be_visible()
    page.get_by_label("at least, millions").fill("2")
    assert names(page) == []
    page.get_by_label("at most, millions").fill("4.1")  # times a million it is no whole number
    expect(page).to_have_url(re.compile("[?&]max=4100000(&|$)"))
    expect(page.locator("[data-none]")).to_be_visible()
    page.locator("[data-none]").get_by_role("button", name="Clear filters").click()
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    assert page.evaluate("document.activeElement.dataset.view") == "search"
    assert page.get_by_label("Elements covered").input_value() == ""
    page.get_by_label("Elements covered").press("Escape")
    expect(page.get_by_label("Elements covered")).to_be_hidden()


def test_back_over_a_link_within_the_page_keeps_view_and_address_together(ranking: Watched) -> None:
    page = ranking.open("?search=a")
    page.evaluate("location.hash = '#main'")
    page.get_by_label("Search models").fill("alpha")
    expect(page).to_have_url(re.compile(r"[?]search=alpha#main$"))
    page.go_back()
    assert names(page) == ["alpha"]
    expect(page).to_have_url(re.compile(r"[?]search=alpha$"))


def test_a_heading_without_rows_is_hidden(ranking: Watched) -> None:
    page = ranking.open()
    expect(page.locator("[data-above=unranked]")).to_be_visible()
    page.get_by_label("Search models").fill("alpha")
    expect(page.locator("[data-above=unranked]")).to_be_hidden()


def test_columns_come_and_go(ranking: Watched) -> None:
    page = ranking.open()
    page.get_by_role("button", name="Columns").click()
    panel = page.locator("#board-columns")
    panel.get_by_label("Values of tasks").select_option("raw")
    expect(panel.get_by_role("status")).to_contain_text("Select tasks below")
    panel.get_by_label("Crystals, force RMSE").check()
    expect(panel.get_by_role("status")).to_be_empty()
    panel.get_by_label("Values of tasks").select_option("normalised")
    panel.get_by_label("Force-field error, Molecules").check()
    panel.get_by_label("Force-field error, Inorganic Materials").check()
    panel.get_by_label("log₁₀ of the drift").check()
    heads = page.locator("#ranking thead tr:last-child th").all_text_contents()
    assert len(set(heads)) == len(heads) == 16
    for box in ("Force-field error, Molecules", "Force-field error, Inorganic Materials", "log₁₀ of the drift"):
        panel.get_by_label(box).uncheck()
    panel.get_by_label("Team").check()
    panel.get_by_label("Instability", exact=True).uncheck()
    assert column(page, "task:crystals/force_rmse") == ["0.100", "0.200", "0.300", "0.010", "1.000"]
    assert column(page, "team")[2] == "A team"  # without the character that reverses the text after it
    assert page.locator("#ranking th[data-key=instability]").count() == 0
    panel.get_by_label("Values of tasks").select_option("raw")
    assert column(page, "task:crystals/force_rmse") == ["100", "200", "300", "10.0", "1\u202f000"]
    assert "meV/Å" in (page.locator("th[data-key='task:crystals/force_rmse']").text_content() or "")
    panel.get_by_label("Group by domain").check()
    assert page.locator("#ranking .groups th").all_text_contents() == ["Scores", "Inorganic Materials", "Model"]
    spans = page.locator("#ranking .groups th").evaluate_all("cells => cells.map(cell => cell.colSpan)")
    assert spans == [3, 1, 6]
    edges = "cells => cells.map(cell => Math.round(cell.getBoundingClientRect().left))"
    grouped = page.locator("#ranking .groups th").evaluate_all(edges)
    below = page.locator("#ranking thead tr:last-child th").evaluate_all(edges)
    assert grouped == pytest.approx([below[2], below[5], below[6]], abs=1)
    page.locator("th[data-key='task:crystals/force_rmse']").get_by_role("button").click()
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    panel.get_by_role("button", name="Default columns").click()
    assert page.locator("#ranking thead tr:last-child th").count() == 12


def test_a_view_is_a_link(ranking: Watched, wide_context: BrowserContext) -> None:
    """The address holds every setting that is not a default, and shows the same view to anyone who opens it."""
    page = ranking.open()
    page.get_by_role("combobox", name="Scheme").select_option("ml-peg")
    page.get_by_label("Variant").select_option("as_published")
    page.get_by_label("Search models").fill("a")
    page.get_by_role("button", name="Columns").click()
    page.locator("#board-columns").get_by_label("barriers").check()
    page.locator("#ranking").get_by_role("button", name="Model").click()
    page.locator("#ranking").get_by_role("button", name="Model").click()
    page.wait_for_url("**sort=-model**")
    rows = page.locator("[data-board]").evaluate("table => table.tBodies[0].innerText")
    query = page.url.partition("?")[2]
    with wide_context.new_page() as opened:
        other = Watched(opened, ranking.base)
        assert other.open(f"?{query}").locator("[data-board]").evaluate("table => table.tBodies[0].innerText") == rows
        assert names(other.page) == names(page)
    page.get_by_role("button", name="Default columns").click()
    page.get_by_label("Search models").fill("")
    page.get_by_role("combobox", name="Scheme").select_option("lambench")
    page.get_by_label("Variant").select_option("corrected")
    page.wait_for_url(f"{ranking.base}index.html")


def test_two_to_five_models_are_compared(ranking: Watched) -> None:
    page = ranking.open()
    link = page.locator("[data-compare-link]")
    page.get_by_label("Compare alpha").check()
    expect(link).to_be_hidden()
    page.get_by_label("Compare gamma").press("Space")
    expect(link).to_have_text("Compare 2 models")
    ids = [submission(name, **CARDS[name]).id for name in ("alpha", "gamma")]
    assert link.get_attribute("href") == f"compare.html?ids={','.join(ids)}"
