"""`python -m benchmarks`: everything, in one run. Exit status 1 where a bound is missed."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.concurrency import measure_concurrency
from benchmarks.judging import measure_judging
from benchmarks.metrics import measure_metrics
from benchmarks.publishing import measure_publishing
from benchmarks.report import report
from benchmarks.scoring import measure_scoring
from benchmarks.site_build import measure_site_build
from benchmarks.store_index import N_RESULTS, measure_store_index
from benchmarks.wire import measure_wire
from sandbox.drivers.docker_driver import DockerDriver
from sandbox.rundir import RunDir, default_run_dir


def main() -> int:
    """Measures, reports, and says whether every bound holds."""
    driver = DockerDriver(RunDir(default_run_dir()))
    figures = [
        *measure_wire(driver),
        *measure_judging(driver),
        *measure_metrics(),
        *measure_scoring(),
        *measure_concurrency(),
        *measure_store_index(N_RESULTS // 10),
        *measure_publishing(),
        *measure_site_build(),
    ]
    return 0 if report(figures, Path("var/bench.json")) else 1


if __name__ == "__main__":
    sys.exit(main())
