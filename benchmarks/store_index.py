"""`judge list` and a no-op `judge evaluate --all` on a large store: with the cache of records, and while it is made.

The time is that of a whole process, as a person sees it. The bounds are for 10,000 results. With more
(`--results 100000`) both commands must work, without a bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.large_store import make_large_store
from benchmarks.report import Figure, report
from submissions.store.local import GRANULARITY_NS

N_TASKS, N_RESULTS = 40, 10_000
LIST_S, NO_OP_S = 2.0, 5.0
COMMANDS = {"judge list": (("list",), LIST_S), "judge evaluate --all, nothing to do": (("evaluate", "--all"), NO_OP_S)}


def command_s(root: Path, arguments: Sequence[str]) -> float:
    """Seconds of `judge` with these arguments. Bytecode is kept, as it is on a maintainer's machine."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "judge.cli.main", *arguments],
        cwd=root,
        env={**variables, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        output = (done.stdout + done.stderr)[-2000:]
        raise SystemExit(f"judge {' '.join(arguments)} failed. If another version made the store, remove it. {output}")
    return seconds


def measure_store_index(n_results: int = N_RESULTS, root: Path | None = None, rounds: int = 5) -> Iterator[Figure]:
    """Seconds of both commands: the first time, when there is no cache, and the median of `rounds` later times.

    Args:
        root: of a store that an earlier call made; None: a new store is made, and removed.
    """
    with tempfile.TemporaryDirectory() as folder:
        if root is None:
            root = Path(folder)
            make_large_store(root, n_results // N_TASKS, N_TASKS)
            time.sleep(GRANULARITY_NS / 1e9)  # files that were just written would not be cached
        for name, (arguments, bound) in COMMANDS.items():
            for file in (root / "index").glob("*"):
                file.unlink()
            first = command_s(root, arguments)
            later = statistics.median(command_s(root, arguments) for _ in range(rounds))
            yield Figure(f"{name}, {n_results:,} results, first", first, "s")
            yield Figure(f"{name}, {n_results:,} results", later, "s", bound if n_results <= N_RESULTS else None)


def main() -> int:
    """Measures at full size, or as the options say."""
    parser = argparse.ArgumentParser(description="judge list and judge evaluate --all on a large store")
    parser.add_argument("--results", type=int, default=N_RESULTS)
    parser.add_argument(
        "--root", type=Path, help="folder of the store, made if needed and kept; default: a temporary one"
    )
    options = parser.parse_args()
    if options.root and not (options.root / "judge.toml").exists():
        make_large_store(options.root.absolute(), options.results // N_TASKS, N_TASKS)
        time.sleep(GRANULARITY_NS / 1e9)
    return (
        0
        if report("store-index", measure_store_index(options.results, options.root), Path("var/bench-store.json"))
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
