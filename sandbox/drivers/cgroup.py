"""The kernel's memory counters of one container, on cgroup v1 and v2, kept after the container is gone.

A cgroup and its counters disappear with its last process. When the judge learns of the end, the counters are gone.
So a thread sleeps until the kernel reports that memory is short. The kernel does so before the process that it kills
is dead, and the thread reads the counters then. Nothing else wakes it.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

ROOT = Path("/sys/fs/cgroup")
# The kernel counts pages in advance, 64 at a time for each processor.
NEAR_LIMIT_BYTES = 1024 * 1024
# v1 reports short memory before it chooses a process to kill. Its counter is read for this long after the report.
SETTLE_S = 0.05
SETTLE_TICK_S = 0.001


class MemoryCounters(NamedTuple):
    """The memory counters of one container.

    Args:
        peak_bytes: None if this kernel does not count it.
        oom_kills: processes killed for memory, at the container's limit or because the host had none left.
        at_limit: whether the container reached its own limit; None: unknown, as long as no process was killed.
    """

    peak_bytes: int | None = None
    oom_kills: int = 0
    at_limit: bool | None = None

    def and_then(self, later: MemoryCounters) -> MemoryCounters:
        """This reading and a later one, combined."""
        peaks = [peak for peak in (self.peak_bytes, later.peak_bytes) if peak is not None]
        known = [at_limit for at_limit in (self.at_limit, later.at_limit) if at_limit is not None]
        return MemoryCounters(
            max(peaks, default=None), max(self.oom_kills, later.oom_kills), any(known) if known else None
        )


@dataclass(frozen=True)
class Cgroup:
    """A memory cgroup."""

    folder: Path
    version: int

    @classmethod
    def of_process(cls, pid: int, proc: Path = Path("/proc"), root: Path = ROOT) -> Cgroup | None:
        """The memory cgroup of process `pid`; None if the process is gone or cannot be seen from here."""
        try:
            lines = (proc / str(pid) / "cgroup").read_text().splitlines()
        except OSError:
            return None
        paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
        for controllers, path in paths.items():
            if "memory" in controllers.split(","):
                return cls(root / "memory" / path.lstrip("/"), 1)
        return cls(root / paths[""].lstrip("/"), 2) if "" in paths else None

    def of_container(self, name: str) -> Cgroup | None:
        """The outermost enclosing cgroup with the container's name: some engines nest a second one in it.

        None if there is none: a judge in a container sees other processes under the process IDs that the engine names.
        """
        around = [self.folder, *self.folder.parents]
        bearing = [folder for folder in around if name in folder.name]
        return Cgroup(bearing[-1], self.version) if bearing else None

    def read(self) -> MemoryCounters | None:
        """The counters now; None once the container is gone."""
        events = _words(self.folder / ("memory.oom_control" if self.version == 1 else "memory.events"))
        if events is None:
            return None
        peak = _number(self.folder / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak"))
        kills = events.get("oom_kill", 0)
        at_limit = events.get("oom", 0) > 0 if self.version == 2 else self._came_near_its_limit(peak)
        return MemoryCounters(peak, kills, at_limit if at_limit or kills else None)

    def _came_near_its_limit(self, peak_bytes: int | None) -> bool | None:
        # Newer kernels no longer count memory.failcnt. The peak includes page cache, which is fine here.
        limit = _number(self.folder / "memory.limit_in_bytes")
        return None if limit is None or peak_bytes is None else peak_bytes >= limit - NEAR_LIMIT_BYTES


def _words(file: Path) -> dict[str, int] | None:
    try:
        return {name: int(value) for name, value in (line.split() for line in file.read_text().splitlines())}
    except (OSError, ValueError):
        return None


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None


class Notice(Protocol):
    """A file descriptor that the kernel makes ready when something happens to a cgroup."""

    fd: int
    ready: int
    """What to poll it for."""

    def take(self) -> bool:
        """Resets the notice, so that it can be waited for again; False once the cgroup is gone."""
        ...

    def close(self) -> None: ...


class FileNotice:
    """Ready when a file of a v2 cgroup changes, such as `memory.events`."""

    ready = select.POLLPRI

    def __init__(self, file: Path) -> None:
        self.fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        self.take()

    def take(self) -> bool:
        try:
            os.pread(self.fd, 4096, 0)  # the kernel reports changes since the last read of this descriptor
        except OSError:
            return False
        return True

    def close(self) -> None:
        os.close(self.fd)


class EventNotice:
    """Ready when a v1 cgroup runs out of memory, and when it is removed."""

    ready = select.POLLIN

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        try:
            watched = os.open(folder / "memory.oom_control", os.O_RDONLY | os.O_CLOEXEC)
            try:
                (folder / "cgroup.event_control").write_text(f"{self.fd} {watched}")
            finally:
                os.close(watched)
        except OSError:
            os.close(self.fd)
            raise

    def take(self) -> bool:
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)
        return self._folder.is_dir()

    def close(self) -> None:
        os.close(self.fd)


class MemoryWatch:
    """The counters of one container, which stay known after it is gone."""

    def __init__(self, cgroup: Cgroup) -> None:
        self._cgroup = cgroup
        self._lock = threading.Lock()
        # The peak at the start must not be taken for the peak of the whole run.
        self._seen = (cgroup.read() or MemoryCounters())._replace(peak_bytes=None)
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread: threading.Thread | None = None
        try:
            notice: Notice = (
                EventNotice(cgroup.folder) if cgroup.version == 1 else FileNotice(cgroup.folder / "memory.events")
            )
        except OSError:  # the cgroup is gone, or this user may not watch it: the engine's report must do
            return
        self._thread = threading.Thread(target=self._watch, args=(notice,), name="memory watch", daemon=True)
        self._thread.start()

    def look(self) -> MemoryCounters:
        """The counters so far, read again if the container still exists."""
        with self._lock:
            now = self._cgroup.read()
            if now is not None:
                self._seen = self._seen.and_then(now)
            return self._seen

    def close(self) -> MemoryCounters:
        """Ends the watch and returns the last counters. To be called once."""
        os.eventfd_write(self._end, 1)
        if self._thread is not None:
            self._thread.join()
        os.close(self._end)
        return self.look()

    def _watch(self, notice: Notice) -> None:
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        poll.register(notice.fd, notice.ready)
        try:
            while all(fd != self._end for fd, _ in poll.poll()):
                if not notice.take():
                    return
                self._settle()
        finally:
            notice.close()

    def _settle(self) -> None:
        before, until = self._seen.oom_kills, time.monotonic() + SETTLE_S
        while self.look().oom_kills == before and self._cgroup.version == 1 and time.monotonic() < until:
            time.sleep(SETTLE_TICK_S)
