"""Scans of the volume: 21 structures of each crystal, and the shape of EMT's energy over them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from ase.io import write

from tasks.datasets.card import Card, DatasetError
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.volume_scans import import_volume_scans
from tasks.kinds.equation_of_state import EquationOfStateKind
from tasks.model.calculator import InProcessCalculator
from tasks.suites.suite import load_suite
from tests.tasks.importing.ml_peg.layouts import record

CARD = Card(
    name="volume-scans", version="1", title="Scans", domain="Inorganic Materials", periodic=True, label_sets={}
)  # fmt: skip


def named(name: str, atoms: Atoms) -> Atoms:
    atoms.info["name"] = name
    return atoms


def test_each_crystal_has_21_lengths_and_the_shape_of_its_energy(tmp_path: Path, run: Any) -> None:
    alloy = bulk("Cu", cubic=True, a=3.75)
    alloy.symbols[0] = "Au"
    path = tmp_path / "crystals.extxyz"
    write(path, [named("copper", bulk("Cu", a=3.6)), named("alloy", alloy)])
    dataset = load_dataset(save_dataset(import_volume_scans(path, CARD), tmp_path))
    assert [curve.id for curve in dataset.table.curves] == ["copper", "alloy"]
    lengths = np.cbrt(dataset.frames.volumes[:21] / bulk("Cu", a=3.6).get_volume())
    np.testing.assert_allclose(lengths, 0.8 + 0.02 * np.arange(21), rtol=1e-6)
    (task,) = [task for task in load_suite("materials").tasks if task.name == "volume-scans"]
    measured = run(EquationOfStateKind(), dataset, InProcessCalculator(EMT()), task.parameters)
    energies = []
    for share in 0.8 + 0.02 * np.arange(21):
        atoms = bulk("Cu", a=3.6 * share)
        atoms.calc = EMT()
        energies.append(atoms.get_potential_energy())
    steps = np.abs(np.diff(energies)).sum()
    by_hand = steps / (abs(energies[0] - energies[10]) + abs(energies[-1] - energies[10]))
    assert measured.items.columns["tortuosity"][0] == pytest.approx(by_hand, rel=1e-6)
    assert measured.metrics["compression_spearman"].value is not None


def test_the_records_of_matcalc_are_crystals(tmp_path: Path) -> None:
    path = tmp_path / "wbm.json.gz"
    stated = [{"material_id": "wbm-1", "structure": record(bulk("Cu")), "formation_energy_per_atom": 0.1}]
    path.write_bytes(gzip.compress(json.dumps(stated).encode()))
    dataset = import_volume_scans(path, CARD)
    assert dataset.table.curves[0].id == "wbm-1"
    assert len(dataset.frames) == 21


@pytest.mark.parametrize(
    ("frames", "says"),
    [
        ([named("a", bulk("Cu")), named("a", bulk("Ag"))], "frame 1: name: a is that of another frame"),
        ([named("a", Atoms("Cu2", [(0, 0, 0), (0, 0, 2)]))], "a: is no crystal"),
    ],
)
def test_what_is_wrong_gets_one_line(frames: list[Atoms], says: str, tmp_path: Path) -> None:
    write(tmp_path / "x.extxyz", frames)
    with pytest.raises(DatasetError) as caught:
        import_volume_scans(tmp_path / "x.extxyz", CARD)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
