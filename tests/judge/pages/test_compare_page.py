"""A reader chooses the models of a comparison, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from judge.pages import data_files, index_page
from judge.pages.compare import compare_page
from judge.pages.models import model_pages
from judge.view.page_context import Frame
from tests.judge.pages.page_reader import page_frame
from tests.judge.pages.seven_models import FAILED, HOSTILE
from tests.servers.site_server import served
from tests.world.board_records import SUITE, good_results, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.together("comparison")


@pytest.fixture(scope="module")
def base(seven_models: Frame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site with the comparison, the ranking and the models."""
    folder = tmp_path_factory.mktemp("site")
    drawn = {**compare_page.pages(seven_models), **index_page.pages(seven_models), **model_pages.pages(seven_models)}
    for path, data in {**seven_models.assets.files, **data_files.pages(seven_models), **drawn}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def watched(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and its console messages and errors."""
    with browser.new_context() as context:
        opened, messages = context.new_page(), list[str]()
        opened.on("console", lambda message: messages.append(message.text))
        opened.on("pageerror", lambda error: messages.append(str(error)))
        yield opened, messages


@pytest.fixture
def page(watched: tuple[Page, list[str]]) -> Iterator[Page]:
    """The page; a test fails if the page writes to the console."""
    opened, messages = watched
    messages.clear()
    yield opened
    assert messages == []


@pytest.fixture(scope="module")
def with_intervals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a comparison of three models whose metrics have intervals."""
    folder = tmp_path_factory.mktemp("intervals")
    models = [submission(name) for name in ("alpha", "beta", "gamma")]
    errors = (0.1, 0.35, 0.37)
    results = [each for model, error in zip(models, errors, strict=True) for each in good_results(model, error)]
    board = page_frame(SUITE, models, results)
    files = {**board.assets.files, **data_files.pages(board), **compare_page.pages(board), **index_page.pages(board)}
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with served(folder) as address:
        yield address


def shown(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("table.compare thead th a").all_text_contents()]


def cells(page: Page) -> list[list[str]]:
    """The text of all rows, without the headings."""
    read = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.replace(/\\s+/g, ' ').trim()))"
    return page.locator("table.compare tbody tr").evaluate_all(read)


def ready(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-choose]")).to_be_visible()


def focused(page: Page) -> str:
    """The id or the text of the element with the focus."""
    return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")


def expect_picks(page: Page, *names: str) -> None:
    """The address has these models as `pick`, after a moment."""
    wanted = [submission(name).id for name in names]
    page.wait_for_function(
        "ids => new URLSearchParams(location.search).getAll('pick').join() === ids.join()", arg=wanted
    )


def ids(*names: str) -> str:
    return ",".join(submission(name).id for name in names)


