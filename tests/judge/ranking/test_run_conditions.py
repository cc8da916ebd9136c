"""The conditions of runs, as parameters and data sets state them."""

from __future__ import annotations

import numpy as np

from judge.ranking.run_conditions import run_conditions
from scoring.choice_sums import SimulatedRuns
from tasks.suites.suite import load_suite


def test_conditions_follow_from_parameters() -> None:
    """Heating goes from 300 to 3000 K; 5000 steps of 2 fs are 10 ps; energy drifts have a start alone."""
    tasks = {task.name: task for suite in ("materials", "lambench-2026") for task in load_suite(suite).tasks}
    stated = {name: run_conditions(task.parameters, None, hidden=False) for name, task in tasks.items()}
    assert stated["heating"] == SimulatedRuns((300.0, 3000.0), 0.01)
    assert stated["nve-slabs"] == SimulatedRuns((300.0, 300.0), 0.01)
    assert stated["torsionnet"] is None


def test_temperatures_of_a_data_set_are_public_if_it_is() -> None:
    task = next(task for task in load_suite("ml-peg").tasks if task.name == "liquid-densities")
    baths = np.array([298.0, 400.0, 273.0])
    assert run_conditions(task.parameters, baths, hidden=False) == SimulatedRuns((273.0, 400.0), 1.0)
    assert run_conditions(task.parameters, baths, hidden=True) == SimulatedRuns(None, 1.0)
