"""A page a task: its numbers are the board's, order is claimed where intervals are apart, hidden sets stay hidden."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.disclosure.public_leaderboard import public_board
from judge.pages.site import render
from judge.pages.tasks.task_card import DataSet, overlap, plain_name
from judge.pages.tasks.task_pages import pages
from judge.pages.tasks.task_ranking import Place, RankLine, _placed
from judge.pages.tasks.task_rows import chip
from judge.ranking.build import build_leaderboard
from judge.ranking.leaderboard import Row
from judge.view.jinja import environment, has_template
from judge.view.page_context import Frame, frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from scoring.intervals import Interval
from submissions.records import Submission, TrainingSet
from tasks.datasets.card import Card, LabelSet
from tasks.kinds.registry import KINDS
from tasks.suites.suite import Suite, load_suite, packaged_suites
from tests.world.board_records import (
    ENERGY,
    FORCE,
    SUITE,
    VIRIAL,
    digest,
    error,
    good_results,
    items_of,
    refused,
    result,
    submission,
    task,
    timed,
)

PUBLIC = Card(
    name="crystals",
    version="1",
    title="Crystals of everything",
    domain="Inorganic Materials",
    periodic=True,
    default_label_set="PBE",
    label_sets={"PBE": LabelSet(theory="PBE, plane waves", dispersion=False)},
    citation="A. Author, J. Crystals 1, 1 (2014)",
    licence="CC-BY-4.0",
    public_since="2014",
    sha256={"labels.safetensors": digest("labels of the card")},
)


class Page(HTMLParser):
    """All text of a page, its links, and the rows of its first table as cells of text and sorting value."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.words, self.links = "", []
        self.rows: list[list[list[str]]] = []
        self._tables = 0
        self.feed(page.decode())
        self.words = " ".join(self.words.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        self._tables += tag == "table"
        if tag == "a":
            self.links.append(own.get("href") or "")
        elif self._tables == 1 and tag == "tr":
            self.rows.append([])
        elif self._tables == 1 and tag in ("td", "th") and self.rows:
            self.rows[-1].append(["", own.get("data-value") or ""])

    def handle_data(self, data: str) -> None:
        self.words += data + " "
        if self._tables == 1 and self.rows and self.rows[-1]:
            self.rows[-1][-1][0] += data

    def row(self, name: str) -> list[list[str]]:
        """The cells of a model's row."""
        return next(row for row in self.rows if len(row) > 1 and row[1][0].strip().startswith(name))

    def column(self, head: str) -> int:
        return next(i for i, cell in enumerate(self.rows[0]) if cell[0].strip().startswith(head))


def framed(
    suite: Suite, submissions: Sequence[Submission] = (), results: Sequence[object] = (), sources: Sources | None = None
) -> Frame:
    told = sources or Sources()
    load = partial(items_of, n_clusters=5)
    board = build_leaderboard(suite, submissions, results, load)  # type: ignore[arg-type]
    return frame(public_board(board, told.public), told)


@pytest.fixture(scope="module")
def three() -> Frame:
    """Three models, the last with a task that it was refused in; of all tasks `crystals` alone is public."""
    good, worse = submission("Good"), submission("Worse", training=(TrainingSet(name="crystals OF everything"),))
    broken = submission("Broken")
    results = good_results(good, 0.1) + good_results(worse, 0.8)
    lost = refused(broken, SUITE.tasks[0], Verdict.CRASHED, sentence="It ended.")
    uneven = {ENERGY: error(0.01), FORCE: error(0.03, "eV/Å"), VIRIAL: error(0.9)}
    results = [result(good, SUITE.tasks[0], uneven), *results[1:], *good_results(broken, 0.5)[1:], lost]
    sources = Sources(public={"crystals@1"}, cards={"crystals@1": PUBLIC})
    return framed(SUITE, [good, worse, broken], results, sources)


@pytest.fixture(scope="module")
def read(three: Frame) -> dict[str, Page]:
    return {path: Page(page) for path, page in pages(three).items()}


@pytest.mark.parametrize("name", packaged_suites())
def test_every_packaged_suite_has_its_pages_before_anything_is_judged(name: str) -> None:
    suite = load_suite(name)
    found = pages(framed(suite))
    assert found.keys() == {f"tasks/{task.name}.html" for task in suite.tasks}
    for of in suite.tasks:
        page = Page(found[f"tasks/{of.name}.html"])
        assert "How the judge asks" in page.words
        assert "What a failure costs" in page.words
        assert "Nothing has been judged yet" in page.words
        assert of.source in page.words  # the suites that come with the judge say nothing that is not known


def test_every_kind_of_the_judge_has_its_own_text() -> None:
    assert all(has_template(f"kinds/{kind}.html") for kind in KINDS)


def test_numbers_are_those_of_the_board(three: Frame, read: dict[str, Page]) -> None:
    """Each task of the suite is alone in its domain, or in its score, so the tree has the same number."""
    for row in three.board.rows:
        name, domains = row.submission.card.name, {part.name: part for part in row.scores["force_field"].parts}
        expected = {
            "crystals": domains["Inorganic Materials"],
            "molecules": domains["Molecules"],
            "barriers": row.scores["property_error"],
            "speed": row.scores["efficiency"],
            "drift": row.scores["instability"],
        }
        for of, term in expected.items():
            page = read[f"tasks/{of}.html"]
            shown = page.row(name)[2][1]
            if term.value is None or (name, of) == ("Broken", "crystals"):
                assert shown == ""
            else:
                assert float(shown) == pytest.approx(term.value, rel=1e-5)


def test_what_was_not_answered_says_what_it_counts(read: dict[str, Page]) -> None:
    cells = read["tasks/crystals.html"].row("Broken")
    assert cells[0][0].strip() == "–"
    assert "counts 1.000" in cells[2][0]
    assert "crashed" in " ".join(cell[0] for cell in cells)


def test_places_overlap_where_intervals_do(read: dict[str, Page]) -> None:
    page = read["tasks/crystals.html"]
    assert [page.row(name)[0][0].strip() for name in ("Good", "Worse")] == ["1", "2"]
    assert "no order is claimed" not in page.words
    both = [submission("A"), submission("B")]
    alike = Page(
        pages(framed(SUITE, both, [one for of in both for one in good_results(of, 0.3)]))["tasks/crystals.html"]
    )
    assert [alike.row(name)[0][0].strip() for name in ("A", "B")] == ["1–2", "1–2"]
    assert "no order is claimed between any two" in alike.words


def test_the_trivial_model_stands_at_one(read: dict[str, Page]) -> None:
    for of, name in (("crystals", "Composition only"), ("molecules", "Composition only"), ("barriers", "Answers zero")):
        assert float(read[f"tasks/{of}.html"].row(name)[2][1]) == 1.0
        assert f"{name} Median of the models" in read[f"tasks/{of}.html"].words  # the column of the same name
    assert float(read["tasks/speed.html"].row("Reference speed")[2][1]) == 1.0
    assert read["tasks/speed.html"].row("Reference speed")[3][0].strip() == "100"


@given(
    st.lists(
        st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(0, 4))).map(
            lambda ends: None if ends is None else Interval(float(ends[0]), float(ends[0] + ends[1]))
        ),
        min_size=1,
        max_size=8,
    ),
    st.booleans(),
)
def test_a_place_counts_those_that_are_wholly_better_and_worse(intervals: list[Interval | None], lower: bool) -> None:
    row = _any_row()
    lines = [RankLine(row, row.tasks[0], 1.0, None, one, None, ()) for one in intervals]
    for line, own in zip(_placed(lines, lower), intervals, strict=True):
        better = sum(_apart(one, own, lower) for one in intervals)
        worse = sum(_apart(own, one, lower) for one in intervals)
        assert line.place == Place(1 + better, len(intervals) - worse)


