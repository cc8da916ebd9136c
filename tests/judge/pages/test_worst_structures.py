"""The structures with the largest errors: of public data sets, opened on demand, and nothing of a hidden one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from judge.disclosure.public_structures import public_errors, public_structures
from judge.pages.tasks.worst_structures import FOLDER
from judge.publishing.folder import as_written
from judge.publishing.site_files import build_site, site_files
from judge.ranking.leaderboard import TaskLine
from judge.view.earlier_pages import EarlierPages
from submissions.store.local import LocalStore
from tasks.datasets.dataset import Dataset
from tests.judge.pages.page_reader import PageReader
from tests.judge.pages.ranking_site import Watched
from tests.judge.pages.structures_site import (
    BARRIERS,
    CANARY,
    FORCES,
    PUBLIC,
    SECRET,
    SUITE,
    StructuresSite,
    structures,
    structures_site,
)
from tests.servers.site_server import served

PAGE = f"tasks/{FORCES.name}.html"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> StructuresSite:
    folder = tmp_path_factory.mktemp("structures")
    return structures_site(LocalStore(folder / "store"), folder / "data")


def line_of(site: StructuresSite, task: str) -> TaskLine:
    return next(line for line in site.board.rows[0].tasks if line.task.name == task)


def worst_rows(page: bytes) -> list[list[str]]:
    """The texts of the table's cells, by row."""
    section = page[page.index(b'aria-labelledby="worst-title"') :]
    reader = PageReader(section[: section.index(b"</section>")])
    return [[" ".join(cell[0].split()) for cell in row] for row in reader.rows]


def test_the_worst_are_listed_with_the_errors_of_each_model(site: StructuresSite) -> None:
    head, *rows = worst_rows(site_files(site.store, site.board, site.sources)[PAGE])
    models = head[1:]
    assert sorted(models) == ["steady", "uneven"]
    errors = {row[0].split(" largest")[0]: dict(zip(models, row[1:], strict=True)) for row in rows}
    assert list(errors) == [f"frame {number}" for number in (0, 8, 7, 6, 5, 4)]
    assert errors["frame 0"] == {"steady": "100", "uneven": "3 000"}
    assert errors["frame 7"] == {"steady": "800", "uneven": "failed"}
    assert rows[0][0].endswith("largest error of one model")
    assert rows[-1][0].endswith("largest median error")


