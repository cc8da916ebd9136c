"""The drivers by name."""

from __future__ import annotations

from pathlib import Path

from sandbox.driver import ColdStart, Driver, DriverName
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.rundir import RunDir, default_run_dir


def open_driver(
    name: DriverName, run_dir: Path | None = None, runtime: str = "", cold_start: ColdStart = "required"
) -> Driver:
    """The driver of that name, with this process registered in `run_dir`.

    Args:
        runtime: of the containers, as the engine names it (`runsc`); empty: the engine's default.
        cold_start: whether each container starts with none of its files in memory.

    Raises:
        JudgeFault: the engine does not answer, or the directory cannot be written.
    """
    place = RunDir(run_dir or default_run_dir())
    return DockerDriver(place, runtime or None, cold_start) if name == "docker" else ProcessDriver(place)
