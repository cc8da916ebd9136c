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
from ase.units import GPa

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.matcalc import import_matcalc
from tasks.kinds.elasticity import Elasticity, ElasticityParameters
from tasks.kinds.labelled_frames import LabelledFrames
from tasks.kinds.relaxed_structures import RelaxedStructures, RelaxedStructuresParameters
from tasks.model.calculator import InProcessCalculator
from tasks.simulation.relaxation import Relaxation
from tasks.suites.suite import load_suite
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


def cubic_stiffnesses(a: float, normal: tuple[float, ...], shear: tuple[float, ...]) -> tuple[float, float, float]:
    """C11, C12 and C44 [GPa] of fcc copper with EMT, from Green–Lagrange strains in x and in xy, written out."""

    def stress(deformation: list[list[float]]) -> Any:
        atoms = bulk("Cu", a=a)
        atoms.set_cell(atoms.cell.array @ np.array(deformation).T, scale_atoms=True)
        atoms.calc = EMT()
        return atoms.get_stress() / GPa

    def slopes(amounts: tuple[float, ...], stresses: list[Any]) -> Any:
        return np.polyfit([0.0, *amounts], np.array([stress(np.eye(3).tolist()), *stresses]), 1)[0]

    along = [stress([[np.sqrt(1 + 2 * e), 0, 0], [0, 1, 0], [0, 0, 1]]) for e in normal]
    across = [stress([[1, 2 * e, 0], [0, np.sqrt(1 - 4 * e * e), 0], [0, 0, 1]]) for e in shear]
    c11, c12 = slopes(normal, along)[:2]
    return c11, c12, slopes(shear, across)[5] / 2


def shear_modulus(c11: float, c12: float, c44: float) -> float:
    """Hill's mean, of a cubic crystal."""
    apart = c11 - c12
    return ((apart + 3 * c44) / 5 + 5 * apart * c44 / (4 * c44 + 3 * apart)) / 2


def test_moduli_of_emt_at_the_strains_of_matcalc(tmp_path: Path, run: Any) -> None:
    """Clamped ions, normal ±0.005 and ±0.01, shear ±0.03 and ±0.06, as the suite has them: copper with EMT by hand."""
    tensor = np.zeros((6, 6))
    tensor[:3, :3], tensor[np.arange(6), np.arange(6)] = 110.0, [170.0] * 3 + [60.0] * 3
    stated = {"mp_id": "mp-30", "structure": record(bulk("Cu")), "elastic_tensor": {"raw": tensor.tolist()}}
    stated |= {"bulk_modulus_vrh": 140.0, "shear_modulus_vrh": 50.0}
    dataset = import_matcalc(published(tmp_path / "e.json.gz", [stated]), CARD)
    reference = dataset.table.crystals[0].reference["PBE"]
    assert reference.keys() == {"k_vrh_gpa", "g_vrh_gpa", "c11_gpa", "c12_gpa", "c13_gpa", "c22_gpa", "c23_gpa"} | {
        "c33_gpa", "c44_gpa", "c55_gpa", "c66_gpa"
    }  # fmt: skip
    (task,) = [task for task in load_suite("materials").tasks if task.name == "elasticity"]
    assert isinstance(task.parameters, ElasticityParameters)
    tight = task.parameters.model_copy(update={"relaxation": Relaxation(optimizer="BFGS", fmax=1e-5, max_steps=200)})
    measured = run(Elasticity(), dataset, InProcessCalculator(EMT()), tight)
    a = 3.589826  # the lattice constant of EMT's copper
    c11, c12, c44 = cubic_stiffnesses(a, (-0.01, -0.005, 0.005, 0.01), (-0.06, -0.03, 0.03, 0.06))
    columns = measured.items.columns
    assert columns["k_vrh_gpa"][0] == pytest.approx((c11 + 2 * c12) / 3, rel=1e-4)
    assert columns["g_vrh_gpa"][0] == pytest.approx(shear_modulus(c11, c12, c44), rel=1e-4)
    by_hand = (abs(c11 - 170.0) + abs(c12 - 110.0) + abs(c44 - 60.0)) / 3  # each is three of nine that are not zero
    assert measured.metrics["elastic_tensor_mae"].value == pytest.approx(by_hand, rel=1e-3)
    # The strains are seen: those of shear are large, and in the limit of small ones the crystal is softer.
    small = cubic_stiffnesses(a, (-1e-4, 1e-4), (-1e-4, 1e-4))
    assert c44 > 1.05 * small[2]
    assert shear_modulus(c11, c12, c44) > 1.03 * shear_modulus(*small)


