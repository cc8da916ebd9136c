"""The ranking in a real browser: sorting, filters, columns and schemes; by keyboard, by link, and without a script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.records import Result
from judge.site import build_site
from submissions.local_store import LocalStore
from submissions.records import Check, LabelSet, Submission
from tests.judge.board_records import SUITE, good_results, save, submission
from tests.judge.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

LONG = "beta " + "W" * 150
CARDS: dict[str, dict[str, Any]] = {
    "alpha": {
        "open_weights": True,
        "n_parameters": 1_000_000,
        "elements": ("H", "O", "Si"),
        "label_sets": {"Molecules": LabelSet(name="PBE")},
        "version": "1.2",
    },
    LONG: {
        "open_weights": False,
        "n_parameters": 50_000_000,
        "elements": ("H", "C", "O"),
        "affiliation": "\u202eA team",
    },
    "gamma": {"open_weights": True, "label_sets": {"Molecules": LabelSet(name="r2SCAN")}},
    "delta": {"elements": ("Si", "Cu")},
}
RELATIVE = {"alpha": 0.1, LONG: 0.3, "gamma": 0.2, "delta": 0.01}


def conserving(of: Submission) -> Submission:
    """The submission, of which forces were found to be the gradient."""
    check = Check(name="forces = −∇E", passed=True, value="differ by 3e-06 eV/Å")
    return of.model_copy(update={"preflight": of.preflight.model_copy(update={"checks": (check,)})})


def on_gpu(results: list[Result]) -> list[Result]:
    """The results, timed on another class of hardware."""
    provenances = [
        of.provenance.model_copy(update={"origin": of.provenance.origin.model_copy(update={"hardware": "GPU X"})})
        for of in results
    ]
    return [of.model_copy(update={"provenance": own}) for of, own in zip(results, provenances, strict=True)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The best in error is the slowest (see `good_metrics`); one is not ranked; one ran elsewhere, in a process."""
    folder = tmp_path_factory.mktemp("browser")
    store = LocalStore(folder / "store")
    for name, card in CARDS.items():
        of = submission(name, **card)
        results = good_results(of, RELATIVE[name], driver="process" if name == "gamma" else "docker")
        if name == "gamma":
            of, results = conserving(of), on_gpu(results)
        save(store, [of], results[:1] if name == "delta" else results)
    build_site(store, SUITE, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as base:
        yield base


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()


class Watched:
    """A page, and what it said to the console or failed at."""

    def __init__(self, page: Page, base: str) -> None:
        self.page, self.base = page, base
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def open(self, query: str = "") -> Page:
        """The ranking, once its script is there."""
        self.page.goto(f"{self.base}index.html{query}")
        self.page.wait_for_selector("[data-board][data-ready]")
        return self.page


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    opened = browser.new_context(viewport={"width": 1280, "height": 900})
    yield opened
    opened.close()


@pytest.fixture
def ranking(context: BrowserContext, address: str) -> Iterator[Watched]:
    """Whatever a test does with the page: nothing is said to the console, nothing is asked for elsewhere."""
    watched = Watched(context.new_page(), address)
    yield watched
    assert watched.said == []
    assert all(url.startswith(address) for url in watched.asked)
    watched.page.close()


def names(page: Page) -> list[str]:
    """First words of the names of the models that are shown, from the top."""
    cells = page.locator("#ranking tr[data-id]:not([hidden]) th.model a").all_text_contents()
    return [text.split()[0] for text in cells]


def column(page: Page, key: str) -> list[str]:
    """What a column shows, from the top."""
    position = page.evaluate("key => document.querySelector(`[data-board] th[data-key='${key}']`).cellIndex", key)
    rows = page.locator("#ranking tr[data-id]:not([hidden])")
    return rows.evaluate_all("(rows, i) => rows.map(tr => tr.cells[i].querySelector('.number').textContent)", position)


def wait_for(page: Page, shown: Callable[[Page], object], value: object) -> None:
    """Until `shown` of the page is `value`: numbers of a reader's own weights come with the next frame."""
    for _ in range(200):
        if shown(page) == value:
            return
        page.wait_for_timeout(20)
    assert shown(page) == value


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
    expect(page.locator("[data-said]")).to_contain_text("Property error")
    assert page.locator("[data-said]").locator("xpath=ancestor::*[@role='status']").count() == 1

    page.keyboard.press("Enter")  # the heading keeps the focus
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == ["alpha", "gamma", "beta", "delta"]

    page.locator("#ranking").get_by_role("button", name="Model").click()
    assert names(page) == ["alpha", "beta", "gamma", "delta"]
    page.get_by_role("link", name="alpha").first.click()
    assert (page.locator("h1").text_content() or "").split()[0] == "alpha"


def test_all_modules_are_asked_for_at_once(ranking: Watched) -> None:
    """Those that are named in the page are those that run: one that a module asks for later would come late."""
    page = ranking.open()
    named = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
    main = page.locator("script[type=module]").evaluate("script => script.src")
    assert sorted({url for url in ranking.asked if url.endswith(".js")}) == sorted([main, *named])


def test_efficiency_is_ordered_within_a_class_of_hardware(ranking: Watched) -> None:
    """beta is faster than alpha, and gamma, between them, was timed on another machine."""
    page = ranking.open()
    page.locator("#ranking").get_by_role("button", name="Efficiency").click()
    assert names(page) == ["gamma", "beta", "alpha", "delta"]
    expect(page.locator("[data-said]")).to_contain_text("within each class of hardware")
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


def test_a_link_shows_what_it_asks_for(ranking: Watched) -> None:
    for query, shown in LINKS:
        page = ranking.open(f"?{query}")
        assert names(page) == shown, query
        n = "4 models" if len(shown) == 4 else f"{len(shown)} of 4 models"
        expect(page.locator("[data-count]")).to_have_text(n)


def test_filters_are_set_said_and_cleared(ranking: Watched) -> None:
    page = ranking.open()
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("Elements covered").fill("Si")
    assert names(page) == ["alpha", "delta"]
    page.get_by_label("Open weights").check()
    assert names(page) == ["alpha"]
    expect(page.get_by_role("button", name="Filters (2)")).to_be_visible()
    page.get_by_label("at least, millions").fill("2")
    assert names(page) == []
    expect(page.locator("[data-none]")).to_be_visible()
    page.locator("[data-none]").get_by_role("button", name="Clear filters").click()
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    assert page.evaluate("document.activeElement.dataset.view") == "search"
    assert page.get_by_label("Elements covered").input_value() == ""
    page.get_by_label("Elements covered").press("Escape")
    expect(page.get_by_label("Elements covered")).to_be_hidden()


def test_a_heading_above_nothing_is_not_shown(ranking: Watched) -> None:
    page = ranking.open()
    expect(page.locator("[data-above=unranked]")).to_be_visible()
    page.get_by_label("Search models").fill("alpha")
    expect(page.locator("[data-above=unranked]")).to_be_hidden()


def test_columns_come_and_go(ranking: Watched) -> None:
    page = ranking.open()
    page.get_by_role("button", name="Columns").click()
    panel = page.locator("#board-columns")
    panel.get_by_label("crystals, force RMSE").check()
    panel.get_by_label("Team").check()
    panel.get_by_label("Instability", exact=True).uncheck()
    assert column(page, "task:crystals/force_rmse") == ["0.100", "0.200", "0.300", "0.010"]
    assert column(page, "team")[2] == "A team"  # what would turn the line around is not there
    assert page.locator("#ranking th[data-key=instability]").count() == 0
    panel.get_by_label("Tasks show").select_option("raw")
    assert column(page, "task:crystals/force_rmse") == ["100", "200", "300", "10.0"]
    assert "meV/Å" in (page.locator("th[data-key='task:crystals/force_rmse']").text_content() or "")
    panel.get_by_label("Group by domain").check()
    assert page.locator("#ranking .groups th").all_text_contents() == ["Scores", "Inorganic Materials", "Model"]
    spans = page.locator("#ranking .groups th").evaluate_all("cells => cells.map(cell => cell.colSpan)")
    assert spans == [3, 1, 1]
    edges = "cells => cells.map(cell => Math.round(cell.getBoundingClientRect().left))"
    grouped = page.locator("#ranking .groups th").evaluate_all(edges)
    below = page.locator("#ranking thead tr:last-child th").evaluate_all(edges)
    assert grouped == [below[2], below[5], below[6]]
    page.locator("th[data-key='task:crystals/force_rmse']").get_by_role("button").click()
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    panel.get_by_role("button", name="Default columns").click()
    assert page.locator("#ranking thead tr:last-child th").count() == 7


def test_a_view_is_a_link(ranking: Watched, context: BrowserContext) -> None:
    """Whatever is set is in the address; who opens it sees the same; and what is as by default is not in it."""
    page = ranking.open()
    page.get_by_label("Scheme").select_option("ml-peg")
    page.get_by_label("Variant").select_option("as_published")
    page.get_by_label("Search models").fill("a")
    page.get_by_role("button", name="Columns").click()
    page.locator("#board-columns").get_by_label("barriers").check()
    page.locator("#ranking").get_by_role("button", name="Model").click()
    page.locator("#ranking").get_by_role("button", name="Model").click()
    page.wait_for_url("**sort=-model**")
    rows = page.locator("[data-board]").evaluate("table => table.tBodies[0].innerText")
    other = Watched(context.new_page(), ranking.base)
    query = page.url.partition("?")[2]
    assert other.open(f"?{query}").locator("[data-board]").evaluate("table => table.tBodies[0].innerText") == rows
    assert names(other.page) == names(page)
    other.page.close()
    page.get_by_role("button", name="Default columns").click()
    page.get_by_label("Search models").fill("")
    page.get_by_label("Scheme").select_option("lambench")
    page.get_by_label("Variant").select_option("corrected")
    page.wait_for_url(f"{ranking.base}index.html")


def test_another_scheme_shows_the_numbers_of_the_file(ranking: Watched, site: Path) -> None:
    file = json.loads((site / "leaderboard.json").read_text())
    page = ranking.open()
    assert {scheme["variant"] for scheme in file["schemes"]} == {"corrected", "as_published"}
    for scheme in [*file["schemes"], file["schemes"][0]]:  # and back again
        page.get_by_label("Variant").select_option(scheme["variant"])
        page.get_by_label("Scheme").select_option(scheme["key"])
        ids = page.locator("#ranking tr[data-id]").evaluate_all("rows => rows.map(tr => tr.dataset.id)")
        for score in scheme["scores"]:
            values = [score["models"][id]["score"] if id in score["models"] else None for id in ids]
            assert column(page, score["key"]) == ["–" if value is None else f"{value:.3f}" for value in values]
        default = scheme is file["schemes"][0]
        expect(page.locator("[data-own]")).to_be_visible(visible=not default)
        assert page.locator("#ranking td .range").first.is_visible() == default
    assert column(page, "force_field") == ["0.100", "0.200", "0.300", "0.505"]


def test_a_readers_weights_rank_anew(ranking: Watched) -> None:
    """alpha has the best errors everywhere: nothing moves it; who weighs nothing sees no score, and can go back."""
    page = ranking.open("?w.force_field/Molecules=0&w.property_error/Molecules=0")
    expect(page.locator("[data-own]")).to_contain_text("Your weights")
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    assert column(page, "property_error") == ["–"] * 4
    assert not page.locator("#ranking td .range").first.is_visible()
    assert column(page, "force_field")[3] == "0.010"  # what it lacks has no weight
    page.get_by_role("button", name="Back to the published ranking").click()
    wait_for(page, lambda page: column(page, "property_error")[0], "0.100")
    expect(page.locator("[data-own]")).to_be_hidden()
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


MANY = "&".join(f"column={key}" for key in ("force_field", "efficiency", "team", "level", "submitted", "weights"))


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_no_page_is_wider_than_its_window(site: Path, address: str, browser: Browser, width: int) -> None:
    own = browser.new_context(viewport={"width": width, "height": 900})
    page = own.new_page()
    longest = submission(LONG).id
    for path in ["index.html", f"submissions/{longest}.html", "domains.html", "schemes.html", "firmness.html"]:
        page.goto(f"{address}{path}")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
    Watched(page, address).open(f"?{MANY}&group=1")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    own.close()


def test_trees_open_by_keyboard_and_stay_within_a_phone(address: str, browser: Browser) -> None:
    """Down from a score to the raw metric, with everything open: no error, nothing wider than the page."""
    own = browser.new_context(viewport={"width": 390, "height": 844})
    watched = Watched(own.new_page(), address)
    page = watched.page
    page.goto(f"{address}submissions/{submission(LONG).id}.html")
    for _ in range(9):  # those within one that is closed cannot be reached before it is open
        closed = page.locator("details:not([open]) > summary:visible")
        for summary in closed.all()[::-1]:
            summary.press("Enter")
    assert page.locator("details:not([open]) > summary:visible").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # A table may scroll within its frame; text may not be cut off.
    wide = "[...document.querySelectorAll('.tree')].filter(e => e.scrollWidth > e.clientWidth).length"
    assert page.evaluate(wide) == 0
    assert page.locator("#why .leaf").first.is_visible()
    assert watched.said == []
    own.close()


def test_controls_of_a_phone_are_folded(address: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 800})
    page = Watched(context.new_page(), address).open()
    expect(page.get_by_label("Search models")).to_be_visible()
    expect(page.get_by_label("Scheme")).to_be_hidden()
    page.get_by_role("button", name="View").press("Enter")
    expect(page.get_by_label("Scheme")).to_be_visible()
    page.get_by_role("button", name="Filters").press("Enter")
    page.get_by_label("Open weights").press("Space")
    assert names(page) == ["alpha", "gamma"]
    assert page.locator("#ranking tr[data-id]:visible").count() == 2  # a row that is hidden is no card
    context.close()


