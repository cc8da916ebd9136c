"""The guest ends at once: without the exit handlers of frameworks, and with all that was printed."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import atexit, time
from sandbox.guest.start import end
atexit.register(time.sleep, 600)
print("the last words", end="")
{before}
end(3)
"""


def test_exit_handlers_do_not_run_and_nothing_that_was_printed_is_lost() -> None:
    ended = subprocess.run([sys.executable, "-c", CODE.format(before="")], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (3, "the last words")


def test_a_calculator_may_have_closed_its_output() -> None:
    code = CODE.format(before="import sys; sys.stderr.close(); sys.stdout = None")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode == 3
