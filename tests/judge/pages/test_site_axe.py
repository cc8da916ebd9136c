"""axe-core finds no violation of accessibility on any kind of page, light and dark, narrow and wide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.large_board import make_large_board
from judge.publishing.site_files import build_site
from judge.publishing.site_sources import known_sources
from judge.records.manifest import ManifestChain
from submissions.store.open_store import open_store
from tasks.suites.suite import load_suite
from tests.servers.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
PLAIN = ("figures.html", "compare.html", "how.html", "submit.html", "changes.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address and the folder of a site with twelve models and twelve tasks of all kinds."""
    folder = tmp_path_factory.mktemp("axe")
    settings = make_large_board(folder, 12, 12)
    suite = load_suite(settings.suite)
    sources = known_sources(settings, suite, (task.dataset for task in suite.tasks), ManifestChain((), ()))
    build_site(open_store(settings.store), suite, folder / "pages", pytest.fail, None, sources)
    with served(folder / "pages") as url:
        yield url, folder / "pages"


@pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
def test_no_violation(site: tuple[str, Path], browser: Browser, width: int, scheme: str) -> None:
    url, folder = site
    with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        some = [
            next((folder / kind).glob("*.html")).relative_to(folder).as_posix() for kind in ("submissions", "tasks")
        ]
        names = ("index.html", *PLAIN, *some, "tasks/drift-solids.html")  # the last has a figure of runs
        violations_found = {name: violations(page, f"{url}/{name}") for name in names}
    assert violations_found == {name: [] for name in violations_found}


def test_no_violation_where_everything_is_open(site: tuple[str, Path], browser: Browser) -> None:
    with browser.new_page(viewport={"width": 1280, "height": 900}) as page:
        page.goto(f"{site[0]}/index.html")
        page.wait_for_selector("[data-settings]:not([hidden])")
        for _ in range(2):  # an opened part has further parts
            page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
            page.wait_for_timeout(100)
        violations_found = violations_on(page)
    assert violations_found == []


def test_nothing_is_cut_off_on_paper(site: tuple[str, Path], browser: Browser) -> None:
    """On a sheet of A4 nothing scrolls, and there are no controls."""
    url, folder = site
    with browser.new_page(viewport={"width": 718, "height": 1000}) as page:
        page.emulate_media(media="print")
        task = min((folder / "tasks").glob("*.html")).relative_to(folder).as_posix()
        for name in ("compare.html", "submit.html", task):
            page.goto(f"{url}/{name}", wait_until="networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), name
            assert page.get_by_role("button", name="Remove").count() == 0


def violations(page: Page, url: str) -> list[str]:
    page.goto(url)
    page.wait_for_load_state("networkidle")
    return violations_on(page)


def violations_on(page: Page) -> list[str]:
    """The violations, each with its first element."""
    return [
        f"{violation['id']}: {violation['help']}: {len(violation['nodes'])}x {violation['nodes'][0]['html'][:200]}"
        for violation in Axe().run(page).response["violations"]
    ]
