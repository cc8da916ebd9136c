"""A page fits its window and paper, and works by keyboard and without a script, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge.pages.ranking_site import LONG, MANY, Watched, names
from tests.world.board_records import submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.slow, pytest.mark.together("ranking in a browser")]


@pytest.mark.parametrize("width", [360, 1280, 3840])
def test_no_page_is_wider_than_its_window(ranking_site: Path, ranking_url: str, browser: Browser, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        longest = submission(LONG).id
        for path in ["index.html", f"submissions/{longest}.html", "domains.html", "schemes.html", "firmness.html"]:
            page.goto(f"{ranking_url}{path}")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        Watched(page, ranking_url).open(f"?{MANY}&group=1")
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
  .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled)
  .map((element) => [...document.querySelectorAll("*")].indexOf(element))"""


def test_the_tab_key_reaches_everything(ranking_url: str, browser: Browser) -> None:
    """Tab reaches every control in order, visible and outlined, forwards and backwards; Escape closes a panel."""
    with browser.new_context(viewport={"width": 1280, "height": 700}, reduced_motion="reduce") as context:
        page = Watched(context.new_page(), ranking_url).open("?w.force_field/Molecules=2&sort=model")
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
            assert [stop["what"] for stop in reached if not (stop["seen"] and stop["outlined"])] == []
            assert [stop["at"] for stop in reached] == wanted
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
  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const isCut = (element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  return {
    controls: [...document.querySelectorAll("input, select, .tools, .settings, nav, .score-note button")]
      .filter(shown).length,
    cut: [...document.querySelectorAll("td, th")].filter(shown).filter(isCut).map((element) => element.outerHTML),
    numbers: [...document.querySelectorAll("#ranking tr[data-id] .number")].filter(shown).length,
    labels: [...document.querySelectorAll("#ranking thead th")].filter(shown).length,
  };
}"""


def test_the_ranking_can_be_printed(ranking_url: str, browser: Browser) -> None:
    """On A4 with a margin of 1 cm: a table with headings; if it has many columns, each number with its label."""
    with browser.new_context(viewport={"width": 718, "height": 1040}) as context:
        page = Watched(context.new_page(), ranking_url).open()
        page.emulate_media(media="print")
        assert page.evaluate(PRINTED) == {"controls": 0, "cut": [], "numbers": 5 * 5, "labels": 7}
        page.emulate_media(media="screen")
        Watched(page, ranking_url).open(f"?{MANY}&w.force_field/Molecules=2")
        page.emulate_media(media="print")
        assert page.evaluate(PRINTED) == {"controls": 0, "cut": [], "numbers": 5 * 7, "labels": 0}
        cell = "document.querySelector('#ranking td[data-label^=Level]')"
        beside = f"getComputedStyle({cell}, '::before').content"
        assert "Level of theory" in page.evaluate(beside)
        expect(page.locator("#ranking [data-score-note]")).to_contain_text("Your weights")
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_trees_open_by_keyboard_and_stay_within_a_phone(ranking_url: str, browser: Browser) -> None:
    """From a score down to the raw metric, with everything open: no error, and nothing is wider than the page."""
    with browser.new_context(viewport={"width": 390, "height": 844}) as context:
        watched = Watched(context.new_page(), ranking_url)
        page = watched.page
        page.goto(f"{ranking_url}submissions/{submission(LONG).id}.html")
        for _ in range(9):  # parts within a closed part can be reached only when it is open
            closed = page.locator("details:not([open]) > summary:visible")
            for summary in closed.all()[::-1]:
                summary.press("Enter")
        assert page.locator("details:not([open]) > summary:visible").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        # A table may scroll within its frame; text may not be cut off.
        wide = "[...document.querySelectorAll('.tree')].filter(e => e.scrollWidth > e.clientWidth).length"
        assert page.evaluate(wide) == 0
        assert page.locator("#why .leaf").first.is_visible()
        assert watched.messages == []


def test_controls_of_a_phone_are_folded(ranking_url: str, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 360, "height": 800}) as context:
        page = Watched(context.new_page(), ranking_url).open()
        expect(page.get_by_label("Search models")).to_be_visible()
        expect(page.get_by_role("combobox", name="Scheme")).to_be_hidden()
        page.get_by_role("button", name="View").press("Enter")
        expect(page.get_by_role("combobox", name="Scheme")).to_be_visible()
        page.get_by_role("button", name="Filters").press("Enter")
        page.get_by_label("Open weights").press("Space")
        assert names(page) == ["alpha", "gamma"]
        assert page.locator("#ranking tr[data-id]:visible").count() == 2  # a hidden row is no card


def test_readable_without_javascript(ranking_url: str, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False, viewport={"width": 1280, "height": 900}) as context:
        page = context.new_page()
        page.goto(f"{ranking_url}index.html")
        cells = page.locator("#ranking th.model[scope=row] a").all_text_contents()
        assert [text.split()[0] for text in cells] == ["alpha", "gamma", "beta", "delta"]
        assert page.locator("#ranking tr[data-id] td.score .number:visible").count() == 5 * 4
        assert page.locator("#ranking .range:visible").count() > 0
        assert page.get_by_role("button").count() == 0
        for name in ("select", "input", "[data-settings]"):
            assert page.locator(f"{name}:visible").count() == 0
        page.get_by_role("link", name="with the published rules of LAMBench").click()
        assert page.locator("#as-published table").is_visible()
