"""Kept models of trainings: results are verified, models listed and asked again, and a changed one is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from judge.audit.kept_models import REMOVED
from judge.evaluation import plan
from judge.records.attempts import read_histories
from judge.records.model_file import model_path, read_model, store_model
from judge.records.records import End
from sandbox.training import TrainedModel
from tests.judge.evaluation.kills.learning_world import LearningWorld
from tests.world.judged import copy_of


@pytest.fixture(scope="module")
def learned() -> Iterator[LearningWorld]:
    """Judged once."""
    with TemporaryDirectory(prefix="lj") as folder:
        world = LearningWorld(Path(folder))
        world.prepare()
        assert world.settle() == 1
        yield world


def test_what_was_learned_is_verified_without_training(learned: LearningWorld) -> None:
    status, answer = learned.run_json_here("verify", "--all")
    assert status == 0, answer


def test_what_was_learned_holds_after_the_guest_of_trainings_was_replaced(
    learned: LearningWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "training_guest_version", lambda: "0123456789abcdef")
    status, answer = learned.run_json_here("verify", "--all")
    assert status == 0, answer


def test_the_models_are_listed_and_answer_as_they_did(learned: LearningWorld) -> None:
    before = sorted(learned.store.list(""))
    status, answer = learned.run_json_here("trainings", "--ask-again")
    assert status == 0
    assert isinstance(answer, dict)
    assert [each["training"] for each in answer["trainings"]] == ["n5-s1", "n10-s1", "n5-s2", "n10-s2"]
    assert {each["largest_change"] for each in answer["trainings"]} == {0.0}
    assert answer["changed"] == 0
    assert sorted(learned.store.list("")) == before


def test_a_model_that_answers_otherwise_is_found(learned: LearningWorld) -> None:
    """An end that names the model of another training, as if models had been exchanged."""
    (submission,) = {key.split("/")[1] for key in learned.store.list("submissions/")}
    histories = read_histories(learned.store, [submission])
    prefix, end = next((p, h.end) for p, h in histories.items() if h.end and h.end.model)
    content = dict(read_model(learned.store, end.model).files)
    np.savez(learned.root / "mean.npz", mean=17.0)
    content["mean.npz"] = (learned.root / "mean.npz").read_bytes()
    other = store_model(learned.store, TrainedModel(content))
    key = f"{prefix}1/end.json"
    kept = learned.store.get(key)
    try:
        changed = End.read(kept).model_copy(update={"model": other})
        learned.store.put(key, changed.model_dump_json().encode())
        status, answer = learned.run_json_here("trainings", "--ask-again")
        assert status == 1
        assert isinstance(answer, dict)
        assert answer["changed"] == 1
        learned.store.delete(model_path(other))
        status, answer = learned.run_json_here("trainings", "--ask-again")
        assert status == 0
        assert [each["is_kept"] for each in answer["trainings"]].count(False) == 1
    finally:
        learned.store.put(key, kept)


def test_answers_that_retention_removed_are_said_and_nothing_is_asked(learned: LearningWorld) -> None:
    with copy_of(learned) as world:
        world.write_settings(retention={"observations": 0})
        assert world.run_here("gc")[0] == 0
        assert len(list(world.store.list("observations/"))) == 1  # of the task
        status, answer = world.run_json_here("trainings", "--ask-again")
    assert (status, answer["changed"]) == (0, 0)
    assert [each["is_kept"] for each in answer["trainings"]] == [True] * 4
    assert {(each["answered"], each["sentence"]) for each in answer["trainings"]} == {(False, REMOVED)}
