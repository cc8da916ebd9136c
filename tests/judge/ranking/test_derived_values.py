"""Values of single results are kept between builds, and a value of other bytes, code or parameters is never used."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from judge.publishing.site_files import build_site
from judge.ranking.derived_values import DerivedValues
from judge.ranking.load import load_items, settled_stamps
from judge.records.cache_file import CacheFile
from judge.records.items_file import items_path, pack_items, result_path
from judge.records.records import Result
from judge.view.sources import Sources
from submissions.store.local import LocalStore
from tasks.metrics.measurement import Items
from tests.world import curves
from tests.world.board_records import save, submission

MODELS = [submission("first"), submission("second")]
RESULTS = [each for model in MODELS for each in curves.results_of(model, 0.2)]
WITH_ITEMS = [each for each in RESULTS if each.task == "known"]
FIRST = WITH_ITEMS[0]


def place(result: Result) -> tuple[str, str, str]:
    return result.submission, result.task, result.result_key


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalStore:
    """A store with two models that have curves of a public data set; its files are old."""
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    store = LocalStore(tmp_path / "store")
    save(store, MODELS, RESULTS)
    for number, each in enumerate(WITH_ITEMS):
        store.put(items_path(*place(each)), pack_items(curves.dynamics(curves.drifting(6, number))))
    return store


class Build:
    """A build that derives the names of items; `read` are the results whose tables it read."""

    def __init__(self, store: LocalStore, file: CacheFile | None) -> None:
        self.read: list[Result] = []

        def load(result: Result) -> Items | None:
            self.read.append(result)
            return load_items(store, result)

        self.values = DerivedValues(load, file, settled_stamps(store))

    def names(self, result: Result, *parameters: object) -> object:
        return self.values.of(result, "names", lambda items: [tuple(items.id), math.nan, 0.1 + 0.2], *parameters)


def text_of(value: object) -> str:
    return repr(value)  # NaN is not equal to itself


@pytest.fixture
def file(tmp_path: Path) -> CacheFile:
    return CacheFile(tmp_path / "values.sqlite", "this store and code")


@pytest.fixture
def first(store: LocalStore, file: CacheFile) -> Build:
    """A build that derived the values of both results, and was closed."""
    build = Build(store, file)
    for each in WITH_ITEMS:
        build.names(each)
    build.values.close()
    return build


def test_a_table_is_read_only_for_a_new_result(store: LocalStore, file: CacheFile, first: Build) -> None:
    again = Build(store, file)
    assert [text_of(again.names(each)) for each in WITH_ITEMS] == [text_of(first.names(each)) for each in WITH_ITEMS]
    assert (first.read, again.read) == (WITH_ITEMS, [])


@pytest.mark.parametrize("path", [items_path, result_path])
def test_another_table_or_record_is_read(
    store: LocalStore, file: CacheFile, first: Build, path: Callable[[str, str, str], str]
) -> None:
    key = path(*place(FIRST))
    store.put(key, store.get(key))
    again = Build(store, file)
    for each in WITH_ITEMS:
        again.names(each)
    assert again.read == [FIRST]


def test_other_parameters_and_another_version_of_the_code_are_other_values(
    store: LocalStore, file: CacheFile, first: Build
) -> None:
    other = Build(store, CacheFile(file.path, "this store and other code"))
    other.names(FIRST)
    changed = Build(store, file)
    changed.names(FIRST, "a parameter")
    assert (other.read, changed.read) == ([FIRST], [FIRST])


def test_a_table_that_cannot_be_read_gives_no_value(store: LocalStore, file: CacheFile, first: Build) -> None:
    store.put(items_path(*place(FIRST)), b"broken")
    again = Build(store, file)
    assert again.names(FIRST) is None
    assert again.names(WITH_ITEMS[1]) is not None


def test_a_value_of_a_file_that_was_just_written_is_not_kept(
    store: LocalStore, file: CacheFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 10**15)
    for _ in range(2):
        build = Build(store, file)
        build.names(FIRST)
        build.names(FIRST)
        build.values.close()
        assert build.read == [FIRST]


def test_a_value_that_no_build_uses_is_removed(store: LocalStore, file: CacheFile, first: Build) -> None:
    build = Build(store, file)
    build.names(FIRST)
    build.values.close()
    assert len(file.read(["derived/"])) == 1


def test_two_builds_at_once_keep_the_values_of_both(store: LocalStore, file: CacheFile) -> None:
    builds = Build(store, file), Build(store, file)
    for build, result in zip(builds, WITH_ITEMS, strict=True):
        build.names(result)
    for build in builds:
        build.values.close()
    assert len(file.read(["derived/"])) == 2


def test_another_process_adds_what_it_derived(store: LocalStore, file: CacheFile, first: Build) -> None:
    parent, child = Build(store, file), Build(store, file)
    child.names(FIRST)
    child.names(WITH_ITEMS[1], "a parameter")
    parent.values.add(child.values.derivations())
    parent.values.close()
    again = Build(store, file)
    again.names(FIRST)
    again.names(WITH_ITEMS[1], "a parameter")
    assert again.read == []


def _broken(path: Path) -> None:
    path.write_bytes(b"broken" * 100)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _edited(path: Path) -> None:
    """Every value is another one, and no longer that of its sum."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE cached SET data = ?", (b"[[[0.0], [1.0], [1], [], false]]",))


def _of_another_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("PRAGMA user_version = 1")
        file.execute("UPDATE cached SET data = ?", (b"null",))


@pytest.mark.parametrize("damage", [_broken, _cut, _edited, _of_another_version])
def test_a_site_from_a_damaged_cache_is_as_from_nothing(
    store: LocalStore, file: CacheFile, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    def built(name: str, cache: CacheFile | None) -> dict[str, bytes]:
        folder = tmp_path / name
        build_site(store, curves.SUITE, folder, sources=Sources(public=curves.PUBLIC), cache=cache)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    fresh = built("fresh", None)
    assert built("first", file) == fresh
    assert file.read(["derived/"])
    assert built("again", file) == fresh
    damage(file.path)
    assert built("damaged", file) == fresh
    assert built("after", file) == fresh
