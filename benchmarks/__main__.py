"""`python -m benchmarks [NAME …]`: all benchmarks, or those named. Exit status 1 if a bound is missed."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from benchmarks.cold_start import measure_cold_start
from benchmarks.concurrency import measure_concurrency
from benchmarks.coverage import measure_coverage
from benchmarks.dynamics import measure_dynamics
from benchmarks.first_minutes import measure_first_minutes
from benchmarks.judging import measure_judging
from benchmarks.metrics import measure_metrics
from benchmarks.publishing import measure_publishing
from benchmarks.questions import measure_questions
from benchmarks.report import Figure, report
from benchmarks.rooms import measure_rooms
from benchmarks.scoring import measure_scoring
from benchmarks.set_coverage import measure_set_coverage
from benchmarks.site_build import measure_site_build
from benchmarks.store_index import measure_store_index
from benchmarks.wire import measure_wire
from benchmarks.workers import measure_workers
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir, default_run_dir

BENCHMARKS: dict[str, Callable[[], Iterable[Figure]]] = {
    "wire": lambda: measure_wire(docker_driver()),
    "judging": lambda: measure_judging(docker_driver()),
    "dynamics": lambda: measure_dynamics(docker_driver()),
    "cold-start": measure_cold_start,
    "metrics": measure_metrics,
    "scoring": measure_scoring,
    "coverage": lambda: chain(measure_coverage(), measure_set_coverage()),
    "questions": measure_questions,
    "concurrency": measure_concurrency,
    "store-index": measure_store_index,
    "publishing": measure_publishing,
    "site-build": measure_site_build,
    "rooms": measure_rooms,
    "first-minutes": measure_first_minutes,
    "workers": measure_workers,
}


def docker_driver() -> DockerDriver:
    """The driver of this machine's engine."""
    return DockerDriver(RunDir(default_run_dir()))


def main() -> int:
    """Measures, prints each figure at once, and merges all into `var/bench.json`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures; a table, and var/bench.json.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark of --list; none: all")
    parser.add_argument("--list", action="store_true", help="the names, one a line")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if arguments.list:
        print("\n".join(BENCHMARKS))
        return 0
    hold = True
    for name in arguments.names or BENCHMARKS:
        print(f"{name}: medians", flush=True)
        begin = time.monotonic()
        hold = report(name, BENCHMARKS[name](), Path("var/bench.json")) and hold
        print(f"  ({time.monotonic() - begin:.0f} s)", flush=True)
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main())
