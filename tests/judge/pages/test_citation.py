"""The citation of a version is BibTeX that identifies it; each page has what other sites show beside a link."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from PIL import Image

from judge.pages.citation import citation
from judge.pages.site import render
from judge.view.leaderboard_schema import FILE
from judge.view.page_context import Frame
from judge.view.sources import Sources
from tests.judge.pages.page_reader import page_frame
from tests.judge.pages.ranking_site import Watched
from tests.world.board_records import SUITE, good_results, submission

NOW = datetime(2026, 11, 25, 20, 5, tzinfo=UTC)
ADDRESS = "https://leaderboard.example.org/lb/"
_FIELD = re.compile(r"  (\w+) = (\{(?:[^{}]|\{[^{}]*\})*\}|[a-z]{3}),")


def parsed(bibtex: str) -> tuple[str, dict[str, str]]:
    """The key and the fields of an entry; fails if a line is none."""
    first, *lines, last = bibtex.splitlines()
    entry = re.fullmatch(r"@misc\{([A-Za-z0-9-]+),", first)
    assert entry is not None
    assert last == "}"
    fields = [_FIELD.fullmatch(line) for line in lines]
    assert all(fields), lines
    return entry[1], {field[1]: field[2].removeprefix("{").removesuffix("}") for field in fields if field}


def published(title: str = SUITE.title, now: datetime | None = NOW, site_url: str = ADDRESS) -> Frame:
    model = submission("alpha")
    sources = Sources(now=now, site_url=site_url)
    return page_frame(replace(SUITE, title=title), [model], good_results(model, 0.1), sources)


def test_a_published_version_is_identified() -> None:
    board = published()
    key, fields = parsed(citation(board).bibtex)
    assert key == "lambench-judge-small-2026-11-25"
    assert (fields["year"], fields["month"], fields["url"]) == ("2026", "nov", ADDRESS)
    assert fields["title"] == "{LAMBench Judge}: A small suite"
    assert "suite small 1" in fields["version"]
    assert sha256(board.data).hexdigest() in fields["note"]


def test_pages_that_are_not_published_state_no_date() -> None:
    key, fields = parsed(citation(published(now=None, site_url="")).bibtex)
    assert key == "lambench-judge-small"
    assert fields.keys() == {"title", "author", "version", "note"}
    assert fields["note"].startswith("Not published.")


def test_special_characters_of_a_title_are_those_of_tex() -> None:
    title = citation(published("5 % A&B_{2} \\ ~x^2 \u202e#$")).bibtex.splitlines()[1]
    assert title == (
        r"  title = {{LAMBench Judge}: 5 \% A\&B\_\textbraceleft{}2\textbraceright{} \textbackslash{}"
        r" \textasciitilde{}x\textasciicircum{}2 \#\$},"
    )


@pytest.mark.parametrize("title", ["Sets {A", "Sets } A"])
def test_a_lone_brace_in_a_title_leaves_an_entry_that_bibtex_reads(title: str) -> None:
    """BibTeX counts braces with and without a backslash before them."""
    parsed(citation(published(title)).bibtex)


class Head(HTMLParser):
    """The properties and links of a page's head."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.properties: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.feet: list[str] = []
        self._in_footer = False
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        stated = {name: value or "" for name, value in attrs}
        self._in_footer |= tag == "footer"
        if tag == "meta":
            self.properties[stated.get("property", stated.get("name", ""))] = stated.get("content", "")
        elif tag == "link":
            self.links[stated["rel"]] = stated["href"]
        elif tag == "a" and self._in_footer:
            self.feet.append(stated["href"])


def test_each_page_has_what_other_sites_show_beside_a_link() -> None:
    board = published()
    files = render(board.board, board.sources)
    pages = {path: Head(content) for path, content in files.items() if path.endswith(".html")}
    assert len(pages) > 10
    for path, page in pages.items():
        root = "../" * path.count("/")
        shown = page.properties
        assert shown["og:title"].endswith("LAMBench Judge")
        assert 50 < len(shown["og:description"]) < 300
        assert shown["description"] == shown["og:description"]
        assert shown["og:url"] == page.links["canonical"] == ADDRESS + ("" if path == "index.html" else path)
        picture = shown["og:image"].removeprefix(ADDRESS)
        assert Image.open(io.BytesIO(files[picture])).size == (1200, 630)
        assert len(files[picture]) < 60_000
        assert page.links["alternate"] == f"{root}changes.atom"
        assert {f"{root}changes.atom", f"{root}how.html#cite"} <= set(page.feet)
    assert FILE in files
    assert '<a href="changes.atom"' in files["changes.html"].decode()
    described = {page.properties["og:description"] for page in pages.values()}
    assert len(described) > len(SUITE.tasks) + len(board.board.rows)  # each task and each model has its own


def test_without_an_address_no_page_states_one() -> None:
    board = published(site_url="")
    for path, content in render(board.board, board.sources).items():
        if path.endswith(".html"):
            assert not {"og:url", "og:image"} & Head(content).properties.keys()


@pytest.mark.slow
class TestBrowser:
    def test_a_button_copies_the_entry(self, ranking: Watched) -> None:
        page = ranking.page
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(f"{ranking.base}index.html")
        page.get_by_role("link", name="Cite this version").click()
        page.get_by_role("button", name="Copy BibTeX").press("Enter")
        page.get_by_text("Copied.", exact=True).wait_for()
        parsed(page.evaluate("navigator.clipboard.readText()"))
        page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page.get_by_role("button", name="Copy BibTeX").click()
        page.get_by_text("Selected.").wait_for()
        parsed(page.evaluate("getSelection().toString().trim()"))
        assert ranking.messages == []
