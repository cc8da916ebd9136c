"""Folders of scans: energies of the files or stated references, areas of cells, and one line for each error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms, units
from ase.build import fcc111, molecule
from ase.calculators.emt import EMT
from ase.io import write

from tasks.datasets.card import Card, DatasetError, LabelSet
from tasks.datasets.dataset import load_dataset, save_dataset
from tasks.importing.scans import import_scans
from tasks.kinds.energy_profiles import EnergyProfiles, EnergyProfilesParameters
from tasks.model.calculator import InProcessCalculator

KCAL = units.kcal / units.mol


def card(*label_sets: str) -> Card:
    sets = {name: LabelSet(theory=name, dispersion=False) for name in label_sets}
    return Card(
        name="scans", version="1", title="Scans", domain="Molecules", periodic=False,
        label_sets=sets, default_label_set=label_sets[0] if label_sets else None,
    )  # fmt: skip


PBE = card("PBE")


def torsion(n: int, energies: bool = True) -> list[Atoms]:
    """Ethane, one methyl group turned about the bond, with EMT's energies."""
    made = []
    for angle in np.linspace(0.0, 120.0, n):
        atoms = molecule("C2H6")
        turned = atoms[[2, 3, 4]]
        turned.rotate(angle, atoms.positions[0] - atoms.positions[1], center=atoms.positions[0])
        atoms.positions[[2, 3, 4]] = turned.positions
        atoms.info |= {"x": float(angle), "multiplicity": 1}
        if energies:
            atoms.calc = EMT()
            atoms.info["energy"] = atoms.get_potential_energy()
            atoms.calc = None
        made.append(atoms)
    return made


def fault(n: int) -> list[Atoms]:
    made = []
    for share in np.linspace(0.0, 1.0, n):
        atoms = fcc111("Cu", (1, 1, 4), a=3.6, vacuum=6.0)
        atoms.info.clear()
        atoms.pbc = True
        atoms.positions[2:] += share * (atoms.cell[0] + atoms.cell[1])
        atoms.info["x"] = float(share)
        made.append(atoms)
    return made


def state(folder: Path, scans: dict[str, Any], **fields: Any) -> None:
    (folder / "scans.json").write_text(json.dumps({"source": "mine", "scans": scans} | fields))


def test_energies_of_the_files_are_the_reference_and_the_model_that_made_them_has_no_error(
    tmp_path: Path, run: Any
) -> None:
    write(tmp_path / "ethane.extxyz", torsion(7))
    write(tmp_path / "ethane again.extxyz", torsion(4))
    dataset = load_dataset(save_dataset(import_scans(tmp_path, PBE), tmp_path / "data"))
    again, first = dataset.table.scans  # in the order of the names
    assert (again.id, first.id, first.cluster, first.area) == ("ethane again", "ethane", "ethane", None)
    assert first.structures == tuple(range(4, 11))
    np.testing.assert_allclose(first.x, np.linspace(0, 120, 7))
    assert dataset.table.id[4] == "ethane 0"
    assert set(dataset.frames.multiplicity.tolist()) == {1}
    by_hand = [a.info["energy"] for a in torsion(7)]
    np.testing.assert_allclose(first.reference["PBE"], by_hand, atol=1e-7)
    assert np.ptp(by_hand) > 1e-3
    measured = run(EnergyProfiles(), dataset, InProcessCalculator(EMT()))
    assert measured.metrics["profile_mae"].value == pytest.approx(0.0, abs=1e-4)
    heights = [np.ptp(scan.reference["PBE"]) / KCAL for scan in (again, first)]
    np.testing.assert_allclose(measured.items.columns["barrier"], heights, atol=1e-4)


def test_stated_references_are_converted_and_take_the_place_of_energies(tmp_path: Path) -> None:
    write(tmp_path / "ethane.extxyz", torsion(3))
    by_set = {"CCSD(T)": [0.0, 1.0, 3.0], "PBE": [0.5, 1.5, 2.5]}
    state(tmp_path, {"ethane": {"references": by_set, "group": "alkane", "cluster": "C2"}}, reference_unit="kcal/mol")
    scan = import_scans(tmp_path, card("PBE", "CCSD(T)")).table.scans[0]
    np.testing.assert_allclose(scan.reference["CCSD(T)"], np.array(by_set["CCSD(T)"]) * KCAL)
    np.testing.assert_allclose(scan.reference["PBE"], np.array(by_set["PBE"]) * KCAL)
    assert (scan.group, scan.cluster) == ("alkane", "C2")
    state(tmp_path, {"ethane": {"reference": [0.0, 1.0, 3.0]}}, reference_unit="hartree")
    scan = import_scans(tmp_path, PBE).table.scans[0]
    np.testing.assert_allclose(scan.reference["PBE"], np.array([0.0, 1.0, 3.0]) * 27.211386, rtol=1e-7)


