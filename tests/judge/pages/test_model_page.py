"""The page of a model: what is known is said, what is not known is said to be so, and odd input reads right."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from judge.disclosure.public_leaderboard import public_board
from judge.pages.models import model_pages
from judge.ranking.leaderboard import TakenOut
from judge.ranking.load import read_board
from judge.records.records import Result
from judge.view.escaping import words
from judge.view.formatting import plain
from judge.view.page_context import frame
from judge.view.sources import Sources
from sandbox.verdict import Verdict
from submissions.records import Arrival, Check, StatedLabelSet, Submission, TrainingSet
from submissions.store.local import LocalStore
from tasks.metrics.metric import Metric, MetricPart
from tasks.suites.suite import Suite
from tests.world.board_records import NOON, SUITE, digest, error, good_results, refused, result, save, submission

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "\u202ereversed \u05e9\u05dc\u05d5\u05dd \u2066unclosed",
    "🧪" * 200,
    "W" * 200,
)


class Reader(HTMLParser):
    """The text of a page as it is read, its tags, and the cells of its tables by what labels their frames."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self._table: list[list[str]] | None = None
        self._skipped = self._frame = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.tags.append((tag, of))
        if tag in ("script", "style", "title"):
            self._skipped = tag
        elif of.get("role") == "region":
            self._frame = of.get("aria-labelledby") or of.get("aria-label") or ""
        elif tag == "table":
            self._table = self.tables.setdefault(self._frame, [])
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in ("td", "th") and self._table:
            self._table[-1].append("")
        if tag not in ("bdi", "span", "a", "strong", "sub", "sup", "code"):
            self.said.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipped:
            self._skipped = ""
        if tag == "table":
            self._table = None

    def handle_data(self, data: str) -> None:
        if self._skipped:
            return
        self.said.append(data)
        if self._table and self._table[-1]:
            self._table[-1][-1] += data

    @property
    def words(self) -> str:
        """All text with single spaces."""
        return " ".join("".join(self.said).split())

    def rows(self, table: str) -> list[list[str]]:
        """The cells of a table without its headings."""
        return [[" ".join(cell.split()) for cell in row] for row in self.tables[table][1:]]


def pages_of(
    tmp_path: Path,
    submissions: Sequence[Submission],
    results: Sequence[Result],
    suite: Suite = SUITE,
    sources: Sources | None = None,
    taken_out: Sequence[TakenOut] = (),
) -> dict[str, str]:
    """By id of the submission, its page."""
    store, problems = LocalStore(tmp_path / "store"), []
    save(store, submissions, results)
    board = replace(read_board(store, suite, problems.append), taken_out=tuple(taken_out))
    assert problems == []
    told = sources or Sources()
    drawn = model_pages.pages(frame(public_board(board, told.public), told))
    return {Path(path).stem: page.decode() for path, page in drawn.items()}


def page_of(tmp_path: Path, of: Submission, results: Sequence[Result] = (), **more: object) -> Reader:
    """The page of one submission that stands alone on its board."""
    return Reader(pages_of(tmp_path, [of], results, **more)[of.id])  # type: ignore[arg-type]


def changed(of: Submission, **fields: object) -> Submission:
    return of.model_copy(update=fields)


def test_a_model_with_no_result_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, submission("alpha"))
    assert "Not ranked: no task was judged yet." in page.words
    assert page.words.count("Not judged yet.") == len(SUITE.tasks)
    assert "Nothing was judged yet." in page.words  # of repeats
    assert "No task ran yet." in page.words
    assert "0 of 3 OK" in page.words
    assert page.words.count("None") == page.words.count("nan") == 0