@cache
def _any_row() -> Row:
    return framed(SUITE, [submission("A")]).board.rows[0]


def _apart(one: Interval | None, other: Interval | None, lower: bool) -> bool:
    """Whether the one is better by more than both intervals."""
    if one is None or other is None:
        return False
    return one.high < other.low if lower else one.low > other.high


def test_times_are_placed_within_one_class_of_machine() -> None:
    fast, slow = submission("Fast"), submission("Slow")
    (speed,) = [of for of in SUITE.tasks if of.name == "speed"]
    results = []
    for of, us, hardware in ((fast, 10.0, "GPU A"), (slow, 90.0, "2 × B")):
        own = result(of, speed, {"time_mean": timed(us)})
        origin = own.provenance.origin.model_copy(update={"hardware": hardware})
        provenance = own.provenance.model_copy(update={"origin": origin})
        results.append(own.model_copy(update={"provenance": provenance}))
    page = Page(pages(framed(SUITE, [fast, slow], results))["tasks/speed.html"])
    assert [page.row(name)[0][0].strip() for name in ("Fast", "Slow")] == ["1", "1"]
    assert "GPU A" in page.words
    assert "2 × B" in page.words
    assert "Times compare within one class of machine" in page.words


def test_a_model_for_comparison_takes_no_place(three: Frame) -> None:
    rows = tuple(
        replace(row, rank=None, reference="for comparison") if row.submission.card.name == "Good" else row
        for row in three.board.rows
    )
    page = Page(pages(replace(three, board=replace(three.board, rows=rows)))["tasks/molecules.html"])
    assert page.row("Good")[0][0].strip() == "–"
    assert page.row("Worse")[0][0].strip() == "2"
    assert page.row("Broken")[0][0].strip() == "1"