def test_energies_per_area_become_those_of_the_cell(tmp_path: Path, run: Any) -> None:
    """γ stated in mJ/m² comes back in mJ/m², over the area of the cell and over a stated one."""
    write(tmp_path / "Cu.extxyz", fault(5))
    write(tmp_path / "also.extxyz", fault(5))
    gamma = [0.0, 120.0, 200.0, 90.0, 10.0]
    scans = {
        "Cu": {"area": "cell", "reference": gamma},
        "also": {"area_angstrom2": 5.0, "reference": gamma, "cluster": "Cu"},
    }
    state(tmp_path, scans, reference_unit="mJ/m²")
    dataset = import_scans(tmp_path, PBE)
    assert dataset.card.periodic
    cell, stated = dataset.table.scans
    assert cell.area == pytest.approx(3.6**2 * np.sqrt(3) / 4)
    np.testing.assert_allclose(np.array(cell.reference["PBE"]) / (cell.area or 0) * 16021.766, gamma, rtol=1e-6)
    np.testing.assert_allclose(np.array(stated.reference["PBE"]) / 5.0 * 16021.766, gamma, rtol=1e-6)
    parameters = EnergyProfilesParameters(quantity="stacking_fault")
    measured = run(EnergyProfiles(), dataset, InProcessCalculator(EMT()), parameters)
    np.testing.assert_allclose(measured.items.columns["maximum_reference"], 200.0, rtol=1e-3)
    # Whole energies in eV work as well.
    state(
        tmp_path,
        {name: stated | {"reference": [0, 0.1, 0.2, 0.1, 0]} for name, stated in scans.items()},
        reference_unit="eV",
    )
    assert import_scans(tmp_path, PBE).table.scans[0].reference["PBE"] == (0.0, 0.1, 0.2, 0.1, 0.0)


def frames(**change: Any) -> list[Atoms]:
    """A torsion whose second frame's comment line is changed; None leaves a field out."""
    made = torsion(4)
    for name, value in change.items():
        if value is None:
            del made[1].info[name]
        else:
            made[1].info[name] = value
    return made


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x": None}, r"frame 1: x: is missing: write x="),
        ({"x": "far"}, r"frame 1: x: is not a number: 'far'"),
        ({"x": np.nan}, r"frame 1: x: is not finite"),
        ({"x": 95.0}, r"frame 2: x: 80 comes after 95: order the frames by x"),
        ({"x": 0.0}, r"frame 1: x: 0 comes after 0"),
        ({"energy": None}, r"frame 1: energy: is missing: write energy= \[eV\]"),
        ({"multiplicity": None}, r"frame 1: multiplicity: 2S\+1 of this molecule"),
        ({"multiplicity": 2}, r"frame 1: multiplicity: 2S\+1 = 2 is impossible with 18 electrons"),
    ],
)
def test_bad_frames_are_refused_with_file_and_frame(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    path = tmp_path / "ethane.extxyz"
    write(path, frames(**change))
    with pytest.raises(DatasetError, match=says) as refused:
        import_scans(tmp_path, PBE)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (molecule("CH4"), r"frame 1: is CH4, not C2H6 as frame 0: is it of another scan\?"),
        (
            Atoms("C2H6", molecule("C2H6").positions, info={"charge": 1, "multiplicity": 2}),
            r"frame 1: charge: is \+1, not \+0 as in fra",
        ),
        (Atoms("C2H6", molecule("C2H6").positions, cell=[9, 9, 9], pbc=True), r"frame 1: pbc: is not that of frame 0"),
    ],
)
def test_frames_of_other_atoms_are_refused(other: Atoms, says: str, tmp_path: Path) -> None:
    made = torsion(4)
    other = other.copy()
    other.info = {"x": made[1].info["x"], "energy": made[1].info["energy"], "multiplicity": 1} | other.info
    made[1] = other
    path = tmp_path / "ethane.extxyz"
    write(path, made)
    with pytest.raises(DatasetError, match=says) as refused:
        import_scans(tmp_path, PBE)
    assert str(refused.value).startswith(str(path))