def test_the_other_tables_sort_too(address: str, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{address}firmness.html")
    firm = page.locator("table").first
    firm.get_by_role("button", name="Model").click()
    shown = [text.split()[0] for text in firm.locator("th.model[scope=row]").all_text_contents()]
    assert shown == ["alpha", "beta", "gamma"]
    page.goto(f"{address}schemes.html")
    page.locator("#as-published").get_by_role("button", name="Property error").click()
    cells = page.locator("#as-published td.score:nth-of-type(2) .number").all_text_contents()
    assert cells == ["0.100", "0.200", "0.300", "–"]
    page.close()


def test_a_domain_ranks_by_itself(address: str, context: BrowserContext) -> None:
    """delta has a result of crystals alone, and another task of that domain is not judged: it ranks in none."""
    page = context.new_page()
    page.goto(f"{address}domains.html")
    ranks = page.locator("table").first.locator("td.rank").all_text_contents()
    assert ranks == ["1", "2", "3", "–"]
    page.close()


def test_readable_without_javascript(address: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{address}index.html")
    cells = page.locator("#ranking th.model[scope=row] a").all_text_contents()
    assert [text.split()[0] for text in cells] == ["alpha", "gamma", "beta", "delta"]
    assert page.locator("#ranking tr[data-id] td.score .number:visible").count() == 4 * 4
    assert page.locator("#ranking .range:visible").count() > 0
    assert page.get_by_role("button").count() == 0
    for name in ("select", "input", "[data-settings]"):
        assert page.locator(f"{name}:visible").count() == 0
    page.get_by_role("link", name="as LAMBench publishes them").click()
    assert page.locator("#as-published table").is_visible()
    context.close()
