"""Molecules, peptides and proteins, in vacuum and in water: stability, conservation of energy, folding and timings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.cell import Cell
from ase.data import covalent_radii
from ase.neighborlist import neighbor_list

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.datasets.protein_analyses import RmsdAnalysis, TmScoreAnalysis
from tasks.datasets.simulated_systems import AnyAnalysis, DriftRatioAnalysis, HydrogenDriftAnalysis, SimulatedSystem
from tasks.importing.importers import read_atoms
from tasks.importing.mlipaudit.checks import check_closed_shell, check_same_structure
from tasks.importing.mlipaudit.content import BenchmarkContent, PublishedStructure, label_set_of
from tasks.importing.mlipaudit.dihedrals import REFERENCES, dihedral_analyses, read_references
from tasks.importing.mlipaudit.layout import BenchmarkFiles
from tasks.importing.mlipaudit.liquids import WATER, read_box
from tasks.importing.pdb_files import WATERS, PdbStructure, read_pdb
from tasks.simulation.molecules import BOND, molecules_of, whole_molecules
from tasks.structures.frames import Frames

HYDROGEN = 1
DRIFTED = 2.5  # Å: a hydrogen at this distance has left


class PublishedSystem(NamedTuple):
    """A system with files of its name, `.xyz` and `.pdb`.

    Args:
        box: lengths [Å] of its box, if its PDB file states no cell; None: it is in vacuum.
    """

    name: str
    charge: int = 0
    box: tuple[float, float, float] | None = None


PEPTIDE_IN_WATER = PublishedSystem("peptide_solv", box=(23.43, 28.96, 20.90))
PEPTIDE_AND_IONS = PublishedSystem("peptide_solv_ion", box=(25.62, 27.89, 37.36))
SMALL_MOLECULE = PublishedSystem("small_molecule_HCNO")
STABILITY = (
    SMALL_MOLECULE,
    PublishedSystem("small_molecule_S"),
    PublishedSystem("small_molecule_Hal"),
    PublishedSystem("peptide_HCNO", 1),
    PublishedSystem("peptide_cys"),
    PublishedSystem("protein_1a7m", 7),
    PEPTIDE_IN_WATER,
    PEPTIDE_AND_IONS,
)
PROTEINS = (
    PublishedSystem("chignolin_1uao_xray", -2, (23.98, 22.45, 20.68)),
    PublishedSystem("trp_cage_2jof_xray", 0, (29.33, 29.74, 23.59)),
    PublishedSystem("villin_capped_solvated", 2, (34.199, 34.199, 34.199)),
)
OREXIN = PublishedSystem("orexin_beta_1cq0_nmr", 2, (40.30, 29.56, 33.97))


def stability(files: BenchmarkFiles) -> BenchmarkContent:
    """Eight systems, with their bonds to hydrogen; the first five in the mode fast, two in dev."""
    card = "stability"
    chosen = STABILITY[: {"fast": 5, "dev": 2}.get(files.mode)]
    files.paths(*(f"{system.name}.{end}" for system in chosen for end in ("xyz", "pdb")))
    structures, systems = list[PublishedStructure](), list[SimulatedSystem]()
    for index, system in enumerate(chosen):
        atoms, pdb = _structure(files, system)
        bonds = hydrogen_bonds(files.path(f"{system.name}.pdb"), pdb, atoms)
        analyses = (HydrogenDriftAnalysis(measure="hydrogen_drift", bonds=bonds),) if bonds else ()
        structures.append(PublishedStructure(system.name, atoms))
        systems.append(SimulatedSystem(id=system.name, cluster=system.name, structure=index, analyses=analyses))
    return BenchmarkContent(card, structures, {"systems": systems})


def nve_energy_conservation(files: BenchmarkFiles) -> BenchmarkContent:
    """A molecule, water, and peptides in water; MLIPAudit states neither charge nor 2S+1 of them."""
    card = "nve_energy_conservation"
    solvated = () if files.is_dev else (PEPTIDE_IN_WATER, PEPTIDE_AND_IONS)
    water = [] if files.is_dev else [WATER.pdb]
    paths = files.paths(*(f"{system.name}.xyz" for system in (SMALL_MOLECULE, *solvated)), *water)
    boxes = {SMALL_MOLECULE.name: _read_xyz(paths[f"{SMALL_MOLECULE.name}.xyz"])}
    if water:
        boxes[WATER.file] = read_box(paths[WATER.pdb])
    for system in solvated:
        atoms = _read_xyz(paths[f"{system.name}.xyz"])
        atoms.cell, atoms.pbc = Cell.new(system.box), True
        boxes[system.name] = atoms
    drift = DriftRatioAnalysis(measure="drift_ratio")
    systems = [SimulatedSystem(id=name, cluster=name, structure=i, analyses=(drift,)) for i, name in enumerate(boxes)]
    structures = [PublishedStructure(name, _whole(atoms, files.root / name)) for name, atoms in boxes.items()]
    return BenchmarkContent(card, structures, {"systems": systems})


def inference_speed(files: BenchmarkFiles) -> BenchmarkContent:
    """The structures of all files, by size, with charge 0; the two smallest in the mode dev."""
    structures = []
    for path, n_atoms in list(files.sized().items())[: 2 if files.is_dev else None]:
        atoms = _read_xyz(path)
        if len(atoms) != n_atoms:
            raise DatasetError(f"{path}: has {len(atoms)} atoms, its name says {n_atoms}: restore the published file")
        # Some of these proteins are ions, which MLIPAudit does not state: then no 2S+1 fits the charge 0.
        atoms.info = {"charge": 0, "spin": 1 if atoms.numbers.sum() % 2 == 0 else 0}
        structures.append(PublishedStructure(path.stem, atoms))
    return BenchmarkContent("inference_speed", structures)


def folding_stability(files: BenchmarkFiles) -> BenchmarkContent:
    """Proteins in water, with reference structures, and dihedrals of their residues."""
    card = "folding_stability"
    chosen = PROTEINS[: {"fast": 2, "dev": 1}.get(files.mode)]
    if files.mode == "2025":
        chosen = (*PROTEINS[:2], OREXIN)
    files.paths(*(f"{system.name}{end}" for system in chosen for end in (".xyz", ".pdb", "_ref.pdb")), *REFERENCES)
    references = read_references(files)
    structures, systems = list[PublishedStructure](), list[SimulatedSystem]()
    for index, system in enumerate(chosen):
        atoms, pdb = _structure(files, system)
        path = files.path(f"{system.name}.pdb")
        reference = _reference_positions(pdb, path, files.path(f"{system.name}_ref.pdb"))
        alphas = tuple(reference)
        points = {label_set_of(card): tuple(reference.values())}
        analyses = (
            RmsdAnalysis(measure="rmsd", atoms=alphas, reference=points),
            *(_best_frames(alphas, points) if files.mode == "2025" else ()),
            *dihedral_analyses(pdb, path, references, label_set_of(card)),
        )
        structures.append(PublishedStructure(system.name, atoms))
        systems.append(SimulatedSystem(id=system.name, cluster=system.name, structure=index, analyses=analyses))
    return BenchmarkContent(card, structures, {"systems": systems})


def _best_frames(alphas: tuple[int, ...], points: Mapping[str, Any]) -> tuple[AnyAnalysis, ...]:
    """What the paper takes of the frames."""
    return (
        RmsdAnalysis(measure="lowest_rmsd", atoms=alphas, reference=dict(points)),
        TmScoreAnalysis(measure="highest_tm_score", atoms=alphas, reference=dict(points)),
    )


def _structure(files: BenchmarkFiles, system: PublishedSystem) -> tuple[Atoms, PdbStructure]:
    """The structure in the `.xyz` file, in the cell of the `.pdb` file, and that file.

    Raises:
        DatasetError: the files disagree, or the charge is impossible; one line that names the file.
    """
    path = files.path(f"{system.name}.pdb")
    pdb = read_pdb(path, None if system.box is None else Cell.new(system.box).array)
    atoms = _read_xyz(files.path(f"{system.name}.xyz"))
    check_same_structure(atoms, pdb.atoms, (f"{system.name}.xyz", path.name), str(path))
    if pdb.cell is not None:
        atoms.cell, atoms.pbc = pdb.cell, True
    atoms.info = {"charge": system.charge, "spin": 1}
    check_closed_shell(atoms, str(path))
    return _whole(atoms, path), pdb


def _read_xyz(path: Path) -> Atoms:
    """The last structure, as MLIPAudit reads files that have several."""
    return read_atoms(path, "xyz")[-1]


def _whole(atoms: Atoms, path: Path) -> Atoms:
    """The structure with whole molecules; it is the same where none lies across the boundary."""
    if atoms.pbc.any():
        frames = Frames.from_atoms([atoms])
        with dataset_faults(path):
            atoms.positions = whole_molecules(frames, molecules_of(frames)).positions
    return atoms


def hydrogen_bonds(path: Path, pdb: PdbStructure, atoms: Atoms) -> tuple[tuple[int, int], ...]:
    """The bonds to hydrogens that are not of water, as heavy atom and hydrogen: of CONECT records, else by distance.

    Raises:
        DatasetError: a bond of the file is no bond in the structure; one line that names both atoms.
    """
    of_water = {atom for residue in pdb.residues if residue.name in WATERS for atom in residue.atoms.values()}
    hydrogens = set(np.flatnonzero(atoms.numbers == HYDROGEN).tolist())
    first, second = neighbor_list("ij", atoms, BOND * covalent_radii[atoms.numbers])
    near = [
        (i, j) for i, j in zip(first.tolist(), second.tolist(), strict=True) if i not in hydrogens and j in hydrogens
    ]
    stated = [(i, j) for i, j in _stated_bonds(path) if i not in hydrogens and j in hydrogens]
    for i, j in stated:
        distance = float(atoms.get_distance(i, j, mic=True))
        if distance > DRIFTED:
            places = [f"{pdb.lines[k].name} of {pdb.lines[k].place}" for k in (i, j)]
            raise DatasetError(
                f"{path}: CONECT: {places[0]} and {places[1]} are {distance:.2f} Å apart: correct the record, or the "
                "order of the atoms"
            )
    with_bond = {j for _, j in stated}
    bonds = {*stated, *((i, j) for i, j in near if j not in with_bond)}
    return tuple(sorted(bond for bond in bonds if bond[1] not in of_water))


def _stated_bonds(path: Path) -> list[tuple[int, int]]:
    """Both directions of the bonds of CONECT records, by the numbers of atoms in their order."""
    with dataset_faults(path):
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    end = next((i for i, line in enumerate(lines) if line.startswith("ENDMDL")), len(lines))
    serials = [line[6:11].strip() for line in lines[:end] if line.startswith(("ATOM  ", "HETATM"))]
    index = {serial: i for i, serial in enumerate(serials)}
    bonds = []
    for line in lines:
        if line.startswith("CONECT"):
            fields = [line[start : start + 5].strip() for start in range(6, 31, 5)]
            atoms = [index[field] for field in fields if field in index]
            bonds += [pair for other in atoms[1:] for pair in ((atoms[0], other), (other, atoms[0]))]
    return bonds


def _reference_positions(pdb: PdbStructure, path: Path, reference_path: Path) -> Mapping[int, tuple[float, ...]]:
    """By Cα atom of the structure, its position in the reference.

    Raises:
        DatasetError: the residues, or the atoms of one, are not those of the reference; one line.
    """
    reference = read_pdb(reference_path)
    ours, theirs = ([r for r in each.residues if r.name not in WATERS] for each in (pdb, reference))
    if len(ours) != len(theirs):
        raise DatasetError(
            f"{reference_path}: has {len(theirs)} residues, {path.name} {len(ours)}: take both files from one release"
        )
    positions = {}
    for residue, other in zip(ours, theirs, strict=True):
        if (residue.name, residue.atoms.keys()) != (other.name, other.atoms.keys()):
            names = sorted(residue.atoms.keys() ^ other.atoms.keys())
            differing = f" (atoms {', '.join(names)})" if residue.name == other.name else ""
            raise DatasetError(
                f"{reference_path}: {other.place} is not {residue.place} of {path.name}{differing}: take both files "
                "from one release"
            )
        if "CA" in residue.atoms and "N" in residue.atoms:
            positions[residue.atoms["CA"]] = reference.lines[other.atoms["CA"]].position
    return positions
