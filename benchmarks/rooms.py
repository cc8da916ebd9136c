"""How long the quick tests of the longest rooms take, which a person runs after each change."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.report import Figure

ROOMS = ("judge/cli", "judge/evaluation", "judge/publishing", "tasks/kinds")
MAX_S = 60.0


def measure_rooms(rooms: Sequence[str] = ROOMS) -> Iterator[Figure]:
    """The time of `make room` for each room, from the start of the command to its end.

    Raises:
        subprocess.CalledProcessError: a test failed.
    """
    for room in rooms:
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "setup.tests", room], check=True, stdout=subprocess.DEVNULL)
        yield Figure(f"quick tests of {room}", time.perf_counter() - begin, "s", MAX_S)
