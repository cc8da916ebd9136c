"""`python -m setup.tests`: all tests in two processes that share the files, then those that measure times, alone.

On two cores this takes little more than half the time of one process. The output of the second process follows once
both have ended. Neither is started by a shell, which would have Ctrl-C ignored in the second.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from tests.session_guard import begin_session

TOGETHER, ALONE = "not soak and not alone", "not soak and alone"


def main() -> int:
    """0 if all tests passed."""
    begin_session()  # both processes end with this one
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # many tests start a command, which would be compiled each time
    handle, shared = tempfile.mkstemp()
    os.close(handle)
    together = command(TOGETHER, "-p", "tests.shared_files", "--shared", shared)
    with tempfile.TemporaryFile() as output:
        second = subprocess.Popen(together, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = subprocess.call(together)
            status = second.wait() or status
        finally:
            second.kill()
            second.wait()
            output.seek(0)
            sys.stdout.buffer.write(output.read())
            sys.stdout.buffer.flush()
    return subprocess.call(command(ALONE)) or status


def command(marked: str, *options: str) -> list[str]:
    """pytest on the tests that are `marked`."""
    return [sys.executable, "-m", "pytest", "--tb=short", "-m", marked, *options, "tests"]


if __name__ == "__main__":
    sys.exit(main())
