"""Models side by side: which is best and how sure that is, and the choosing in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages import index_page
from judge.pages.compare import compare_page
from judge.pages.compare.comparison import comparison
from judge.pages.compare.comparison_lines import Cell, CompareLine, differences, line
from judge.pages.models import model_pages
from judge.ranking.load import read_board
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.records import Submission
from submissions.store.local import LocalStore
from tests.servers.site_server import served
from tests.world.board_records import SUITE, good_results, refused, save, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Locator, Page, expect

HOSTILE = "<img src=x onerror=alert(1)> \u202eturned"
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", HOSTILE)
FAILED = "zeta"
AS_PUBLISHED = "Scores, as published"


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


def lines_of(made: Frame, *names: str) -> dict[str, CompareLine]:
    """All rows of these models side by side, by name; scores corrected."""
    chosen = [next(model for model in made.file.models if model.name == name) for name in names]
    groups = [group for group in comparison(made, chosen) if group.title != AS_PUBLISHED]
    return {line.name: line for group in groups for line in group.lines}


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


def test_a_difference_is_said_with_how_sure_it_is() -> None:
    best, far = Cell("0.200", value=0.2, interval=(0.1, 0.3)), Cell("0.600", value=0.6, interval=(0.5, 0.7))
    wide, alone = Cell("0.600", value=0.6, interval=(0.25, 0.7)), Cell("0.600", value=0.6)
    (found,) = differences(line("error", [best, far, wide, alone, Cell("–")], lower=True))
    assert [(cell.text, cell.note) for cell in found.cells] == [
        ("–", ""),
        ("+0.400", "+0.200 to +0.600"),
        ("+0.400", "intervals overlap"),
        ("+0.400", "no interval"),
        ("–", ""),
    ]
    (found,) = differences(line("score", [best, far], lower=False))
    assert found.cells[0][:2] == ("−0.400", "−0.600 to −0.200")
    assert differences(line("error", [best, best], lower=True)) == ()
    assert differences(line("time", [best, far])) == ()


def test_scores_are_those_of_every_scheme_in_both_variants(made: Frame) -> None:
    chosen = made.file.models[:2]
    groups = {group.title: group for group in comparison(made, chosen)}
    for variant, title in (("corrected", "Scores"), ("as_published", AS_PUBLISHED)):
        scores = [score for scheme in made.file.schemes if scheme.variant == variant for score in scheme.scores]
        shown = [line for line in groups[title].lines if not line.below]
        assert [line.name[:-2] for line in shown] == [score.label for score in scores]
        assert [[cell.value for cell in line.cells] for line in shown] == [
            [score.models[model.id].score for model in chosen] for score in scores
        ]


def test_efficiency_has_no_best_across_hardware(made: Frame) -> None:
    chosen = list(made.file.models[:2])
    other = chosen[1].model_copy(update={"hardware": "another class"})
    alike, apart = (comparison(made, each) for each in (chosen, [chosen[0], other]))
    found = [{line.name: line for group in of for line in group.lines} for of in (alike, apart)]
    for name in ("Efficiency ↑", "time, mean ↓"):
        assert any(cell.mark for cell in found[0][name].cells)
        assert not any(cell.mark for cell in found[1][name].cells)


def test_an_empty_store_has_a_page(tmp_path: Path) -> None:
    of = frame(public_board(read_board(LocalStore(tmp_path), SUITE, pytest.fail), ()), Sources())
    page = compare_page.pages(of)["compare.html"].decode()
    assert "There is no submission yet: there is nothing to compare." in page


@pytest.fixture(scope="module")
def base(made: Frame, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages that this is about."""
    folder = tmp_path_factory.mktemp("site")
    drawn = {**compare_page.pages(made), **index_page.pages(made), **model_pages.pages(made)}
    for path, data in {**made.assets.files, **drawn}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with served(folder) as address:
        yield address


@pytest.fixture(scope="module")
def watched(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page, and what was said to its console or failed there."""
    with browser.new_context() as context:
        opened, said = context.new_page(), list[str]()
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        yield opened, said


@pytest.fixture
def page(watched: tuple[Page, list[str]]) -> Iterator[Page]:
    """The page, which each test leads to an address of its own, and in which nothing may be said to the console."""
    opened, said = watched
    said.clear()
    yield opened
    assert said == []


def shown(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("table.compare thead th a").all_text_contents()]


def cells(page: Page) -> list[list[str]]:
    """All rows as text, but for the models' own."""
    read = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent.replace(/\\s+/g, ' ').trim()))"
    return page.locator("table.compare tbody tr").evaluate_all(read)


def ready(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("[data-choose]")).to_be_visible()


def focused(page: Page) -> str:
    """The name or the words of what has the focus."""
    return page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")


def expect_picks(page: Page, *names: str) -> None:
    """These are the ticks of the address, which is written within a moment."""
    wanted = [submission(name).id for name in names]
    page.wait_for_function(
        "ids => new URLSearchParams(location.search).getAll('pick').join() === ids.join()", arg=wanted
    )


