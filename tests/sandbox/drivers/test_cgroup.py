"""The kernel's counters of a container: read on both cgroup versions, and known after the container is gone."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.drivers.cgroup import ROOT, Cgroup, FileNotice, MemoryCounters, MemoryWatch

MIB = 1 << 20
V1 = {"memory.max_usage_in_bytes": str(64 * MIB), "memory.limit_in_bytes": str(64 * MIB)}
KILLED_V1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 2"


@pytest.mark.parametrize(
    ("version", "files", "expected"),
    [
        (1, {**V1, "memory.oom_control": KILLED_V1}, (64 * MIB, 2, True)),
        (1, {**V1, "memory.limit_in_bytes": str(512 * MIB), "memory.oom_control": KILLED_V1}, (64 * MIB, 2, False)),
        (1, {"memory.oom_control": KILLED_V1}, (None, 2, None)),
        (1, {**V1, "memory.oom_control": "oom_kill_disable 0\nunder_oom 1\noom_kill 0"}, (64 * MIB, 0, True)),
        (2, {"memory.peak": "4096", "memory.events": "low 0\nmax 9\noom 3\noom_kill 2"}, (4096, 2, True)),
        (2, {"memory.peak": "4096", "memory.events": "low 0\nmax 9\noom 0\noom_kill 2"}, (4096, 2, False)),
        (2, {"memory.events": "low 0\nmax 9\noom 0\noom_kill 0"}, (None, 0, None)),
    ],
)
def test_counters_of_both_versions(tmp_path, version: int, files: dict[str, str], expected: tuple) -> None:
    line = "9:memory:/docker/abc\n3:cpu:/docker/abc\n" if version == 1 else "0::/docker/abc\n"
    (tmp_path / "proc/12").mkdir(parents=True)
    (tmp_path / "proc/12/cgroup").write_text(line)
    folder = tmp_path / "cgroup" / ("memory/docker/abc" if version == 1 else "docker/abc")
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    cgroup = Cgroup.of_process(12, tmp_path / "proc", tmp_path / "cgroup")
    assert cgroup is not None
    assert cgroup.version == version
    assert cgroup.read() == expected
    assert Cgroup.of_process(13, tmp_path / "proc", tmp_path / "cgroup") is None


def test_the_limit_is_counted_where_the_engine_sets_it() -> None:
    nested = Cgroup(ROOT / "machine.slice/libpod-0abc.scope/container", 2)
    assert nested.of_container("0abc") == Cgroup(ROOT / "machine.slice/libpod-0abc.scope", 2)
    assert nested.of_container("another") is None


READINGS = st.builds(MemoryCounters, st.none() | st.integers(0, 99), st.integers(0, 3), st.none() | st.booleans())


@given(READINGS, READINGS)
def test_two_readings_lose_nothing(first: MemoryCounters, second: MemoryCounters) -> None:
    both = first.and_then(second)
    assert both == second.and_then(first) == both.and_then(first)
    assert both.oom_kills >= max(first.oom_kills, second.oom_kills)
    assert MemoryCounters().and_then(first) == first


@pytest.fixture
def made_cgroup() -> Iterator[Callable[[Path], Path]]:
    """Creates a cgroup in a hierarchy of this kernel; skips if that is not allowed."""
    made: list[Path] = []

    def make(hierarchy: Path) -> Path:
        folder = hierarchy / f"lambench-test-{os.getpid()}-{len(made)}"
        try:
            folder.mkdir()
        except OSError as error:
            pytest.skip(f"no cgroup can be made in {hierarchy} ({error.strerror})")
        made.append(folder)
        return folder

    yield make
    for folder in made:
        if folder.exists():
            folder.rmdir()


FILLS = "held = []\nwhile True: held.append(b'x' * (1 << 22))"


def test_a_kill_is_known_when_the_cgroup_is_gone(made_cgroup: Callable[[Path], Path]) -> None:
    folder = made_cgroup(ROOT / "memory")
    limit = folder / "memory.limit_in_bytes"
    if not limit.exists():
        pytest.skip("no memory cgroup of version 1")
    limit.write_text(str(32 * MIB))
    with suppress(OSError):  # a kernel that does not count swap
        (folder / "memory.memsw.limit_in_bytes").write_text(str(32 * MIB))
    watch = MemoryWatch(Cgroup(folder, 1))
    join = f"import os; open({str(folder / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
    process = subprocess.run([sys.executable, "-c", f"{join}\n{FILLS}"], check=False)
    folder.rmdir()
    seen = watch.close()
    assert process.returncode == -9
    assert (seen.oom_kills, seen.at_limit) == (1, True)
    assert seen.peak_bytes is not None
    assert 31 * MIB <= seen.peak_bytes <= 32 * MIB


def test_a_change_of_a_v2_file_wakes_whoever_waits_for_it(made_cgroup: Callable[[Path], Path]) -> None:
    """`memory.events` needs a memory controller on v2; `cgroup.events` reports changes in the same way."""
    hierarchy = ROOT if (ROOT / "cgroup.controllers").exists() else ROOT / "unified"
    folder = made_cgroup(hierarchy)
    notice = FileNotice(folder / "cgroup.events")
    poll = select.poll()
    poll.register(notice.fd, notice.ready)
    assert not poll.poll(100)
    with subprocess.Popen(["sleep", "60"]) as process:
        (folder / "cgroup.procs").write_text(str(process.pid))
        assert poll.poll(10_000)
        assert notice.take()
        assert not poll.poll(100)
        process.kill()
    assert poll.poll(10_000)
    folder.rmdir()
    assert not notice.take()
    notice.close()


def test_a_watch_sleeps_and_ends(tmp_path: Path) -> None:
    """A watch on an idle cgroup uses no processor time, and leaves no thread."""
    (tmp_path / "memory.events").write_text("oom 0\noom_kill 0")
    watch = MemoryWatch(Cgroup(tmp_path, 2))
    mine = [thread for thread in threading.enumerate() if thread.name == "memory watch"]
    assert len(mine) == 1
    begin = time.process_time()
    mine[0].join(0.5)
    assert time.process_time() - begin < 0.05
    (tmp_path / "memory.events").write_text("oom 1\noom_kill 1")
    assert watch.close() == (None, 1, True)
    assert not mine[0].is_alive()


def test_what_may_not_be_watched_is_still_read(tmp_path: Path) -> None:
    watch = MemoryWatch(Cgroup(tmp_path, 1))  # nothing there to register with
    (tmp_path / "memory.oom_control").write_text(KILLED_V1)
    assert watch.look().oom_kills == 2
    assert watch.close().oom_kills == 2
