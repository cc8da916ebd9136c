"""The files of `/proc` and `/sys` that a container cannot read, as the engine masks them.

Most of them state facts about the host, and many are counters that all containers of a host share: one container can
change them and another, at the same time, read them. So all files are masked that no numerical library needs: all
that the judge's own kernel lists there and `KEPT_*` does not name. If the engine is on a machine with another kernel,
`STATED` is masked at least.

What cannot be masked: files of processes (`mountinfo`), system calls (`uname`, `sysinfo`), and what is kept since
numpy, PyTorch, OpenMP or psutil read it: `stat`, `meminfo`, `loadavg`, `uptime`, `cpuinfo`, the topology of processors.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib import resources

# The engine's own list, which a list of ours replaces, and what must be masked even if the judge cannot list it.
STATED = tuple(resources.files("sandbox.drivers").joinpath("masked_paths.txt").read_text(encoding="utf-8").split())
KEPT_PROC = frozenset(
    ["cpuinfo", "devices", "driver", "filesystems", "loadavg", "meminfo", "mounts", "net", "self", "stat", "sys"]
).union(["sysvipc", "thread-self", "uptime", "version"])
KEPT_SYS = frozenset(["devices", "fs"])
KEPT_DEVICES = frozenset(["system"])
KEPT_FS = frozenset(["cgroup"])
# The libraries of the GPU driver find the device by these.
GPU_PROC = frozenset(["bus", "misc", "modules"])
GPU_SYS = frozenset(["bus", "class", "dev", "module"])


def masked_paths(*, gpu: bool) -> list[str]:
    """The paths to mask, each once, sorted; a path that does not exist is ignored by the engine."""
    nodes = (name for name in _entries("/sys/devices/system/node") if name.removeprefix("node").isdigit())
    paths = {
        *STATED,
        *_others("/proc", KEPT_PROC | (GPU_PROC if gpu else frozenset())),
        *_others("/sys", KEPT_SYS | (GPU_SYS if gpu else frozenset())),
        *_others("/sys/fs", KEPT_FS),
        *(() if gpu else _others("/sys/devices", KEPT_DEVICES)),
        *(f"/sys/devices/system/node/{node}/{name}" for node in nodes for name in ("numastat", "vmstat")),
    }
    return sorted(path for path in paths if not _is_below_another(path, paths))


def _others(folder: str, kept: Collection[str]) -> list[str]:
    """What `folder` holds on this machine besides `kept` and the folders of processes."""
    return [f"{folder}/{name}" for name in _entries(folder) if name not in kept and not name.isdigit()]


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_below_another(path: str, paths: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:length]) in paths for length in range(2, len(parts)))
