"""Models side by side: which is best and how sure that is, and the choosing in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.public_board import public_board
from judge.stored_board import read_board
from judge.web import compare_page, model_pages
from judge.web.comparison import comparison
from judge.web.comparison_lines import Cell, Line, line
from judge.web.frame import Frame, frame
from judge.web.sources import Sources
from sandbox.verdict import Verdict
from submissions.local_store import LocalStore
from submissions.records import Submission
from tests.judge.board_records import SUITE, good_results, refused, save, submission
from tests.judge.site_server import served

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
browsing = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")]

HOSTILE = "<img src=x onerror=alert(1)> \u202eturned"
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", HOSTILE)
FAILED = "zeta"


def models() -> list[Submission]:
    return [submission(name, n_parameters=1000, precision="float32") for name in (*NAMES, FAILED)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    """Six models, each worse in error than the one before, and one that failed a task."""
    store, known = LocalStore(tmp_path_factory.mktemp("compare") / "store"), models()
    results = [each for k, of in enumerate(known) for each in good_results(of, 0.1 * (k + 1))]
    results[-4] = refused(known[-1], SUITE.tasks[1], Verdict.TIME_LIMIT, sentence="Answer within ten minutes.")
    save(store, known, results)
    return frame(public_board(read_board(store, SUITE, pytest.fail), ()), Sources())


def lines_of(made: Frame, *names: str) -> dict[str, Line]:
    """All rows of these models side by side, by name."""
    chosen = [next(model for model in made.file.models if model.name == name) for name in names]
    return {line.name: line for group in comparison(made.file, chosen) for line in group.lines}


def test_rows_are_of_the_leaderboard(made: Frame) -> None:
    lines = lines_of(made, "beta", "alpha", FAILED)
    assert [cell.text for cell in lines["Rank"].cells] == ["2", "1", "not ranked"]
    assert [cell.text for cell in lines["Force-field error ↓"].cells][:2] == ["0.200", "0.100"]
    assert [cell.text for cell in lines["Molecules, property error ↓"].cells][:2] == ["0.200", "0.100"]
    assert [cell.note for cell in lines["energy ↓"].cells] == ["200 meV/atom", "100 meV/atom", ""]
    assert [cell.text for cell in lines["Tasks judged OK"].cells] == ["5 of 5", "5 of 5", "4 of 5"]
    assert [cell.fault for cell in lines["molecules"].cells] == ["", "", "time limit"]
    assert lines["Precision"].same
    assert not lines["Rank"].same


def test_what_the_author_did_not_state_is_said(made: Frame) -> None:
    lines = lines_of(made, "alpha", "beta")
    assert {cell.text for cell in lines["Weights"].cells} == {"not stated"}
    assert {cell.text for cell in lines["Parameters, counted"].cells} == {"not counted"}
    assert {cell.text for cell in lines["Team"].cells} == {"not known"}


def marks(*cells: Cell, lower: bool | None = True) -> list[str]:
    return [cell.mark for cell in line("error", cells, lower).cells]


def test_the_best_is_sure_only_where_its_interval_lies_apart() -> None:
    near, far = Cell("0.2", value=0.2, interval=(0.1, 0.3)), Cell("0.6", value=0.6, interval=(0.5, 0.7))
    wide = Cell("0.6", value=0.6, interval=(0.25, 0.7))
    unknown, held = Cell("0.6", value=0.6), Cell("0.6", value=0.6, interval=(0.6, 0.6))
    assert marks(near, far) == ["best", ""]
    assert marks(near, far, lower=False) == ["", "best"]
    assert (
        marks(near, wide)
        == marks(near, unknown)
        == marks(near, held)
        == marks(near, far, wide)[:2]
        == ["undecided", ""]
    )
    assert marks(near, far, lower=None) == ["", ""]
    assert marks(near, near, far) == ["undecided", "undecided", ""]
    assert marks(near, near) == ["", ""]
    assert marks(near, Cell("–")) == ["", ""]


def test_efficiency_has_no_best_across_hardware(made: Frame) -> None:
    chosen = list(made.file.models[:2])
    other = chosen[1].model_copy(update={"hardware": "another class"})
    alike, apart = (comparison(made.file, each) for each in (chosen, [chosen[0], other]))
    found = [{line.name: line for group in of for line in group.lines} for of in (alike, apart)]
    for name in ("Efficiency ↑", "time, mean ↓"):
        assert any(cell.mark for cell in found[0][name].cells)
        assert not any(cell.mark for cell in found[1][name].cells)


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    of = frame(public_board(read_board(LocalStore(tmp_path), SUITE, pytest.fail), ()), Sources())
    page = compare_page.pages(of)["compare.html"].decode()
    assert "Nothing has been submitted yet: there is nothing to compare." in page


@pytest.fixture(scope="module")
def base(made: Frame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages that this is about."""
    folder = tmp_path_factory.mktemp("site")
    for path, data in {**made.assets.files, **compare_page.pages(made), **model_pages.pages(made)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in which nothing may be said to the console."""
    context = browser.new_context()
    opened, said = context.new_page(), list[str]()
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    yield opened
    assert said == []
    context.close()


def shown(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("table.compare thead th a").all_text_contents()]


def cells(page: Page) -> list[list[str]]:
    """All rows as text, but for the models' own."""
    read = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.replace(/\\s+/g, ' ').trim()))"
    return page.locator("table.compare tbody tr").evaluate_all(read)


