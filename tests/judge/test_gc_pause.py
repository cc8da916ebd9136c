"""A process that kept large objects ends without freeing them, after its exit functions, with all its output."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

END = """
import atexit, threading
from judge.gc_pause import end_process, keep

class Large:
    def __del__(self):
        print("freed")

atexit.register(print, "cleaned up")
print("output")
{}
end_process(3)
print("the usual end")
"""


@pytest.mark.parametrize(
    ("before", "status", "lines"),
    [
        ("keep(Large())", 3, ["output", "cleaned up"]),
        ("keep(Large()); keep(Large())", 3, ["output", "freed", "cleaned up"]),
        ("", 0, ["output", "the usual end", "cleaned up"]),
        (
            "keep(Large()); threading.Thread(target=threading.Event().wait, args=(0.5,)).start()",
            0,
            ["output", "the usual end", "cleaned up", "freed"],
        ),
    ],
    ids=["kept", "only the last one is kept", "nothing kept", "a thread is running"],
)
def test_the_end_of_a_process(before: str, status: int, lines: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", END.format(before)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split("\n")[:-1], done.stderr) == (status, lines, "")


def test_output_that_cannot_be_written_is_reported_as_always() -> None:
    command = [sys.executable, "-c", END.format("keep(Large())")]
    buffered = {**os.environ, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffered, check=False)
    assert (done.returncode, "No space left" in done.stderr) == (120, True)
