"""The contract of a store, on every kind of place."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from submissions.store.interface import Store, StoreError, check_key
from submissions.store.local import LocalStore
from tests.servers.rgw import RgwServer
from tests.submissions.store.store_contract import MIB, moto_server, moto_store, rgw_store, use_any_credentials

PLACES = ("local", "moto", "rgw")
TOLD_APART = ("local", "rgw")  # moto is one process of Python: a race there shows nothing


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    with moto_server() as endpoint:
        yield endpoint


@pytest.fixture(params=PLACES)
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    match request.param:
        case "local":
            return LocalStore(tmp_path / "store")
        case "moto":
            use_any_credentials(monkeypatch)
            return moto_store(request.getfixturevalue("moto"))
        case _:
            rgw: RgwServer = request.getfixturevalue("aws_environment")
            return rgw_store(rgw)


def test_what_is_put_is_got(store: Store) -> None:
    store.put("a/b.json", b"1")
    store.put("a/b.json", b"2")
    assert store.get("a/b.json") == b"2"
    assert store.exists("a/b.json")
    assert not store.exists("a")


def test_what_is_not_there_is_a_key_error(store: Store) -> None:
    store.put("a/b", b"1")
    for key in ("nothing", "a", "a/b/c"):
        with pytest.raises(KeyError):
            store.get(key)


def test_put_if_absent_never_replaces(store: Store) -> None:
    assert store.put_if_absent("k", b"first")
    assert not store.put_if_absent("k", b"second")
    assert store.get("k") == b"first"


def test_equal_bytes_count_as_done(store: Store) -> None:
    assert store.put_if_absent("k", b"same")
    assert store.put_if_absent("k", b"same")


@pytest.mark.parametrize("store", TOLD_APART, indirect=True)
def test_of_sixteen_writers_of_one_key_one_wins(store: Store) -> None:
    for round_ in range(10):
        key = f"race/{round_}/claim.json"
        won = of_sixteen(store, key, [b"%d" % number for number in range(16)])
        assert len(won) == 1
        assert store.get(key) == b"%d" % won[0]


@pytest.mark.parametrize("store", TOLD_APART, indirect=True)
def test_sixteen_writers_of_the_same_bytes_all_succeed(store: Store) -> None:
    assert len(of_sixteen(store, "race/claim.json", [b"same"] * 16)) == 16


def of_sixteen(store: Store, key: str, values: list[bytes]) -> list[int]:
    """The writers, all at once, for which `put_if_absent` returned True."""
    barrier = threading.Barrier(16)
    won: list[int] = []

    def write(number: int) -> None:
        barrier.wait()
        if store.put_if_absent(key, values[number]):
            won.append(number)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_a_large_value_is_written_once(store: Store) -> None:
    data = bytes(range(256)) * (12 * MIB // 256)
    key = f"observations/{hashlib.sha256(data).hexdigest()}.safetensors"
    assert store.put_if_absent(key, data)
    assert store.put_if_absent(key, data)
    assert not store.put_if_absent(key, data[:-1])
    assert store.get(key) == data
    assert list(store.list("")) == [key]
    store.put(key, data[:-1])  # a store does not care what a name means
    assert not store.put_if_absent(key, data)
    assert store.get(key) == data[:-1]


def test_list_is_sorted_and_takes_any_prefix(store: Store) -> None:
    keys = ["a/b/c", "a/b.json", "a-b", "ab", "b/x"]
    for key in keys:
        store.put(key, b"")
    assert list(store.list("")) == sorted(keys)
    assert list(store.list("a/")) == ["a/b.json", "a/b/c"]
    assert list(store.list("a")) == ["a-b", "a/b.json", "a/b/c", "ab"]
    assert list(store.list("a/b")) == ["a/b.json", "a/b/c"]
    assert list(store.list("nothing/")) == []


def test_delete(store: Store) -> None:
    store.put("a/b", b"1")
    store.delete("a/b")
    store.delete("a/b")
    store.delete("never/there")
    assert not store.exists("a/b")


@pytest.mark.parametrize("key", ["case:1@2/x+y=z/a,b (c).json", "results/emt-0123456789ab/s22/9f.items.safetensors"])
def test_keys_that_are_good(store: Store, key: str) -> None:
    store.put(key, b"1")
    assert list(store.list("")) == [key]


def test_keys_that_are_refused(store: Store) -> None:
    for key in (
        "",
        "/etc/passwd",
        "../x",
        "a/../x",
        "a//b",
        "a/",
        ".hidden",
        "a\0b",
        "a\nb",
        "ä",
        "a\\b",
        "x" * 2000,
        "a./b",
    ):
        for call in (check_key, store.get, store.exists, store.delete):
            with pytest.raises(StoreError, match="key"):
                call(key)
        for write in (store.put, store.put_if_absent):
            with pytest.raises(StoreError, match="key"):
                write(key, b"1")
    assert list(store.list("")) == []


def test_a_stamp_is_another_when_the_bytes_are(store: Store) -> None:
    for key in ("a/b", "a/c", "d"):
        store.put(key, b"1")
    first = {each.key: each.stamp for each in store.stamped("a/")}
    assert list(first) == ["a/b", "a/c"] == list(store.list("a/"))
    assert {each.key: each.stamp for each in store.stamped("a/")} == first
    store.put("a/b", b"2")
    second = {each.key: each.stamp for each in store.stamped("a/")}
    assert second["a/b"] != first["a/b"]
    assert second["a/c"] == first["a/c"]


def test_a_listing_states_size_and_time(store: Store) -> None:
    store.put("a/b", b"123")
    (stamped,) = store.stamped("a/")
    assert stamped.size_bytes == 3
    assert stamped.modified == pytest.approx(time.time(), abs=60)


def test_a_prefix_that_leaves_the_store_is_refused(store: Store) -> None:
    store.put("a", b"1")
    for prefix in ("../", "/etc/", "a//"):
        with pytest.raises(StoreError, match="key"):
            list(store.list(prefix))
