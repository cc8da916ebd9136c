"""PDB files for dynamics: what is read, and one line that names file and residue for what is wrong."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.datasets.card import DatasetError
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.datasets.protein_analyses import DihedralOutliersAnalysis, RmsdAnalysis, SecondaryStructureAnalysis
from tasks.importing.dynamics import import_dynamics
from tasks.importing.pdb_files import read_pdb
from tests.tasks.importing.test_dynamics_import import card

CELL = "CRYST1   12.000   13.000   14.000  90.00  90.00  90.00 P 1           1"
OUTLIERS = {"measure": "dihedral_outliers", "reference": {"GENERAL": [[-60.0, -45.0]]}}


def record(index: int, name: str, residue: str, number: int, xyz: Any, element: str = "") -> str:
    x, y, z = xyz
    named = f"{name:<4s}" if len(name) == 4 or len(element) == 2 else f" {name:<3s}"
    place = f"{residue:>3s} A{number:4d}"
    return f"ATOM  {index:5d} {named} {place}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00          {element:>2s}"


def peptide() -> list[str]:
    """Three alanines as N, H, CA, C, O, in a plane, without side chains."""
    lines = []
    for k in range(9):
        name, up = ("N", "CA", "C")[k % 3], 1.0 if k % 2 else -1.0
        place = (1.2 * k, 0.4 * up, 0.0)
        lines.append((name, place))
        if name != "CA":
            lines.append(("H" if name == "N" else "O", (1.2 * k, (1.4 if name == "N" else 1.6) * up, 0.0)))
    return [record(i, name, "ALA", i // 5 + 1, xyz) for i, (name, xyz) in enumerate(lines)]


def water(number: int, shift: float) -> list[str]:
    atoms = (("O", (0.0, 0, 0)), ("H1", (0.96, 0, 0)), ("H2", (-0.24, 0.93, 0)))
    return [record(i, name, "HOH", number, np.add(xyz, (0, shift, 0)), name[0]) for i, (name, xyz) in enumerate(atoms)]


def imported(where: Path, records: list[str], analyses: Any = (), **system: Any) -> Dataset:
    (where / "peptide.pdb").write_text("\n".join([*records, "END", ""]))
    stated = {"id": "it", "structure": "peptide", "analyses": list(analyses), **system}
    (where / "systems.json").write_text(json.dumps({"systems": [stated]}))
    return import_dynamics(where, card())


def test_cell_molecules_elements_and_backbone_come_from_the_file(tmp_path: Path) -> None:
    gyration = {"measure": "radius_of_gyration", "atoms": "CA", "reference": 3.0}
    made = imported(tmp_path, [CELL, *peptide(), *water(4, 5.0), *water(5, 8.0)], [gyration, OUTLIERS], charge=0)
    dataset = load_dataset(save_dataset(made, tmp_path / "data"))
    np.testing.assert_allclose(dataset.frames.cell[0], np.diag([12.0, 13.0, 14.0]), atol=1e-9)
    assert dataset.frames.numbers[:6].tolist() == [7, 1, 6, 6, 8, 7]
    assert dataset.conditions["molecule"].tolist() == [0] * 15 + [1] * 3 + [2] * 3
    assert (dataset.frames.charge[0], dataset.frames.multiplicity[0]) == (0, 1)
    radius, outliers = dataset.table.systems[0].analyses
    assert radius.atoms_used == (2, 7, 12)
    assert isinstance(outliers, DihedralOutliersAnalysis)
    assert [(r.name, r.chain, r.n, r.ca, r.c, r.o) for r in outliers.residues] == [
        ("ALA", 0, 5 * k, 5 * k + 2, 5 * k + 3, 5 * k + 4) for k in range(3)
    ]


def test_a_chain_ends_where_residues_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "two.pdb"
    path.write_text(
        "\n".join(line[:30] + "  99.000" + line[38:] if "ALA A   3" in line else line for line in peptide())
    )
    assert [residue.chain for residue in read_pdb(path).backbone()] == [0, 0, 1]


def at(line: str, xyz: Any) -> str:
    x, y, z = xyz
    return f"{line[:30]}{x:8.3f}{y:8.3f}{z:8.3f}{line[54:]}"


def test_a_protein_across_the_boundary_is_one_chain_and_its_own_reference(tmp_path: Path) -> None:
    """As programs of dynamics write boxes: every atom inside the cell."""
    shift = np.array([5.0, 0.0, 0.0])
    positions = [np.array([float(line[k : k + 8]) for k in (30, 38, 46)]) for line in peptide()]
    cell = np.array([12.0, 13.0, 14.0])
    wrapped = [at(line, (xyz + shift) % cell) for line, xyz in zip(peptide(), positions, strict=True)]
    rmsd = {"measure": "rmsd", "atoms": list(range(15)), "reference_pdb": "peptide.pdb"}
    made = imported(tmp_path, [CELL, *wrapped], [OUTLIERS, rmsd])
    outliers, own = made.table.systems[0].analyses
    assert isinstance(outliers, DihedralOutliersAnalysis)
    assert [residue.chain for residue in outliers.residues] == [0, 0, 0]
    reference = np.array(own.reference["experiment"])
    np.testing.assert_array_equal(reference, made.frames.positions)
    np.testing.assert_allclose(reference - reference[0], np.array(positions) - positions[0], atol=2e-3)


def test_a_crystal_stays_as_it_is(tmp_path: Path) -> None:
    """Its bonds lead from atoms to their own images."""
    path = tmp_path / "chain.pdb"
    cell = CELL.replace("12.000", " 2.600")
    path.write_text("\n".join([cell, *(record(i, f"C{i}", "UNK", 1, (2.5 - 1.3 * i, 0, 0), "C") for i in range(2))]))
    np.testing.assert_array_equal(read_pdb(path).positions[:, 0], [2.5, 1.2])


def test_calcium_is_no_alpha_carbon(tmp_path: Path) -> None:
    path, calcium = tmp_path / "ion.pdb", record(15, "CA", "CA", 9, (0, 0, 20), "CA")
    path.write_text("\n".join([*peptide(), calcium]))
    assert read_pdb(path).named("CA") == [2, 7, 12]
    path.write_text(calcium)
    assert read_pdb(path).named("CA") == [0]


def test_elements_are_of_the_columns_or_of_a_name_that_leaves_no_doubt(tmp_path: Path) -> None:
    path = tmp_path / "ions.pdb"
    ions = [record(0, "CA", "CA", 1, (0, 0, 0), "CA"), record(1, "CL", "LIG", 2, (9, 0, 0), "CL")[:76]]
    path.write_text("\n".join([*ions, record(2, "C12", "LIG", 2, (9, 1.7, 0))]))
    assert [line.element for line in read_pdb(path).lines] == ["Ca", "Cl", "C"]
    path.write_text("\n".join([*ions, record(2, "QX", "LIG", 2, (9, 1.7, 0))]))
    with pytest.raises(DatasetError, match=r"ions.pdb: LIG A 2: atom QX states no element: write it in columns 77"):
        read_pdb(path)


def changed(records: list[str], index: int, line: str) -> list[str]:
    return [*records[:index], line, *records[index + 1 :]]


@pytest.mark.parametrize(
    ("records", "system", "line"),
    [
        (
            [line for line in peptide() if not (line[12:16] == " H  " and "A   2" in line)],
            {},
            "peptide.pdb: ALA A 2: has no hydrogens: add them",
        ),
        ([CELL, *water(1, 0)[:2]], {}, "peptide.pdb: HOH A 1: water with 1 hydrogens: add or remove hydrogens"),
        (peptide(), {"charge": 1}, r"2S\+1 = 1 is impossible with 83 electrons \(charge \+1\): add missing hydrogens"),
        (peptide(), {"multiplicity": 2}, r"2S\+1 = 2 is impossible with 84 electrons \(charge \+0\)"),
        (
            [*peptide()[:4], *peptide()[3:]],
            {},
            "ALA A 1: atom C is there twice: keep one of the alternate locations",
        ),
        (
            ["MODEL        1", *peptide(), "ENDMDL", "MODEL        2", *peptide()[:9]],
            {},
            "model 2 has 9 atoms, model 1 15",
        ),
        ([CELL.replace("13.000", "widely")], {}, "has no ATOM or HETATM records"),
        ([CELL.replace("13.000", "widely"), *peptide()], {}, "CRYST1: is not three lengths and three angles"),
        (changed(peptide(), 2, peptide()[2].replace("   1.200", "    what")), {}, "ALA A 1: atom CA: its position is"),
        (peptide(), {"structure": "other"}, "it: structure: there is no file other.pdb"),
        (
            peptide(),
            {"analyses": [{**OUTLIERS, "reference_pdb": "peptide.pdb"}]},
            "reference_pdb: is for rmsd, lowest_rmsd, tm_score",
        ),
    ],
)
def test_an_unbalanced_file_is_named_with_its_residue(
    records: list[str], system: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(DatasetError, match=line) as error:
        imported(tmp_path, records, **system)
    assert "\n" not in str(error.value)


def test_references_come_from_another_file(tmp_path: Path) -> None:
    moved = [record(i, line[12:16].strip(), "ALA", i // 5 + 1, (i, 0, 0)) for i, line in enumerate(peptide())]
    (tmp_path / "ref.pdb").write_text("\n".join(moved))
    made = imported(tmp_path, peptide(), [{"measure": "rmsd", "atoms": "CA", "reference_pdb": "ref.pdb"}])
    (rmsd,) = made.table.systems[0].analyses
    assert isinstance(rmsd, RmsdAnalysis)
    assert rmsd.reference["experiment"] == ((2.0, 0, 0), (7.0, 0, 0), (12.0, 0, 0))
    (tmp_path / "ref.pdb").write_text("\n".join(moved[:10]))
    with pytest.raises(DatasetError, match=r"reference_pdb: ref.pdb has no atom CA of ALA A 3"):
        imported(tmp_path, peptide(), [{"measure": "rmsd", "atoms": "CA", "reference_pdb": "ref.pdb"}])


def test_atoms_of_two_chains_without_names_have_no_reference(tmp_path: Path) -> None:
    """Waters beyond the last residue number share their names, too; they are not selected."""
    both = [*peptide(), *(at(line, (1.2 * i, 0, 30.0)) for i, line in enumerate(peptide()))]
    rmsd = {"measure": "rmsd", "atoms": "CA", "reference_pdb": "peptide.pdb"}
    with pytest.raises(DatasetError, match=r"atom CA of ALA A 1 is there twice: give each chain its own name in pep"):
        imported(tmp_path, both, [rmsd])
    (tmp_path / "ref.pdb").write_text("\n".join(peptide()))
    with pytest.raises(DatasetError, match=r"atom CA of ALA A 1 is there twice: give each chain its own name in ref"):
        imported(tmp_path, both, [{**rmsd, "reference_pdb": "ref.pdb"}])
    named = [line.replace(" A ", " B ") if i >= 15 else line for i, line in enumerate(both)]
    made = imported(tmp_path, [*named, *water(4, 60.0), *water(5, 70.0), *water(4, 80.0)], [rmsd])
    assert len(set(made.table.systems[0].analyses[0].reference["experiment"])) == 6


def test_chignolin_in_water(reference_data: Path, tmp_path: Path) -> None:
    """MLIPAudit's files: ten residues, 310 waters, charge −2; the classes of DSSP have its hairpin."""
    pytest.importorskip("mdtraj")
    files = reference_data / "mlipaudit/folding_stability/pdb_reference_structures"
    shutil.copy(files / "chignolin_1uao_xray.pdb", tmp_path / "chignolin.pdb")
    shutil.copy(files / "chignolin_1uao_xray_ref.pdb", tmp_path / "ref.pdb")
    analyses = [{"measure": "secondary_structure", "reference_pdb": "ref.pdb"}]
    analyses.append({"measure": "tm_score", "atoms": "CA", "reference_pdb": "ref.pdb"})
    stated = {"id": "chignolin", "structure": "chignolin", "charge": -2, "analyses": analyses}
    (tmp_path / "systems.json").write_text(json.dumps({"systems": [stated]}))
    dataset = import_dynamics(tmp_path, card())
    classes, score = dataset.table.systems[0].analyses
    assert isinstance(classes, SecondaryStructureAnalysis)
    assert (
        "".join(residue.name[0] for residue in classes.residues) == "GTAPGTGTTG"
    )  # Gly Tyr Asp Pro Glu Thr Gly Thr Trp Gly
    assert len(score.atoms_used) == 10
    assert len(np.unique(dataset.conditions["molecule"])) == 311
    assert set(classes.reference["experiment"]) <= set("-TSBE")
    (tmp_path / "systems.json").write_text(json.dumps({"systems": [{**stated, "charge": -1}]}))
    with pytest.raises(DatasetError, match="impossible with"):
        import_dynamics(tmp_path, card())