def ids(*names: str) -> str:
    return ",".join(submission(name).id for name in names)


class TestBrowser:
    pytestmark = pytest.mark.slow

    def test_with_and_without_a_script_the_first_five_stand_there(
        self, base: str, browser: Browser, page: Page
    ) -> None:
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

    def test_models_are_chosen_and_the_address_follows(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('gamma', FAILED)}")
        assert shown(page) == ["gamma", FAILED]
        assert page.locator("table.compare .chip.fault").first.text_content() == "✕ time limit"
        page.get_by_label("Add a model").fill("turned")
        page.keyboard.press("Enter")
        assert shown(page) == ["gamma", FAILED, "<img src=x onerror=alert(1)> turned"]
        assert page.locator("main img").count() == 0
        assert page.locator("[data-radar] .legendtext", has_text="<img").wait_for() is None
        page.get_by_role("button", name="Remove gamma").click()
        assert shown(page)[0] == FAILED
        assert focused(page) == f"Remove {FAILED}"  # what took its place
        expect(page.locator("[data-said]")).to_have_text("gamma is removed. 2 of at most 5 models.")
        assert page.url.endswith(f"?ids={ids(FAILED, HOSTILE)}")
        address, rows = page.url, cells(page)
        ready(page, address)
        assert cells(page) == rows

    def test_what_cannot_be_added_is_said(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}")
        said = page.locator("[data-said]")
        for typed, words in (
            ("nobody", "No model has this name."),
            ("ta", "3 models have this in their name"),
            ("alpha", "alpha is already here."),
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
        expect(said).to_have_text("epsilon is added. 5 of at most 5 models. To add another, remove one.")
        assert focused(page) == "choose-name"
        page.keyboard.type(FAILED)
        page.keyboard.press("Enter")
        expect(said).to_have_text("5 models are the maximum. To add another, remove one.")
        assert len(shown(page)) == 5

    def test_all_can_be_taken_out(self, base: str, page: Page) -> None:
        ready(page, f"{base}compare.html?ids={ids('alpha', 'beta')}&diff=1")
        page.get_by_role("button", name="Remove beta").click()
        assert focused(page) == "Remove alpha"
        assert page.get_by_role("rowheader", name="Precision").is_visible()  # one does not differ from itself
        page.keyboard.press("Enter")
        assert focused(page) == "choose-name"
        expect(page.locator("[data-said]")).to_have_text("alpha is removed. 0 of at most 5 models.")
        for _ in range(2):  # the address leads to the same
            assert page.locator("table.compare, [data-radar], .legend-line").filter(visible=True).count() == 0
            expect(page.get_by_text("No model is selected.")).to_be_visible()
            ready(page, page.url)
        page.get_by_role("link", name="compare the first of the ranking").click()
        expect(page.locator("table.compare thead button")).to_have_count(5)

    def test_ticks_in_the_ranking_are_in_its_address_and_can_be_cleared(self, base: str, page: Page) -> None:
        def boxes(*names: str) -> list[Locator]:
            return [page.get_by_label(f"Compare {name}", exact=True) for name in names]

        page.goto(f"{base}index.html?pick=nobody")
        link, said = page.locator("[data-compare-link]"), page.locator("[data-picked]")
        for box in boxes("alpha", "beta", "gamma", "delta"):
            box.press("Space")
        expect(link).to_have_text("Compare 4 models")
        (fifth,) = boxes("epsilon")
        fifth.check()
        expect(said).to_have_text("5 models are selected, which is the maximum. To select another, clear one.")
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
        expect(said).to_have_text("Select two to five models to compare them.")
        page.wait_for_function("() => location.search === ''")

    def test_ticks_of_an_address_are_those_that_a_reader_could_set(self, base: str, page: Page) -> None:
        """Five models of those there are; to untick one ticks no other; and the focus goes to no row that is hidden."""
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
        expect(page.locator("[data-said]")).to_have_text("Not on this leaderboard: “nobody”, “<b>”.")
        assert shown(page) == ["alpha", "beta"]
        ready(page, f"{base}compare.html?ids=nobody")
        expect(page.locator("[data-said]")).to_contain_text("The first of the ranking are shown.")
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

    def test_no_page_is_wider_than_its_window(self, base: str, browser: Browser, made: Frame) -> None:
        with browser.new_context() as context:
            context.route("**/plotly-*", lambda route: route.abort())  # four megabytes that make nothing wider
            page = context.new_page()
            for path in ("compare.html", *(made.board.rows[k].page for k in (0, 5, 6))):
                page.goto(base + path, wait_until="networkidle")  # the script draws the comparison anew
                page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
                for width in (360, 3840):
                    page.set_viewport_size({"width": width, "height": 900})
                    fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
                    assert page.evaluate(fits), (path, width)
