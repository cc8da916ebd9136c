"""A data set from which a task cannot build is refused: at import, and by `judge data verify`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.io import write

from tasks.datasets.card import Bands, Card, Crystal, LabelSet, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.importing.checks.buildable import build_faults
from tasks.importing.crystal_tables import import_crystals
from tasks.importing.reaction_paths import import_reaction_paths
from tasks.simulation import trial_builds
from tasks.structures.frames import Frames
from tests.tasks.kind_examples import EXAMPLES

FCC = [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
LEFT = [FCC[1], FCC[0], FCC[2]]
TWO = [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
CARD = Card(
    name="mine",
    version="1",
    title="Mine",
    domain="Inorganic Materials",
    periodic=True,
    default_label_set="PBE",
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)},
)


def crystals(folder: Path, structures: list[Atoms], **stated: Any) -> Dataset:
    """The data set of a folder with `structures`, named by their numbers; the last one has what is `stated`."""
    for i, atoms in enumerate(structures):
        atoms.info["name"] = str(i)
    common = {"reference": {"max_frequency_k": 300.0}, "supercell": TWO, "primitive": FCC}
    rows = [{"id": f"c{i}", "structure": str(i), **common} for i in range(len(structures))]
    rows[-1] |= stated
    folder.mkdir(exist_ok=True)
    write(folder / "structures.extxyz", structures)
    (folder / "crystals.json").write_text(json.dumps({"crystals": rows}))
    return import_crystals(folder, CARD)


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"primitive": LEFT}, "primitive: has the determinant -0.25, which must be positive"),
        ({"supercell": [TWO[1], TWO[0], TWO[2]]}, "supercell: has the determinant -8, which must be positive"),
        ({"supercell": np.diag([40, 40, 40]).tolist()}, "supercell: makes 256000 atoms of the cell, at most 20000 can"),
        ({"primitive": np.diag([0.5, 1.0, 1.0]).tolist()}, "supercell and primitive: do not fit the structure"),
        ({"primitive": np.diag([0.3, 1.0, 1.0]).tolist()}, "supercell and primitive: do not fit the structure"),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("most", [1000, 0])
def test_matrices_of_phonons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: dict[str, Any], fault: str, most: int
) -> None:
    """Also without the search for symmetry, as in large data sets."""
    monkeypatch.setattr(trial_builds, "MAX_ATOMS_WITH_SYMMETRY", most)
    faults = build_faults(crystals(tmp_path / "ph", [bulk("Cu", cubic=True), bulk("Ag", cubic=True)], **stated))
    assert len(faults) == bool(fault)
    assert not fault or faults[0].startswith(f"crystals: c1: {fault}")


def test_a_left_handed_cell_can_be_judged(tmp_path: Path) -> None:
    left = bulk("Cu", cubic=True)
    left.set_cell(left.cell.array * [[1], [1], [-1]])
    assert build_faults(crystals(tmp_path / "ph", [left])) == []


def test_bands_of_another_primitive_cell(tmp_path: Path) -> None:
    dataset = crystals(tmp_path / "ph", [bulk("Cu", cubic=True)])
    bands = Bands(qpoints=((0.0, 0.0, 0.0),), weights=(1,), frequencies=((0.0,) * 12,))
    row = dataset.table.crystals[0].model_copy(update={"bands": {"PBE": bands}})
    faulty = replace(dataset, table=dataset.table.model_copy(update={"crystals": (row,)}))
    assert build_faults(faulty) == [
        "crystals: c0: bands: has 12 frequencies at a wave vector, and the primitive cell 3"
    ]


def test_a_cell_without_volume_cannot_be_strained() -> None:
    flat = Atoms("Cu", cell=[[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [3.0, 3.0, 0.0]], pbc=True)
    row = Crystal(id="flat", structure=0, reference={"PBE": {"k_vrh_gpa": 100.0}})
    table = Table(id=("flat",), group=("",), cluster=("flat",), crystals=(row,))
    dataset = Dataset(CARD, Frames.from_atoms([flat]), table, {})
    line = "flat: cell: has no volume: its vectors lie in a plane"
    assert build_faults(dataset) == [line]


def test_the_ends_of_a_path_have_one_cell_to_the_last_digit(tmp_path: Path) -> None:
    """A difference that the import lets pass, and that the search for the path does not."""
    start = bulk("Al", cubic=True).repeat((2, 2, 1))
    del start[0]
    end = start.copy()
    end.positions[0] += 0.5
    end.cell[0, 1] = 1e-7
    start.info["name"], end.info["name"] = "a", "b"
    write(tmp_path / "structures.extxyz", [start, end])
    path = {"id": "hop", "reactant": "a", "product": "b", "reference": {"barrier": 0.6}}
    (tmp_path / "paths.json").write_text(json.dumps({"reference_unit": "eV", "paths": [path]}))
    line = "paths: hop: reaction path: the end has another cell than the start: give all of them one cell"
    assert build_faults(import_reaction_paths(tmp_path, CARD)) == [line]


def test_an_analysis_that_is_not_possible_at_the_start() -> None:
    """Angles between partners that are farther from the oxygen than stated."""
    water = molecule("H2O")
    water.info = {"charge": 0, "spin": 1}
    reference = {"PBE": {"x": [0.0, 90.0, 180.0], "y": [0.0, 1.0, 0.0]}}
    stated = {"measure": "angular_distribution", "name": "H–O–H", "centres": [0], "partners": [1, 2], "distance": 0.5}
    stated |= {"reference": reference}
    system = SimulatedSystem.model_validate({"id": "water", "structure": 0, "analyses": [stated]})
    table = Table(id=("w",), group=("",), cluster=("w",), systems=(system,))
    card = CARD.model_copy(update={"periodic": False, "domain": "Molecules"})
    faults = build_faults(Dataset(card, Frames.from_atoms([water]), table, {}))
    assert faults == ["systems: water: H–O–H: distance: no centre has two partners within 0.5 Å: state more"]


@pytest.mark.parametrize("name", ["supercell", "third_order_supercell", "primitive"])
def test_matrices_of_thermal_conductivities(name: str) -> None:
    pytest.importorskip("phono3py")
    dataset = EXAMPLES["thermal_conductivity"]().dataset
    matrices = np.array(dataset.conditions[name])
    matrices[0] = matrices[0][:, [1, 0, 2]]
    faults = build_faults(replace(dataset, conditions={**dataset.conditions, name: matrices}))
    assert len(faults) == 1
    assert faults[0].startswith(f"conductivities: {dataset.table.conductivities[0].id}: {name}: has the determinant -")


@pytest.mark.parametrize(
    ("quantities", "fault"),
    [
        (("barrier", ""), "differences.quantity: some items have one and some have none: state it for all"),
        (("barrier!", "Barrier"), "differences.quantity: 'Barrier' and another name, or nothing, would be called"),
    ],
)
def test_quantities_without_a_metric_of_their_own(quantities: tuple[str, ...], fault: str) -> None:
    dataset = EXAMPLES["energy_differences"]().dataset
    pairs = zip(dataset.table.differences, quantities, strict=False)
    rows = tuple(row.model_copy(update={"quantity": quantity}) for row, quantity in pairs)
    faults = build_faults(replace(dataset, table=dataset.table.model_copy(update={"differences": rows})))
    assert len(faults) == 1
    assert faults[0].startswith(fault)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_nothing_is_found_in_a_data_set_that_can_be_judged(kind: str) -> None:
    assert build_faults(EXAMPLES[kind]().dataset) == []
