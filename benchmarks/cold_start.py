"""The cost of a cold start: sessions of one structure, in turn with the image's files in memory and without."""

from __future__ import annotations

import statistics
import time

from ase.build import bulk

from benchmarks.report import Figure
from sandbox.driver import ColdStart, Question
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir, default_run_dir
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import run_session
from tasks.structures.frames import Frames

MAX_S = 0.5
N_PAIRS = {"emt": 7, "chgnet": 3}
MODES: tuple[ColdStart, ColdStart] = ("off", "required")


def measure_cold_start() -> list[Figure]:
    """By image, the seconds of a session with its files in memory, and how many more a cold start takes."""
    run_dir = RunDir(default_run_dir())
    drivers = {mode: DockerDriver(run_dir, cold_start=mode) for mode in MODES}
    figures = []
    for name, n_pairs in N_PAIRS.items():
        reference = f"lambench/{name}:latest"
        session_s(drivers["off"], reference)  # its files are in memory
        pairs = [[session_s(drivers[mode], reference) for mode in MODES] for _ in range(n_pairs)]
        more_s = statistics.median(cold - warm for warm, cold in pairs)
        figures.append(Figure(f"a session of {name}, its files in memory", statistics.median(w for w, _ in pairs), "s"))
        figures.append(Figure(f"a cold start of {name} takes longer by", more_s, "s", MAX_S if name == "emt" else None))
    return figures


def session_s(driver: DockerDriver, reference: str) -> float:
    """Seconds from the wish for a session to its end, with one structure."""
    frames = Frames.from_atoms([bulk("Cu", cubic=True)])

    def body(remote: RemoteCalculator) -> None:
        remote.compute(frames, ("energy",))

    begin = time.perf_counter()
    outcome = run_session(driver, driver.resolve(reference), Limits(), Question(), body)
    if outcome.verdict != "OK":
        raise SystemExit(f"{reference} failed: {outcome.sentence}\n{outcome.private}")
    return time.perf_counter() - begin
