"""`judge data import` and `judge data verify` find what a task could not judge, copies, and exchanged atoms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ase.build import bulk
from ase.calculators.singlepoint import SinglePointCalculator
from ase.io import write

from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.crystal_tables import import_crystals
from tests.judge.cli.data_command import NAMED, crystals, mine, run
from tests.world.world import World

CUBIC = [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]


def phonons(folder: Path, **stated: Any) -> None:
    atoms = bulk("Cu", cubic=True)
    atoms.info["name"] = "copper"
    row = {"id": "Cu", "structure": "copper", "supercell": [[2, 0, 0], [0, 2, 0], [0, 0, 2]], "primitive": CUBIC}
    row |= {"reference": {"max_frequency_k": 300.0}, **stated}
    folder.mkdir()
    write(folder / "structures.extxyz", atoms)
    (folder / "crystals.json").write_text(json.dumps({"crystals": [row]}))


def test_a_crystal_without_supercells_is_refused_by_import_and_verify(data_world: World) -> None:
    phonons(Path("right"))
    phonons(Path("wrong"), primitive=[CUBIC[1], CUBIC[0], CUBIC[2]])
    fault = "crystals: Cu: primitive: has the determinant -0.25, which must be positive: exchange two of its vectors"
    status, _, err = run("import", "crystals", "wrong", *NAMED)
    assert status == 2
    assert err.strip() == f"judge: wrong/crystals.json: {fault}; correct it, or leave the item out"
    assert run("import", "crystals", "right", *NAMED)[0] == 0
    data = data_world.root / "data"
    card = load_dataset(data / "mine@1").card.model_copy(update={"name": "other", "sha256": {}})
    save_dataset(import_crystals(Path("wrong"), card), data)  # as an earlier version imported it
    status, out, _ = run("verify", "mine@1", "other@1")
    assert status == 1
    assert "ok   mine@1: 1 structures, 1 items" in out
    assert f"NOT  {data / 'other@1'}: {fault}; correct it, or leave the item out" in out


def test_copies_and_contradicting_labels_are_doubted(data_world: World) -> None:
    """Ten frames three times, of which one has another energy once."""
    made = crystals() * 3
    other = made[12].copy()
    values = {"energy": made[12].get_potential_energy() + 0.5, "forces": made[12].get_forces()}
    other.calc = SinglePointCalculator(other, **values)
    made[12] = other
    write("mine.extxyz", made)
    status, out, err = run("import", "extxyz", "mine.extxyz", *NAMED, "--units", "ase")
    assert status == 0, err
    doubts = [line for line in out.splitlines() if line.startswith("DOUBTFUL")]
    assert doubts == [
        "DOUBTFUL  structures: 20 of 30 are copies, 10 are different (frame 0 is there 3 times); copies are one "
        "cluster",
        "DOUBTFUL  EMT: energy: frame 2 and frame 12 are one structure, with labels that are 0.5 eV apart (1 such "
        "copies in all): of other states, or of several calculations: correct them, or keep one",
    ]
    assert "clusters of frames (by cluster): 10, median 3 frames, largest 3" in out
    assert len(set(mine(data_world).clusters)) == 10
