"""Solutions that are kept: computed once, and again if the folder or the file is of no use."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tasks.simulation.solution_cache import Solution, solution, solutions_kept_in

KEY = "0" * 64


class Counted:
    """A computation that counts how often it was done."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self) -> Solution:
        self.n += 1
        return {"kappa": np.array(3.5), "modes": np.arange(6.0).reshape(3, 2).T}


def test_a_kept_solution_is_not_computed_again(tmp_path: Path) -> None:
    compute = Counted()
    with solutions_kept_in(tmp_path / "solutions"):
        first, second = solution(KEY, compute), solution(KEY, compute)
        solution("1" * 64, compute)
    assert compute.n == 2
    assert float(second["kappa"]) == 3.5
    np.testing.assert_array_equal(first["modes"], second["modes"])
    assert len(list((tmp_path / "solutions").iterdir())) == 2


def test_without_a_folder_every_solution_is_computed(tmp_path: Path) -> None:
    compute = Counted()
    with solutions_kept_in(tmp_path):
        solution(KEY, compute)
        with solutions_kept_in(None):
            solution(KEY, compute)
    solution(KEY, compute)
    assert compute.n == 3


def test_a_damaged_file_and_a_folder_that_cannot_be_written_are_no_error(tmp_path: Path) -> None:
    compute = Counted()
    with solutions_kept_in(tmp_path):
        solution(KEY, compute)
        (file,) = tmp_path.iterdir()
        file.write_bytes(b"damaged")
        assert float(solution(KEY, compute)["kappa"]) == 3.5
        assert float(solution(KEY, compute)["kappa"]) == 3.5
    assert compute.n == 2
    with solutions_kept_in(file / "a file is no folder"):
        solution(KEY, compute)
    assert compute.n == 3
