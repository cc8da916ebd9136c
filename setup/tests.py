"""Runs all tests in two processes, which on two cores takes little more than half the time of one; then those alone
whose times would be others while anything else runs.

Each takes whole rooms: they share no file and no container, but the images of the engine, which nobody changes. The
output of the second is shown when both are done. A shell would start the second with Ctrl-C ignored, and so would be
everything that its tests start and interrupt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

ROOMS = ("sandbox", "end_to_end", "submissions", "servers", "tasks", "scoring")
SECOND = [f"tests/{room}" for room in ROOMS]
FIRST = ["tests", *(f"--ignore={folder}" for folder in SECOND)]
TOGETHER, ALONE = "not soak and not alone", "not soak and alone"


def main() -> int:
    """Exit status: 0, if all passed."""
    with tempfile.TemporaryFile() as said:
        second = subprocess.Popen(command(TOGETHER, SECOND), stdout=said, stderr=subprocess.STDOUT)
        try:
            status = subprocess.call(command(TOGETHER, FIRST))
            status = second.wait() or status
        finally:
            second.kill()
            second.wait()
            said.seek(0)
            sys.stdout.buffer.write(said.read())
            sys.stdout.buffer.flush()
    return subprocess.call(command(ALONE, ["tests"])) or status


def command(marked: str, where: list[str]) -> list[str]:
    """pytest on the tests that are `marked`."""
    return [sys.executable, "-m", "pytest", "--tb=short", "-m", marked, *where]


if __name__ == "__main__":
    sys.exit(main())
