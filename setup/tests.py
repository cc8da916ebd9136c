"""`python -m setup.tests`: runs all tests in processes that share the files, then those that measure times, alone.

`python -m setup.tests judge/records` runs the quick tests of one room, which need no Docker engine.

There is one more process than cores, because many tests wait for a container, a browser or a time limit. The output of
the first process is shown at once, that of the others when all have ended. No shell starts them: they would inherit
an ignored Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.session_guard import begin_session

N_PROCESSES = min((os.cpu_count() or 1) + 1, 4)
TOGETHER, ALONE = "not soak and not alone", "not soak and alone"
QUICK = f"{TOGETHER} and not docker and not slow"


def main(rooms: Sequence[str]) -> int:
    """0 if all tests passed.

    Args:
        rooms: whose quick tests are run, `judge/records`; empty: all tests.
    """
    begin_session()  # all processes end with this one
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many tests start a command, which would be compiled each time
    if rooms:
        return run_together(QUICK, [f"tests/{room}" for room in rooms])
    failed = run_together(TOGETHER, ["tests"])
    return subprocess.call(command(ALONE, "tests")) or failed


def run_together(marked: str, paths: Sequence[str]) -> int:
    """0 if all processes that share the tests passed."""
    folder = Path(tempfile.mkdtemp())
    (folder / "shared").touch()
    together = command(marked, "-p", "tests.shared_files", "--shared", str(folder / "shared"), *paths)
    with ExitStack() as stack:
        outputs = [stack.enter_context((folder / str(n)).open("w+b")) for n in range(1, N_PROCESSES)]
        processes = [subprocess.Popen(together, stdout=output, stderr=output) for output in (None, *outputs)]
        try:
            return next(filter(None, [process.wait() for process in processes]), 0)
        finally:
            for process in processes:
                process.kill()
                process.wait()
            for output in outputs:
                output.seek(0)
                shutil.copyfileobj(output, sys.stdout.buffer)
                sys.stdout.buffer.flush()


def command(marked: str, *arguments: str) -> list[str]:
    """pytest on the tests that are `marked`."""
    return [sys.executable, "-m", "pytest", "--tb=short", "-m", marked, *arguments]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
