"""Two boards with equal keys of a submission have equal scores of it, after any changes of the store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from judge.ranking.interval_cache import IntervalCache
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.load import read_board, settled_stamps
from judge.records.cache_file import CacheFile
from judge.records.items_file import items_path, pack_items, result_path
from judge.records.records import Result
from judge.view.earlier_pages import digest_of
from sandbox.verdict import Verdict
from submissions.records import Submission
from submissions.store.local import LocalStore
from tests.world.board_records import (
    SUITE,
    VIRIAL,
    error,
    frames_metrics,
    good_results,
    items_of,
    result,
    save,
    submission,
)

MODELS = [submission(name) for name in ("alpha", "beta", "gamma", "delta")]
N_STEPS = 25


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    made = LocalStore(tmp_path / "store")
    for k, model in enumerate(MODELS):
        save_with_items(made, model, good_results(model, 0.2 + 0.1 * k))
    return made


def save_with_items(store: LocalStore, model: Submission, results: list[Result]) -> None:
    save(store, [model], results)
    for each in results:
        table = pack_items(items_of(each, n_clusters=5))
        store.put(items_path(each.submission, each.task, each.result_key), table)


def board(store: LocalStore, cache: CacheFile | None = None) -> tuple[Leaderboard, list[str]]:
    problems: list[str] = []
    kept = IntervalCache(cache, settled_stamps(store) if cache else {})
    made = read_board(store, SUITE, problems.append, cache=kept)
    kept.close()
    return made, problems


def scores(row: Row) -> str:
    return digest_of(replace(row, tasks=(), made_from=""))


def changes(store: LocalStore, chance: random.Random) -> Iterator[str]:
    """Changes the store in one of many ways, again and again; what was done, in words."""
    tasks = {task.name: task for task in SUITE.tasks}
    while True:
        model, relative = chance.choice(MODELS), chance.uniform(0.05, 2.0)
        whole = {each.task: each for each in good_results(model, relative)}
        name = chance.choice(list(whole))
        kind = chance.choice(["other", "gone", "failed", "virial", "without", "labels", "baseline", "broken items"])
        match kind:
            case "gone":
                store.delete(result_path(model.id, name, whole[name].result_key))
            case "failed":
                save(store, [model], [result(model, tasks[name], {}, Verdict.CRASHED)])
            case "virial" | "without":
                metrics = frames_metrics(relative, virial=kind == "virial")
                save_with_items(store, model, [result(model, tasks["molecules"], metrics)])
            case "labels":
                metrics = frames_metrics(relative)
                save_with_items(store, model, [result(model, tasks["crystals"], metrics, label_set="wB97M-V")])
            case "baseline":
                metrics = frames_metrics(relative) | {VIRIAL: error(relative, baseline=None)}
                save_with_items(store, model, [result(model, tasks["molecules"], metrics)])
            case "broken items":
                store.put(items_path(model.id, name, whole[name].result_key), b"broken")
            case _:
                save_with_items(store, model, [whole[name]])
        yield f"{kind}: {model.card.name}, {name}"


@pytest.mark.parametrize("seed", range(4))
def test_scores_with_equal_keys_are_equal(store: LocalStore, tmp_path: Path, seed: int) -> None:
    cache = CacheFile(tmp_path / "intervals.sqlite", "1")
    made: dict[str, str] = {}
    done = changes(store, random.Random(seed))
    for _ in range(N_STEPS):
        what = next(done)
        (fresh, problems), (kept, reported) = board(store), board(store, cache)
        assert problems == reported, what
        for one, other in zip(fresh.rows, kept.rows, strict=True):
            assert scores(one) == scores(other), what
            computed = digest_of((dict(other.scores), dict(other.as_published)))
            assert made.setdefault(other.made_from or computed, computed) == computed, what
    assert len(made) > N_STEPS


def test_another_result_changes_the_key_of_its_submission_alone(store: LocalStore, tmp_path: Path) -> None:
    cache = CacheFile(tmp_path / "kept.sqlite", "1")
    before = {row.submission.id: row.made_from for row in board(store, cache)[0].rows}
    assert all(before.values())
    save_with_items(store, MODELS[1], good_results(MODELS[1], 0.9)[:1])
    after = {row.submission.id: row.made_from for row in board(store, cache)[0].rows}
    assert [id for id in before if before[id] != after[id]] == [MODELS[1].id]


def test_a_metric_that_only_one_model_has_is_missing_in_all_others(store: LocalStore, tmp_path: Path) -> None:
    cache = CacheFile(tmp_path / "kept.sqlite", "1")
    before = {row.submission.id: row.made_from for row in board(store, cache)[0].rows}
    (task,) = (task for task in SUITE.tasks if task.name == "molecules")
    save_with_items(store, MODELS[1], [result(MODELS[1], task, frames_metrics(0.3, virial=True))])
    after = {row.submission.id: row.made_from for row in board(store, cache)[0].rows}
    assert not before.items() & after.items()
