"""The ranking in a real browser: sorting, filters, columns and schemes; by keyboard, by link, and without a script."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.publishing.site_files import build_site
from judge.records.records import Result
from judge.view import formatting
from submissions.records import Check, StatedLabelSet, Submission
from submissions.store.local import LocalStore
from tests.servers.site_server import served
from tests.world.board_records import SUITE, good_results, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, BrowserContext, Page, expect

pytestmark = pytest.mark.slow

LONG = "beta " + "W" * 150
CARDS: dict[str, dict[str, Any]] = {
    "alpha": {
        "open_weights": True,
        "n_parameters": 1_000_000,
        "elements": ("H", "O", "Si"),
        "label_sets": {"Molecules": StatedLabelSet(name="PBE")},
        "version": "1.2",
    },
    LONG: {
        "open_weights": False,
        "n_parameters": 50_000_000,
        "elements": ("H", "C", "O"),
        "affiliation": "\u202eA team",
    },
    "gamma": {"open_weights": True, "label_sets": {"Molecules": StatedLabelSet(name="r2SCAN")}},
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
    with browser.new_context(viewport={"width": 1280, "height": 900}) as opened:
        yield opened


@pytest.fixture
def ranking(context: BrowserContext, address: str) -> Iterator[Watched]:
    """Whatever a test does with the page: nothing is said to the console, nothing is asked for elsewhere."""
    with context.new_page() as page:
        watched = Watched(page, address)
        yield watched
        assert watched.said == []
        assert all(url.startswith(address) for url in watched.asked)


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
    page.locator("#ranking tr[data-id]").first.evaluate("tr => tr.classList.add('tied')")
    tie_line = "getComputedStyle(document.querySelector('#ranking .tied td.rank')).boxShadow"
    assert page.evaluate(tie_line) == "none"  # it would join whoever happens to stand side by side
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
    expect(page.locator("[data-said]")).to_contain_text("within each hardware class")
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
    panel.get_by_label("Values of tasks").select_option("raw")
    expect(panel.get_by_role("status")).to_contain_text("Select tasks below")
    panel.get_by_label("crystals, force RMSE").check()
    expect(panel.get_by_role("status")).to_be_empty()
    panel.get_by_label("Values of tasks").select_option("normalised")
    panel.get_by_label("Force-field error, Molecules").check()
    panel.get_by_label("Force-field error, Inorganic Materials").check()
    panel.get_by_label("drift, decades").check()
    heads = page.locator("#ranking thead tr:last-child th").all_text_contents()
    assert len(set(heads)) == len(heads) == 11
    for box in ("Force-field error, Molecules", "Force-field error, Inorganic Materials", "drift, decades"):
        panel.get_by_label(box).uncheck()
    panel.get_by_label("Team").check()
    panel.get_by_label("Instability", exact=True).uncheck()
    assert column(page, "task:crystals/force_rmse") == ["0.100", "0.200", "0.300", "0.010", "1.000"]
    assert column(page, "team")[2] == "A team"  # what would turn the line around is not there
    assert page.locator("#ranking th[data-key=instability]").count() == 0
    panel.get_by_label("Values of tasks").select_option("raw")
    assert column(page, "task:crystals/force_rmse") == ["100", "200", "300", "10.0", "1\u202f000"]
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
    with context.new_page() as opened:
        other = Watched(opened, ranking.base)
        assert other.open(f"?{query}").locator("[data-board]").evaluate("table => table.tBodies[0].innerText") == rows
        assert names(other.page) == names(page)
    page.get_by_role("button", name="Default columns").click()
    page.get_by_label("Search models").fill("")
    page.get_by_role("combobox", name="Scheme").select_option("lambench")
    page.get_by_label("Variant").select_option("corrected")
    page.wait_for_url(f"{ranking.base}index.html")


def test_another_scheme_shows_the_numbers_of_the_file(ranking: Watched, site: Path) -> None:
    file = json.loads((site / "leaderboard.json").read_text())
    page = ranking.open()
    assert {scheme["variant"] for scheme in file["schemes"]} == {"corrected", "as_published"}
    for scheme in [*file["schemes"], file["schemes"][0]]:  # and back again
        page.get_by_label("Variant").select_option(scheme["variant"])
        page.get_by_role("combobox", name="Scheme").select_option(scheme["key"])
        ids = page.locator("#ranking tr[data-id]").evaluate_all("rows => rows.map(tr => tr.dataset.id)")
        for score in scheme["scores"]:
            values = [score["models"][id]["score"] if id in score["models"] else None for id in ids]
            shown = number_of_times if score["key"] == "efficiency" else formatting.decimals
            assert column(page, score["key"]) == [shown(value) for value in values]
        default = scheme is file["schemes"][0]
        expect(page.locator("[data-own]")).to_be_visible(visible=not default)
        assert page.locator("#ranking td .range").first.is_visible() == default
        without = page.locator("#ranking [data-above=unranked]")
        why = "a task of the suite failed" if scheme["complete_only"] else "the scores that determine the rank"
        expect(without).to_contain_text(why)
        assert ("counts as the worst" in without.inner_text()) == scheme["complete_only"]
    assert column(page, "force_field") == ["0.100", "0.200", "0.300", "0.505", "1.000"]  # composition only: last


def number_of_times(value: float | None) -> str:
    return formatting.number(value, 2)


def test_a_readers_weights_rank_anew(ranking: Watched) -> None:
    """alpha has the best errors everywhere: nothing moves it; who weighs nothing sees no score, and can go back."""
    page = ranking.open("?w.force_field/Molecules=0&w.property_error/Molecules=0")
    expect(page.locator("[data-own]")).to_contain_text("Your weights")
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    expect(page.locator("#ranking tr", has_text="delta").locator(".coverage").first).to_have_text("1 of 2 tasks")
    assert column(page, "property_error") == ["–"] * 5
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
    with browser.new_context(viewport={"width": width, "height": 900}) as own:
        page = own.new_page()
        longest = submission(LONG).id
        for path in ["index.html", f"submissions/{longest}.html", "domains.html", "schemes.html", "firmness.html"]:
            page.goto(f"{address}{path}")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        Watched(page, address).open(f"?{MANY}&group=1")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


FOCUS = """() => {
  const at = document.activeElement;
  const box = at.getBoundingClientRect();
  const hit = document.elementFromPoint(box.left + Math.min(box.width, 20) / 2, box.top + Math.min(box.height, 20) / 2);
  const { outlineStyle, outlineWidth } = getComputedStyle(at);
  return {
    at: at === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(at),
    what: at.outerHTML.slice(0, 120),
    seen: hit !== null && (at.contains(hit) || [...(at.labels ?? [])].some((label) => label.contains(hit))),
    outlined: outlineStyle !== "none" && parseFloat(outlineWidth) > 0,
  };
}"""
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled)
  .map((one) => [...document.querySelectorAll("*")].indexOf(one))"""