def ready(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-choose]")).to_be_visible()


def ids(*names: str) -> str:
    return ",".join(submission(name).id for name in names)


class TestBrowser:
    pytestmark = browsing

    def test_without_a_script_the_first_five_stand_there(self, base: str, browser: Browser) -> None:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(f"{base}compare.html")
        assert shown(page) == ["alpha", "beta", "gamma", "delta", "epsilon"]
        assert not page.locator("[data-choose]").is_visible()
        assert page.get_by_text("Force-field error ↓", exact=True).is_visible()
        context.close()

    def test_the_script_comes_to_the_same_rows(self, base: str, browser: Browser, page: Page) -> None:
        still = browser.new_context(java_script_enabled=False)
        before = still.new_page()
        before.goto(f"{base}compare.html")
        ready(page, f"{base}compare.html")
        assert cells(page) == cells(before)
        assert len(cells(page)) > 40
        still.close()

    def test_models_are_chosen_and_the_address_follows(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('gamma', FAILED)}")
        assert shown(page) == ["gamma", FAILED]
        assert page.locator("table.compare .chip.fault").first.text_content() == "✕ time limit"
        page.get_by_label("Add a model").fill("turned")
        page.keyboard.press("Enter")
        assert shown(page) == ["gamma", FAILED, "<img src=x onerror=alert(1)> turned"]
        assert page.locator("main img").count() == 0
        assert page.locator("[data-radar] svg text", has_text="<img").count() == 1
        page.get_by_role("button", name="Remove gamma").click()
        assert shown(page)[0] == FAILED
        assert page.url.endswith(f"?ids={ids(FAILED, HOSTILE)}")
        address, rows = page.url, cells(page)
        ready(page, address)
        assert cells(page) == rows

    def test_what_cannot_be_added_is_said(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}")
        said = page.get_by_role("status")
        for typed, words in (
            ("nobody", "No model has that name."),
            ("ta", "3 models have that in their name"),
            ("alpha", "alpha is there already."),
            ("", "Type the name of a model."),
        ):
            page.get_by_label("Add a model").fill(typed)
            page.get_by_role("button", name="Add", exact=True).click()
            expect(said).to_contain_text(words)
        assert shown(page) == ["alpha", "beta"]
        for name in ("gamma", "delta", "epsilon"):
            page.get_by_label("Add a model").fill(name)
            page.keyboard.press("Enter")
        assert len(shown(page)) == 5
        assert page.get_by_label("Add a model").is_disabled()
        expect(said).to_contain_text("5 of at most 5 models.")

    def test_unknown_models_of_an_address_are_named(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')},nobody,%3Cb%3E")
        expect(page.get_by_role("status")).to_have_text("Not on this leaderboard: “nobody”, “<b>”.")
        assert shown(page) == ["alpha", "beta"]
        ready(page, f"{base}compare.html?ids=nobody")
        expect(page.get_by_role("status")).to_contain_text("The first of the ranking are shown.")
        assert len(shown(page)) == 5

    def test_differences_only(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}")
        same = page.get_by_role("rowheader", name="Precision")
        assert same.is_visible()
        page.get_by_label("Differences only").check()
        assert not same.is_visible()
        assert page.get_by_role("rowheader", name="Rank", exact=True).is_visible()
        assert page.url.endswith("&diff=1")
        ready(page, page.url)
        assert not same.is_visible()

    @pytest.mark.parametrize("width", [360, 3840])
    def test_no_page_is_wider_than_its_window(self, base: str, browser: Browser, made: Frame, width: int) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900})
        context.route("**/plotly-*", lambda route: route.abort())  # four megabytes that make nothing wider
        for path in ("compare.html", *(made.board.rows[k].page for k in (0, 5, 6))):
            page = context.new_page()
            page.goto(base + path, wait_until="networkidle")  # the script draws the comparison anew
            page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        context.close()