class TestBrowser:
    pytestmark = pytest.mark.slow

    def test_the_first_five_are_shown_with_and_without_a_script(self, base: str, browser: Browser, page: Page) -> None:
        with browser.new_context(java_script_enabled=False) as still:
            before = still.new_page()
            before.goto(f"{base}compare.html")
            assert shown(before) == ["alpha", "beta", "gamma", "delta", "epsilon"]
            assert not before.locator("[data-choose]").is_visible()
            assert before.get_by_text("Force-field error ↓", exact=True).first.is_visible()
            written = cells(before)
        ready(page, f"{base}compare.html")
        assert cells(page) == written
        assert len(written) > 40

    def test_the_page_begins_with_the_names_and_the_largest_differences(
        self, with_intervals: str, browser: Browser, page: Page
    ) -> None:
        with browser.new_context(java_script_enabled=False) as still:
            before = still.new_page()
            before.goto(f"{with_intervals}compare.html")
            written = cells(before)
        ready(page, f"{with_intervals}compare.html")
        assert cells(page) == written
        at, domain = next((n, row) for n, row in enumerate(written) if row[0] == "Molecules, force-field error ↓")
        assert all(re.fullmatch(r"[\d.]+( ●)?[\d.]+ – [\d.]+", cell) for cell in domain[1:])  # no part was held
        assert [row[0] for row in written[at : at + 2]] == [domain[0], "from the best here"]
        pair = f"{with_intervals}compare.html?ids={ids('beta', 'alpha')}"
        ready(page, pair)
        expect(page.get_by_role("heading", level=1)).to_have_text("beta and alpha")
        (title,), (name, theirs, best), (below, difference, none), *_ = cells(page)
        assert title == "Where they differ most"
        assert name.startswith(("Crystals: ", "Molecules: "))
        assert "350 meV" in theirs
        assert "– " in theirs.partition("meV")[2]  # its interval
        assert "normalised 0.350" in theirs
        assert best.startswith("100 meV")
        assert best.split()[2].startswith("●")
        assert (below, none) == ("from the best here", "–")
        assert difference.startswith("+250 meV")
        assert " to +" in difference
        page.get_by_role("button", name="Remove alpha").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("beta")

    @pytest.mark.parametrize(("width", "scheme"), [(400, "light"), (1280, "dark")])
    def test_the_comparison_is_accessible(self, with_intervals: str, browser: Browser, width: int, scheme: Any) -> None:
        with browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
            ready(page, f"{with_intervals}compare.html")
            page.wait_for_load_state("networkidle")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
            assert [each["id"] for each in Axe().run(page).response["violations"]] == []

    def test_models_are_chosen_and_the_address_follows(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('gamma', FAILED)}")
        assert shown(page) == ["gamma", FAILED]
        assert page.locator("table.compare .chip.fault").first.text_content() == "✕ time limit"
        page.get_by_label("Add a model").fill("turned")
        page.keyboard.press("Enter")
        assert shown(page) == ["gamma", FAILED, "<img src=x onerror=alert(1)> turned"]
        assert page.locator("main img").count() == 0
        page.locator("[data-radar] .legendtext", has_text="<img").wait_for()
        page.get_by_role("button", name="Remove gamma").click()
        assert shown(page)[0] == FAILED
        assert focused(page) == f"Remove {FAILED}"  # the button in its place
        expect(page.locator("[data-status]")).to_have_text("gamma is removed. 2 of at most 5 models.")
        assert page.url.endswith(f"?ids={ids(FAILED, HOSTILE)}")
        address, rows = page.url, cells(page)
        ready(page, address)
        assert cells(page) == rows

    def test_a_model_that_cannot_be_added_gets_a_message(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}")
        status = page.locator("[data-status]")
        for typed, words in (
            ("nobody", "No model has this name."),
            ("ta", "3 models have this in their name"),
            ("alpha", "alpha is already here."),
            ("", "Type the name of a model."),
        ):
            page.get_by_label("Add a model").fill(typed)
            page.get_by_role("button", name="Add", exact=True).click()
            expect(status).to_contain_text(words)
        assert shown(page) == ["alpha", "beta"]
        for name in ("gamma", "delta", "epsilon"):
            page.get_by_label("Add a model").fill(name)
            page.keyboard.press("Enter")
        assert len(shown(page)) == 5
        expect(status).to_have_text("epsilon is added. 5 of at most 5 models. To add another, remove one.")
        assert focused(page) == "choose-name"
        page.keyboard.type(FAILED)
        page.keyboard.press("Enter")
        expect(status).to_have_text("5 models are the maximum. To add another, remove one.")
        assert len(shown(page)) == 5

    def test_all_models_can_be_removed(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}&diff=1")
        page.get_by_role("button", name="Remove beta").click()
        assert focused(page) == "Remove alpha"
        assert page.get_by_role("rowheader", name="Precision").is_visible()  # a single model has no differences
        page.keyboard.press("Enter")
        assert focused(page) == "choose-name"
        expect(page.locator("[data-status]")).to_have_text("alpha is removed. 0 of at most 5 models.")
        for _ in range(2):  # the address shows the same
            assert page.locator("table.compare, [data-radar], .legend-line").filter(visible=True).count() == 0
            expect(page.get_by_text("No model is selected.")).to_be_visible()
            ready(page, page.url)
        page.get_by_role("link", name="compare the first of the ranking").click()
        expect(page.locator("table.compare thead button")).to_have_count(5)

    def test_ticks_in_the_ranking_are_in_its_address_and_can_be_cleared(self, base: str, page: Page) -> None:
        def boxes(*names: str) -> list[Locator]:
            return [page.get_by_label(f"Compare {name}", exact=True) for name in names]

        page.goto(f"{base}index.html?pick=nobody")
        link, status = page.locator("[data-compare-link]"), page.locator("[data-picked]")
        for box in boxes("alpha", "beta", "gamma", "delta"):
            box.press("Space")
        expect(link).to_have_text("Compare 4 models")
        (fifth,) = boxes("epsilon")
        fifth.check()
        expect(status).to_have_text("5 models are selected, which is the maximum. To select another, clear one.")
        (sixth,) = boxes(FAILED)
        assert sixth.is_disabled()
        boxes("beta")[0].uncheck()
        assert sixth.is_enabled()
        expect_picks(page, "alpha", "gamma", "delta", "epsilon")
        page.reload()
        expect(link).to_have_text("Compare 4 models")
        assert [box.is_checked() for box in boxes("alpha", "beta", "gamma")] == [True, False, True]
        link.click()
        expect(page.locator("table.compare thead th a")).to_have_text(["alpha", "gamma", "delta", "epsilon"])
        page.go_back()
        page.get_by_role("button", name="Clear ticks").press("Enter")
        assert page.locator(".pick :checked").count() == 0
        assert page.evaluate("document.activeElement.matches('.pick input')")
        expect(link).to_be_hidden()
        expect(status).to_have_text("Select two to five models to compare them.")
        page.wait_for_function("() => location.search === ''")

    def test_ticks_of_an_address_obey_the_rules_of_ticks(self, base: str, page: Page) -> None:
        """At most five known models; clearing one selects no other; the focus never goes to a hidden row."""
        six = ["alpha", "beta", "gamma", "delta", "epsilon", FAILED]
        page.goto(f"{base}index.html?pick=nobody&pick={'&pick='.join(submission(name).id for name in six)}")
        expect_picks(page, *six[:5])
        page.get_by_label("Compare beta", exact=True).press("Space")
        expect_picks(page, "alpha", "gamma", "delta", "epsilon")
        assert not page.get_by_label(f"Compare {FAILED}", exact=True).is_checked()
        clear, search = page.get_by_role("button", name="Clear ticks"), page.get_by_role("searchbox")
        search.fill("gamma")
        clear.press("Enter")
        expect(page.get_by_label("Compare gamma", exact=True)).to_be_focused()
        page.keyboard.press("Space")
        search.fill("delta")
        clear.press("Enter")
        expect(search).to_be_focused()

    def test_unknown_models_of_an_address_are_named(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')},nobody,%3Cb%3E")
        expect(page.locator("[data-status]")).to_have_text("Not on this leaderboard: “nobody”, “<b>”.")
        assert shown(page) == ["alpha", "beta"]
        ready(page, f"{base}compare.html?ids=nobody")
        expect(page.locator("[data-status]")).to_contain_text("The first of the ranking are shown.")
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

    def test_no_page_is_wider_than_its_window(self, base: str, browser: Browser, seven_models: Frame) -> None:
        with browser.new_context() as context:
            context.route("**/plotly-*", lambda route: route.abort())  # four megabytes without effect on the width
            page = context.new_page()
            for path in ("compare.html", *(seven_models.board.rows[k].page for k in (0, 5, 6))):
                page.goto(base + path, wait_until="networkidle")  # the script replaces the comparison
                page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                for width in (360, 3840):
                    page.set_viewport_size({"width": width, "height": 900})
                    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
                    assert page.evaluate(fits), (path, width)
