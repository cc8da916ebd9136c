"""Of trainings on hidden data only few numbers are public: a canary in any other is on no page and in no file."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from judge.disclosure.public_leaderboard import public_board
from judge.disclosure.public_learning import (
    failed_trainings,
    public_learned,
    public_trainings,
    without_trainings,
)
from judge.disclosure.redaction import public_result, rounded, tells_of_single_labels
from judge.pages.site import render
from judge.ranking.leaderboard import Leaderboard
from judge.ranking.load import load_items, read_board
from judge.records.few_items import LEAST_ITEMS
from judge.records.records import Result
from judge.view.assets import plotly
from submissions.store.local import LocalStore
from tasks.kinds.sample_efficiency import SampleEfficiencyParameters
from tasks.suites.suite import Suite
from tests.judge.pages.learning_site import (
    NAMED,
    SENTENCE,
    MadeModel,
    learned_noise,
    make_learning_store,
    sources_of,
    trajectory,
)
from tests.world.board_records import task

PARAMETERS = SampleEfficiencyParameters(sizes=(50, 100), seeds=(1, 2, 3), n_asked=10)
MODEL = MadeModel(
    "learner",
    learned_noise,
    {"n50-s1": f"Trained: the trainer returned. Its model then failed: {NAMED}", "n50-s2": SENTENCE, "n100-s3": NAMED},
)


def made(root: Path, **parameters: object) -> tuple[LocalStore, Suite]:
    """A store with one model in one task of learning curves."""
    store = LocalStore(root / "store")
    chosen = PARAMETERS.model_copy(update=parameters)
    each = replace(task("curves", "sample_efficiency", "Molecules"), parameters=chosen)
    return store, make_learning_store(store, (MODEL,), [(each, trajectory(200, "b"))])


def read(store: LocalStore, suite: Suite) -> tuple[Leaderboard, Result]:
    board = read_board(store, suite, lambda line: None)
    result = board.rows[0].tasks[0].result
    assert result is not None
    return board, result


def test_a_hidden_task_has_two_digits_of_each_mean_and_nothing_else_of_a_training(tmp_path: Path) -> None:
    store, suite = made(tmp_path)
    board, stored = read(store, suite)
    known = {(part.name, part.metric): part.value for part in stored.parts if part.by == "training"}
    assert {metric for _, metric in known} >= {"learned_force_mae_se", "force_learning_ratio"}
    line = public_board(board, ()).rows[0].tasks[0]
    assert line.result is not None
    shown = {(part.name, part.metric): part.value for part in line.result.parts if part.by == "training"}
    assert shown.keys() == {(n, m) for n in ("n50", "n100") for m in ("learned_force_mae", "learned_energy_mae")}
    for key, value in shown.items():
        assert value == rounded(known[key] or 0.0, 2) != known[key]
    each = public_trainings(line, load_items(store, stored), ())
    assert [training.name for training in each] == ["n50", "n100"]
    assert all(not training.of_element for training in each)
    assert all(error.se is None for training in each for error in training.errors.values())
    public = public_board(board, {"curves@1"}).rows[0].tasks[0]
    whole = public_trainings(public, load_items(store, stored), {"curves@1"})
    assert set(whole[0].of_element) == {"H", "C", "O"}
    assert whole[1].errors["force"].se is not None


@pytest.mark.parametrize(("n_asked", "failed_share", "public"), [(10, 0.5, True), (9, 0.5, False), (20, 0.9, False)])
def test_a_mean_is_over_enough_answered_frames(tmp_path: Path, n_asked: int, failed_share: float, public: bool) -> None:
    """A model may leave frames unanswered up to the task's share of failures: the rest must be `LEAST_ITEMS`."""
    store, suite = made(tmp_path, n_asked=n_asked)
    _, stored = read(store, suite)
    each = replace(suite.tasks[0], failed_share=failed_share)
    shown = public_learned(stored, public_result(stored, hidden=True), each)
    assert any(part.by == "training" for part in shown.parts) == public == ((1 - failed_share) * n_asked >= LEAST_ITEMS)


def test_sentences_of_hidden_trainings_are_counted_and_quote_nothing(tmp_path: Path) -> None:
    store, suite = made(tmp_path)
    board, stored = read(store, suite)
    assert "LEAKWORD" in str(stored.notes)
    line = public_board(board, ()).rows[0].tasks[0]
    assert line.result is not None
    failed = failed_trainings(line.result.notes)
    assert {(each.sentence, each.n, each.names) for each in failed} == {
        (SENTENCE, 1, ()),
        ("A model was left, and then failed.", 1, ()),
        ("The training failed.", 1, ()),
    }
    assert without_trainings(line.result.notes) == without_trainings(stored.notes)
    public = failed_trainings(public_result(stored, hidden=False).notes)
    assert sorted(name for each in public for name in each.names) == ["n100-s3", "n50-s1", "n50-s2"]


def test_no_file_of_the_site_shows_more_than_is_public(tmp_path: Path) -> None:
    """Each number of a single training, of an element in it, and each spread, is searched for in all files."""
    store, suite = made(tmp_path)
    board, stored = read(store, suite)
    items = load_items(store, stored)
    assert items is not None
    errors = (items.columns["force_H_abs"] / items.columns["force_H_count"]).tolist()
    errors += (items.columns["force_abs"] / items.columns["force_count"]).tolist()
    values = [value for value in errors if value == value]
    values += [part.value for part in stored.parts if part.by == "training" and part.value]
    needles = {f"{scale * value:.3g}" for value in values for scale in (1, 1000)} | {"LEAKWORD", "n50-s1", "s 37"}
    needles = {needle for needle in needles if len(needle.replace(".", "")) > 3 or not needle[0].isdigit()}

    def leaks(*, hidden: bool) -> set[str]:
        files = render(board, sources_of(store, board, hidden=hidden))
        text = b"\n".join(content for content in files.values() if content != plotly()).decode(errors="replace")
        return {needle for needle in needles if needle in text}

    assert leaks(hidden=True) == set()
    assert len(leaks(hidden=False)) > 5  # the search finds them where they are public


def test_a_spread_over_seeds_tells_of_no_single_label(tmp_path: Path) -> None:
    """Two seeds are no two frames: a suite with few seeds can be published."""
    store, suite = made(tmp_path, seeds=(1, 2), sizes=(20, 50, 100))
    _, stored = read(store, suite)
    assert stored.metrics["force_learning_ratio_se"].n_items == 2
    assert not tells_of_single_labels(stored, None, date(2030, 1, 1))
