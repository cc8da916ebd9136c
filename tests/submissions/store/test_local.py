"""A store on a real file system: crashes, disks that vanish, leftover files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from submissions.store.interface import StoreError
from submissions.store.local import LocalStore
from submissions.store.open_store import open_store


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "store")


KILLED = """
import sys
from submissions.store.local import LocalStore
from pathlib import Path
store = LocalStore(Path(sys.argv[1]))
print("ready", flush=True)
for i in range(1_000_000):
    store.put_if_absent(f"n/{i}", b"%d " % i * 10_000)
"""


def test_a_killed_writer_leaves_only_whole_values(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, env=environment())
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = LocalStore(tmp_path)
    keys = list(store.list("n/"))
    assert keys
    for key in keys:
        number = int(key.removeprefix("n/"))
        assert store.get(key) == b"%d " % number * 10_000


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}


def test_temporary_files_are_never_listed(store: LocalStore) -> None:
    store.put("a/b", b"1")
    (store.root / "a" / ".tmp-1-2").write_bytes(b"half")
    assert list(store.list("")) == ["a/b"]


def test_a_root_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="file"):
        LocalStore(tmp_path / "file").put("a/b", b"1")
    with pytest.raises(StoreError, match="not a directory"):
        open_store(str(tmp_path / "file"))


def test_reading_makes_no_root(store: LocalStore) -> None:
    assert list(store.list("")) == []
    assert not store.exists("a")
    with pytest.raises(KeyError):
        store.get("a")
    store.delete("a")
    assert not store.root.exists()
    store.put("a", b"1")
    assert store.get("a") == b"1"


CALLS: dict[str, Callable[[LocalStore], object]] = {
    "get": lambda store: store.get("a/b"),
    "put": lambda store: store.put("a/b", b"2"),
    "put if absent": lambda store: store.put_if_absent("a/c", b"2"),
    "put if absent, a new folder": lambda store: store.put_if_absent("d/c", b"2"),
    "list": lambda store: list(store.list("a/")),
    "delete": lambda store: store.delete("a/b"),
    "exists": lambda store: store.exists("a/b"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_root_that_vanishes_is_reported_and_not_replaced(
    store: LocalStore, call: Callable[[LocalStore], object]
) -> None:
    store.put("a/b", b"1")
    away = store.root.rename(store.root.with_name("away"))
    with pytest.raises(StoreError, match="is gone: bring it back"):
        call(store)
    assert not store.root.exists()
    (store.root / "a").mkdir(parents=True)
    (store.root / "a" / "b").write_bytes(b"another store")
    with pytest.raises(StoreError, match="another folder or disk"):
        call(store)
    assert [path.name for path in store.root.rglob("*")] == ["a", "b"]
    shutil.rmtree(store.root)
    away.rename(store.root)
    call(store)


def test_a_root_that_vanishes_while_a_value_is_written_gets_nothing(store: LocalStore, tmp_path: Path) -> None:
    """At any moment: everything that was reported as written is in the store that was moved away, and nowhere else."""
    store.put("n/begun", b"")
    written: list[str] = []
    refused = threading.Event()

    def write() -> None:
        for i in range(100_000):
            try:
                if store.put_if_absent(f"n/{i}", b"1"):
                    written.append(f"n/{i}")
            except StoreError:
                refused.set()
                return

    writer = threading.Thread(target=write)
    writer.start()
    while len(written) < 20:
        assert writer.is_alive()
    store.root.rename(tmp_path / "away")
    store.root.mkdir()
    writer.join()
    assert refused.is_set()
    assert {"n/begun", *written} <= set(LocalStore(tmp_path / "away").list(""))
    assert list(LocalStore(store.root).list("")) == []


def test_leftover_temporary_files_never_hurt(store: LocalStore) -> None:
    store.put("a/b", b"1")
    for name in (".tmp-1-2", f".tmp-{os.getpid()}-{'0' * 16}", ".tmp-", ".hidden"):
        (store.root / "a" / name).write_bytes(b"half")
        (store.root / name).write_bytes(b"half")
    assert list(store.list("")) == ["a/b"]
    store.put("a/b", b"2")
    assert not store.put_if_absent("a/b", b"3")
    store.delete("a/b")
    assert list(store.list("")) == []


def test_addresses(tmp_path: Path) -> None:
    open_store(f"file://{tmp_path}").put("a", b"1")
    assert open_store(str(tmp_path)).get("a") == b"1"
    with pytest.raises(StoreError, match="gopher"):
        open_store("gopher://example.org")


def test_a_stamp_is_settled_once_the_file_is_older_than_the_clock_is_coarse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the file might be changed once more and bear the same stamp."""
    store = LocalStore(tmp_path)
    store.put("a/b", b"1")
    (fresh,) = store.stamped("a/")
    os.utime(tmp_path / "a/b", (0, 0))  # pretends to be old
    (touched,) = store.stamped("a/")
    monkeypatch.setattr("submissions.store.local.GRANULARITY_NS", 0)
    (settled,) = store.stamped("a/")
    assert (fresh.is_settled, touched.is_settled, settled.is_settled) == (False, False, True)
    assert settled.stamp == touched.stamp


def test_links_are_listed_but_not_followed_into_folders(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    store.put("a/b", b"1")
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside/c").write_text("1")
    (store.root / "a/folder").symlink_to(tmp_path / "beside")
    (store.root / "a/file").symlink_to(tmp_path / "beside/c")
    (store.root / "a/nowhere").symlink_to(tmp_path / "nothing")
    assert list(store.list("a/")) == [stamped.key for stamped in store.stamped("a/")] == ["a/b", "a/file", "a/nowhere"]