def test_a_model_that_failed_everything_has_its_verdicts(tmp_path: Path) -> None:
    of = submission("alpha")
    sentence = "Answer within ten minutes."
    failed = [refused(of, each, Verdict.TIME_LIMIT, sentence=sentence) for each in SUITE.tasks]
    page = page_of(tmp_path, of, failed)
    assert "Not ranked: 5 of 5 tasks failed or not judged." in page.words
    assert page.words.count("time limit") == 5
    assert page.words.count(sentence) == 5
    assert "0 of 3 OK" in page.words
    assert "Metrics of crystals" not in page.tables


def test_one_task_only(tmp_path: Path) -> None:
    """A suite of one task: its line is open, since there is nothing else to look at."""
    of = submission("alpha")
    page = page_of(tmp_path, of, good_results(of, 0.2)[2:3], suite=replace(SUITE, tasks=SUITE.tasks[2:3]))
    assert "Rank 1 of 1" in page.words
    assert [a.get("open", "closed") for tag, a in page.tags if tag == "details" and a.get("class") == "task"] == [None]
    assert page.rows("Metrics of barriers") == [
        ["Mean absolute error", "200", "1 000", "meV", "0.200", "10", "0"],
    ]


def test_a_suite_that_lost_a_task_shows_the_others(tmp_path: Path) -> None:
    of = submission("alpha")
    page = page_of(tmp_path, of, good_results(of, 0.2), suite=replace(SUITE, tasks=SUITE.tasks[:2] + SUITE.tasks[3:]))
    assert "barriers" not in page.words
    assert "Property error" not in page.words
    assert "Rank 1 of 1" in page.words


def test_hostile_text_is_text(tmp_path: Path) -> None:
    known = [hostile(name) for name in HOSTILE]
    results = [each for of in known for each in good_results(of, 0.2)]
    pages = pages_of(tmp_path, known, results, sources=Sources(logs={of.id: of.card.name for of in known}))
    for of in known:
        page = Reader(pages[of.id])
        assert not {"img", "iframe", "style", "object", "form", "base"} & {tag for tag, _ in page.tags}
        assert all(not key.startswith("on") and key != "style" for _, a in page.tags for key in a)
        assert not re.search("[\u0000-\u0008\u001b\u202a-\u202e\u2066-\u2069]", "".join(page.said))
        assert plain(of.card.name) in "".join(page.said)


def hostile(name: str) -> Submission:
    """A submission that says it wherever it can."""
    said = Check(name=name, passed=None, value=name)
    of = submission(
        name,
        description=name,
        authors=(name,),
        license=name[:200],
        version=name[:64],
        hardware=name,
        precision="float32",
        training=(TrainingSet(name=name, level_of_theory=name),),
        label_sets={"Molecules": StatedLabelSet(name=name[:64])},
    )
    return changed(of, author=name, preflight=of.preflight.model_copy(update={"checks": (said,)}))


@given(st.text(max_size=60))
def test_words_are_cleared_and_escaped(text: str) -> None:
    assert words(text) == escape(plain(text))


def test_what_a_card_lacks_is_said(tmp_path: Path) -> None:
    of = submission("alpha")
    page = page_of(tmp_path, of, good_results(of, 0.2))
    for field in ("Authors", "Affiliation", "Submitted by", "Licence", "Weights", "Paper", "Code"):
        assert f"{field} not stated" in page.words
    stated = {name: (said, measured) for name, said, measured in page.rows("measured-title")}
    for field in ("Parameters", "Elements", "Precision", "Dispersion", "Charge", "Spin"):
        assert stated[field] == ("not stated", "not measured")
    assert stated["Level of theory, Molecules"] == ("not stated", "not judged against labels")
    assert stated["Hardware"] == ("not stated", "timed on x86_64, 2 cores")
    assert "The author does not state the training data." in page.words
    assert "so overlap with a test set is not known" in page.words
    assert "Not known: there is no invitation" in page.words


