"""A model whose answers a file controls, judged once, and `judge rejudge` on it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from judge.records.records import Result
from tests.world.world import World

MOODY = """
from pathlib import Path
from ase.calculators.emt import EMT

class Moody(EMT):
    def calculate(self, *args, **kwargs):
        super().calculate(*args, **kwargs)
        self.results["forces"] = self.results["forces"] + float(Path({mood!r}).read_text())

def make_calculator():
    return Moody()
"""


@pytest.fixture
def world(moody_world: World) -> World:
    return moody_world


def snapshot(world: World) -> dict[str, bytes]:
    return {key: world.store.get(key) for key in world.store.list("")}


def rejudged(world: World, *arguments: str) -> tuple[int, dict[str, Mapping[str, object]]]:
    """Exit status of `judge rejudge … --json` and the changes by task."""
    status, answer = world.run_json_here("rejudge", *arguments)
    assert isinstance(answer, dict)
    return status, {change["task"]: change for change in answer["changes"]}


def force_rmse(results: list[Result], task: str) -> float | None:
    (matching,) = (result for result in results if result.task == task)
    return matching.metrics["force_rmse"].value
