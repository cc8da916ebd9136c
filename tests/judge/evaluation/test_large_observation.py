"""A trajectory of 52 MB: it is judged, verified, and found by gc once nothing refers to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ase import Atoms
from ase.build import bulk

from judge.records.observation_file import observation_path
from tasks.datasets.dataset import save_dataset
from tasks.dynamics.simulate import MAX_STORED_BYTES
from tests.tasks.kinds.simulated import dataset_of
from tests.world.world import World

# Each atom is bound to the nearest point of a lattice.
EINSTEIN = """
import numpy as np
from ase.calculators.calculator import Calculator

class Einstein(Calculator):
    implemented_properties = ["energy", "forces"]

    def calculate(self, atoms=None, properties=(), system_changes=()):
        away = atoms.positions - 3.0 * np.round(atoms.positions / 3.0)
        self.results = {"energy": float((away**2).sum()), "forces": -2.0 * away}

def make_calculator():
    return Einstein()
"""
SUITE = """
name = "small"
version = "1"
title = "A long trajectory"

[[tasks]]
name = "long"
kind = "dynamics"
dataset = "simulated@1"
domain = "Molecules"
time_limit_s = 200
[tasks.parameters]
ensemble = "nvt"
steps = 2500
store_every = 1
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    (tmp_path / "small.toml").write_text(SUITE)
    crystal: Atoms = bulk("Ar", "sc", a=3.0) * (12, 12, 12)
    save_dataset(dataset_of([crystal], [[{"measure": "temperature"}]]), tmp_path / "data")
    world.write_settings()
    return world


@pytest.mark.slow
def test_a_large_observation_is_judged_verified_and_collected(world: World) -> None:
    submission = world.submit("einstein", EINSTEIN)
    world.evaluate()
    (result,) = world.results()
    assert result.metrics["temperature_error"].value is not None
    assert result.provenance.observation is not None
    path = world.root / "store" / observation_path(result.provenance.observation)
    assert 50_000_000 < path.stat().st_size < MAX_STORED_BYTES

    assert world.run_json_here("verify", "--all")[0] == 0
    assert world.run_json_here("gc")[0] == 0
    assert path.exists()
    stored = bytearray(path.read_bytes())
    stored[-1] ^= 1
    path.write_bytes(stored)
    status, out, _ = world.run_here("verify", "--all")
    assert status == 1
    assert path.stem in out

    for room in ("attempts", "results"):
        for key in list(world.store.list(f"{room}/{submission.id}/")):
            world.store.delete(key)
    status, answer = world.run_json_here("gc")
    assert status == 0
    assert not path.exists(), answer
