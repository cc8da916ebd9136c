"""Processes that share the test files run each test once; so do the parts of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = """
import pathlib, pytest, time
pytestmark = [{marks}]

@pytest.mark.parametrize("number", range(3))
def test_one(number):
    with open("ran", "a") as file:
        print(pathlib.Path(__file__).stem, number, file=file)
    time.sleep(0.1)
"""
NAMES = [f"test_{character}" for character in "abcdef"]
EACH_ONCE = Counter(f"{name} {number}" for name in NAMES for number in range(3))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with six files of three tests each. Two files belong together, and the last is slow."""
    marks = {"test_b": "pytest.mark.together('x')", "test_e": "pytest.mark.together('x')", "test_f": "pytest.mark.slow"}
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(FILE.format(marks=marks.get(name, "")))
    return tmp_path


def start(files: Path, *options: str) -> subprocess.Popen[str]:
    """pytest on the files, in their folder, without this project's settings."""
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir=.", "-p", "tests.shared_files", "-v"]
    return subprocess.Popen(
        [*command, *options],
        cwd=files,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_each_test_runs_once_and_those_that_belong_together_in_one_process(files: Path) -> None:
    (files / "shared").touch()
    outputs = [process.communicate(timeout=60)[0] for process in [start(files, "--shared=shared") for _ in range(2)]]
    assert Counter((files / "ran").read_text().splitlines()) == EACH_ONCE
    assert all(" passed" in output for output in outputs)
    assert sum("test_b.py::test_one" in output for output in outputs) == 1
    assert all(("test_b.py::test_one" in output) == ("test_e.py::test_one" in output) for output in outputs)


def test_the_longest_files_come_first(files: Path) -> None:
    (files / "shared").touch()
    start(files, "--shared=shared").communicate(timeout=60)
    order = list(dict.fromkeys(line.split()[0] for line in (files / "ran").read_text().splitlines()))
    assert order == ["test_f", "test_b", "test_e", "test_a", "test_c", "test_d"]


def test_the_first_process_takes_the_files_that_start_containers_and_another_takes_them_last(files: Path) -> None:
    (files / "test_c.py").write_text(FILE.format(marks="pytest.mark.docker"))
    orders = []
    for before in ("", "1 0 0"):  # nobody came before, and one
        (files / "shared").write_text(before)
        start(files, "--shared=shared").communicate(timeout=60)
        orders.append(list(dict.fromkeys(line.split()[0] for line in (files / "ran").read_text().splitlines())))
        (files / "ran").unlink()
    assert (orders[0][0], orders[1][-1]) == ("test_c", "test_c")
    assert orders[0][1:] == orders[1][:-1] == ["test_f", "test_b", "test_e", "test_a", "test_d"]


def test_parts_are_the_whole(files: Path) -> None:
    for part in ("1/2", "2/2"):
        output, _ = start(files, f"--part={part}").communicate(timeout=60)
        assert " deselected" in output
    assert Counter((files / "ran").read_text().splitlines()) == EACH_ONCE


def test_the_first_failure_ends_a_run_that_was_told_so(files: Path) -> None:
    (files / "test_f.py").write_text("import pytest\npytestmark = pytest.mark.slow\ndef test_fails(): assert False")
    (files / "shared").touch()
    process = start(files, "--shared=shared", "--exitfirst")
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, "1 failed" in output, (files / "ran").exists()) == (1, True, False), output
