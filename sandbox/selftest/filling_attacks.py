"""Attacks that use up a resource: each must end at its limit, and the judge must go on."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.drivers.docker_driver import connect_engine, engine_faults
from sandbox.limits import MIB
from sandbox.selftest.asking import PATIENCE, Look, report, watched
from sandbox.selftest.attack import LIMITS, Finding, Trial, stated_attacks
from sandbox.selftest.watch import WatchedContainer
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome

LOG_S = 6.0
LOG_FILES = 2
TINY_MEMORY_BYTES = 112 * MIB
N_CHILDREN = 4  # of the attack by several children
REACHED = 0.9
"""The share of a limit from which it is reached: the kernel counts in pages and batches."""


def _fills(folder: str, limit_bytes: int) -> Look:
    """Held if writing ends at `limit_bytes`, and the file system is no larger."""

    def look(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
        written_mib, error = report(remote)
        room = seen.room_bytes(folder)
        held = error == errno.ENOSPC and limit_bytes / 2 < written_mib * MIB <= limit_bytes
        held = held and (room is None or room <= limit_bytes)
        return Finding(held, f"it was full after {written_mib:.0f} MiB" if error else f"{written_mib:.0f} MiB went in")

    return look


# Near the limit of the memory the kernel reads the image's files again and again, on some kernels for minutes.
NEAR_THE_LIMIT: Mapping[str, float] = {**PATIENCE, "message_s": 60.0, "task_s": 90.0}


def _within_memory(trial: Trial, memory_bytes: int) -> Finding:
    outcome = trial.run(report, **NEAR_THE_LIMIT, memory_bytes=memory_bytes)
    value = outcome.value
    if value is not None and len(value) > 1 and value[1] == errno.ENOSPC:
        return Finding(True, f"there was no more room after {value[0]:.0f} files")
    if _is_held_until_its_end(outcome, memory_bytes):
        return Finding(True, "the kernel held it at its limit until its time was up")
    if outcome.verdict is not Verdict.MEMORY_LIMIT:
        return Finding(False, f"it was not ended for its memory: {outcome.verdict}: {outcome.sentence}")
    peak = outcome.memory_bytes
    held = peak is None or peak <= memory_bytes
    return Finding(held, "the kernel ended it at its limit" + ("" if held else f", but it had {peak} bytes"))


def _is_held_until_its_end(outcome: SessionOutcome[Any], memory_bytes: int) -> bool:
    """Whether a session whose time was up had reached the limit of its memory, and never had more."""
    return outcome.verdict is Verdict.TIME_LIMIT and _is_at_its_limit(outcome, memory_bytes)


def _is_at_its_limit(outcome: SessionOutcome[Any], memory_bytes: int) -> bool:
    return REACHED * memory_bytes <= (outcome.memory_bytes or 0) <= memory_bytes


def _children(trial: Trial) -> Finding:
    outcome = trial.run(report, **NEAR_THE_LIMIT)
    if outcome.value is None:
        held = outcome.verdict is Verdict.MEMORY_LIMIT or _is_held_until_its_end(outcome, LIMITS.memory_bytes)
        return Finding(held, f"the session ended: {outcome.verdict}: {outcome.sentence}")
    killed, taken = outcome.value
    peak = outcome.memory_bytes or 0
    held = killed >= 1 and peak <= LIMITS.memory_bytes
    held = held or (taken < N_CHILDREN and _is_at_its_limit(outcome, LIMITS.memory_bytes))
    return Finding(held, f"the kernel ended {killed:.0f} of its {N_CHILDREN} children")


def _processes(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    children, error = report(remote)
    counted = len(seen.processes())
    held = error == errno.EAGAIN and 8 < children < LIMITS.pids and 8 < counted <= LIMITS.pids
    return Finding(held, f"no more than {counted} processes" if held else f"{counted} processes, and no end")


def _open_files(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    opened, error = report(remote)
    limit = seen.limit("Max open files")
    held = error == errno.EMFILE and 32 < opened < LIMITS.open_files and limit in (None, LIMITS.open_files)
    return Finding(held, f"no more than {opened:.0f} open files" if held else f"{opened:.0f} files, the limit {limit}")


def _log(remote: RemoteCalculator, seen: WatchedContainer) -> Finding:
    (written_mib,) = report(remote, LOG_S)
    kept = log_bytes(seen)
    held = written_mib >= 16 and 0 < kept <= (LOG_FILES + 1) * LIMITS.log_bytes
    return Finding(held, f"of {written_mib:.0f} MiB the engine keeps {kept / 1024:.0f} KiB")


def log_bytes(seen: WatchedContainer) -> int:
    """Bytes of the container's log on the engine's disk; if the judge may not read there, by the engine's report."""
    with engine_faults():
        root = Path(connect_engine().info()["DockerRootDir"])
        try:
            folder = root / "containers" / str(seen.container.id)
            files = [path.stat().st_size for path in folder.rglob("*") if "log" in path.name and path.is_file()]
        except OSError:
            files = []
        return sum(files) or len(seen.container.logs())


FILLING_ATTACKS = stated_attacks(
    {
        "fill-tmp": watched(_fills("/tmp", LIMITS.tmp_bytes)),
        "fill-tmp-with-empty-files": partial(_within_memory, memory_bytes=TINY_MEMORY_BYTES),
        "fill-shared-memory": watched(_fills("/dev/shm", LIMITS.shm_bytes)),
        "fill-volume": watched(_fills("/tmp/cache/volume", LIMITS.tmp_bytes)),
        "fill-memory": partial(_within_memory, memory_bytes=LIMITS.memory_bytes),
        "fill-memory-in-children": _children,
        "fill-processes": watched(_processes),
        "fill-open-files": watched(_open_files),
        "fill-log": watched(_log),
    }
)