def test_scans_all_have_an_area_or_none(tmp_path: Path) -> None:
    write(tmp_path / "Cu.extxyz", fault(3))
    write(tmp_path / "Ni.extxyz", fault(3))
    stated = {"reference": [0.0, 0.1, 0.0]}
    state(tmp_path, {"Cu": stated | {"area": "cell"}, "Ni": stated}, reference_unit="eV")
    with pytest.raises(DatasetError, match=r"scans\.json: scans\.Ni: area: is missing, which other items have"):
        import_scans(tmp_path, PBE)


THREE = [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("unit", "scans", "says"),
    [
        (None, {"methane": {}}, r"scans\.methane: there is no methane\.extxyz"),
        (None, {"ethane": {"reference": THREE}}, r"reference_unit: is missing: scans\.ethane has references"),
        (None, {"ethane": {"area": "slab"}}, r"scans\.ethane\.area: must be 'cell'"),
        (None, {"ethane": {"refrence": THREE}}, r"scans\.ethane\.refrence: there is no such field"),
        (None, {"ethane": {"area": "cell", "area_angstrom2": 4.0}}, r"area: area_angstrom2 is stated, too"),
        ("kcal", {"ethane": {"reference": THREE}}, r"reference_unit: must be 'eV'"),
        ("eV", {}, r"scans\.ethane: reference: state reference or references, one of both"),
        ("eV", {"ethane": {"reference": [0.0, 1.0]}}, r"scans\.ethane: reference: has 2 numbers for 3 frames"),
        ("eV", {"ethane": {"references": {"B3LYP": THREE}}}, r"has B3LYP, but .* are PBE"),
        ("mJ/m²", {"ethane": {"reference": THREE}}, r"area_angstrom2: is missing: reference_unit is mJ/m²"),
    ],
)
def test_bad_statements_are_refused(unit: str | None, scans: dict[str, Any], says: str, tmp_path: Path) -> None:
    write(tmp_path / "ethane.extxyz", torsion(3))
    state(tmp_path, scans, **({} if unit is None else {"reference_unit": unit}))
    with pytest.raises(DatasetError, match=says) as refused:
        import_scans(tmp_path, PBE)
    assert str(refused.value).startswith(str(tmp_path / "scans.json"))
    assert "\n" not in str(refused.value)


def test_folders_that_are_no_scans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"nowhere: is not there"):
        import_scans(tmp_path / "nowhere", PBE)
    with pytest.raises(DatasetError, match=r"has no scan: one file called <name>\.extxyz each"):
        import_scans(tmp_path, PBE)
    write(tmp_path / "ethane.extxyz", torsion(1))
    with pytest.raises(DatasetError, match=r"ethane\.extxyz: structures: must have at least 2"):
        import_scans(tmp_path, PBE)
    with pytest.raises(DatasetError, match=r"the card names no label set"):
        import_scans(tmp_path, card())
    write(tmp_path / "ethane.extxyz", torsion(3))
    with pytest.raises(DatasetError, match=r"has PBE, but the card's label sets are PBE, r2SCAN"):
        import_scans(tmp_path, card("PBE", "r2SCAN"))


def test_cells_of_one_scan_have_one_area(tmp_path: Path) -> None:
    path = tmp_path / "Cu.extxyz"
    made = fault(4)
    made[2].set_cell(made[2].cell * 1.01, scale_atoms=True)
    write(path, made)
    state(tmp_path, {"Cu": {"area": "cell", "reference": [0, 1, 2, 0]}}, reference_unit="mJ/m²")
    with pytest.raises(DatasetError, match=r"Cu\.extxyz: frame 2: cell: \|a × b\| is 5\.7.* not 5\.6.* as in frame 0"):
        import_scans(tmp_path, PBE)
    write(path, torsion(4))
    with pytest.raises(DatasetError, match=r"frame 0: cell: has no area \|a × b\|: state area_angstrom2"):
        import_scans(tmp_path, PBE)
