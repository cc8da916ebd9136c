"""A model that answers a few items of a hidden set alone learns no label from the numbers over them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from judge.disclosure.redaction import public_parts, public_result
from judge.records.few_items import LEAST_ITEMS
from sandbox.verdict import Verdict
from tasks.metrics.metric import MetricPart
from tests.judge.disclosure.hidden_world import hidden_world, rendered
from tests.judge.disclosure.leaks import COORDINATES, N_FRAMES, RARE
from tests.world.board_records import SUITE, error, result, submission

ANSWERS_ONE = f"""
import numpy as np
from ase.calculators.calculator import Calculator, all_changes

class Chooser(Calculator):
    implemented_properties = ["energy", "forces", "stress"]
    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        if "{RARE}" not in atoms.get_chemical_symbols():
            raise ValueError("no")
        self.results = {{"energy": 0.0, "forces": np.zeros((len(atoms), 3)), "stress": np.zeros(6)}}

def make_calculator():
    return Chooser()
"""


@pytest.mark.parametrize("failed_share", [0.5, 1.0])
def test_a_model_that_answers_one_item_alone_is_not_ok_and_its_numbers_are_not_shown(
    tmp_path: Path, failed_share: float
) -> None:
    world = hidden_world(tmp_path)
    suite = world.root / "small.toml"
    suite.write_text(
        suite.read_text().replace("time_limit_s = 60", f"time_limit_s = 60\nfailed_share = {failed_share}", 1)
    )
    world.submit("one", ANSWERS_ONE)
    assert world.run("evaluate", "--all")[0] == 0
    (found,) = (each for each in world.results() if each.task == "secret")
    assert found.verdict is Verdict.TOO_MANY_FAILURES
    assert found.sentence.startswith(f"{N_FRAMES - 1} of {N_FRAMES} items failed")
    label = found.metrics["force_rmse"].value
    assert label == pytest.approx(COORDINATES[1])  # the model answered zero
    pages = b"".join(content for path, content in rendered(world).items() if path.endswith((".html", ".json"))).decode()
    assert "Force RMSE" in pages
    assert not re.findall(r"0?\.91827|918\.27|\b918 meV|\b0\.918\b", pages)


def test_numbers_over_few_answers_are_left_out_of_a_hidden_task() -> None:
    few, enough = (replace(error(0.1), n_items=60, n_failed=60 - n) for n in (LEAST_ITEMS - 1, LEAST_ITEMS))
    record = result(submission("a"), SUITE.tasks[0], {"few": few, "enough": enough})
    hidden, known = (public_result(record, hidden=which).metrics for which in (True, False))
    assert (hidden["few"].value, hidden["few"].charged) == (None, few.failure_cost)
    assert hidden["enough"].value == known["enough"].value == known["few"].value == 0.1


def test_parts_of_few_answers_are_left_out() -> None:
    def part(n_items: int, n_failed: int) -> MetricPart:
        return MetricPart("group", f"{n_items}-{n_failed}", "mae", 0.1, "eV", n_items, n_failed)

    whole = {"mae": replace(error(0.1), n_items=100)}
    parts = [part(10, 6), part(10, 5), part(6, 2), part(20, 20)]
    assert [each.name for each in public_parts(parts, whole, hidden=True)] == ["10-5"]
    assert public_parts([part(60, 2)], {"mae": replace(whole["mae"], n_items=61, n_failed=0)}, hidden=True) == ()