def test_what_is_known_of_charge_labels_and_hardware(tmp_path: Path) -> None:
    of = submission("alpha", precision="float32", dispersion=True, label_sets={"Molecules": StatedLabelSet(name="PBE")})
    seen = (
        Check(name="charge awareness", passed=None, value="ignores charge"),
        Check(name="spin awareness", passed=None, value="a stated multiplicity is an error"),
        Check(name="asked again, ethanol", passed=True, value="ΔE 0.0e+00 eV/atom, ΔF 0.0e+00 eV/Å"),
    )
    of = changed(of, preflight=of.preflight.model_copy(update={"checks": seen}))
    found = good_results(of, 0.2)
    found[1] = found[1].model_copy(update={"label_set": "PBE", "label_set_declared": True})
    page = page_of(tmp_path, of, found)
    stated = {name: (said, measured) for name, said, measured in page.rows("measured-title")}
    assert stated["Charge"][1] == "ignores charge"
    assert stated["Spin"][1] == "a stated multiplicity is an error"
    assert stated["Precision"] == ("float32", "not measured")
    assert stated["Dispersion"][0] == "in the energies"
    assert stated["Level of theory, Molecules"] == ("PBE", "judged against PBE in 1 task")
    assert "In the preflight, asked again, ethanol: ΔE 0.0e+00" in page.words


def test_repeated_runs(tmp_path: Path) -> None:
    once = submission("once")
    page = page_of(tmp_path / "1", once, good_results(once, 0.2))
    assert "Judged once: no task counts from a later round" in page.words
    again = submission("again")
    found = good_results(again, 0.2)
    found[2] = found[2].model_copy(update={"round": 2})
    counts = {"unit": "", "n_items": 20}
    found[4] = found[4].model_copy(
        update={
            "metrics": found[4].metrics
            | {
                "time_spread": Metric(value=0.12, **counts),
                "n_rechecked": Metric(value=8.0, **counts),
                "n_inconsistent": Metric(value=1.0, **counts),
            }
        }
    )
    save(LocalStore(tmp_path / "2" / "store"), [again], found)
    board = read_board(LocalStore(tmp_path / "2" / "store"), SUITE, lambda _: None)
    rows = [replace(row, tasks=tuple(_with(line, found) for line in row.tasks)) for row in board.rows]
    drawn = model_pages.pages(frame(public_board(replace(board, rows=tuple(rows)), ()), Sources()))
    page = Reader(next(iter(drawn.values())).decode())
    assert "of a later round of judging in barriers (round 2); every other task is of its first." in page.words
    assert "Asked again in a fresh container, 1 of 8 structures got another answer." in page.words
    assert "12\u00a0% in speed" in "".join(page.said)


def _with(line: object, results: Sequence[Result]) -> object:
    """The line with the result as it was made: which round counts is decided by signed events, not here."""
    own = next(each for each in results if each.task == line.task.name)  # type: ignore[attr-defined]
    return replace(line, result=own)  # type: ignore[type-var]


def test_two_submissions_of_one_image_name_each_other(tmp_path: Path) -> None:
    one, other = submission("one"), submission("other")
    image = one.image.model_copy(update={"reference": "other:latest"})
    other = changed(other, image=image)
    pages = pages_of(tmp_path, [one, other], [*good_results(one, 0.2), *good_results(other, 0.3)])
    assert "same image was also submitted under another name: other." in Reader(pages[one.id]).words
    assert "same image was also submitted under another name: one." in Reader(pages[other.id]).words
    assert f'href="../submissions/{other.id}.html"' in pages[one.id]


