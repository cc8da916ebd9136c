"""The faults that `benchmarks.mutants` puts into the sources, and that it sees which of them a test notices."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutants import equivalent_mutants, python_files
from benchmarks.mutations import mutants

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a < b", ["a < b -> a <= b"]),
        ("x = a + 2", ["a + 2 -> a - 2", "2 -> 3"]),
        ("x = a and not b", ["a and (not b) -> a or not b", "not b -> b"]),
        ("f(a, b, True)", ["f(a, b, True) -> pass", "f(a, b, True) -> f(b, a, True)", "True -> False"]),
        ("x = max(a, b)", []),
        ("x = zip(a, b, strict=True)", []),
        ("def f(a: Literal[1] = 2) -> 'A | B':\n    '''Text.'''\n    return a", ["return a -> return None", "2 -> 3"]),
        ("if a:\n    raise ValueError(f'{a + 1}')", ["if a -> if not a", "raise ValueError(f'{a + 1}') -> pass"]),
        ("class A:\n    def __repr__(self):\n        return 1", []),
        ("x = f'{1 + 1}'", []),
    ],
)
def test_the_faults_of_a_source_text(source: str, changes: list[str]) -> None:
    found = list(mutants(source))
    assert sorted(each.change for each in found) == sorted(changes)
    assert all(ast.unparse(each.tree) != ast.unparse(ast.parse(source)) for each in found)


def test_a_fault_is_in_its_line_and_function() -> None:
    source = "A = 1\n\nclass B:\n    def f(self, x=2):\n        return [x * 3\n                for _ in y]\n"
    places = {each.change: (each.line, each.last_line, each.function) for each in mutants(source)}
    assert places["1 -> 2"] == (1, 1, "")
    assert places["2 -> 3"] == (4, 4, "")
    assert places["3 -> 4"] == (5, 5, "B.f")
    assert places["return [x * 3 for _ in y] -> return None"] == (5, 6, "B.f")


def test_equivalent_mutants_are_mutants_of_this_source() -> None:
    listed = equivalent_mutants()
    for name in {path for path, _, _ in listed}:
        (path,) = python_files([name])
        there = {(name, each.text, each.change) for each in mutants(path.read_text(encoding="utf-8"))}
        assert {key for key in listed if key[0] == name} <= there


def test_the_shares_are_those_of_the_mutants_that_a_test_notices() -> None:
    """All of the soft threshold are noticed by its own tests, and none by those of another module."""
    command = [sys.executable, "-m", "benchmarks.mutants", "tasks/metrics/soft_threshold.py", "--tests"]
    for tests, line in (
        ("tests/tasks/metrics/test_group_statistics.py", "11 mutants, 0 unviable, 11 killed: 100.0%"),
        ("tests/scoring/test_choice_errors.py", "11 mutants, 0 unviable, 0 killed: 0.0%"),
    ):
        ran = subprocess.run(
            [*command, tests], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        assert line in ran.stdout
