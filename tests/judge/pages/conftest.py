"""Boards, pages and sites that several tests of pages share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.pages.tasks import task_pages
from judge.view.page_context import Frame
from submissions.store.local import LocalStore
from tests.judge.pages.page_reader import PageReader
from tests.judge.pages.ranking_site import Watched, build_ranking_site
from tests.judge.pages.seven_models import make_seven_models
from tests.judge.pages.three_models import three_models
from tests.servers.site_server import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """An empty store."""
    return LocalStore(tmp_path / "store")


@pytest.fixture(scope="session")
def three() -> Frame:
    return three_models()


@pytest.fixture(scope="session")
def read(three: Frame) -> dict[str, PageReader]:
    """The pages of the tasks."""
    return {path: PageReader(page) for path, page in task_pages.pages(three).items()}


@pytest.fixture(scope="session")
def seven_models(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """The models of the tests of comparisons."""
    return make_seven_models(tmp_path_factory.mktemp("compare"))


@pytest.fixture(scope="session")
def ranking_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site with the ranking of four models."""
    return build_ranking_site(tmp_path_factory.mktemp("browser"))


@pytest.fixture(scope="session")
def ranking_url(ranking_site: Path) -> Iterator[str]:
    """Where that site is served."""
    with served(ranking_site) as base:
        yield base


@pytest.fixture(scope="module")
def wide_context(browser: Browser) -> Iterator[BrowserContext]:
    """Windows of 1280 pixels."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as opened:
        yield opened


@pytest.fixture
def ranking(wide_context: BrowserContext, ranking_url: str) -> Iterator[Watched]:
    """The ranking in a window: a test fails if the page writes to the console or requests anything from elsewhere."""
    with wide_context.new_page() as page:
        watched = Watched(page, ranking_url)
        yield watched
        assert watched.messages == []
        assert all(url.startswith(ranking_url) for url in watched.requests)