def test_versions_of_a_name_and_a_team_in_order(tmp_path: Path) -> None:
    """By the name alone, by the team alone, and one that was withdrawn; a stranger is not among them."""
    team = {"arrival": Arrival(by="upload", invitation="the-team")}
    first = changed(submission("alpha", version="1"), created=NOON, **team)
    second = changed(submission("beta"), created=NOON + timedelta(days=1), **team)
    named = changed(submission("Alpha", version="2"), created=NOON + timedelta(days=2), id=f"alpha-{digest('x')[:12]}")
    gone = changed(submission("gamma"), created=NOON + timedelta(days=3), **team)
    stranger = submission("delta")
    known = [second, first, stranger, named]
    results = [each for of in known for each in good_results(of, 0.2 if of is first else 0.4)]
    out = TakenOut(gone, "withdrawn", NOON, "a bug <b>")
    pages = pages_of(tmp_path, known, results, taken_out=[out])
    page = Reader(pages[first.id])
    table = page.rows("Table of versions")
    assert [row[0] for row in table] == ["alpha 1 · this page", "beta", "Alpha 2", "gamma"]
    assert table[0][2:4] == ["1", "0.200"]
    assert table[3][2] == "Withdrawn: a bug <b>"
    assert "3 submissions of this team" in page.words
    assert "3, all listed below. The best of several submissions looks better" in page.words
    assert [row[0] for row in Reader(pages[named.id]).rows("Table of versions")] == ["alpha 1", "Alpha 2 · this page"]
    assert "This is the only submission with this name." in Reader(pages[stranger.id]).words


def test_what_is_otherwise_as_published_stands_beside_it(tmp_path: Path) -> None:
    """One item of ten failed: charged here, not there. What is the same is not said twice."""
    of = submission("alpha")
    found = good_results(of, 0.2)
    charged = replace(error(0.4, "eV", n_failed=1), value=0.1)
    found[2] = result(of, SUITE.tasks[2], {"mae": charged})
    page = page_of(tmp_path, of, found)
    why = page.words.partition("Why these scores")[2].partition("Tasks Inorganic")[0]
    assert "Mean absolute error 0.4000 share 100 % as published 0.1000" in why.replace("\u00a0", " ")
    assert "Force-field error 0.2000 Energy" in why  # no `as published` between
    assert "1 of 10 items failed, 100 meV without them" in why


def test_signature(tmp_path: Path) -> None:
    of = submission("alpha")
    built = page_of(tmp_path / "1", of, good_results(of, 0.2))
    assert "These pages are not published: no manifest signs them." in built.words
    published = page_of(tmp_path / "2", of, good_results(of, 0.2), sources=Sources(now=NOON))
    assert "manifest.json has the SHA-256 of this page and of every result on it." in published.words
    assert "../manifest.json" in {a.get("href") for _, a in published.tags}
    assert "judge verify --all --trust KEY" in published.words


def test_times_have_two_digits(tmp_path: Path) -> None:
    of = submission("alpha")
    found = good_results(of, 0.2)
    found[4] = result(of, SUITE.tasks[4], {"time_mean": replace(found[4].metrics["time_mean"], value=83.4567)})
    page = page_of(tmp_path, of, found)
    assert page.rows("Metrics of speed")[0][1] == "83.0"
    assert "83.4567" not in "".join(page.said)


def test_parts_are_a_line_each(tmp_path: Path) -> None:
    of = submission("alpha")
    found = good_results(of, 0.2)
    parts = [
        MetricPart(by="element", name=name, metric=metric, value=0.01, unit="eV/atom", n_items=n, n_failed=0)
        for name in ("Cu", "Ni")
        for metric, n in (("energy_rmse_per_atom", 10), ("energy_mae_per_atom", 8))
    ]
    found[0] = found[0].model_copy(update={"parts": tuple(parts)})
    page = page_of(tmp_path, of, found)
    assert page.rows("Metrics of crystals by element") == [
        ["Cu", "10.0", "10.0", "8–10", "0"],
        ["Ni", "10.0", "10.0", "8–10", "0"],
    ]


def test_provenance_is_said_once_where_it_is_the_same(tmp_path: Path) -> None:
    of = submission("alpha")
    found = good_results(of, 0.2)
    html = pages_of(tmp_path, [of], found)[of.id]
    assert html.count(f"<code>{of.image.id}</code>") == 2  # in the card, and of all tasks
    for each in found:
        assert f"<code>{each.result_key}</code>" in html
    assert len(gzip.compress(html.encode(), 9)) < 12_000