@pytest.mark.parametrize("published_elements", [True, False])
def test_formation_energies_with_the_models_own_elements(published_elements: bool, tmp_path: Path, run: Any) -> None:
    """Of Cu3Au with EMT: the relaxed crystal less its relaxed elements, of which the lowest for an atom counts."""
    alloy = bulk("Cu", cubic=True, a=3.75)
    alloy.symbols[0] = "Au"
    # Of cells of two and of one atom: of whole cells, bcc would be the lower.
    elements = [bulk("Cu"), bulk("Cu", "bcc", a=2.87, cubic=True), bulk("Au")]
    if published_elements:
        phases: dict[str, Any] = {
            "Au": {"structure": record(elements[2])},
            "Cu": {"structure": [record(each) for each in elements[:2]], "energy_per_atom": [-3.7, -3.6]},
            "Xe": {"structure": record(bulk("Xe", "fcc", a=6.2))},  # no crystal needs it
        }
        (tmp_path / "MP-PBE-Element-Refs.json.gz").write_bytes(gzip.compress(json.dumps(phases).encode()))
    else:
        write(tmp_path / "elements.extxyz", elements)
    stated = {"material_id": "wbm-1", "structure": record(alloy), "formation_energy_per_atom": -0.03}
    stated |= {
        "formula": "Cu3Au",
        "energy": -10.0,
        "corrected_energy": -10.0,
        "corrected_formation_energy_per_atom": 9.0,
    }
    dataset = import_matcalc(published(tmp_path / "f.json.gz", [stated]), CARD)
    dataset = load_dataset(save_dataset(dataset, tmp_path))
    tight = RelaxedStructuresParameters.model_validate(
        {"relaxation": {"fmax": 0.001, "max_steps": 500}, "rattle": 0.01, "strain": 0.01}
    )
    assert len(dataset.frames) == 4
    assert dataset.table.differences[0].reference["PBE"] == -0.03
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


def test_high_energy_frames_give_the_slope_of_the_forces_of_each_crystal(tmp_path: Path, run: Any) -> None:
    """References are EMT's forces times 1.25 in one crystal and times 2 in the other: slopes of 0.8 and 0.5."""
    stated: dict[str, Any] = {}
    for crystal, element, factor in (("wbm-1-1", "Cu", 1.25), ("wbm-1-2", "Ag", 2.0)):
        stated[crystal] = {}
        for frame in range(2):
            atoms = bulk(element, cubic=True)
            atoms.rattle(0.2, seed=frame)
            structure = record(atoms)
            atoms.calc = EMT()
            stated[crystal][str(frame)] = {"structure": structure, "vasp_f": (factor * atoms.get_forces()).tolist()}
    path = tmp_path / "s.json.gz"
    path.write_bytes(gzip.compress(json.dumps(stated).encode()))
    dataset = load_dataset(save_dataset(import_matcalc(path, CARD), tmp_path))
    assert dataset.table.group == dataset.table.cluster == ("wbm-1-1", "wbm-1-1", "wbm-1-2", "wbm-1-2")
    (task,) = [task for task in load_suite("materials").tasks if task.name == "softening"]
    measured = run(LabelledFrames(), dataset, InProcessCalculator(EMT()), task.parameters)
    assert measured.metrics["force_slope_error"].value == pytest.approx((0.2 + 0.5) / 2, abs=1e-6)
    stated["wbm-1-2"]["0"]["vasp_f"] = [[0.0, 0.0, 0.0]]
    path.write_bytes(gzip.compress(json.dumps(stated).encode()))
    with pytest.raises(DatasetError, match=r"wbm-1-2: ValueError: vasp_f of 0 has the shape \(1, 3\) for 4 atoms"):
        import_matcalc(path, CARD)


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
        (
            [{"mp_id": "a", "structure": record(bulk("Cu")), "elastic_tensor": {"raw": [[1.0]]}}],
            "elastic_tensor.raw: has the shape (1, 1): must be 6 × 6",
        ),
        ([{"mp_id": "a", "structure": record(bulk("Cu")), "heat_capacity": 24.0}] * 2, "two records have one name"),
    ],
)
def test_what_is_wrong_gets_one_line(records: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        import_matcalc(published(tmp_path / "x.json.gz", records), CARD)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