def test_the_tab_key_reaches_everything(address: str, browser: Browser) -> None:
    """In the order of the page, each seen with its outline; back from the end too; and Escape closes what is open."""
    with browser.new_context(viewport={"width": 1280, "height": 700}, reduced_motion="reduce") as own:
        page = Watched(own.new_page(), address).open("?w.force_field/Molecules=2&sort=model")
        page.get_by_role("button", name="Filters").press("Enter")
        page.locator("[data-settings] > summary").press("Enter")
        page.locator(".settings-score > summary").first.press("Enter")
        expect(page.locator(".settings-tree input").first).to_be_visible()
        controls = page.evaluate(CONTROLS)
        page.evaluate("document.activeElement.blur()")
        page.locator("body").evaluate("body => { body.tabIndex = -1; body.focus(); body.removeAttribute('tabindex'); }")
        for key, wanted in (("Tab", controls), ("Shift+Tab", controls[-2::-1])):
            reached = []
            for _ in wanted:
                page.keyboard.press(key)
                reached.append(page.evaluate(FOCUS))
            assert [one["what"] for one in reached if not (one["seen"] and one["outlined"])] == []
            assert [one["at"] for one in reached] == wanted
        page.locator(".settings-tree input").first.press("Escape")
        expect(page.locator("[data-settings] > summary")).to_be_focused()
        expect(page.locator(".settings-bar")).to_be_hidden()
        for panel in ("board-filters", "board-columns"):
            button = page.locator(f"[data-panel={panel}]")
            if button.get_attribute("aria-expanded") == "false":
                button.press("Enter")
            button.press("Tab")
            page.keyboard.press("Escape")
            expect(button).to_be_focused()
            expect(button).to_have_attribute("aria-expanded", "false")


