"""Boards and pages that several tests of figures share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.view.page_context import Frame
from tests.judge.figures.figures_page_in_browser import FiguresPage, build_small_site
from tests.judge.figures.hostile_board import hostile_frame
from tests.servers.site_server import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    return hostile_frame(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="session")
def figures_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_small_site(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="session")
def address(figures_site: Path) -> Iterator[str]:
    with served(figures_site) as root:
        yield f"{root}figures.html"


@pytest.fixture(scope="module")
def opened(browser: Browser, address: str) -> Iterator[FiguresPage]:
    """A page with all plots drawn."""
    with FiguresPage(browser, address, viewport={"width": 1280, "height": 1000}) as page:
        for key in page.figure_ids():
            page.show(key)
        yield page
