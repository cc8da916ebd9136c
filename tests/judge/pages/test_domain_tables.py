"""The ranking within a domain, and its table in a real browser under the settings of an address."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages import data_files, table_pages
from judge.pages.domain_tables import domain_tables
from judge.pages.index_page import N_LINES
from judge.ranking.build import build_leaderboard
from judge.view.page_context import frame
from judge.view.sources import Sources
from tests.servers.site_server import served
from tests.world.board_records import ENERGY, SUITE, good_results, items_of, submission

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect

INORGANIC, MOLECULES = "Inorganic Materials", "Molecules"


def test_a_model_of_molecules_alone_ranks_among_molecules() -> None:
    """It is first in its domain, without a rank in the whole ranking and among crystals."""
    whole, other, small = submission("whole"), submission("other"), submission("small")
    results = good_results(whole, 0.3) + good_results(other, 0.2)
    results += [result for result in good_results(small, 0.1) if result.domain == MOLECULES]
    board = build_leaderboard(SUITE, [whole, other, small], results, items_of)
    inorganic, molecules = domain_tables(board)
    assert (inorganic.title, molecules.title) == (INORGANIC, MOLECULES)
    assert [(line.row.submission.id, line.rank) for line in molecules.lines] == [
        (small.id, 1),
        (other.id, 2),
        (whole.id, 3),
    ]
    assert [round(cell.value or 0, 9) for cell in molecules.lines[0].cells] == [0.1, 0.1]
    assert [(line.row.submission.id, line.rank) for line in inorganic.lines] == [
        (other.id, 1),
        (whole.id, 2),
        (small.id, None),
    ]
    assert inorganic.labels == ("Force-field error",)  # the suite has no property of that domain
    assert inorganic.n_ranked == 2 < N_LINES


def test_a_reference_row_takes_no_rank() -> None:
    ranked, dummy = submission("ranked"), submission("dummy")
    board = build_leaderboard(SUITE, [ranked, dummy], good_results(ranked, 0.3) + good_results(dummy, 0.1), items_of)
    for table in domain_tables(board, [dummy.id]):
        assert [(line.row.submission.id, line.rank) for line in table.lines] == [(ranked.id, 1), (dummy.id, None)]
    compared = build_leaderboard(
        SUITE, [ranked, dummy], good_results(ranked, 0.3) + good_results(dummy, 0.1), items_of, references=[dummy.id]
    )
    page = table_pages.pages(frame(public_board(compared, ()), Sources()))["domains.html"].decode()
    assert 'dummy</bdi></a> <span class="badge">reference</span>' in page
    assert "ranked</bdi></a></th>" in page


def test_one_domain_needs_no_table() -> None:
    model = submission("one")
    results = [result for result in good_results(model, 0.3) if result.domain == MOLECULES]
    alone = type(SUITE)(name="m", version="1", title="M", tasks=tuple(t for t in SUITE.tasks if t.domain == MOLECULES))
    assert domain_tables(build_leaderboard(alone, [model], results, items_of)) == ()
    assert domain_tables(build_leaderboard(SUITE, [], [], items_of)) == ()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the tables: one model was judged in all tasks, the other in all but barriers."""
    folder = tmp_path_factory.mktemp("domains")
    whole, part = submission("whole"), submission("part")
    results = good_results(whole, 0.3) + [each for each in good_results(part, 0.1) if each.task != "barriers"]
    made = frame(public_board(build_leaderboard(SUITE, [whole, part], results, items_of), ()), Sources())
    for path, data in {**made.assets.files, **data_files.pages(made), **table_pages.pages(made)}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    with served(folder) as address:
        yield address


@pytest.fixture
def page(base: str, browser: Browser) -> Iterator[Page]:
    """A page; a test fails if the page writes to the console."""
    messages: list[str] = []
    with browser.new_context(base_url=base) as context:
        opened = context.new_page()
        opened.on("console", lambda message: messages.append(message.text))
        opened.on("pageerror", lambda error: messages.append(str(error)))
        yield opened
    assert messages == []


@pytest.mark.slow
class TestBrowser:
    def test_coverage_is_shown_under_a_readers_weights(self, page: Page) -> None:
        cells = page.locator("table[data-domain=Molecules] tr", has_text="part").locator("td.score")
        page.goto("domains.html")
        words = [cell.locator(".coverage").all_text_contents() for cell in cells.all()]
        assert [text for texts in words for text in texts] == ["0 of 1 task"]
        page.goto("domains.html?w.force_field/Molecules/force=2")
        expect(page.locator("[data-domain-note]")).to_contain_text("Your weights")
        assert [cell.locator(".coverage").all_text_contents() for cell in cells.all()] == words
        page.goto("domains.html?variant=as_published")
        expect(page.locator("[data-domain-note]")).to_contain_text("as published")
        assert cells.count() == len(words)

    @pytest.mark.parametrize("bad", [f"t.molecules/{ENERGY}/baseline=-1", "w.force_field/Nowhere=2"])
    def test_invalid_settings_of_an_address_are_dropped(self, page: Page, bad: str) -> None:
        """Also on a page without the panel of settings."""
        page.goto("domains.html")
        published = page.locator("table.board").all_inner_texts()
        page.goto(f"domains.html?{bad}")
        page.wait_for_function("() => location.search === ''")
        expect(page.locator("[data-domain-note]")).to_be_hidden()
        assert page.locator("table.board").all_inner_texts() == published
        page.goto(f"domains.html?{bad}&w.force_field/Molecules/force=2")
        page.wait_for_function("() => location.search === '?w.force_field/Molecules/force=2'")
        expect(page.locator("[data-domain-note]")).to_contain_text("Your weights")