PRINTED = """() => {
  const shown = (one) => one.checkVisibility({ visibilityProperty: true });
  const isCut = (one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  return {
    controls: [...document.querySelectorAll("input, select, .tools, .settings, nav, .own button")].filter(shown).length,
    cut: [...document.querySelectorAll("td, th")].filter(shown).filter(isCut).map((one) => one.outerHTML),
    numbers: [...document.querySelectorAll("#ranking tr[data-id] .number")].filter(shown).length,
    labels: [...document.querySelectorAll("#ranking thead th")].filter(shown).length,
  };
}"""


def test_it_can_be_printed(address: str, browser: Browser) -> None:
    """On A4 with a margin of a centimetre: a table with its headings; of many columns, each with its name beside it."""
    with browser.new_context(viewport={"width": 718, "height": 1040}) as own:
        page = Watched(own.new_page(), address).open()
        page.emulate_media(media="print")
        assert page.evaluate(PRINTED) == {"controls": 0, "cut": [], "numbers": 5 * 5, "labels": 7}
        page.emulate_media(media="screen")
        Watched(page, address).open(f"?{MANY}&w.force_field/Molecules=2")
        page.emulate_media(media="print")
        assert page.evaluate(PRINTED) == {"controls": 0, "cut": [], "numbers": 5 * 7, "labels": 0}
        beside = "getComputedStyle(document.querySelector('#ranking td.words'), '::before').content"
        assert "Level of theory" in page.evaluate(beside)
        expect(page.locator("#ranking [data-own]")).to_contain_text("Your weights")
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_trees_open_by_keyboard_and_stay_within_a_phone(address: str, browser: Browser) -> None:
    """Down from a score to the raw metric, with everything open: no error, nothing wider than the page."""
    with browser.new_context(viewport={"width": 390, "height": 844}) as own:
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


def test_controls_of_a_phone_are_folded(address: str, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 360, "height": 800}) as context:
        page = Watched(context.new_page(), address).open()
        expect(page.get_by_label("Search models")).to_be_visible()
        expect(page.get_by_role("combobox", name="Scheme")).to_be_hidden()
        page.get_by_role("button", name="View").press("Enter")
        expect(page.get_by_role("combobox", name="Scheme")).to_be_visible()
        page.get_by_role("button", name="Filters").press("Enter")
        page.get_by_label("Open weights").press("Space")
        assert names(page) == ["alpha", "gamma"]
        assert page.locator("#ranking tr[data-id]:visible").count() == 2  # a row that is hidden is no card


def test_the_other_tables_sort_too(address: str, context: BrowserContext) -> None:
    with context.new_page() as page:
        page.goto(f"{address}firmness.html")
        firm = page.locator("table").first
        firm.get_by_role("button", name="Model").click()
        shown = [text.split()[0] for text in firm.locator("th.model[scope=row]").all_text_contents()]
        assert shown == ["alpha", "beta", "gamma"]
        page.goto(f"{address}schemes.html")
        page.locator("#as-published").get_by_role("button", name="Property error").click()
        cells = page.locator("#as-published td.score:nth-of-type(2) .number").all_text_contents()
        assert cells == ["0.100", "0.200", "0.300", "–"]


def test_a_domain_ranks_by_itself(address: str, context: BrowserContext) -> None:
    """delta has a result of crystals alone, and another task of that domain is not judged: it ranks in none."""
    with context.new_page() as page:
        page.goto(f"{address}domains.html")
        ranks = page.locator("table").first.locator("td.rank").all_text_contents()
        assert ranks == ["1", "2", "3", "–"]


def test_readable_without_javascript(address: str, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{address}index.html")
        cells = page.locator("#ranking th.model[scope=row] a").all_text_contents()
        assert [text.split()[0] for text in cells] == ["alpha", "gamma", "beta", "delta"]
        assert page.locator("#ranking tr[data-id] td.score .number:visible").count() == 5 * 4
        assert page.locator("#ranking .range:visible").count() > 0
        assert page.get_by_role("button").count() == 0
        for name in ("select", "input", "[data-settings]"):
            assert page.locator(f"{name}:visible").count() == 0
        page.get_by_role("link", name="with the published rules of LAMBench").click()
        assert page.locator("#as-published table").is_visible()
