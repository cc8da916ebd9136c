"""Several processes draw the same files as one, and the parent does the work of a child that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from judge import parallel as module
from judge.parallel import LEAST, drawn_in_parallel

ITEMS = range(3 * LEAST)
PARENT = os.getpid()


def draw(items: Sequence[int]) -> dict[str, bytes]:
    return {f"{item}.html": b"x" * (item * 10_000) for item in items}


@pytest.fixture(params=[1, 2, 3, 5], autouse=True)
def processors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_processors", lambda: request.param)


def children_left() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return False


def test_the_same_files_in_the_same_order() -> None:
    files = drawn_in_parallel(draw, ITEMS)
    assert files == draw(ITEMS)
    assert list(files) == list(draw(ITEMS))
    assert not children_left()


def test_the_parent_draws_the_share_of_a_child_that_fails() -> None:
    def only_in_the_parent(items: Sequence[int]) -> dict[str, bytes]:
        if os.getpid() != PARENT:
            raise MemoryError
        return draw(items)

    assert drawn_in_parallel(only_in_the_parent, ITEMS) == draw(ITEMS)
    assert not children_left()


KILLED = """
import os, signal, time
from judge.parallel import in_background
with in_background(lambda: b"x" * 10_000_000):
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_parent_leaves_no_child() -> None:
    """The output ends only when no process has it open."""
    process = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, timeout=60, check=False)
    assert process.returncode == -signal.SIGKILL


def test_an_error_shows_as_in_one_process() -> None:
    def fails_on_the_last(items: Sequence[int]) -> dict[str, bytes]:
        if ITEMS[-1] in items:
            raise ValueError("the last one")
        return draw(items)

    with pytest.raises(ValueError, match="the last one"):
        drawn_in_parallel(fails_on_the_last, ITEMS)
    assert not children_left()
