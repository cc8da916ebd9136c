"""The file of a cache: a broken, damaged or foreign file is replaced, and changes no answer."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judge.records.cache_file import Cached, CacheFile
from judge.records.results import submission_ids
from submissions.store.local import LocalStore
from tests.judge.records.cached_store import MODELS, RESULTS, TICK_NS, Counted, Remote, cache_of, settle
from tests.world.board_records import save


@pytest.fixture(autouse=True)
def fine_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file system whose stamps tell apart what is a tick apart: nobody waits for seconds."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", TICK_NS)


BROKEN = {
    "empty": b"",
    "text": b"not a database at all\n" * 500,
    "cut": None,
}


def test_what_is_written_is_read_by_prefix(tmp_path: Path) -> None:
    file = CacheFile(tmp_path / "folder" / "cache.sqlite", "here")
    cached = {key: Cached("1", key.encode()) for key in ("a/b", "a/b/c", "a-b", "a0", "b/\N{MICRO SIGN}")}
    file.write(cached, ())
    assert file.read(["a/"]).keys() == {"a/b", "a/b/c"}
    assert file.read(["a/", "b/"]) == {key: cached[key] for key in ("a/b", "a/b/c", "b/\N{MICRO SIGN}")}
    file.write({"a/b": Cached("2", b"other")}, ["a/b/c", "never/there"])
    assert file.read(["a/"]) == {"a/b": Cached("2", b"other")}


def test_what_is_of_other_contents_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    CacheFile(path, "one").write({"a/b": Cached("1", b"one")}, ())
    other = CacheFile(path, "other")
    assert other.read(["a/"]) == {}
    other.write({"a/c": Cached("1", b"other")}, ())
    assert other.read(["a/"]) == {"a/c": Cached("1", b"other")}


def test_a_file_that_another_process_holds_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("judge.records.cache_file.BUSY_S", 0.01)
    file = CacheFile(tmp_path / "cache.sqlite", "here")
    file.write({"a/b": Cached("1", b"before")}, ())
    with closing(sqlite3.connect(file.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert file.read(["a/"]) == {}
        file.write({"a/b": Cached("2", b"after")}, ())
    assert file.read(["a/"]) == {"a/b": Cached("1", b"before")}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_file_is_made_anew(how: str, tmp_path: Path) -> None:
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    settle()
    ids = submission_ids(store)
    facts = cache_of(store, tmp_path).facts(ids)
    path = tmp_path / "cache.sqlite"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if BROKEN[how] is None else BROKEN[how])
    assert cache_of(store, tmp_path).facts(ids) == facts
    store.n_read = 0
    assert cache_of(store, tmp_path).facts(ids) == facts
    assert store.n_read == 0


@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_byte_changes_no_answer(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("world")
    store = Counted(root / "store")
    save(store, MODELS[:1], RESULTS[:2])
    settle()
    cache, ids = cache_of(store, root), submission_ids(store)
    facts = cache.facts(ids)
    path = root / "cache.sqlite"
    whole = bytearray(path.read_bytes())
    for _ in range(5):
        place = data.draw(st.integers(0, len(whole) - 1))
        damaged = whole.copy()
        damaged[place] ^= data.draw(st.integers(1, 255))
        path.write_bytes(damaged)
        assert cache.facts(ids) == facts
    shutil.rmtree(root)


def test_the_cache_of_another_store_is_not_believed(tmp_path: Path) -> None:
    first, second = Remote(LocalStore(tmp_path / "first")), Remote(LocalStore(tmp_path / "second"))
    save(first, MODELS, RESULTS)
    save(second, MODELS, RESULTS)
    ids = submission_ids(first)
    cache_of(first, tmp_path, "first").facts(ids)
    second.n_read = 0
    cache_of(second, tmp_path, "second").facts(ids)
    assert second.n_read == len(MODELS) + 2 * len(RESULTS)


def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    store = Counted(tmp_path / "store")
    save(store, MODELS, RESULTS)
    settle()
    (tmp_path / "file").write_text("in the way")
    facts = cache_of(store, tmp_path / "file").facts(submission_ids(store))
    assert facts == cache_of(store, tmp_path).facts(submission_ids(store))
