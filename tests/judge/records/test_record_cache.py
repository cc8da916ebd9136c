"""The cache of records: after any change of the objects, its facts are those of the objects."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.records import record_cache
from judge.records.attempts import read_histories, unit_prefix
from judge.records.record_cache import RecordCache
from judge.records.records import End, Result
from judge.records.result_selection import ResultFacts, select_counting
from judge.records.results import load_results, read_submissions, submission_ids
from sandbox.verdict import Verdict
from submissions.store.interface import Store, StoreError
from submissions.store.local import LocalStore
from tests.judge.records.cached_store import (
    MODELS,
    RESULTS,
    STORES,
    TICK_NS,
    Counted,
    Remote,
    act,
    cache_of,
    in_place,
    settle,
)
from tests.world.board_records import NOON, save

UNITS = st.tuples(st.sampled_from(RESULTS), st.integers(1, 3))
ACTIONS = st.one_of(
    st.tuples(st.just("claim"), UNITS),
    st.tuples(st.sampled_from(["ok", "crashed", "fault", "lost"]), UNITS),
    st.tuples(st.sampled_from(["result", "result by hand", "other verdict", "no result", "no claim", "no end"]), UNITS),
    st.tuples(st.sampled_from(["submission", "renamed", "stray", "nothing"]), UNITS),
)


@pytest.fixture(autouse=True)
def fine_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file system whose stamps tell apart what is a tick apart: nobody waits for seconds."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", TICK_NS)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Counted | Remote:
    return STORES[request.param](tmp_path / "store")


def check(store: Store, cache: RecordCache) -> None:
    """The facts from the cache equal those read without it."""
    ids = submission_ids(store)
    facts = cache.facts(ids)
    histories = read_histories(store, ids)
    assert [facts[each.id].submission for each in read_submissions(store)] == read_submissions(store)
    assert {prefix: history for each in facts.values() for prefix, history in each.histories.items()} == histories
    results = [result for each in facts.values() for result in each.results]
    assert {result.key for result in results} == {
        key for id in ids for key in store.list(f"results/{id}/") if key.endswith(".json")
    }
    counting = select_counting(results, histories, {}, of_all_suites=True)
    loaded = load_results(store, ids, of_all_suites=True)
    assert counting == [
        ResultFacts.from_result(each.key, result) for each, result in zip(counting, loaded, strict=True)
    ]


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("few", [0, 20])
@given(steps=st.lists(st.lists(ACTIONS, max_size=4), max_size=5))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_between_two_calls_is_seen(
    kind: str,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[list[tuple[str, tuple[Result, int]]]],
) -> None:
    """Whether each submission is listed by itself or all of them at once."""
    monkeypatch.setattr(record_cache, "FEW", few)
    root = tmp_path_factory.mktemp("world")
    store = STORES[kind](root / "store")
    save(store, MODELS[:2], RESULTS[:7])
    settle()
    for step in [[], *steps]:
        for action, (result, n) in step:
            act(store, action, result, n)
        check(store, cache_of(store, root))
        settle()
        check(store, cache_of(store, root))
    shutil.rmtree(root)


def test_what_is_unchanged_is_not_read_again(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    settle()
    ids = submission_ids(store)
    first = cache_of(store, tmp_path).facts(ids)
    store.n_read = 0
    assert cache_of(store, tmp_path).facts(ids) == first
    assert cache_of(store, tmp_path).facts(ids[:1]) == {ids[0]: first[ids[0]]}
    assert store.n_read == 0
    act(store, "crashed", RESULTS[0], 1)
    settle()
    assert cache_of(store, tmp_path).facts(ids) != first
    assert store.n_read == 1  # of all records the one that changed


def test_what_is_gone_is_not_kept(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    settle()
    ids, cache = submission_ids(store), cache_of(store, tmp_path)
    cache.facts(ids)
    act(store, "no result", RESULTS[0], 1)
    gone = f"results/{RESULTS[0].submission}/{RESULTS[0].task}/{RESULTS[0].result_key}.json"
    assert gone in cache.file.read(["results/"])
    cache.facts(ids)
    assert gone not in cache.file.read(["results/"])


def test_what_may_have_changed_unseen_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes within one tick of the clock can leave one stamp: the first must not be believed in."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 3 * 10**9)
    store = LocalStore(tmp_path / "store")
    save(store, MODELS, RESULTS)
    cache = cache_of(store, tmp_path)
    cache.facts(submission_ids(store))
    assert cache.file.read(["submissions/", "attempts/", "results/"]) == {}
    os.utime(store.root / f"submissions/{MODELS[0].id}/submission.json", (0, 0))  # pretends to be old
    cache.facts(submission_ids(store))
    assert cache.file.read(["submissions/", "attempts/", "results/"]) == {}


def test_a_record_that_cannot_be_read_is_named_each_time(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    prefix = unit_prefix(RESULTS[3].submission, RESULTS[3].task, RESULTS[3].observation_key)
    in_place(store, f"{prefix}1/end.json", b"{\xff")
    settle()
    for _ in range(2):
        with pytest.raises(StoreError, match=f"{prefix}1/end.json cannot be read"):
            cache_of(store, tmp_path).facts([model.id for model in MODELS])
    in_place(store, f"{prefix}1/end.json", End(owner="o", ended=NOON, verdict=Verdict.OK).model_dump_json().encode())
    check(store, cache_of(store, tmp_path))


def test_a_submission_that_is_gone_is_named(store: Counted | Remote, tmp_path: Path) -> None:
    save(store, MODELS, RESULTS)
    settle()
    ids = submission_ids(store)
    cache_of(store, tmp_path).facts(ids)
    store.delete(f"submissions/{ids[0]}/submission.json")
    with pytest.raises(StoreError, match=f"submissions/{ids[0]}/submission.json is gone"):
        cache_of(store, tmp_path).facts(ids)


def _check_often(root: Path, begin: float) -> None:
    while time.monotonic() < begin:
        time.sleep(0.001)
    for _ in range(10):
        store = LocalStore(root / "store")
        check(store, cache_of(store, root))


def test_processes_at_once_do_no_harm(tmp_path: Path) -> None:
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    context = multiprocessing.get_context("spawn")
    begin = time.monotonic() + 3.0
    processes = [context.Process(target=_check_often, args=(tmp_path, begin)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    settle()
    check(store, cache_of(store, tmp_path))
