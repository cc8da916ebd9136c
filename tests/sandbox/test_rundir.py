"""The run directory: what a container learns from its names, and who a session folder belongs to."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import sandbox.rundir
from sandbox.rundir import SOCKET_NAME, RunDir, is_something_left


@pytest.fixture
def root() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield Path(folder) / "run"


def peer_name(path: Path) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        return str(client.getpeername())


def test_names_and_addresses_tell_nothing_of_the_judge(root: Path) -> None:
    place = RunDir(root)
    with place.session() as (first, _), place.session() as (second, _):
        for folder in (first, second):
            assert not set(folder.name.split("-")) & set(place.token.split("-"))
            assert int(folder.name, 16) < 1 << 64
        names = {peer_name(folder / SOCKET_NAME) for folder in (first, second)}
        (name,) = names
        assert re.fullmatch(r"/proc/self/fd/\d+/judge\.sock", name)


def test_sockets_of_sessions_that_begin_at_once_have_the_same_address(root: Path) -> None:
    place = RunDir(root)

    def name(_: int) -> str:
        with place.session() as (folder, _):
            return peer_name(folder / SOCKET_NAME)

    first = name(0)
    before = os.listdir("/proc/self/fd")
    taken = [os.open("/", os.O_PATH) for _ in range(800)]  # the usual numbers, and more
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(name, range(64))) == {first}
    for fd in taken:
        os.close(fd)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_run_directory_that_is_no_longer_used_leaves_nothing_open(root: Path) -> None:
    place = RunDir(root)
    token, before = place.token, len(os.listdir("/proc/self/fd"))
    assert not RunDir(root).dead(token)
    del place
    assert RunDir(root).dead(token)
    assert len(os.listdir("/proc/self/fd")) == before - 1


INTERRUPTED = """
import sys
from pathlib import Path
from sandbox.rundir import RunDir

def interrupt(event, arguments, interrupted=[]):
    if event == "shutil.rmtree" and not interrupted:
        interrupted.append(event)
        raise KeyboardInterrupt

sys.addaudithook(interrupt)
with RunDir(Path(sys.argv[1])).session():
    pass
"""


def test_an_interrupt_while_a_session_is_removed_leaves_nothing(root: Path) -> None:
    run = subprocess.run([sys.executable, "-c", INTERRUPTED, root], capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in run.stderr
    assert not os.listdir(root / "sessions")
    assert not os.listdir(root / "owners")


def test_a_session_folder_has_an_owner_until_it_is_removed(root: Path) -> None:
    place = RunDir(root)
    with place.session() as (folder, _):
        assert (root / "owners" / folder.name).read_text() == place.token
        assert RunDir(root).sweep() == 0
        assert folder.exists()
    assert not os.listdir(root / "owners")


def test_what_belongs_to_no_living_judge_is_swept(root: Path) -> None:
    place = RunDir(root)
    (root / "sessions" / "0011223344556677").mkdir()  # of nobody
    (root / "sessions" / "8899aabbccddeeff").mkdir()
    (root / "owners" / "8899aabbccddeeff").write_text("1-deadbeef")
    (root / "owners" / "ffeeddccbbaa9988").write_text("1-deadbeef")  # of a judge that died before it made the folder
    (root / "owners" / "7766554433221100").write_text(place.token)
    assert is_something_left(root)
    assert len(place.left_sessions()) == 2
    assert place.sweep() == 2
    assert not is_something_left(root)
    assert os.listdir(root / "owners") == ["7766554433221100"]


def test_a_session_that_is_interrupted_while_it_is_prepared_leaves_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> bytes:
        raise KeyboardInterrupt

    place = RunDir(root)
    monkeypatch.setattr(sandbox.rundir, "guest_archive", interrupt)
    with pytest.raises(KeyboardInterrupt), place.session():
        pass
    assert not os.listdir(root / "sessions")
    assert not os.listdir(root / "owners")
