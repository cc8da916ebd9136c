"""The leaderboard in a real browser: sorting by mouse and keyboard, no error, nothing blocked by the policy."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.site import build_site
from submissions.local_store import LocalStore
from tests.judge.board_records import SUITE, good_results, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models; the best in error is the slowest (see `good_metrics`), and one is not ranked."""
    folder = tmp_path_factory.mktemp("browser")
    store = LocalStore(folder / "store")
    for name, relative in (("alpha", 0.1), ("beta " + "W" * 150, 0.3), ("gamma", 0.2)):
        of = submission(name)
        save(store, [of], good_results(of, relative))
    incomplete = submission("delta")
    save(store, [incomplete], good_results(incomplete, 0.01)[:1])
    build_site(store, SUITE, folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()


def names(page: Page) -> list[str]:
    cells = page.locator("section#ranking th.model[scope=row] a").all_text_contents()
    return [text.split()[0] for text in cells]


def test_sorting_and_policy(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    assert names(page) == ["alpha", "gamma", "beta", "delta"]

    page.locator("#ranking").get_by_role("button", name="Efficiency").click()
    assert names(page) == ["beta", "gamma", "alpha", "delta"]
    heading = page.locator("#ranking thead th", has_text="Efficiency")
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.locator("#ranking [aria-sort]").count() == 1
    assert "Efficiency" in (page.locator("#ranking .sort-state").text_content() or "")

    page.keyboard.press("Enter")  # the heading keeps the focus
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == ["alpha", "gamma", "beta", "delta"]

    page.locator("#ranking").get_by_role("button", name="Model").click()
    assert names(page) == ["alpha", "beta", "gamma", "delta"]

    page.get_by_role("link", name="alpha").first.click()
    assert page.locator("h1").text_content() == "alpha"
    assert said == []
    assert asked
    assert all(url.startswith(site.as_uri()) for url in asked)


@pytest.mark.parametrize("width", [360, 1280, 3840])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_its_window(site: Path, browser: Browser, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    for path in [site / "index.html", *(site / "submissions").glob("*.html")]:
        page = context.new_page()
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
    context.close()


def test_trees_open_by_keyboard_and_stay_within_a_phone(site: Path, browser: Browser) -> None:
    """Down from a score to the raw metric, on every page, with everything open: no error, nothing wider than it."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    for path in [site / "index.html", *sorted((site / "submissions").glob("*.html"))]:
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.goto(path.as_uri())
        for _ in range(9):  # those within one that is closed cannot be reached before it is open
            closed = page.locator("details:not([open]) > summary:visible")
            for summary in closed.all()[::-1]:
                summary.press("Enter")
        assert page.locator("details:not([open])").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        # A table may scroll within its frame; text may not be cut off.
        wide = "[...document.querySelectorAll('.tree')].filter(e => e.scrollWidth > e.clientWidth).length"
        assert page.evaluate(wide) == 0, path
        if path.name != "index.html":
            assert page.locator("#why .leaf").first.is_visible()
        assert said == []
    context.close()


def test_groups_travel_with_their_rows(site: Path, browser: Browser) -> None:
    """Sorting by model keeps what is said of a row in the row, and sorts the other tables too."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    firm = page.locator("#firmness table").first
    firm.get_by_role("button", name="Model").click()
    shown = [text.split()[0] for text in firm.locator("th.model[scope=row]").all_text_contents()]
    assert shown == ["alpha", "beta", "gamma"]
    page.locator("#as-published > summary").click()
    page.locator("#as-published").get_by_role("button", name="Property error").click()
    cells = page.locator("#as-published td.score:nth-of-type(2) .number").all_text_contents()
    assert cells == ["0.100", "0.200", "0.300", "–"]


def test_readable_without_javascript(site: Path, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert names(page) == ["alpha", "gamma", "beta", "delta"]
    assert page.get_by_role("button").count() == 0
    page.locator("#as-published > summary").click()
    assert page.locator("#as-published table").is_visible()
    context.close()
