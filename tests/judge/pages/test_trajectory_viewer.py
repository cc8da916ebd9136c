"""The viewer of trajectories in a real browser: on demand, by pointer and keys, under the Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.publishing.site_files import build_site
from submissions.store.local import LocalStore
from tests.judge.pages.ranking_site import Watched
from tests.judge.pages.simulated_site import SUITE, simulated_site
from tests.servers.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.slow
PAGE = "tasks/known-runs.html"

PICTURE = "document.querySelector('.viewer canvas').toDataURL()"
DRAWN = """canvas => {
  const empty = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  return canvas.width > 0 && canvas.toDataURL() !== empty.toDataURL();
}"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site."""
    folder = tmp_path_factory.mktemp("trajectories")
    site = simulated_site(LocalStore(folder / "store"), folder / "data")
    build_site(site.store, SUITE, folder / "site", pytest.fail, sources=site.sources)
    with served(folder / "site") as base:
        yield base


def started(page: Page) -> None:
    """The script has made the place of the viewer: before, a link leads to the file."""
    page.locator(".view-place").wait_for(state="attached")


def look(page: Page, url: str, system: str = "s0", model: str = "whole") -> None:
    page.goto(f"{url}{PAGE}")
    started(page)
    page.get_by_role("link", name=f"Look at the trajectory of {system}, {model}").click()
    expect(page.locator(".viewer canvas")).to_be_focused()


def changed(page: Page, key: str) -> bool:
    before = page.evaluate(PICTURE)
    page.keyboard.press(key)
    return bool(page.evaluate(PICTURE) != before)


def test_a_trajectory_is_loaded_on_demand_and_turns_zooms_and_plays(url: str, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        watched = Watched(context.new_page(), url)
        page = watched.page
        page.goto(f"{url}{PAGE}", wait_until="networkidle")
        assert not any("/trajectories/" in request for request in watched.requests)
        look(page, url)
        assert sum("/trajectories/" in request for request in watched.requests) == 1
        canvas = page.locator(".viewer canvas")
        assert canvas.evaluate(DRAWN)
        status = page.locator(".viewer [role=status]")
        expect(status).to_have_text("2 C, 6 H, 1 O; frame 1 of 50, at 0 ps; 8 bonds by distance.")
        assert all(changed(page, key) for key in ("ArrowLeft", "ArrowUp", "+", "-", "."))
        expect(status).to_contain_text("frame 2 of 50")
        box = canvas.bounding_box()
        assert box
        before = page.evaluate(PICTURE)
        page.mouse.move(box["x"] + 100, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 180, box["y"] + 130)
        page.mouse.up()
        assert page.evaluate(PICTURE) != before
        page.get_by_role("slider", name="Frame").fill("48")
        expect(status).to_contain_text("frame 49 of 50")
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # again, at the end
        expect(status).to_contain_text("frame 50 of 50")
        page.get_by_role("link", name="Look at the trajectory of s1, broken").click()
        expect(page.locator(".viewer h4")).to_have_text("broken: s1, to the end")
        expect(status).to_contain_text("32 Cu")
        assert page.locator(".viewer").count() == 1
        page.get_by_role("button", name="Close").click()
        assert page.locator(".viewer").count() == 0
        expect(page.get_by_role("link", name="Look at the trajectory of s1, broken")).to_be_focused()
        assert watched.messages == []
        assert all(request.startswith(url) for request in watched.requests)


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_the_viewer_fits_and_is_accessible(url: str, browser: Browser, width: int, scheme: str) -> None:
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        look(page, url, "s1")
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        drawn = page.evaluate(PICTURE)
        page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
        page.wait_for_function(f"drawn => {PICTURE} !== drawn", arg=drawn)  # in the colours of the other scheme
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []


def test_a_file_that_is_gone_is_reported(url: str, browser: Browser) -> None:
    with browser.new_page() as page:
        page.route("**/trajectories/**", lambda route: route.fulfill(status=404, body="gone"))
        page.goto(f"{url}{PAGE}")
        started(page)
        page.get_by_role("link", name="Look at the trajectory of s0, whole").click()
        expect(page.get_by_role("alert")).to_have_text("The file could not be loaded.")


def test_without_a_script_the_link_is_the_file(url: str, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{url}{PAGE}")
        assert page.get_by_text("The viewer needs JavaScript").is_visible()
        link = page.get_by_role("link", name="Look at the trajectory of s0, whole")
        address = link.evaluate("link => link.href")
        assert context.request.get(address).json()["symbols"][:3] == ["C", "C", "O"]
