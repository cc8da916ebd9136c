"""Folders of systems for dynamics: what becomes of them, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.datasets.pair_analyses import RadialDistributionAnalysis
from tasks.datasets.simulated_systems import DensityAnalysis
from tasks.importing.dynamics import import_dynamics

CURVE = {"x": [2.0, 2.8, 3.5], "y": [0.0, 2.5, 1.0]}
RDF = {"measure": "rdf", "first": "O", "r_max": 4.0, "reference": CURVE}
DENSITY = {"measure": "density", "references": {"experiment": 0.997}}


def card() -> Card:
    return Card(
        name="mine",
        version="1",
        title="Mine",
        domain="Molecules",
        periodic=True,
        label_sets={"experiment": LabelSet(theory="measured", dispersion=True)},
        default_label_set="experiment",
    )


def waters(n: int = 2, side: float = 8.0, numbers: list[int] | None = None) -> Atoms:
    atoms = Atoms(cell=[side] * 3, pbc=True)
    for i in range(n):
        water = molecule("H2O")
        water.translate([0.1, 0.1, 0.1 + i * side / n])
        atoms += water
    atoms.info = {"name": "water"}
    if numbers is not None:
        atoms.set_array("molecule", np.array(numbers))
    return atoms


def folder(where: Path, atoms: list[Atoms], analyses: list[dict[str, Any]], **system: Any) -> Path:
    write(where / "structures.extxyz", atoms)
    stated = {"id": "water", "structure": "water", "analyses": analyses, **system}
    (where / "systems.json").write_text(json.dumps({"source": "mine", "systems": [stated]}))
    return where


def test_a_folder_becomes_a_data_set_with_its_systems_on_disk(tmp_path: Path) -> None:
    numbers = [7, 7, 7, 3, 3, 3]
    made = import_dynamics(folder(tmp_path, [waters(numbers=numbers)], [RDF, DENSITY], group="liquids"), card())
    dataset = load_dataset(save_dataset(made, tmp_path / "data"))
    (system,) = dataset.table.systems
    assert (system.id, system.group, system.cluster, system.structure) == ("water", "liquids", "water", 0)
    rdf, density = system.analyses
    assert isinstance(rdf, RadialDistributionAnalysis)
    assert (rdf.first, rdf.second, rdf.reference["experiment"].y) == ((0, 3), None, (0.0, 2.5, 1.0))
    assert isinstance(density, DensityAnalysis)
    assert density.reference == {"experiment": 0.997}
    assert dataset.conditions["molecule"].tolist() == [1, 1, 1, 0, 0, 0]
    assert "molecule" not in import_dynamics(folder(tmp_path, [waters()], []), card()).conditions


def test_a_data_set_without_systems_has_the_bytes_that_it_had(tmp_path: Path) -> None:
    made = import_dynamics(folder(tmp_path, [waters()], [RDF]), card())
    assert "systems" not in made.table.model_copy(update={"systems": ()}).stored()


@pytest.mark.parametrize(
    ("analysis", "system", "line"),
    [
        (
            {**RDF, "r_max": 4.2},
            {},
            "rdf: r_max: 4.2 Å is more than half of the box (4.000 Å): make it smaller",
        ),
        (
            {k: v for k, v in RDF.items() if k != "reference"},
            {},
            "analyses.0: reference: state reference or references, one of both",
        ),
        ({**RDF, "first": "Xe"}, {}, "analyses.0: first: the structure has no atom of 'Xe'"),
        ({**RDF, "first": [0, 6]}, {}, "rdf: there is no atom 6: the structure has atoms 0 to 5"),
        ({**DENSITY, "references": {"PBE": 1.0}}, {}, "reference: has PBE, but the card's label sets are experiment"),
        ({**DENSITY, "references": {"experiment": -1.0}}, {}, "must be greater than 0, not -1.0"),
        ({"measure": "temperature", "reference": 300.0}, {}, "reference: temperature has none: leave it out"),
        (
            RDF,
            {"escape_distance": 0.9},
            "escape_distance: atom 0 has no other within 0.9 Å at the start: state a larger one",
        ),
        (RDF, {"structure": "ice"}, "there is no structure 'ice'"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    analysis: dict[str, Any], system: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError) as error:
        import_dynamics(folder(tmp_path, [waters()], [analysis], **system), card())
    assert str(error.value).endswith(line)
    assert "systems.0 (water)" in str(error.value)
    assert "\n" not in str(error.value)


def test_wrong_molecules_and_atoms_that_overlap_are_named(tmp_path: Path) -> None:
    mixed = folder(tmp_path, [waters(numbers=[0, 0, 1, 1, 1, 1])], [RDF])
    with pytest.raises(DatasetError, match=r"frame 0: molecule: structure 0: molecule 1: no bonds lead from atom 2 to"):
        import_dynamics(mixed, card())
    fractions = waters()
    fractions.set_array("molecule", np.full(6, 0.5))
    with pytest.raises(DatasetError, match="frame 0: molecule: must be one whole number for each atom"):
        import_dynamics(folder(tmp_path, [fractions], [RDF]), card())
    other = waters()
    other.info["name"] = "other"
    with pytest.raises(DatasetError, match="frame 1: molecule: is missing, which other frames state"):
        import_dynamics(folder(tmp_path, [waters(numbers=[0] * 3 + [1] * 3), other], [RDF]), card())
    with pytest.raises(
        DatasetError, match=r"water: positions: atoms overlap: two are 0\.1. of the sum of their covalent"
    ):
        import_dynamics(folder(tmp_path, [waters(40, side=9.0)], [RDF]), card())
    with pytest.raises(DatasetError, match="systems: structure 1 is of no system: leave it out"):
        import_dynamics(folder(tmp_path, [waters(), other], [RDF]), card())
