"""The judge keeps solutions of transport equations for its measurements; a verification solves again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from tasks.datasets.dataset import save_dataset
from tests.tasks import kind_examples
from tests.world.world import World

SUITE = """
name = "heat"
version = "1"
title = "Heat"

[[tasks]]
name = "conductivity"
kind = "thermal_conductivity"
dataset = "law@1"
domain = "Inorganic Materials"
time_limit_s = 120
[tasks.parameters]
{parameters}
"""


def test_a_kept_solution_serves_measurements_and_not_verification(tmp_path: Path) -> None:
    example = kind_examples.thermal_conductivity()
    save_dataset(example.dataset, tmp_path / "data")
    stated = example.parameters.model_dump(mode="json", exclude_defaults=True)
    parameters = "stages = 1\n[tasks.parameters.relaxation]\n" + "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in stated["relaxation"].items()
    )
    (tmp_path / "small.toml").write_text(SUITE.format(parameters=parameters))
    world = World(tmp_path)
    world.submit("emt")
    summary, output = world.evaluate()
    assert summary.exit_status == 0, output
    (result,) = world.results()
    kept = sorted((tmp_path / "solutions").iterdir())
    assert len(kept) == len(example.dataset.frames)
    # Were a solution that somebody else has put there read by `judge verify`, the result would differ from it.
    for path in kept:
        solved = dict(load(path.read_bytes()))
        solved["kappa"], solved["modes"] = 2.0 * solved["kappa"], 2.0 * solved["modes"]
        path.write_bytes(save({name: np.array(array, order="C") for name, array in solved.items()}))
    world.write_settings()
    status, out, err = world.run_here("verify", "--all")
    assert status == 0, out + err
    for key in list(world.store.list("results/")):
        (tmp_path / "store" / key).unlink()
    summary, output = world.evaluate()
    assert summary.exit_status == 0, output
    (again,) = world.results()
    assert again.metrics["sre"] != result.metrics["sre"]
