"""Building the site of a large leaderboard: `judge site build` in its own process, first, then with one more result,
then with nothing new.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.large_board import make_large_board
from benchmarks.report import Figure

N_MODELS, N_TASKS = 200, 40
MAX_S = 10.0
MAX_INDEX_BYTES = 250_000
BUILD = (sys.executable, "-m", "judge.cli.main", "site", "build", "--out")


def measure_site_build(n_models: int = N_MODELS, n_tasks: int = N_TASKS) -> list[Figure]:
    """The time of a first build, of one with one more result, and of one without changes; and the size of `index.html`.

    Before the first build there is no site, and the store's files are dropped from the page cache if that is allowed.
    """
    with tempfile.TemporaryDirectory(prefix="lambench-bench-") as folder:
        root = Path(folder)
        make_large_board(root, n_models, n_tasks)
        newest = max((root / "store" / "results").rglob("*.json"))
        record = newest.read_bytes()
        newest.unlink()
        _forget(root / "store")
        cold_s = _build(root)
        newest.write_bytes(record)
        anew_s, warm_s = _build(root), _build(root)
        site = root / "site"
        index = (site / "index.html").read_bytes()
        n_files = sum(path.is_file() for path in site.rglob("*"))
    name = f"site of {n_models} models × {n_tasks} tasks"
    return [
        Figure(f"{name}: built from a cold store", cold_s, "s"),
        Figure(f"{name}: built with one result more", anew_s, "s", MAX_S),
        Figure(f"{name}: built with nothing new", warm_s, "s", MAX_S),
        Figure(f"{name}: files", n_files, ""),
        Figure(f"{name}: index.html", len(index) / 1000, "kB"),
        Figure(f"{name}: index.html, gzip -9", len(gzip.compress(index, 9)) / 1000, "kB", MAX_INDEX_BYTES / 1000),
    ]


def _build(root: Path) -> float:
    """Seconds from the start of the command to its end."""
    begin = time.perf_counter()
    subprocess.run([*BUILD, str(root / "site")], cwd=root, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _forget(folder: Path) -> None:
    """Asks the kernel to drop the files below `folder` from its cache, once they are written."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
