"""The tasks of OMol25 (arXiv:2505.08762) as sums of energies, from a table of reactions: numbers by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import molecule
from ase.io import write

from tasks.datasets.card import Card, LabelSet
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.importing.reactions import import_reactions
from tasks.kinds.energy_differences import EnergyDifferences, EnergyDifferencesParameters
from tests.tasks.made_up import observed

KIND = EnergyDifferences()
WATER = molecule("H2O")
PAIR = WATER + Atoms("OH2", WATER.positions + np.array([0.0, 0.0, 3.0]))
# By name: the structure, its charge, 2S + 1, and the energy [eV] of a made-up model.
STRUCTURES: dict[str, tuple[Atoms, int, int, float]] = {
    "neutral": (WATER, 0, 1, -10.0),
    "cation": (WATER, 1, 2, 2.5),
    "anion": (WATER, -1, 2, -9.5),
    "triplet": (WATER, 0, 3, -3.0),
    "protonated": (WATER + Atoms("H", [[0, 0, 1.0]]), 1, 1, -17.25),
    "complex": (PAIR, 0, 1, -20.75),
    "pocket": (WATER, 0, 1, -10.25),
    "bound": (WATER, 0, 1, -9.75),
    "relaxed 1": (WATER, 0, 1, -10.5),
    "relaxed 2": (WATER, 0, 1, -10.625),
    "conformer 1": (WATER, 0, 1, -10.0),
    "conformer 2": (WATER, 0, 1, -9.5),
    "at 2.5": (PAIR, 0, 1, -20.0),
    "at 3": (PAIR, 0, 1, -20.5),
    "at 6": (PAIR, 0, 1, -20.125),
    "at 9": (PAIR, 0, 1, -20.0625),
}


def sum_of(id: str, quantity: str, reference: float, *terms: tuple[float, str], **more: Any) -> dict[str, Any]:
    each = [{"structure": name, "coefficient": c} for c, name in terms]
    each[-1].update({"alternatives": more.pop("alternatives")} if "alternatives" in more else {})
    return {"id": id, "quantity": quantity, "group": quantity, "reference": reference, "terms": each, **more}


REACTIONS = [
    sum_of("pocket", "ligand pocket", -0.5, (1, "complex"), (-1, "pocket"), (-1, "bound")),
    sum_of("strain", "ligand strain", 0.5, (1, "bound"), (-1, "relaxed 1"), alternatives=["relaxed 2"]),
    sum_of("conformer", "conformers", 0.25, (1, "conformer 2"), (-1, "conformer 1")),
    sum_of("proton", "protonation", -7.0, (1, "protonated"), (-1, "neutral"), unbalanced=True),
    sum_of("IE", "ionisation", 12.0, (1, "cation"), (-1, "neutral")),
    sum_of("EA", "electron affinity", -0.25, (1, "neutral"), (-1, "anion")),
    sum_of("gap", "spin gap", 6.0, (1, "triplet"), (-1, "neutral")),
    sum_of("near", "short range", 0.75, (1, "at 2.5"), (-1, "at 3")),
    sum_of("far 6", "long range", 0.5, (1, "at 6"), (-1, "at 3")),
    sum_of("far 9", "long range", 0.375, (1, "at 9"), (-1, "at 3")),
]


@pytest.fixture
def imported(tmp_path: Path) -> Dataset:
    frames = []
    for name, (atoms, charge, multiplicity, _) in STRUCTURES.items():
        copy = atoms.copy()
        copy.info = {"name": name, "charge": charge, "multiplicity": multiplicity}
        frames.append(copy)
    write(tmp_path / "structures.extxyz", frames)
    (tmp_path / "reactions.json").write_text(json.dumps({"reference_unit": "eV", "reactions": REACTIONS}))
    level = {"wB97M-V": LabelSet(theory="wB97M-V", dispersion=True)}
    card = Card(
        name="omol", version="1", title="OMol25 tasks", domain="Molecules", periodic=False, label_sets=level,
        default_label_set="wB97M-V",
    )  # fmt: skip
    return load_dataset(save_dataset(import_reactions(tmp_path, card), tmp_path))


def test_one_structure_at_other_charges_and_multiplicities(imported: Dataset) -> None:
    """The atoms are the same: what a model is told of electrons makes the difference."""
    at = {name: i for i, name in enumerate(imported.table.id)}
    chosen = [at[name] for name in ("neutral", "cation", "anion", "triplet")]
    assert imported.frames.charge[chosen].tolist() == [0, 1, -1, 0]
    assert imported.frames.multiplicity[chosen].tolist() == [1, 2, 2, 3]
    np.testing.assert_array_equal(
        imported.frames.atoms(chosen[0]).positions, imported.frames.atoms(chosen[3]).positions
    )


def test_each_task_by_hand(imported: Dataset) -> None:
    energies = np.array([energy for *_, energy in STRUCTURES.values()])
    parameters = EnergyDifferencesParameters(unit="meV")
    found = KIND.measure(observed(energies), imported, parameters, None).metrics
    by_hand = {
        "ligand_pocket": abs(-20.75 + 10.25 + 9.75 + 0.5),
        "ligand_strain": abs(-9.75 + 10.625 - 0.5),  # of the relaxed conformers the model's own lowest
        "conformers": 0.5 - 0.25,
        "protonation": abs(-7.25 + 7.0),
        "ionisation": 12.5 - 12.0,
        "electron_affinity": abs(-0.5 + 0.25),
        "spin_gap": 7.0 - 6.0,
        "short_range": abs(0.5 - 0.75),
        "long_range": (abs(0.375 - 0.5) + abs(0.4375 - 0.375)) / 2,
    }
    values = {name.removesuffix("_mae"): metric.value for name, metric in found.items() if name.endswith("_mae")}
    assert values == pytest.approx({name: 1000 * error for name, error in by_hand.items()})


def test_a_model_that_knows_no_charge_has_no_gap(imported: Dataset) -> None:
    """It answers the same at every charge and multiplicity: its gaps are zero, and it fails nothing."""
    energies = np.array([-3.0 * len(atoms) for atoms, *_ in STRUCTURES.values()])
    measured = KIND.measure(observed(energies), imported, EnergyDifferencesParameters(), None)
    predicted = dict(zip(measured.items.id, measured.items.columns["predicted"], strict=True))
    assert [predicted[name] for name in ("IE", "EA", "gap", "near", "far 6")] == [0.0] * 5
    assert measured.metrics["ionisation_mae"].value == measured.metrics["ionisation_mae"].baseline == 12.0
