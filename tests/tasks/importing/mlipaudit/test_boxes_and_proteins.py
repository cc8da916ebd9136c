"""Liquids, stability, timings and proteins of MLIPAudit's layout, and one line for each mistake in their files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from ase.build import molecule

from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.importing.import_summary import summarise
from tasks.importing.mlipaudit.content import RunMode
from tasks.importing.mlipaudit.dihedrals import chain_residues
from tasks.importing.mlipaudit.import_layout import import_mlipaudit
from tasks.importing.pdb_files import read_pdb
from tests.tasks.importing.mlipaudit.made_up_boxes import (
    pdb_text,
    write_curve,
    write_liquids,
    write_pair,
    write_stability,
)

WATER, SOLVENTS = "water_radial_distribution", "solvent_radial_distribution"
CHIGNOLIN = "chignolin_1uao_xray"


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    write_liquids(tmp_path / "layout")
    write_stability(tmp_path / "layout")
    return tmp_path / "layout"


@pytest.fixture
def proteins(tmp_path: Path, reference_data: Path) -> Path:
    """The flat folder of release 0.1.8, with the one protein that is here."""
    target = tmp_path / "proteins" / "folding_stability"
    target.mkdir(parents=True)
    for name in ("folding_stability", "sampling"):
        for path in (reference_data / "mlipaudit" / name).rglob("*.*"):
            shutil.copy(path, target)
            (target / path.name).chmod(0o644)
    return target


def imported(folder: Path, benchmark: str, mode: RunMode = "standard") -> Dataset:
    """The data set of a benchmark, which has no fault."""
    [result] = import_mlipaudit(folder, mode, [benchmark])
    assert (result.fault, result.missing) == ("", "")
    assert result.dataset is not None
    assert summarise(result.dataset).impossible == ()
    return result.dataset


def fault(folder: Path, benchmark: str, mode: RunMode = "standard") -> str:
    """The one line of a benchmark that cannot be read."""
    [result] = import_mlipaudit(folder, mode, [benchmark])
    assert result.dataset is None
    assert "\n" not in result.fault
    assert result.fault.startswith(str(folder))
    return result.fault


def test_water_is_one_data_set_of_two_benchmarks(layout: Path, tmp_path: Path) -> None:
    dataset = imported(layout, "water_density")
    assert dataset.card.full_name == "mlipaudit-water-radial-distribution@1"
    assert load_dataset(save_dataset(dataset, tmp_path / "data")).table == dataset.table
    rdf, peak, density = dataset.table.systems[0].analyses
    assert (rdf.name, rdf.above, rdf.up_to, rdf.centred) == ("rdf", 2.5, 10.0, True)
    assert (peak.up_to, peak.reference) == (10.5, {"experiment": 2.80})  # half of the box, not 20 Å
    assert density.mass_per_atom == pytest.approx(18.01528 / 3)
    assert density.skip_share == 0.2
    assert np.bincount(dataset.conditions["molecule"]).tolist() == [3] * 343
    assert imported(layout, WATER, "dev").card.name == "mlipaudit-water-radial-distribution"


def test_solvents_have_the_published_peaks_and_densities(layout: Path) -> None:
    dataset = imported(layout, "solvent_density")
    peaks = [system.analyses[0] for system in dataset.table.systems]
    assert [(peak.reference["experiment"], peak.above, peak.up_to) for peak in peaks] == [
        (5.9, 0.0, 9.0),
        (2.8, 0.0, 9.0),
        (4.0, 3.5, 4.5),
    ]
    symbols = [dataset.frames.atoms(i).symbols[list(peak.first)] for i, peak in enumerate(peaks)]
    assert [set(each) for each in symbols] == [{"C"}, {"O"}, {"N"}]
    assert len(np.unique(dataset.conditions["molecule"])) == 3 * 27
    fast = imported(layout, SOLVENTS, "fast")
    assert (fast.card.name, len(fast.frames)) == ("mlipaudit-solvent-radial-distribution-fast", 1)


def test_molecules_follow_from_bonds_in_the_layout_of_older_releases(layout: Path) -> None:
    stated = imported(layout, SOLVENTS).conditions["molecule"]
    for path in layout.rglob("*.npy"):
        path.unlink()
    assert imported(layout, SOLVENTS).conditions["molecule"].tolist() == stated.tolist()


def test_hydrogens_that_can_drift_are_those_of_bonds(layout: Path) -> None:
    dataset = imported(layout, "stability")
    assert dataset.frames.charge.tolist() == [0, 0, 0, 1, 0, 7, 0, 0]
    assert dataset.frames.periodic.tolist() == [False] * 6 + [True] * 2
    assert dataset.frames.cell[6].diagonal() == pytest.approx([23.43, 28.96, 20.90])  # the files state no cell
    methanol = dataset.table.systems[0].analyses[0]
    numbers = dataset.frames.atoms(0).numbers
    assert sorted(numbers[list(bond)].tolist() for bond in methanol.bonds) == [[6, 1]] * 3 + [[8, 1]]
    assert len(dataset.table.systems[5].analyses[0].bonds) == 28
    assert len(imported(layout, "stability", "fast").frames) == 5


def test_a_system_without_bonds_to_hydrogen_cannot_lose_one(layout: Path) -> None:
    write_pair(layout / "stability", "small_molecule_Hal", molecule("CCl4"))
    assert imported(layout, "stability").table.systems[2].analyses == ()


def test_cells_of_pdb_files_win(layout: Path) -> None:
    atoms = molecule("CH3OH")
    atoms.cell, atoms.pbc = np.eye(3) * 30, True
    write_pair(layout / "stability", "peptide_solv", atoms)
    assert imported(layout, "stability").frames.cell[6].diagonal().tolist() == [30, 30, 30]


def test_energy_conservation_states_neither_charge_nor_multiplicity(layout: Path) -> None:
    dataset = imported(layout, "nve_energy_conservation")  # whose files are those of other benchmarks
    assert [system.id for system in dataset.table.systems] == [
        "small_molecule_HCNO",
        "water_box_n500",
        "peptide_solv",
        "peptide_solv_ion",
    ]
    assert dataset.frames.charge.tolist() == dataset.frames.multiplicity.tolist() == [0, 0, 0, 0]
    assert dataset.frames.periodic.tolist() == [False, True, True, True]
    dev = imported(layout, "nve_energy_conservation", "dev")
    assert [analysis.measure for system in dev.table.systems for analysis in system.analyses] == ["drift_ratio"]


@pytest.mark.parametrize("folder", ["inference_speed", "scaling"])
def test_timings_take_every_file_by_size(layout: Path, folder: str) -> None:
    (layout / folder).mkdir()
    for name, formula in (("6_methanol", "CH3OH"), ("3_water", "H2O"), ("5_ammonium", "CH4")):
        atoms = molecule(formula)
        if name == "5_ammonium":
            atoms.numbers[0] = 7
        write_pair(layout / folder, name, atoms)
    dataset = imported(layout, "inference_speed")
    assert dataset.table.id == ("3_water", "5_ammonium", "6_methanol")
    assert dataset.frames.multiplicity.tolist() == [1, 0, 1]  # MLIPAudit takes the ion as neutral
    assert len(imported(layout, "inference_speed", "dev").frames) == 2
    shutil.copy(layout / folder / "3_water.xyz", layout / folder / "4_water.xyz")
    assert re.search(r"4_water\.xyz: has 3 atoms, its name says 4", fault(layout, "inference_speed"))


def test_a_protein_has_its_reference_and_one_analysis_for_each_residue_name(proteins: Path) -> None:
    dataset = imported(proteins.parent, "sampling", "dev")
    assert dataset.card.full_name == "mlipaudit-folding-stability-dev@1"
    assert dataset.frames.charge.tolist() == [-2]
    [protein] = dataset.table.systems
    names = [analysis.name for analysis in protein.analyses]
    assert names[0] == ""
    backbones = [f"backbone {name}" for name in ("ASP", "GLU", "GLY", "PRO", "THR", "TRP", "TYR")]
    side_chains = [f"side chain {name}" for name in ("ASP", "GLU", "PRO", "THR", "TRP", "TYR")]
    assert names[1:] == backbones + side_chains
    rmsd = protein.analyses[0]
    assert len(rmsd.atoms) == 10
    assert np.array(rmsd.reference["experiment"]) == pytest.approx(dataset.frames.positions[list(rmsd.atoms)], abs=1e-3)
    by_name = {analysis.name: analysis for analysis in protein.analyses}
    assert by_name["backbone GLY"].counted == (6,)  # the first and the last residue have only one of φ and ψ
    assert by_name["backbone THR"].counted == (5, 7)
    [chi] = by_name["side chain TYR"].residues
    tyrosine = [line.name for line in read_pdb(proteins / f"{CHIGNOLIN}.pdb").lines]
    assert [[tyrosine[atom] for atom in quadruple] for quadruple in chi] == [
        ["N", "CA", "CB", "CG"],
        ["CA", "CB", "CG", "CD1"],
    ]


@pytest.mark.parametrize("has_cell", [True, False])
def test_a_protein_across_the_boundary_has_the_same_analyses(proteins: Path, has_cell: bool) -> None:
    """Each file has every atom inside the box; without a cell in the file, the box is the one that MLIPAudit states."""
    published = imported(proteins.parent, "sampling", "dev")
    box = published.frames.cell[0].diagonal()
    pdb, middle = proteins / f"{CHIGNOLIN}.pdb", published.frames.positions[:138].mean(axis=0)
    lines = pdb.read_text().splitlines()
    for i, line in enumerate(lines):
        if line.startswith(("ATOM  ", "HETATM")):
            xyz = (np.array([float(line[k : k + 8]) for k in (30, 38, 46)]) - middle) % box
            lines[i] = line[:30] + "".join(f"{x:8.3f}" for x in xyz) + line[54:]
    pdb.write_text("\n".join(line for line in lines if has_cell or not line.startswith("CRYST1")))
    text = (proteins / f"{CHIGNOLIN}.xyz").read_text().splitlines()
    for i, line in enumerate(text[2:], 2):
        symbol, *xyz = line.split()
        text[i] = " ".join([symbol, *(f"{x:.6f}" for x in (np.array(xyz, float) - middle) % box)])
    (proteins / f"{CHIGNOLIN}.xyz").write_text("\n".join(text))
    wrapped = imported(proteins.parent, "sampling", "dev")
    assert wrapped.table == published.table
    assert wrapped.frames.cell.tolist() == published.frames.cell.tolist()


def test_the_folders_of_older_releases_are_read(proteins: Path, reference_data: Path) -> None:
    older = imported(reference_data / "mlipaudit", "folding_stability", "dev")
    assert older.table == imported(proteins.parent, "folding_stability", "dev").table


def test_the_paper_has_orexin(proteins: Path) -> None:
    [result] = import_mlipaudit(proteins.parent, "2025", ["folding_stability"])
    assert "orexin_beta_1cq0_nmr.xyz" in result.missing
    assert "villin" not in result.missing


def test_proteins_of_the_paper_have_their_best_frames(proteins: Path) -> None:
    for name in ("trp_cage_2jof_xray", "orexin_beta_1cq0_nmr"):
        for end in (".xyz", ".pdb", "_ref.pdb"):
            shutil.copy(proteins / f"{CHIGNOLIN}{end}", proteins / f"{name}{end}")
    dataset = imported(proteins.parent, "folding_stability", "2025")
    assert dataset.card.full_name == "mlipaudit-folding-stability-2025@1"
    assert dataset.frames.charge.tolist() == [-2, 0, 2]
    for system in dataset.table.systems:
        rmsd, lowest, highest, *dihedrals = system.analyses
        assert [each.measure for each in (rmsd, lowest, highest)] == ["rmsd", "lowest_rmsd", "highest_tm_score"]
        assert rmsd.atoms == lowest.atoms == highest.atoms
        assert rmsd.reference == lowest.reference == highest.reference
        assert {each.measure for each in dihedrals} == {"dihedral_outliers", "sidechain_outliers"}


def test_caps_give_their_neighbours_both_dihedrals(reference_data: Path) -> None:
    pdb = read_pdb(reference_data / "mlipaudit/utils/two_alanines_capped.pdb")
    chain = chain_residues(pdb)
    assert [each.backbone.name for each in chain] == ["ACE", "ALA", "ALA", "NME"]
    assert [each.is_cap for each in chain] == [True, False, False, True]
    assert pdb.lines[chain[0].backbone.c].name == "C"
    assert pdb.lines[chain[3].backbone.n].name == "N"
    assert {each.backbone.chain for each in chain} == {0}


def test_states_of_protonation_count_as_the_standard_residue(proteins: Path) -> None:
    for name in (f"{CHIGNOLIN}.pdb", f"{CHIGNOLIN}_ref.pdb"):
        text = (proteins / name).read_text()
        (proteins / name).write_text(text.replace("ASP A", "ASH A").replace("GLU A", "GLH A"))
    names = [analysis.name for analysis in imported(proteins.parent, "sampling", "dev").table.systems[0].analyses]
    assert "backbone ASP" in names
    assert "side chain GLU" in names


Change = Callable[[Path], None]


def replaced(name: str, old: str, new: str, count: int = 1) -> Change:
    """Replaces text in a file."""

    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, count))

    return change


def saved(name: str, array: np.ndarray) -> Change:
    return lambda folder: np.save(folder / name, array)


def shifted_curve(folder: Path) -> None:
    r = np.arange(0, 2, 0.001)
    write_curve(folder, r, 1 + 2 * np.exp(-((r - 0.28) ** 2) / 0.0005))


def other_liquid(folder: Path) -> None:
    for end in ("_eq.pdb", "_molecule_indices.npy"):
        shutil.copy(folder / f"methanol{end}", folder / f"CCl4{end}")


def long_bond(folder: Path) -> None:
    (folder / "small_molecule_S.pdb").write_text(pdb_text(molecule("CH3OH"), bonds=((1, 2), (0, 3))))
    atoms = molecule("CH3OH")
    atoms.positions[3] += [9, 9, 9]
    write_pair(folder, "small_molecule_S", atoms)
    (folder / "small_molecule_S.pdb").write_text(pdb_text(atoms, bonds=((1, 2), (0, 3))))


MISTAKES: Mapping[str, tuple[str, Change, str]] = {
    "no cell": (
        WATER, replaced("water_box_n500_eq.pdb", "CRYST1", "REMARK"),
        r"water_box_n500_eq\.pdb: CRYST1: is missing, which states the box of a liquid",
    ),
    "r in nm": (WATER, shifted_curve, r"r_OO: g\(r\) is highest at 0\.28, not between 2\.4 and 3\.2 Å: nm taken for Å"),
    "no curve": (
        WATER, lambda folder: np.savez(folder / "experimental_reference.npz", r=np.arange(3.0)),
        r"experimental_reference\.npz: r_OO: is missing",
    ),
    "molecules of another box": (
        WATER, saved("water_box_n500_molecule_indices.npy", np.repeat(np.arange(500), 3)),
        r"indices\.npy: has shape \(1500,\) of int64, water_box_n500_eq\.pdb has 1029 atoms: state one whole number",
    ),
    "molecules that fall apart": (
        WATER, saved("water_box_n500_molecule_indices.npy", np.arange(1029) % 343),
        r"molecule 0: no bonds lead from atom 0 to atom 343",
    ),
    "half molecules": (
        WATER, saved("water_box_n500_molecule_indices.npy", np.arange(1029)),
        r"the molecule of atom 0 is O, not H2O: correct the file",
    ),
    "another liquid": (
        SOLVENTS, other_liquid,
        r"the molecule of atom 0 is CH4O, not CCl4",
    ),
    "files that disagree": (
        "stability", replaced("small_molecule_S.xyz", "made up\nC -0.0", "made up\nC -0.1"),
        r"small_molecule_S\.pdb: small_molecule_S\.xyz: atom 0 \(C\) is 0\.1 Å from where small_molecule_S\.pdb has it",
    ),
    "a charge": (
        "stability", lambda folder: write_pair(folder, "peptide_HCNO", molecule("CH3OH")),
        r"peptide_HCNO\.pdb: charge: 17 electrons \(charge \+1\) cannot have 2S\+1 = 1",
    ),
    "a bond of other atoms": (
        "stability", long_bond, r"small_molecule_S\.pdb: CONECT: C of UNK A 1 and H of UNK A 4 are 1\d\.\d+ Å apart",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_box_gets_one_line(layout: Path, mistake: str) -> None:
    benchmark, change, says = MISTAKES[mistake]
    change(layout / benchmark)
    line = fault(layout, benchmark)
    assert re.search(says, line), line


def angles(name: str, change: Callable[[dict[str, dict[str, list[float]]]], object]) -> Change:
    """Changes a file of reference angles."""

    def changed(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        change(content)
        (folder / name).write_text(json.dumps(content))

    return changed


BACKBONE, SIDE_CHAINS = "backbone_reference_data.json", "sidechain_reference_data.json"
PROTEIN_MISTAKES: Mapping[str, tuple[Change, str]] = {
    "another residue": (
        replaced(f"{CHIGNOLIN}_ref.pdb", "TYR A   2", "PHE A   2", 30),
        r"_ref\.pdb: PHE A 2 is not TYR A 2 of chignolin_1uao_xray\.pdb: take both files from one release",
    ),
    "another atom": (
        replaced(f"{CHIGNOLIN}_ref.pdb", " CB  TYR", " CX  TYR"),
        r"_ref\.pdb: TYR A 2 is not TYR A 2 of chignolin_1uao_xray\.pdb \(atoms CB, CX\)",
    ),
    "no set of a backbone": (
        angles(BACKBONE, lambda sets: sets.pop("PRO")),
        r"PRO A 4: backbone_reference_data\.json has no points of PRO: restore the published file",
    ),
    "no set of a side chain": (
        angles(SIDE_CHAINS, lambda sets: sets.pop("TRP")),
        r"TRP A 9: sidechain_reference_data\.json has no points of TRP",
    ),
    "no χ2": (
        angles(SIDE_CHAINS, lambda sets: sets["TYR"].pop("chi2")),
        r"sidechain_reference_data\.json: TYR: chi2: has no angles: restore the published file",
    ),
    "another number of ψ": (
        angles(BACKBONE, lambda sets: sets["GLY"]["psi"].pop()), r"GLY: psi: has 2 angles, phi 3: state as many",
    ),
    "radians": (
        angles(BACKBONE, lambda sets: sets["GLY"].update({k: np.deg2rad(v).tolist() for k, v in sets["GLY"].items()})),
        r"GLY: phi: no angle is above 6\.3: radians taken for degrees",
    ),
    "a side chain without an atom": (
        lambda folder: [
            replaced(f"{CHIGNOLIN}{end}.pdb", " CD1 TYR", " CX1 TYR")(folder) for end in ("", "_ref")
        ],
        r"TYR A 2: has no four atoms of chi2: name its atoms as in a PDB",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", PROTEIN_MISTAKES)
def test_a_mistake_in_a_protein_gets_one_line(proteins: Path, mistake: str) -> None:
    change, says = PROTEIN_MISTAKES[mistake]
    change(proteins)
    line = fault(proteins.parent, "folding_stability", "dev")
    assert re.search(says, line), line


def test_the_published_boxes_are_read(reference_data: Path) -> None:
    """Without the files of molecules, which older releases do not have."""
    folder = reference_data / "mlipaudit"
    water = imported(folder, WATER)
    assert np.bincount(water.conditions["molecule"]).tolist() == [3] * 501
    assert water.frames.cell[0].diagonal() == pytest.approx([24.772] * 3)
    rdf, peak, _ = water.table.systems[0].analyses
    assert peak.up_to == pytest.approx(12.38)
    highest = {name: (curve.x[int(np.argmax(curve.y))], max(curve.y)) for name, curve in rdf.also.items()}
    assert highest["TIP3P"] == pytest.approx((2.77, 2.80), abs=0.02)
    assert highest["TIP4P"] == pytest.approx((2.74, 3.32), abs=0.02)
    assert len(np.unique(imported(folder, SOLVENTS, "dev").conditions["molecule"])) == 125
    assert len(imported(folder, "stability", "dev").frames) == 2
    assert imported(folder, "inference_speed").table.id == ("71_1jrs_leupeptin", "121_1ay3")
    assert imported(folder, "nve_energy_conservation", "dev").table.id == ("small_molecule_HCNO",)