def test_a_file_has_the_structures_of_its_item(site: StructuresSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    page = files[PAGE].decode()
    found = {path: json.loads(content) for path, content in files.items() if path.startswith(f"{FOLDER}{FORCES.name}/")}
    assert len(found) == 6
    assert all(f'href="../{path}"' in page for path in found)
    (copper,) = (each["structures"][0] for each in found.values() if "C" not in each["elements"])
    atoms = structures()[0]
    assert (copper["name"], copper["symbols"]) == ("frame 0", atoms.get_chemical_symbols())
    np.testing.assert_allclose(np.array(copper["positions"]).reshape(-1, 3) / 100, atoms.positions, atol=0.00501)
    np.testing.assert_allclose(np.array(copper["cell"]).reshape(3, 3) / 100, atoms.cell.array, atol=0.00501)


def test_a_barrier_is_all_of_its_structures(site: StructuresSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    found = [json.loads(data) for path, data in files.items() if path.startswith(f"{FOLDER}{BARRIERS.name}/")]
    assert {tuple(each["name"] for each in item["structures"]) for item in found} >= {
        ("frame 8", "frame 1"),
        ("frame 5", "frame 1"),
    }
    assert b"barrier 8" in files[f"tasks/{BARRIERS.name}.html"]


def refused(*_: object) -> Any:
    raise AssertionError("something of a hidden data set was read")


def test_nothing_of_a_hidden_data_set_is_read_or_shown(site: StructuresSite) -> None:
    files = site_files(site.store, site.board, site.sources)
    assert not any(CANARY.encode() in content for content in files.values())
    assert not any(path.startswith(f"{FOLDER}{SECRET.name}/") for path in files)
    assert b"worst-title" not in files[f"tasks/{SECRET.name}.html"]
    hidden = site_files(site.store, site.board, replace(site.sources, public=frozenset()))
    assert not any(path.startswith(FOLDER) or b"worst-title" in content for path, content in hidden.items())
    secret = line_of(site, SECRET.name)
    assert public_errors(secret, ("force_rmse",), refused, PUBLIC) is None
    assert public_structures(secret, f"{CANARY} 0", refused, PUBLIC) == ()
    known = line_of(site, FORCES.name)  # judged on another data set, which is hidden
    assert known.result is not None
    provenance = known.result.provenance.model_copy(update={"dataset": SECRET.dataset})
    other = replace(known, result=known.result.model_copy(update={"provenance": provenance}))
    assert public_errors(other, ("force_rmse",), refused, PUBLIC) is None
    assert public_structures(other, f"{CANARY} 0", refused, PUBLIC) == ()


def test_a_data_set_that_changed_since_has_no_links(site: StructuresSite) -> None:
    line = line_of(site, FORCES.name)
    assert line.result is not None
    read = site.with_all().dataset
    assert isinstance(read(line), Dataset)
    provenance = line.result.provenance.model_copy(update={"frames_sha256": "0" * 64})
    assert read(replace(line, result=line.result.model_copy(update={"provenance": provenance}))) is None
    assert public_structures(line, "no such frame", read, PUBLIC) == ()


def test_a_build_loads_no_data_set_whose_files_it_has(site: StructuresSite, tmp_path: Path) -> None:
    build_site(site.store, SUITE, tmp_path / "site", sources=site.sources)
    before = site_files(site.store, site.board, site.sources)
    without = replace(site.sources, data=tmp_path / "nowhere")
    again = site_files(site.store, site.board, without, EarlierPages(read=as_written(tmp_path / "site")))
    chosen = {path: content for path, content in before.items() if path.startswith(FOLDER)}
    assert chosen
    assert {path: content for path, content in again.items() if path.startswith(FOLDER)} == chosen
    plain = site_files(site.store, site.board, without)[PAGE]
    assert len(worst_rows(plain)) == 7  # the errors are shown without links
    assert FOLDER.encode() not in plain


@pytest.fixture(scope="module")
def url(site: StructuresSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("structures-site")
    build_site(site.store, SUITE, folder, pytest.fail, sources=site.sources)
    with served(folder) as base:
        yield base


@pytest.mark.slow
class TestBrowser:
    def test_a_structure_is_loaded_on_demand_and_seen_by_keys(self, url: str, browser: Any) -> None:
        playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
        with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
            watched = Watched(context.new_page(), url)
            page = watched.page
            page.goto(f"{url}{PAGE}", wait_until="networkidle")
            page.locator(".view-place").wait_for(state="attached")
            assert not any(f"/{FOLDER}" in request for request in watched.requests)
            page.get_by_role("link", name="frame 8").press("Enter")
            canvas = page.locator(".viewer canvas")
            playwright.expect(canvas).to_be_focused()
            assert sum(f"/{FOLDER}" in request for request in watched.requests) == 1
            status = page.locator(".viewer [role=status]")
            playwright.expect(status).to_have_text("2 C, 6 H, 1 O; frame 8; 8 bonds by distance.")
            assert page.locator(".viewer .controls").count() == 0  # one structure has no frames
            picture = "document.querySelector('.viewer canvas').toDataURL()"
            for key in ("ArrowLeft", "ArrowDown", "+"):
                before = page.evaluate(picture)
                page.keyboard.press(key)
                assert page.evaluate(picture) != before
            page.keyboard.press("Space")
            page.get_by_role("link", name="frame 0").click()
            playwright.expect(status).to_have_text("4 Cu; frame 0; 6 bonds by distance inside the cell.")
            page.keyboard.press("Escape")
            playwright.expect(page.locator(".viewer")).to_have_count(0)
            playwright.expect(page.get_by_role("link", name="frame 0")).to_be_focused()
            assert watched.messages == []
            assert all(request.startswith(url) for request in watched.requests)

    @pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
    def test_the_view_of_a_barrier_fits_and_is_accessible(
        self, url: str, browser: Any, width: int, scheme: str
    ) -> None:
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe
        with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
            page.goto(f"{url}tasks/{BARRIERS.name}.html")
            page.locator(".view-place").wait_for(state="attached")
            page.get_by_role("link", name="barrier 8").click()
            page.get_by_text("structure 1 of 2, frame 8").wait_for()
            page.keyboard.press(".")
            page.get_by_text("structure 2 of 2, frame 1").wait_for()
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert [each["id"] for each in axe().run(page).response["violations"]] == []

    def test_without_a_script_the_link_is_the_file(self, url: str, browser: Any) -> None:
        with browser.new_context(java_script_enabled=False) as context:
            page = context.new_page()
            page.goto(f"{url}{PAGE}")
            assert page.get_by_text("The viewer needs JavaScript").first.is_visible()
            address = page.get_by_role("link", name="frame 8").evaluate("link => link.href")
            assert context.request.get(address).json()["structures"][0]["name"] == "frame 8"
