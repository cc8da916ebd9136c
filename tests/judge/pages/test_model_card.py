"""The card of a model page: statements, repeated runs, versions and the signature; missing facts are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages.models import model_pages
from judge.ranking.leaderboard import TakenOut
from judge.ranking.load import read_board
from judge.records.records import Result
from judge.view.page_context import frame
from judge.view.sources import Sources
from submissions.records import Arrival, Check, StatedLabelSet
from submissions.store.local import LocalStore
from tasks.metrics.metric import Metric
from tests.judge.pages.model_page_reader import Reader, changed, page_of, pages_of
from tests.world.board_records import NOON, SUITE, digest, good_results, save, submission


def test_missing_fields_of_a_card_are_named(tmp_path: Path) -> None:
    model = submission("alpha")
    page = page_of(tmp_path, model, good_results(model, 0.2))
    for field in ("Authors", "Affiliation", "Submitted by", "Licence", "Weights", "Paper", "Code"):
        assert f"{field} not stated" in page.words
    stated = {name: (statement, measured) for name, statement, measured in page.rows("measured-title")}
    for field in ("Parameters", "Elements", "Precision", "Dispersion", "Charge", "Spin"):
        assert stated[field] == ("not stated", "not measured")
    assert stated["Level of theory, Molecules"] == ("not stated", "not judged against labels")
    assert stated["Hardware"] == ("not stated", "timed on x86_64, 2 cores")
    assert "The author does not state the training data." in page.words
    assert "so overlap with a test set is not known" in page.words
    assert "Not known: there is no invitation" in page.words


def test_charge_labels_and_hardware_are_shown(tmp_path: Path) -> None:
    model = submission(
        "alpha", precision="float32", dispersion=True, label_sets={"Molecules": StatedLabelSet(name="PBE")}
    )
    seen = (
        Check(name="charge awareness", passed=None, value="ignores charge"),
        Check(name="spin awareness", passed=None, value="a stated multiplicity is an error"),
        Check(name="asked again, ethanol", passed=True, value="ΔE 0.0e+00 eV/atom, ΔF 0.0e+00 eV/Å"),
    )
    model = changed(model, preflight=model.preflight.model_copy(update={"checks": seen}))
    results = good_results(model, 0.2)
    for without_labels in (3, 4):  # dynamics and timing: answers are compared with nothing
        results[without_labels] = results[without_labels].model_copy(update={"label_set": "PBE"})
    results[1] = results[1].model_copy(update={"label_set": "PBE", "label_set_declared": True})
    page = page_of(tmp_path, model, results)
    stated = {name: (statement, measured) for name, statement, measured in page.rows("measured-title")}
    assert stated["Charge"][1] == "ignores charge"
    assert stated["Spin"][1] == "a stated multiplicity is an error"
    assert stated["Precision"] == ("float32", "not measured")

    assert stated["Dispersion"][0] == "in the energies"
    assert stated["Level of theory, Molecules"] == ("PBE", "judged against PBE in 1 task")
    assert stated["Level of theory, Inorganic Materials"] == ("not stated", "not judged against labels")
    assert "In the preflight, asked again, ethanol: ΔE 0.0e+00" in page.words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "all answers in single precision △ differs from the statement"),
        (0.25, "25 % of the answers in single precision"),
        (0.0, "answers finer than single precision"),
    ],
)
def test_precision_that_was_found_is_beside_what_is_stated(tmp_path: Path, share: float, words: str) -> None:
    model = submission("alpha", precision="float64")
    results = good_results(model, 0.2)
    found = {"single_precision": Metric(value=share, unit="", n_items=20)}
    results[4] = results[4].model_copy(update={"metrics": results[4].metrics | found})
    stated = {name: rest for name, *rest in page_of(tmp_path, model, results).rows("measured-title")}
    assert stated["Precision"] == ["float64", words]


def test_repeated_runs(tmp_path: Path) -> None:
    once = submission("once")
    page = page_of(tmp_path / "1", once, good_results(once, 0.2))
    assert "Each task was judged once, so the difference to a second judging is not known." in page.words
    again = submission("again")
    results = good_results(again, 0.2)
    results[2] = results[2].model_copy(update={"round": 2})
    counts = {"unit": "", "n_items": 20}
    results[4] = results[4].model_copy(
        update={
            "metrics": results[4].metrics
            | {
                "time_spread": Metric(value=0.12, **counts),
                "n_rechecked": Metric(value=8.0, **counts),
                "n_inconsistent": Metric(value=1.0, **counts),
            }
        }
    )
    save(LocalStore(tmp_path / "2" / "store"), [again], results)
    board = read_board(LocalStore(tmp_path / "2" / "store"), SUITE, lambda _: None)
    rows = [replace(row, tasks=tuple(_with(line, results) for line in row.tasks)) for row in board.rows]
    drawn = model_pages.pages(frame(public_board(replace(board, rows=tuple(rows)), ()), Sources()))
    page = Reader(next(iter(drawn.values())).decode())
    assert "later round count in Barriers (round 2); those of the first round in all other tasks." in page.words
    assert "1 of 8 structures got another answer in a fresh container." in page.words
    assert "12\u00a0% in Speed" in "".join(page.pieces)


def _with(line: object, results: Sequence[Result]) -> object:
    """The line with this result: signed events decide which round counts, not this test."""
    match = next(each for each in results if each.task == line.task.name)  # type: ignore[attr-defined]
    return replace(line, result=match)  # type: ignore[type-var]


def test_two_submissions_of_one_image_name_each_other(tmp_path: Path) -> None:
    first, other = submission("first"), submission("other")
    image = first.image.model_copy(update={"reference": "other:latest"})
    other = changed(other, image=image)
    pages = pages_of(tmp_path, [first, other], [*good_results(first, 0.2), *good_results(other, 0.3)])
    assert "same image was also submitted under another name: other." in Reader(pages[first.id]).words
    assert "same image was also submitted under another name: first." in Reader(pages[other.id]).words
    assert f'href="../submissions/{other.id}.html"' in pages[first.id]


def test_versions_of_a_name_and_a_team_in_order(tmp_path: Path) -> None:
    """Versions share the name or the team; a withdrawn one is listed, and a submission of another team is not."""
    team = {"arrival": Arrival(by="upload", invitation="the-team")}
    first = changed(submission("alpha", version="1"), created=NOON, **team)
    second = changed(submission("beta"), created=NOON + timedelta(days=1), **team)
    named = changed(submission("Alpha", version="2"), created=NOON + timedelta(days=2), id=f"alpha-{digest('x')[:12]}")
    gone = changed(submission("gamma"), created=NOON + timedelta(days=3), **team)
    stranger = submission("delta")
    known = [second, first, stranger, named]
    results = [each for model in known for each in good_results(model, 0.2 if model is first else 0.4)]
    out = TakenOut(gone, "withdrawn", NOON, "a bug <b>")
    pages = pages_of(tmp_path, known, results, taken_out=[out])
    page = Reader(pages[first.id])
    table = page.rows("Table of versions")
    digits = {model.id: model.id[-12:] for model in (first, named)}  # names that look alike, of two teams
    shown = [f"alpha 1 · this page {digits[first.id]}", "beta", f"Alpha 2 {digits[named.id]}", "gamma"]
    assert [row[0] for row in table] == shown
    assert table[0][2:4] == ["1", "0.200"]
    assert table[3][2] == "Withdrawn: a bug <b>"
    assert "3 submissions of this team" in page.words
    assert "3, all listed below. The best of several submissions looks better" in page.words
    shown = [f"alpha 1 {digits[first.id]}", f"Alpha 2 · this page {digits[named.id]}"]
    assert [row[0] for row in Reader(pages[named.id]).rows("Table of versions")] == shown
    assert "This is the only submission with this name." in Reader(pages[stranger.id]).words


def test_signature(tmp_path: Path) -> None:
    model = submission("alpha")
    built = page_of(tmp_path / "1", model, good_results(model, 0.2))
    assert "These pages are not published: no manifest signs them." in built.words
    published = page_of(tmp_path / "2", model, good_results(model, 0.2), sources=Sources(now=NOON))
    assert "manifest.json has the SHA-256 of this page and of every result on it." in published.words
    assert "../manifest.json" in {a.get("href") for _, a in published.tags}
    assert "judge verify --all --trust KEY" in published.words


def test_the_name_of_an_invitation_is_nowhere_and_the_cards_names_are(tmp_path: Path) -> None:
    arrival = Arrival(by="reference", invitation="the-invitation")
    for card, shown in (
        ({"affiliation": "A Lab", "authors": ("Ada",)}, "By A Lab"),
        ({"authors": ("Ada", "Ben")}, "By Ada, Ben"),
        ({"authors": ("Ada", "Ben", "Cleo", "Dora")}, "By Ada et al."),
    ):
        model = changed(submission("alpha", **card), arrival=arrival)
        pages = pages_of(tmp_path, [model], good_results(model, 0.2))
        assert shown in Reader(pages[model.id]).words
        assert "the-invitation" not in "".join(pages.values())
