"""Ramachandran plots in a real browser: on demand, with their outliers, under the Content-Security-Policy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.publishing.site_files import build_site
from submissions.store.local import LocalStore
from tests.judge.pages.protein_site import PEPTIDES, protein_site
from tests.judge.pages.ranking_site import Watched
from tests.servers.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

pytestmark = pytest.mark.slow
PAGE = "tasks/known-runs.html"
# How many points a path of each plot has, those of the legend left out.
COUNTS = (
    "name => [...document.querySelectorAll(`.maps .${name}`)].map(path => path.getAttribute('d').split('M').length - 1)"
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site."""
    folder = tmp_path_factory.mktemp("ramachandran")
    site = protein_site(LocalStore(folder / "store"), folder / "data")
    build_site(site.store, PEPTIDES, folder / "site", pytest.fail, sources=site.sources)
    with served(folder / "site") as base:
        yield base


def look(page: Page, url: str, model: str = "whole") -> None:
    page.goto(f"{url}{PAGE}")
    page.locator("[data-run-files=ramachandran] .view-place").wait_for(state="attached")  # the script has started
    page.get_by_role("link", name=f"Look at the Ramachandran plots of s0, {model}").press("Enter")
    expect(page.locator(".ramachandran")).to_be_focused()


def test_each_place_shows_the_file_of_its_last_link(url: str, browser: Browser) -> None:
    """A file that comes late replaces nothing of a later link, and a link below another table leaves it alone."""
    with browser.new_page() as page:
        late: list[Route] = []

        def hold(route: Route) -> None:
            late.append(route)

        page.route("**/trajectories/**", hold, times=1)
        page.goto(f"{url}{PAGE}")
        page.locator("[data-run-files=ramachandran] .view-place").wait_for(state="attached")  # the script has started
        first, second = (page.get_by_role("link", name="Look at the trajectory of").nth(i) for i in (0, 1))
        place = page.locator("[data-run-files=trajectory] .view-place")
        first.click()
        second.click()
        expect(place.locator("canvas")).to_be_visible()
        with page.expect_console_message(lambda message: message.type == "warning"):
            late.pop().fulfill(status=503)
        expect(place.locator("canvas")).to_be_visible()
        page.route("**/trajectories/**", hold, times=1)
        first.click()
        expect(place.get_by_role("status")).to_have_text("The file is loading.")
        page.get_by_role("link", name="Look at the Ramachandran plots of").first.click()
        expect(page.locator(".ramachandran")).to_be_visible()
        late.pop().continue_()
        expect(place.locator("canvas")).to_be_visible()


def test_plots_are_loaded_on_demand_and_show_points_and_outliers(url: str, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        watched = Watched(context.new_page(), url)
        page = watched.page
        page.goto(f"{url}{PAGE}", wait_until="networkidle")
        assert not any("/ramachandran/" in request for request in watched.requests)
        look(page, url)
        assert page.evaluate(COUNTS, "far") == [2, 1, 1, 2, 1, 1]
        assert page.evaluate(COUNTS, "near") == [3, 4, 4, 3, 4, 4]
        plot = page.get_by_role("img", name="backbone ALA: 2 of 5 (40.0 %) are outliers")
        box = plot.locator(".axis").first.bounding_box()
        assert box
        assert box["width"] == pytest.approx(box["height"])
        assert plot.locator("text").all_text_contents()[:5] == ["−180", "−90", "0", "90", "180"]
        colours = [plot.locator(name).evaluate("path => getComputedStyle(path).stroke") for name in (".near", ".far")]
        assert colours[0] != colours[1]
        row = page.get_by_role("group", name="Shares of outliers").get_by_role("row", name="backbone PRO")
        assert row.locator("td").all_inner_texts() == ["1", "1", "5", "1", "20.0 %"]
        look(page, url, "broken")
        assert page.evaluate(COUNTS, "far") == [0, 0, 0, 0, 0, 0]
        assert watched.messages == []
        assert all(request.startswith(url) for request in watched.requests)


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_the_plots_fit_and_are_accessible(url: str, browser: Browser, width: int, scheme: str) -> None:
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        look(page, url)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert [each["id"] for each in Axe().run(page).response["violations"]] == []


def test_without_a_script_the_link_is_the_file(url: str, browser: Browser) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{url}{PAGE}")
        assert page.get_by_text("The plots need JavaScript").is_visible()
        link = page.get_by_role("link", name="Look at the Ramachandran plots of s0, whole")
        assert context.request.get(link.evaluate("link => link.href")).json()["plots"][0]["title"] == "backbone ALA"
