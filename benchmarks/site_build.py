"""Building the site of a large leaderboard: `judge site build` in its own process, first, then with one more result,
then with nothing new.
"""

from __future__ import annotations

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.large_board import make_large_board
from benchmarks.report import Figure
from submissions.store.local import GRANULARITY_NS

N_MODELS, N_TASKS = 200, 40
MAX_S = 10.0
MAX_INDEX_BYTES = 250_000
BUILD = (sys.executable, "-m", "judge.cli.main", "site", "build", "--out")


class Times(NamedTuple):
    """How long a command took [s], and the processor time of all its processes [s]."""

    wall_s: float
    cpu_s: float


def measure_site_build(n_models: int = N_MODELS, n_tasks: int = N_TASKS) -> list[Figure]:
    """The time of a first build, of one with one more result, and of one without changes; and the size of `index.html`.

    Before the first build there is no site, and the store's files are dropped from the page cache if that is allowed.
    The processor time tells a slow build from a busy machine, whose load is stated, too.
    """
    with tempfile.TemporaryDirectory(prefix="lambench-bench-") as folder:
        root = Path(folder)
        make_large_board(root, n_models, n_tasks)
        newest = max((root / "store" / "results").rglob("*.json"))
        record = newest.read_bytes()
        newest.unlink()
        time.sleep(GRANULARITY_NS / 1e9)  # until then a result counts by its content, and its pages are drawn twice
        _forget(root / "store")
        load = os.getloadavg()[0]
        cold = _build(root)
        newest.write_bytes(record)
        anew, warm = _build(root), _build(root)
        site = root / "site"
        index = (site / "index.html").read_bytes()
        n_files = sum(path.is_file() for path in site.rglob("*"))
    name = f"site of {n_models} models × {n_tasks} tasks"
    return [
        Figure(f"{name}: processes that ran before (load)", load, ""),
        Figure(f"{name}: built from a cold store", cold.wall_s, "s"),
        Figure(f"{name}: built from a cold store, processor time", cold.cpu_s, "s"),
        Figure(f"{name}: built with one result more", anew.wall_s, "s", MAX_S),
        Figure(f"{name}: built with one result more, processor time", anew.cpu_s, "s"),
        Figure(f"{name}: built with nothing new", warm.wall_s, "s", MAX_S),
        Figure(f"{name}: files", n_files, ""),
        Figure(f"{name}: index.html", len(index) / 1000, "kB"),
        Figure(f"{name}: index.html, gzip -9", len(gzip.compress(index, 9)) / 1000, "kB", MAX_INDEX_BYTES / 1000),
    ]


def _build(root: Path) -> Times:
    """The times of the command, from its start to its end. It keeps its byte code, as where the judge is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin, cpu_s = time.perf_counter(), _cpu_s()
    subprocess.run([*BUILD, str(root / "site")], cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL)
    return Times(time.perf_counter() - begin, _cpu_s() - cpu_s)


def _cpu_s() -> float:
    """Processor time of all child processes that ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _forget(folder: Path) -> None:
    """Asks the kernel to drop the files below `folder` from its cache, once they are written."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
