"""The pages of tasks whose models are trained: the ranking, models without a trainer apart, hardware, failures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.pages.models import model_pages
from judge.pages.tasks import task_pages
from judge.ranking.load import read_board
from judge.view.page_context import Frame, frame
from scoring.names import PROPERTY_ERROR
from submissions.store.local import LocalStore
from tasks.learning.training import Training
from tasks.suites.suite import Suite
from tests.judge.pages.learning_site import (
    CURVES,
    MODELS,
    SENTENCE,
    MadeModel,
    learned_noise,
    learning_frame,
    learning_tasks,
    make_learning_store,
    sources_of,
)
from tests.world.board_records import error, result, save, submission, task

NAMES = [f"n{n}-s{seed}" for n in CURVES.sizes for seed in CURVES.seeds]
ALWAYS_FAILS = MadeModel("always fails", learned_noise, dict.fromkeys(NAMES, SENTENCE))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    store = LocalStore(tmp_path_factory.mktemp("learning") / "store")
    return learning_frame(store, make_learning_store(store, (*MODELS, ALWAYS_FAILS)))


@pytest.fixture(scope="module")
def curves(made: Frame) -> str:
    return task_pages.pages(made)["tasks/curves.html"].decode()


def section(page: str, begin: str, end: str) -> str:
    """The text between two markers, with single spaces and without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.split(begin)[1].split(end)[0]).split())


def test_a_model_without_a_trainer_is_in_a_table_of_its_own(curves: str) -> None:
    ranking = section(curves, 'sortable task-ranking"', "</table>")
    assert "careful" in ranking
    assert "zero-shot" not in ranking
    apart = section(curves, 'id="zero-shot-title"', "</table>")
    assert "no score of learning" in apart
    assert "zero-shot" in apart
    assert "careful" not in apart
    assert "counts 1.000 for each of them" in apart


def test_no_model_is_placed_better_because_it_has_no_trainer(made: Frame) -> None:
    """In the corrected score it counts as much as one whose trainings all fail, and never less than one that learns."""
    rows = {row.submission.card.name: row for row in made.board.rows}
    of_task = {
        name: next(
            part for domain in row.scores[PROPERTY_ERROR].parts for part in domain.parts if part.name == "curves"
        )
        for name, row in rows.items()
    }
    counted = {name: part.value if part.counted is None else part.counted for name, part in of_task.items()}
    assert counted["zero-shot"] == counted["always fails"] == 1.0
    assert counted["careful"] < counted["zero-shot"]
    placed = [row.submission.card.name for row in made.board.rows]
    assert placed.index("careful") < placed.index("zero-shot")
    assert placed[-1] == "zero-shot"


def test_in_a_suite_with_other_tasks_the_missing_score_costs(tmp_path: Path) -> None:
    """Two models with the same error of 0.5 in another task: the one that learns well is better."""
    store, other = LocalStore(tmp_path / "store"), task("barriers", "energy_differences", "Molecules")
    suite = make_learning_store(store, MODELS, learning_tasks()[:1])
    for name in ("careful", "zero-shot"):
        model = submission(name)
        save(store, [], [result(model, other, {"mae": error(0.5, "eV")})])
    mixed = Suite(name="mixed", version="1", title="Mixed", tasks=(*suite.tasks, other))
    rows = {row.submission.card.name: row for row in read_board(store, mixed, lambda line: None).rows}
    whole = {name: rows[name].scores[PROPERTY_ERROR].value for name in ("careful", "zero-shot")}
    assert whole["zero-shot"] == pytest.approx((0.5 + 1.0) / 2, abs=0.2)  # metrics of the domain have equal weights
    assert whole["careful"] is not None
    assert whole["zero-shot"] is not None
    assert whole["careful"] < whole["zero-shot"]


def test_alone_on_the_board_a_model_without_a_trainer_has_the_worst_score(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    board = read_board(store, make_learning_store(store, (MODELS[2],)), lambda line: None)
    term = board.rows[0].scores[PROPERTY_ERROR]
    assert (term.value if term.counted is None else term.counted) in (None, 1.0)
    sources = sources_of(store, board, hidden=False)
    page = task_pages.pages(frame(public_board(board, sources.public), sources))["tasks/curves.html"].decode()
    assert "No model with a trainer has been judged yet." in page
    assert 'id="zero-shot-title"' in page


def test_the_class_of_hardware_is_told_and_another_one_is_marked(made: Frame, curves: str, tmp_path: Path) -> None:
    assert "All models were trained on hardware of one class: 1 × H100." in curves
    store = LocalStore(tmp_path / "store")
    elsewhere = MadeModel("elsewhere", slower, {}, "1 × A100")
    other = learning_frame(store, make_learning_store(store, (MODELS[0], elsewhere)))
    page = task_pages.pages(other)["tasks/curves.html"].decode()
    assert "hardware of 2 classes" in page
    dividers = re.findall(r'class="divider"><tr[^>]*><td[^>]*>([^<]+)', page)
    assert dividers == ["1 × A100", "1 × H100"]
    findings = section(page, 'id="findings-title"', "</table>")
    assert "careful" in findings  # the best score, whichever class comes first
    assert len(re.findall("agrees|does not agree|not measured", findings)) == 4


def slower(training: Training) -> float:
    return 2 * learned_noise(training)


def test_failed_trainings_are_counted_and_folded(made: Frame, curves: str) -> None:
    failed = section(curves, 'id="failed-title"', "</table>")
    assert "hasty 3 of 15 2 reasons 2 trainings: Nothing lies in out_dir at the end; its time was over." in failed
    assert "always fails 15 of 15 1 reason 15 trainings:" in failed
    row = next(row for row in made.board.rows if row.submission.card.name == "always fails")
    page = model_pages.pages(made)[row.page].decode()
    assert "15 failed trainings" in page
    assert "<dt>Training n200-s1" not in page
    assert page.count("Nothing lies in out_dir") == 1
