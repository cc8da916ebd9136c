"""A running container as the judge sees it during an attack: through the engine, and through the host's `/proc`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from docker.models.containers import Container

from sandbox.driver import Driver, Image
from sandbox.drivers.docker_driver import LOCK_LABEL, connect_engine, engine_faults
from sandbox.selftest.attack import Trial
from sandbox.verdict import FaultCause, JudgeFault

PROC = Path("/proc")
LOADING_S = 5.0


class Process(NamedTuple):
    """One process of a container, as the host sees it."""

    pid: int
    uid: int
    command: str


@dataclass(frozen=True)
class WatchedContainer:
    """A running container, seen from outside.

    Args:
        pid: of its first process, on the host; 0 if the judge's own `/proc` does not show it (the judge runs in a
            container, or the engine on another machine).
    """

    container: Container
    seen: dict[str, Any]
    pid: int

    @classmethod
    def of(cls, trial: Trial) -> WatchedContainer:
        """The container of the session that runs `trial` now; the newest, if there are several.

        Raises:
            JudgeFault: there is none, or the engine does not answer.
        """
        with engine_faults():
            for container in containers(trial.driver, trial.image if isinstance(trial.image, Image) else None):
                seen = container.client.api.inspect_container(container.id)
                pid = int(seen["State"]["Pid"])
                return cls(container, seen, pid if _belongs(pid, container.id) else 0)
        raise JudgeFault(FaultCause.DOCKER, "the engine does not list the container that it runs: see its log")

    def again(self) -> WatchedContainer:
        """The same container, as it is now."""
        with engine_faults():
            return replace(self, seen=self.container.client.api.inspect_container(self.container.id))

    def processes(self) -> list[Process]:
        """All processes of the container, by the host's `/proc`, else by the engine's `ps`."""
        if self.pid:
            return [process for process in host_processes() if _belongs(process.pid, self.container.id)]
        with engine_faults():
            table = self.container.top(ps_args="-eo pid,euid,args")["Processes"]
        return [Process(int(row[0]), int(row[1]), " ".join(row[2:])) for row in table]

    def await_command(self, words: str) -> list[Process]:
        """Its processes whose command contains `words`, as soon as there is one; empty after a while.

        A process that was just started may not have loaded its program yet.
        """
        until = time.monotonic() + LOADING_S
        while not (matching := [process for process in self.processes() if words in process.command]):
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        return matching

    def status(self) -> dict[str, str]:
        """`/proc/PID/status` of its first process; empty if it cannot be seen."""
        return _status(self.pid) if self.pid else {}

    def limit(self, name: str) -> int | None:
        """The hard limit of its first process that `/proc/PID/limits` calls `name`; None if it cannot be seen."""
        if self.pid:
            for line in _lines(self.pid, "limits"):
                if line.startswith(name):
                    return int(line.removeprefix(name).split()[1])
        return None

    def mounts(self) -> dict[str, str]:
        """The mount options in it, by folder; empty if they cannot be seen."""
        if not self.pid:
            return {}
        rows = (line.split() for line in _lines(self.pid, "mountinfo"))
        return {row[4]: row[5] for row in rows}

    def interfaces(self) -> set[str]:
        """Its network interfaces; if they cannot be seen, the engine's networks."""
        if self.pid:
            return {line.partition(":")[0].strip() for line in _lines(self.pid, "net/dev")[2:]}
        return {"lo", *(self.seen["NetworkSettings"].get("Networks") or {})} - {"none"}

    def changed_files(self) -> set[str]:
        """The files outside of mounted folders that differ from its image.

        Read from the container's own layer if the judge may read it: the engine would compare whole trees.
        """
        upper = Path(((self.seen.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir") or "/nowhere")
        if os.access(upper, os.R_OK | os.X_OK):
            return {str(path.relative_to(upper)) for path in upper.rglob("*")}
        with engine_faults():
            return {str(change["Path"]) for change in self.container.diff() or ()}

    def session_dir(self) -> Path:
        """The one folder of the host that it can see."""
        sources = [mount["Source"] for mount in self.seen["Mounts"] if mount["Destination"] == "/lambench"]
        return Path(sources[0])

    def room_bytes(self, folder: str) -> int | None:
        """Size [bytes] of the file system at `folder` inside; None if the judge may not read it."""
        try:
            state = os.statvfs(f"{PROC}/{self.pid}/root{folder}")
        except OSError:
            return None
        return state.f_blocks * state.f_frsize


def containers(driver: Driver, image: Image | None = None) -> list[Container]:
    """The containers of this judge, running or not, the newest first; only those of `image` if it is given."""
    filters = {"label": f"{LOCK_LABEL}={driver.run_dir.token}"}
    with engine_faults():
        listed: list[Container] = connect_engine().containers.list(all=True, filters=filters, ignore_removed=True)
    # Podman has no filter by image ID, and writes the ID without its algorithm.
    return [
        container for container in listed if image is None or _bare(str(container.attrs["Image"])) == _bare(image.id)
    ]


def _bare(image_id: str) -> str:
    return image_id.rpartition(":")[2]


def host_processes() -> Iterator[Process]:
    """All processes that the judge can see, its own among them."""
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
                uid = int(_status(int(folder.name))["Uid"].split()[1])
            except (OSError, KeyError):  # it has ended meanwhile
                continue
            yield Process(int(folder.name), uid, command)


def _status(pid: int) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition(":") for line in _lines(pid, "status"))}


def _lines(pid: int, name: str) -> list[str]:
    """The lines of a file of a process in `/proc`."""
    return (PROC / str(pid) / name).read_text().splitlines()


def _belongs(pid: int, container_id: str | None) -> bool:
    """Whether process `pid` of this host is in that container's cgroups."""
    try:
        return pid > 0 and str(container_id) in (PROC / str(pid) / "cgroup").read_text()
    except OSError:
        return False
