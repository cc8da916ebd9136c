"""What the kernel counts for one container, on cgroup v1 and v2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path("/sys/fs/cgroup")


class MemoryCounters(NamedTuple):
    """Peak memory [bytes], None where this kernel does not tell, and processes killed for memory."""

    peak_bytes: int | None
    oom_kills: int


@dataclass(frozen=True)
class Cgroup:
    """The memory cgroup of a container."""

    folder: Path
    version: int

    @classmethod
    def of_process(cls, pid: int, proc: Path = Path("/proc"), root: Path = ROOT) -> Cgroup | None:
        """The memory cgroup of process `pid`, or None where it is gone or cannot be seen from here."""
        try:
            lines = (proc / str(pid) / "cgroup").read_text().splitlines()
        except OSError:
            return None
        paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
        for controllers, path in paths.items():
            if "memory" in controllers.split(","):
                return cls(root / "memory" / path.lstrip("/"), 1)
        return cls(root / paths[""].lstrip("/"), 2) if "" in paths else None

    def read(self) -> MemoryCounters | None:
        """The counters now; None once the container is gone."""
        peak, events = (
            ("memory.max_usage_in_bytes", "memory.oom_control")
            if self.version == 1
            else ("memory.peak", "memory.events")
        )
        try:
            words = dict(line.split() for line in (self.folder / events).read_text().splitlines())
        except (OSError, ValueError):
            return None
        try:
            peak_bytes: int | None = int((self.folder / peak).read_text())
        except (OSError, ValueError):
            peak_bytes = None
        return MemoryCounters(peak_bytes, int(words.get("oom_kill", 0)))
