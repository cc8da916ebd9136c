"""Observations and items are read as they were stored, bit by bit, and damage is detected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from judge.records.items_file import pack_items, unpack_items
from judge.records.observation_file import observation_path, read_observation, store_observation
from judge.version import judge_commit
from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from tasks.kind import Observation
from tasks.metrics.measurement import Items


def an_observation() -> Observation:
    arrays = {
        "energy": np.array([1.0, np.nan, -np.inf]),
        "strided": np.arange(12.0).reshape(3, 4).T,
        "scalar": np.array(7.5),
        "failure": np.array([0, 3, 1], np.int8),
        "empty": np.zeros((0, 3)),
        "flag": np.array([True, False]),
    }
    return Observation(arrays, {"b": "2", "a": "1", "ö": "µ"})


def test_an_observation_comes_back_and_its_name_is_its_content(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    digests = {store_observation(store, an_observation()) for _ in range(10)}
    assert len(digests) == 1
    back = read_observation(store, digests.pop())
    assert back.notes == an_observation().notes
    for name, array in an_observation().arrays.items():
        assert back.arrays[name].dtype == array.dtype
        assert back.arrays[name].shape == array.shape
        np.testing.assert_array_equal(back.arrays[name], array)


def test_a_changed_bit_is_noticed(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    digest = store_observation(store, an_observation())
    path = tmp_path / observation_path(digest)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(StoreError, match=digest):
        read_observation(store, digest)
    with pytest.raises(StoreError, match="damaged"):
        store_observation(store, an_observation())


def test_items_come_back() -> None:
    items = Items(
        id=["a", "b ö"],
        group=["g", "h"],
        cluster=["c", "c"],
        cause=np.array([0, 2], np.int8),
        columns={"error": np.array([0.1, np.nan]), "count": np.array([3.0, 4.0])},
    )
    back = unpack_items(pack_items(items))
    assert (list(back.id), list(back.group), list(back.cluster)) == (["a", "b ö"], ["g", "h"], ["c", "c"])
    np.testing.assert_array_equal(back.cause, items.cause)
    assert back.columns.keys() == items.columns.keys()
    np.testing.assert_array_equal(back.columns["error"], items.columns["error"])


def test_other_bytes_are_no_items() -> None:
    for data in (b"", b"\xff" * 64, pack_items(Items([], [], [], np.zeros(0, np.int8), {}))[:-1]):
        with pytest.raises(ValueError, match="not a file"):
            unpack_items(data)


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": "a" * 40 + "\n"}, "a" * 40),
        ({"HEAD": "ref: refs/heads/x\n", "packed-refs": f"# pack-refs\n{'b' * 40} refs/heads/x\n"}, "b" * 40),
        ({"HEAD": "c" * 40 + "\n"}, "c" * 40),
        ({"HEAD": "ref: refs/heads/gone\n"}, ""),
        ({"HEAD": "ref: refs/heads/gone\n", "packed-refs": f"{'b' * 40} refs/heads/x\n"}, ""),
        ({"HEAD": "nonsense\n"}, ""),
        ({}, ""),
    ],
)
def test_the_commit_that_is_checked_out(tmp_path: Path, files: dict[str, str], commit: str) -> None:
    for name, text in files.items():
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert judge_commit(tmp_path) == commit
