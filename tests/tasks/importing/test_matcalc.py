"""The published records of matcalc: elasticity, heat capacities and formation energies."""

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

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.matcalc import import_matcalc
from tasks.kinds.elasticity import Elasticity, ElasticityParameters
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.model.calculator import InProcessCalculator
from tests.tasks.importing.ml_peg.layouts import record

CARD = Card(
    name="matcalc", version="1", title="matcalc", domain="Inorganic Materials", periodic=True,
    label_sets={"PBE": LabelSet(theory="PBE", dispersion=False)}, default_label_set="PBE",
)  # fmt: skip


def published(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress(json.dumps(records).encode()))
    return path


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "n", "names"),
    [
        ("mp-binary-pbe-elasticity-2025.1", 300, {"k_vrh_gpa", "g_vrh_gpa"}),
        ("alexandria-binary-pbe-phonon-2025.1", 150, {"heat_capacity_j_per_mol_k"}),
    ],
)
def test_published_files(file: str, n: int, names: set[str], reference_data: Path, tmp_path: Path) -> None:
    path = reference_data / "matcalc" / f"{file}.json.gz"
    dataset = load_dataset(save_dataset(import_matcalc(path, CARD), tmp_path))
    assert len(dataset.table.crystals) == len(dataset.frames) == n
    assert {name for crystal in dataset.table.crystals for name in crystal.reference["PBE"]} == names
    stated = json.loads(gzip.decompress(path.read_bytes()))
    first = stated[0]
    volume = first["structure"]["lattice"]["volume"]
    assert dataset.frames.volumes[0] == pytest.approx(volume, rel=1e-6)
    if "bulk_modulus_vrh" in first:
        assert dataset.table.crystals[0].reference["PBE"]["k_vrh_gpa"] == first["bulk_modulus_vrh"]
    else:
        assert dataset.structures.conditions["supercell"][0].tolist() == (2 * np.eye(3, dtype=int)).tolist()
        assert dataset.card.settings["temperature_k"] == 300.0


def test_moduli_of_emt_at_the_strains_of_matcalc(tmp_path: Path, run: Any) -> None:
    """Clamped ions, normal ±0.005 and ±0.01, shear ±0.03 and ±0.06: copper with EMT against ASE's own curvature."""
    path = published(
        tmp_path / "e.json.gz",
        [{"mp_id": "mp-30", "structure": record(bulk("Cu")), "bulk_modulus_vrh": 140.0, "shear_modulus_vrh": 50.0}],
    )
    parameters = ElasticityParameters(
        normal_strains=(-0.01, -0.005, 0.005, 0.01), shear_strains=(-0.06, -0.03, 0.03, 0.06), ions="clamped"
    )
    measured = run(Elasticity(), import_matcalc(path, CARD), InProcessCalculator(EMT()), parameters)
    assert measured.items.columns["k_vrh_gpa"][0] == pytest.approx(134.0, abs=2.0)


def test_formation_energies_with_the_models_own_elements(tmp_path: Path, run: Any) -> None:
    """Of Cu3Au with EMT: the relaxed crystal less its relaxed elements, of which the lowest phase counts."""
    alloy = bulk("Cu", cubic=True, a=3.75)
    alloy.symbols[0] = "Au"
    elements = [bulk("Cu"), bulk("Cu", "bcc", a=2.87), bulk("Au")]
    write(tmp_path / "elements.extxyz", elements)
    stated = {"mat_id": "wbm-1", "structure": record(alloy), "formation_energy_per_atom": -0.03}
    dataset = import_matcalc(published(tmp_path / "f.json.gz", [stated]), CARD)
    dataset = load_dataset(save_dataset(dataset, tmp_path))
    tight = RelaxedStructuresParameters.model_validate(
        {"relaxation": {"fmax": 0.001, "max_steps": 500}, "rattle": 0.01}
    )
    measured = run(RelaxedStructures(), dataset, InProcessCalculator(EMT()), tight)
    columns, names = measured.items.columns, list(measured.items.id)

    def energy(atoms: Atoms) -> float:
        from ase.filters import FrechetCellFilter
        from ase.optimize import BFGS

        atoms = atoms.copy()
        atoms.calc = EMT()
        assert BFGS(FrechetCellFilter(atoms), logfile=None).run(fmax=1e-3, steps=500)
        return float(atoms.get_potential_energy()) / len(atoms)

    copper = min(energy(elements[0]), energy(elements[1]))
    expected = energy(alloy) - 0.75 * copper - 0.25 * energy(elements[2])
    assert columns["predicted"][names.index("wbm-1 formation")] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([], "must be a list of records"),
        ([{"structure": {}}], "0: KeyError"),
        ([{"mp_id": "a", "structure": record(bulk("Cu"))}], "0 (a): has none of bulk_modulus_vrh"),
        (
            [{"mp_id": "a", "structure": record(bulk("Cu")), "formation_energy_per_atom": 0.1}],
            "elements.extxyz: is not",
        ),
        ([{"mp_id": "a", "structure": record(bulk("Cu")), "heat_capacity": 24.0}] * 2, "two records have one name"),
    ],
)
def test_what_is_wrong_gets_one_line(records: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        import_matcalc(published(tmp_path / "x.json.gz", records), CARD)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
