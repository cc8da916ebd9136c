"""Molecules, profiles and reactions of MLIPAudit's layout: what becomes of them, and one line for each mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, save_dataset
from tasks.datasets.path_roles import PathRole, path_structures
from tasks.importing.import_summary import summarise
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.import_layout import import_mlipaudit
from tasks.structures.units import ENERGY_UNITS
from tests.tasks.importing.mlipaudit.made_up_layout import JSON_FILES, changed, torsion, write_layout

KCAL = ENERGY_UNITS["kcal/mol"]
Change = Callable[[Any], None]


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    write_layout(tmp_path / "layout")
    return tmp_path / "layout"


def imported(folder: Path, benchmark: str, mode: RunMode = "standard") -> Dataset:
    """The data set of a benchmark, which has no fault."""
    [result] = import_mlipaudit(folder, mode, [benchmark])
    assert (result.fault, result.missing) == ("", "")
    assert result.dataset is not None
    assert summarise(result.dataset).impossible == ()
    return result.dataset


def test_every_file_becomes_a_data_set_that_can_be_stored(layout: Path, tmp_path: Path) -> None:
    for benchmark in dict.fromkeys(JSON_FILES.values()):
        dataset = imported(layout, benchmark)
        assert dataset.card.full_name == f"mlipaudit-{benchmark.replace('_', '-')}@1"
        assert load_dataset(save_dataset(dataset, tmp_path / "data")).table == dataset.table
        assert not dataset.card.hidden
        if not dataset.frames.periodic.any():
            assert set(dataset.frames.multiplicity.tolist()) == {1}


def test_relaxed_molecules_are_their_own_references(layout: Path) -> None:
    dataset = imported(layout, "reference_geometry_stability")
    assert dataset.table.group == ("neutral", "neutral", "charged")
    assert dataset.frames.charge.tolist() == [0, 0, -1]
    assert dataset.geometries["OpenFF"].positions.tolist() == dataset.frames.positions.tolist()
    assert dataset.baselines() == {"rmsd": 0.3}


def test_a_profile_is_brought_into_the_order_of_its_angles(layout: Path) -> None:
    dataset = imported(layout, "dihedral_scan")
    scan = dataset.table.scans[0]
    assert scan.x == (-60.0, 60.0, 120.0)
    turned = [dataset.frames.atoms(i).get_dihedral(2, 0, 1, 5) for i in scan.structures]
    assert turned == pytest.approx([300.0, 60.0, 120.0])
    assert scan.reference["TorsionNet500"] == pytest.approx([0.75 * KCAL, 0.75 * KCAL, 3 * KCAL])


def test_complexes_that_repel_each_other_have_a_maximum(layout: Path) -> None:
    first, repulsive = imported(layout, "noncovalent_interactions").table.scans
    assert (first.extremum, repulsive.extremum) == ("minimum", "maximum")
    assert (first.group, repulsive.group) == ("NCIA_D442x10", "NCIA_R739x5")
    assert first.x == (3.0, 3.5, 10.0)
    assert first.reference["CCSD(T)/CBS"] == pytest.approx([0.4 * KCAL, -0.3 * KCAL, 0.0])


def test_tautomers_and_reactions_are_differences(layout: Path) -> None:
    [pair] = imported(layout, "tautomers").table.differences
    assert [(term.structure, term.coefficient) for term in pair.terms] == [(1, 1.0), (0, -1.0)]
    assert pair.reference["wB97M-D3BJ"] == pytest.approx(-0.5)
    barrier, reaction = imported(layout, "reactivity").table.differences
    assert (barrier.quantity, reaction.quantity) == ("barrier", "reaction energy")
    assert (barrier.cluster, reaction.cluster) == ("000001", "000001")
    assert barrier.reference["wB97X-D3"] == pytest.approx(48 * KCAL)
    assert reaction.reference["wB97X-D3"] == pytest.approx(15 * KCAL)


def test_a_band_goes_through_the_known_transition_state(layout: Path) -> None:
    dataset = imported(layout, "nudged_elastic_band")
    [roles] = path_structures(dataset.structures)
    guess, known = (dataset.frames.atoms(roles[role]) for role in (PathRole.GUESS, PathRole.TRANSITION_STATE))
    assert guess.positions.tolist() == known.positions.tolist()
    assert dataset.table.paths[0].reference["wB97X-D3"].barrier == pytest.approx(48 * KCAL)


def test_rings_and_bonds_are_simulated_systems(layout: Path) -> None:
    [ring] = imported(layout, "ring_planarity").table.systems
    assert ring.analyses[0].measure == "planarity"
    assert ring.analyses[0].ring == (0, 1, 2, 3, 4, 5)
    [bond] = imported(layout, "bond_length_distribution").table.systems
    assert bond.analyses[0].measure == "bond_length"
    assert bond.analyses[0].each_frame


def test_modes_choose_systems_and_name_their_data_sets(layout: Path) -> None:
    dev = imported(layout, "reference_geometry_stability", "dev")
    assert dev.card.name == "mlipaudit-reference-geometry-stability-dev"
    assert imported(layout, "conformer_selection").table.scans[0].id == "ethane"
    assert imported(layout, "conformer_selection", "dev").table.scans[0].id == "ethane"
    paper = imported(layout, "conformer_selection", "2025")
    assert (paper.card.name, paper.table.scans[0].id) == ("mlipaudit-conformer-selection-2025", "strained")
    assert imported(layout, "tautomers", "fast").card.name == "mlipaudit-tautomers"
    (layout / "conformer_selection" / "folmsbee_dataset.json").unlink()
    assert imported(layout, "conformer_selection", "dev").table.scans[0].id == "strained"


def test_missing_files_and_parts_of_files_are_named(layout: Path) -> None:
    (layout / "tautomers" / "tautobase_2792.json").unlink()
    [missing] = import_mlipaudit(layout, "standard", ["tautomers"])
    assert missing.dataset is None
    assert missing.missing == "tautobase_2792.json (in tautomers)"
    [part] = import_mlipaudit(layout, "standard", ["reactivity"])
    assert part.note == "has 1 of the 11960 entries that were published"


def many(height: float) -> Change:
    """Twelve torsions of this height."""
    return lambda content: content.update({f"fragment_{i:03}": torsion(height=height) for i in range(12)})


def put(*keys: Any, value: Any) -> Change:
    """Sets a field."""

    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def scaled(*keys: Any, factor: float) -> Change:
    """Multiplies a field by `factor`."""

    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = (np.array(content[keys[-1]]) * factor).tolist()

    return change


def swapped(*keys: Any) -> Change:
    """Exchanges the last two atoms of a structure, in both lists."""

    def change(content: Any) -> None:
        for key in keys:
            content = content[key]
        for name in ("atom_symbols", "coordinates"):
            content[name][-2:] = content[name][:-3:-1]

    return change


EV = 1 / ENERGY_UNITS["hartree"]
MISTAKES: Mapping[str, tuple[str, Change, str]] = {
    "an element": (
        "openff_n200_neutral.json", put("mol_0", "atom_symbols", 1, value="Ox"),
        r"mol_0: atom_symbols: 'Ox' of atom 1 is no element: write it as C or Cl",
    ),
    "a missing atom": (
        "openff_n200_neutral.json", lambda c: c["mol_1"]["coordinates"].pop(),
        r"mol_1: coordinates: has 2 rows for 3 atom_symbols: state one of each atom",
    ),
    "a charge": (
        "openff_n20_charged.json", put("mol_0", "charge", value=0),
        r"mol_0: charge: 9 electrons \(charge \+0\) cannot have 2S\+1 = 1, .*correct the charge, or add missing atoms",
    ),
    "half a charge": (
        "openff_n20_charged.json", put("mol_0", "charge", value=0.5),
        r"mol_0: charge: must be a whole number from -100 to 100, not 0\.5",
    ),
    "an atom out of range": (
        "ring_planarity_data.json", put("benzene", "pattern_atoms", value=[1, 2, 3, 4, 5, 12]),
        r"benzene: pattern_atoms: there is no atom 12, but 0 to 11: count the atoms from 0",
    ),
    "no ring": (
        "ring_planarity_data.json", put("benzene", "pattern_atoms", value=[0, 1, 2, 3, 4, 6]),
        r"benzene: pattern_atoms: is no ring: atom 4 \(C\) is not bonded to two of the others",
    ),
    "no bond": (
        "bond_length_distribution.json", put("carbon-carbon (single)", "pattern_atom_indices", value=[0, 5]),
        r"atoms 0 and 5 are 2\.\d+ Å apart and not bonded: name both ends of a bond",
    ),
    "a bond in nm": (
        "bond_length_distribution.json", scaled("carbon-carbon (single)", "reference_bond_distance", factor=0.1),
        r"reference_bond_distance: 0\.15\d* Å is not the length of this bond, .* nm or bohr taken for Å",
    ),
    "a bond in bohr": (
        "bond_length_distribution.json", scaled("carbon-carbon (single)", "reference_bond_distance", factor=1.8897),
        r"reference_bond_distance: 2\.\d* Å is not the length of this bond",
    ),
    "conformers in eV": (
        "folmsbee_dataset.json", scaled(0, "dft_energy_profile", factor=KCAL),
        r"ethane: dft_energy_profile\.0: -2\d+\.\d+ is the energy of these atoms in eV; the file must have kcal/mol",
    ),
    "a profile too short": (
        "folmsbee_dataset.json", lambda c: c[0]["dft_energy_profile"].pop(),
        r"ethane: the profile has 2 energies for 3 conformers: state one of each",
    ),
    "torsions in eV": ("TorsionNet500.json", many(0.1), r"median of 12 is .* kcal/mol, not between 1 and 12"),
    "torsions in kJ/mol": ("TorsionNet500.json", many(90.0), r"median of 12 is .* another unit taken for kcal/mol"),
    "an angle twice": (
        "TorsionNet500.json", put("fragment_001", value=torsion((60.0, 60.0, 120.0))),
        r"fragment_001: dft_energy_profile: does not increase: 60 is there twice: leave one out",
    ),
    "conformers in another order": (
        "TorsionNet500.json", lambda c: c["fragment_001"]["conformer_coordinates"].reverse(),
        r"fragment_001: dft_energy_profile\.0: 120° is not the torsion of atoms 2, 0, 1, 5, which is 60\.0°",
    ),
    "half a complex": (
        "NCI_Atlas.json", put("1.01.01", "selection_indices_b", value=[2]),
        r"1\.01\.01: selection_indices_a, selection_indices_b: name 3 of 4 atoms",
    ),
    "charges of a complex": (
        "NCI_Atlas.json", put("1.01.01", "charge_a", value=2.0),
        r"total_charge: is \+0, charge_a and charge_b add up to \+2: correct one of them",
    ),
    "tautomers in kcal/mol": (
        "tautobase_2792.json", scaled("0001", "energies", factor=1 / KCAL),
        r"0001: energies\.0: -9\d+\.?\d* is the energy of these atoms in kcal/mol; the file must have eV: convert it",
    ),
    "relative energies of tautomers in kcal/mol": (
        "tautobase_2792.json", put("0001", "energies", value=[0.0, 14.0]),
        r"energies: their differences: 14 eV is impossible, above 10: another unit taken for eV",
    ),
    "another formula": (
        "tautobase_2792.json", lambda c: [c["0001"][k][1].pop(0) for k in ("atom_symbols", "coordinates")],
        r"0001: atom_symbols: CH6O is no tautomer of C2H6O: state structures of one formula",
    ),
    "a reaction in hartree": (
        "grambow_dataset.json", scaled("000001", "products", "energy", factor=KCAL * EV),
        r"000001: products: energy: -93\.\d+ is the energy of these atoms in hartree; the file must have kcal/mol",
    ),
    "another order of atoms": (
        "grambow_dataset.json", swapped("000001", "products"),
        r"000001: products: atom 1 is H, of reactants N: bring the atoms into the same order",
    ),
    "a band in another order": (
        "grambow_dataset_neb.json", swapped("000001", "transition_state"),
        r"000001: transition_state: atom 1 is H, of reactants N",
    ),
    "a field": ("ring_planarity_data.json", lambda c: c["benzene"].pop("pattern_atoms"), r"benzene\.pattern_atoms: "),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_line_with_file_entry_and_remedy(layout: Path, mistake: str) -> None:
    name, change, says = MISTAKES[mistake]
    path = changed(layout, name, change)
    [result] = import_mlipaudit(layout, "standard", [JSON_FILES[name]])
    assert result.dataset is None
    assert result.fault.startswith(str(path))
    assert "\n" not in result.fault
    assert re.search(says, result.fault), result.fault


def test_a_folder_or_a_benchmark_that_is_not_there_is_refused(layout: Path) -> None:
    with pytest.raises(DatasetError, match="nowhere: is not there"):
        list(import_mlipaudit(layout / "nowhere", "standard"))
    with pytest.raises(DatasetError, match="--only: the mode standard has no benchmark 'scaling'; take one of"):
        list(import_mlipaudit(layout, "standard", ["scaling"]))


def test_the_published_inputs_are_read_in_the_smallest_mode(reference_data: Path) -> None:
    """Energies and geometries as the files state them."""
    folder = reference_data / "mlipaudit"
    [first, second] = imported(folder, "tautomers", "dev").table.differences
    assert first.reference["wB97M-D3BJ"] == pytest.approx(-11419.441686654 + 11419.4259769493, rel=1e-12)
    assert second.id == "0987"
    barrier = imported(folder, "reactivity", "dev").table.differences[0]
    assert barrier.reference["wB97X-D3"] == pytest.approx((168967.17726805343 - 168909.84985782535) * KCAL, rel=1e-12)
    assert len(imported(folder, "nudged_elastic_band", "dev").table.paths) == 2
    assert [scan.id for scan in imported(folder, "dihedral_scan", "dev").table.scans] == [
        "fragment_001",
        "fragment_002",
    ]
    assert [scan.id for scan in imported(folder, "noncovalent_interactions", "dev").table.scans] == [
        "1.03.03",
        "1.01.01",
    ]
    assert len(imported(folder, "conformer_selection", "dev").table.scans[0].x) == 3
    assert [system.id for system in imported(folder, "ring_planarity", "dev").table.systems] == ["benzene", "furan"]
    bonds = imported(folder, "bond_length_distribution", "dev").table.systems
    assert bonds[0].analyses[0].reference["QM9"] == pytest.approx(1.5296644893570617, rel=1e-12)
    assert imported(folder, "reference_geometry_stability", "dev").frames.charge.tolist() == [0, 0, 1, -1]
