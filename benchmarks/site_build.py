"""Building the site of a large leaderboard: `judge site build` in its own process, first, then with one more result,
then with nothing new.

A result that completes a model's tasks gives it a rank, which moves others: their ranks are put into all their pages.
So this is measured apart from a result that gives no rank.
"""

from __future__ import annotations

import gzip
import json
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
from sandbox.verdict import Verdict
from submissions.store.local import GRANULARITY_NS

N_MODELS, N_TASKS = 200, 40
MAX_S = 5.0
MAX_INDEX_BYTES = 250_000
SETTLED_S = GRANULARITY_NS / 1e9
"""Until then a file counts by its content, and its pages are drawn twice."""
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
        time.sleep(SETTLED_S)
        _forget(root / "store")
        load = os.getloadavg()[0]
        cold = _build(root)
        unranked, ranked = (_with_one_more(root, result) for result in _newest_answers(root))
        warm = _build(root)
        site = root / "site"
        index = (site / "index.html").read_bytes()
        n_files = sum(path.is_file() for path in site.rglob("*"))
    name = f"site of {n_models} models × {n_tasks} tasks"
    return [
        Figure(f"{name}: processes that ran before (load)", load, ""),
        *_figures(f"{name}: built from a cold store", cold),
        *_figures(f"{name}: built with one result more", unranked, MAX_S),
        *_figures(f"{name}: built with one that gives a rank", ranked, MAX_S),
        Figure(f"{name}: built with nothing new", warm.wall_s, "s", MAX_S),
        Figure(f"{name}: files", n_files, ""),
        Figure(f"{name}: index.html", len(index) / 1000, "kB"),
        Figure(f"{name}: index.html, gzip -9", len(gzip.compress(index, 9)) / 1000, "kB", MAX_INDEX_BYTES / 1000),
    ]


def _figures(name: str, times: Times, bound: float | None = None) -> list[Figure]:
    return [Figure(name, times.wall_s, "s", bound), Figure(f"{name}, processor time", times.cpu_s, "s")]


def _newest_answers(root: Path) -> tuple[Path, Path]:
    """The newest result with verdict OK of a model without a rank, and that of a model with a rank."""
    models = json.loads((root / "site" / "leaderboard.json").read_bytes())["models"]
    ranked = {model["id"] for model in models if model.get("rank")}
    newest: dict[bool, tuple[str, Path]] = {}
    for path in (root / "store" / "results").rglob("*.json"):
        record = json.loads(path.read_bytes())
        if record["verdict"] == Verdict.OK:
            has_rank, found = record["submission"] in ranked, (record["measured"], path)
            newest[has_rank] = max(found, newest.get(has_rank, found))
    return newest[False][1], newest[True][1]


def _with_one_more(root: Path, result: Path) -> Times:
    """The times of a build with this result after one without it, once its stamp counts."""
    record = result.read_bytes()
    result.unlink()
    _build(root)
    result.write_bytes(record)
    time.sleep(SETTLED_S)
    return _build(root)


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