def test_of_a_public_set_the_card_is_shown(read: dict[str, Page]) -> None:
    words = read["tasks/crystals.html"].words
    for said in (PUBLIC.title, PUBLIC.citation, PUBLIC.licence, "public since 2014", "PBE, plane waves"):
        assert said in words
    assert digest("labels of the card") not in words


def test_hidden_sets_show_no_hash_no_seed_and_no_source_of_their_own() -> None:
    own = replace(
        task("secret", "nve", "Molecules"), source="the shelf on the left", parameters={"seed": 71, "steps": 5}
    )
    known = replace(own, name="known", dataset="known@1")
    suite = replace(SUITE, tasks=(own, known))
    cards = {name: PUBLIC.model_copy(update={"name": name}) for name in ("secret", "known")}
    cards["secret"] = cards["secret"].model_copy(update={"public_since": ""})
    sources = Sources(public={"known@1"}, cards={f"{name}@1": card for name, card in cards.items()})
    trained = submission("Model", training=(TrainingSet(name="The shelf on the left"),))
    of = framed(suite, [trained], [result(trained, each, {}) for each in suite.tasks], sources)
    found = pages(of)
    hidden, public = Page(found["tasks/secret.html"]), Page(found["tasks/known.html"])
    assert "known to the judge alone" in hidden.words
    assert "the shelf on the left" not in hidden.words
    assert "No model declares it." in hidden.words  # nor does a guess of what is not shown find it out
    assert "71" not in hidden.words
    assert ("steps 5" in hidden.words, "seed 71" in public.words) == (True, True)
    assert "declares The shelf on the left" in public.words
    for page in found.values():
        assert not re.search(rb"[0-9a-f]{64}", page)


def test_declared_training_is_named_and_the_rest_is_not_known(three: Frame, read: dict[str, Page]) -> None:
    words = read["tasks/crystals.html"].words
    assert "Worse declares crystals OF everything" in words
    assert "2 models no data at all" in words or "and 2 no data at all" in words
    assert "What is not declared is not known" in words
    assert "No model declares it." in read["tasks/molecules.html"].words
    assert plain_name("MD-22") == plain_name("md 22") != plain_name("MD-221")
    assert overlap(three.board, SUITE.tasks[0], DataSet("…", None, "", "")).declared == ()


def test_hidden_is_set_beside_public() -> None:
    suite = replace(SUITE, tasks=(task("open", "energy_differences", "Molecules"), SUITE.tasks[2]))
    models = [submission(f"M{i}") for i in range(3)]
    hidden, public, results = (0.2, 0.6, 0.4), (0.1, 0.5, 0.1), []
    for of, here, there in zip(models, hidden, public, strict=True):
        results += [
            result(of, suite.tasks[0], {"mae": error(there, "eV")}),
            result(of, suite.tasks[1], {"mae": error(here, "eV")}),
        ]
    card = PUBLIC.model_copy(update={"name": "open"})
    found = pages(framed(suite, models, results, Sources(public={"open@1"}, cards={"open@1": card})))
    median = statistics.median(a / b for a, b in zip(hidden, public, strict=True))
    for of, other in (("open", "barriers"), ("barriers", "open")):
        page = Page(found[f"tasks/{of}.html"])
        assert re.search(rf"Mean absolute error .*{median:.2f} 3 ", page.words)
        assert f"../tasks/{other}.html" in page.links


def test_names_are_text_and_links_lead_somewhere() -> None:
    hostile = '<script>alert(1)</script>"><img src=x onerror=alert(2)>\u202e'
    of = submission(hostile, version=hostile[:40], training=(TrainingSet(name=hostile),))
    named = replace(SUITE.tasks[0], source=hostile)
    suite = replace(SUITE, tasks=(named, *SUITE.tasks[1:]))
    board = build_leaderboard(suite, [of], good_results(of, 0.2), items_of)
    files = render(board, Sources(public={"crystals@1"}, cards={"crystals@1": PUBLIC}))
    page = files["tasks/crystals.html"].decode()
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "\u202e" not in page
    assert f"declares {hostile[:10]}" in Page(page.encode()).words
    for path in (path for path in files if path.startswith("tasks/")):
        for link in Page(files[path]).links:
            where = link.partition("#")[0].removeprefix("../")
            assert link.startswith("http") or not where or where in files, f"{path}: {link}"


@pytest.mark.parametrize("status", ["OK", "NOT JUDGED", *(str(verdict) for verdict in Verdict)])
def test_a_verdict_looks_as_on_every_page(status: str) -> None:
    module = environment().get_template("parts.html").module
    assert chip(status) == " ".join(str(module.chip(status)).split())  # type: ignore[attr-defined]
