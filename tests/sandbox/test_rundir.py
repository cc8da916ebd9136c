"""The run directory: what a container learns from its names, and who a session folder belongs to."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import sandbox.rundir
from sandbox.drivers.cold_start import _held
from sandbox.rundir import MAX_SOCKET_PATH, SOCKET_NAME, RunDir, default_run_dir, is_something_left
from sandbox.verdict import JudgeFault
from tests.world.users import as_a_user_without_access


@pytest.fixture
def root() -> Iterator[Path]:
    with TemporaryDirectory(prefix="lj") as folder:
        yield Path(folder) / "run"


@pytest.fixture
def default(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The default run directory of a user without a name, who is not root and owns nothing here."""
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000 + os.getpid())
    folder = default_run_dir()
    yield folder
    if folder.is_symlink():
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_default_is_one_folder_for_each_user_whatever_the_environment(
    default: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge in a terminal and one that a timer starts have other variables, and must wait for each other."""
    for variable in ("XDG_RUNTIME_DIR", "TMPDIR", "HOME"):
        monkeypatch.setenv(variable, "/run/user/65000")
        assert default_run_dir() == default
        monkeypatch.delenv(variable)
        assert default_run_dir() == default
    assert len(str(default / "sessions" / ("0" * 16) / SOCKET_NAME)) <= MAX_SOCKET_PATH


def test_a_default_folder_of_another_user_is_refused(default: Path) -> None:
    default.mkdir()  # by the user who runs this test
    with pytest.raises(JudgeFault, match=f"{default} belongs to another user: ask its owner or root to remove it"):
        RunDir(default)
    with pytest.raises(JudgeFault, match="belongs to another user"), _held(default / "session.lock"):
        pass
    assert not os.listdir(default)


def test_a_link_of_another_user_to_an_own_folder_is_refused(default: Path, root: Path) -> None:
    root.mkdir()
    default.symlink_to(root)
    with pytest.raises(JudgeFault, match="belongs to another user"):
        RunDir(default)


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives a folder to another user")
def test_only_its_user_may_enter_the_default_folder(default: Path) -> None:
    default.mkdir(mode=0o755)
    os.chown(default, os.geteuid(), -1)
    RunDir(default)
    assert default.stat().st_mode & 0o777 == 0o700


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


def test_a_run_directory_of_another_user_is_named(root: Path) -> None:
    RunDir(root)
    with as_a_user_without_access(root), pytest.raises(JudgeFault, match=rf"run directory {root} .*: set run_dir$"):
        is_something_left(root)


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
