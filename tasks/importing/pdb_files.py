"""Structures of PDB files: elements, names, residues and chains of atoms, and the cell.

The first model counts. Molecules that lie across the boundary of the cell are made whole. A file whose atoms are not
those of one whole structure gets one line with file and residue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ase import Atoms
from ase.cell import Cell
from ase.data import atomic_numbers

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.datasets.protein_analyses import BackboneResidue
from tasks.simulation.molecules import molecules_of, whole_molecules
from tasks.structures.frames import Float, Frames

AMINO_ACIDS = frozenset(
    ["ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE", "PRO", "SER",
    "THR", "TRP", "TYR", "VAL", "HID", "HIE", "HIP", "HSD", "HSE", "HSP", "CYX", "CYM", "ASH", "GLH", "LYN",
    "ACE", "NME", "NMA", "NH2"]
)  # fmt: skip
WATERS = frozenset(("HOH", "WAT", "SOL", "TIP", "TIP3", "TP3", "H2O", "DOD"))
# The oxygen of the last residue has many names; the first that exists counts.
BACKBONE_OXYGENS = ("O", "OC1", "OT1", "O1", "OXT")
LONGEST_PEPTIDE_BOND = 2.0  # Å
NO_CELL = (1.0, 1.0, 1.0)  # what files without a crystal state


class AtomLine(NamedTuple):
    """An atom as the file has it."""

    name: str
    element: str
    residue: str
    chain: str
    number: str
    position: tuple[float, float, float]
    alternate: str

    @property
    def place(self) -> str:
        """The residue."""
        return " ".join(part for part in (self.residue, self.chain, self.number) if part)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The names by which an atom of another file is the same."""
        return self.chain, self.number, self.residue, self.name


class Residue(NamedTuple):
    """Atoms that follow each other, by name."""

    name: str
    chain: str
    number: str
    atoms: dict[str, int]

    @property
    def place(self) -> str:
        return " ".join(part for part in (self.name, self.chain, self.number) if part)


@dataclass(frozen=True, eq=False)
class PdbStructure:
    """A structure, and the names of its atoms.

    Args:
        cell: (3, 3) [Å]; None if it is not periodic.
    """

    lines: Sequence[AtomLine]
    residues: Sequence[Residue]
    cell: Float | None

    @property
    def positions(self) -> Float:
        """(N, 3) [Å]."""
        return np.array([line.position for line in self.lines])

    @property
    def atoms(self) -> Atoms:
        symbols = [line.element for line in self.lines]
        return Atoms(symbols, self.positions, cell=self.cell, pbc=self.cell is not None)

    def named(self, name: str) -> list[int]:
        """The atoms of that name, such as CA; ions of the element Ca only if no other atom has it."""
        atoms = [i for i, line in enumerate(self.lines) if line.name == name]
        return [i for i in atoms if self.lines[i].element.upper() != name] or atoms

    def backbone(self) -> list[BackboneResidue]:
        """The residues with N, CA, C and O; a chain ends where two of them are not bonded."""
        residues: list[BackboneResidue] = []
        chain, before = 0, None
        for residue in self.residues:
            oxygens = [residue.atoms[name] for name in BACKBONE_OXYGENS if name in residue.atoms]
            if not ({"N", "CA", "C"} <= residue.atoms.keys() and oxygens):
                continue
            n, ca, c = (residue.atoms[name] for name in ("N", "CA", "C"))
            gap = 0.0 if before is None else float(np.linalg.norm(self.positions[n] - self.positions[before]))
            chain += gap > LONGEST_PEPTIDE_BOND
            residues.append(BackboneResidue(name=residue.name, chain=chain, n=n, ca=ca, c=c, o=oxygens[0]))
            before = c
        return residues


def read_pdb(path: Path, cell: Float | None = None) -> PdbStructure:
    """The first model of a PDB file, with whole molecules.

    Args:
        cell: (3, 3) [Å] of a file that states none.

    Raises:
        DatasetError: the file has no atoms, a number or an element is missing, an atom is there twice, models differ,
            or a residue has no hydrogens; one line that names file and residue.
    """
    try:
        text = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read: {error.strerror}") from None
    models = _models(text)
    counts = [len(model) for model in models]
    if not counts or not counts[0]:
        raise DatasetError(f"{path}: has no ATOM or HETATM records")
    for k, count in enumerate(counts):
        if count != counts[0]:
            raise DatasetError(f"{path}: model {k + 1} has {count} atoms, model 1 {counts[0]}: keep one model")
    lines = [_atom_line(record, path) for record in models[0]]
    residues = _residues(lines, path)
    _check_hydrogens(residues, lines, path)
    stated = _cell(text, path)
    return _whole(PdbStructure(lines, residues, cell if stated is None else stated), path)


def _whole(structure: PdbStructure, path: Path) -> PdbStructure:
    """The structure with whole molecules; a crystal, whose bonds do not end, stays as it is."""
    if structure.cell is None:
        return structure
    with dataset_faults(path):
        frames = Frames.from_atoms([structure.atoms])
    try:
        molecules = molecules_of(frames)
    except ValueError:
        return structure
    positions = whole_molecules(frames, molecules).positions.tolist()
    moved = [line._replace(position=(x, y, z)) for line, (x, y, z) in zip(structure.lines, positions, strict=True)]
    return replace(structure, lines=moved)


def _models(text: Sequence[str]) -> list[list[str]]:
    """The atom records of each model; one without MODEL records."""
    models: list[list[str]] = [[]]
    for record in text:
        if record.startswith("MODEL ") and models[-1]:
            models.append([])
        elif record.startswith(("ATOM  ", "HETATM")):
            models[-1].append(record)
    return models


def _atom_line(record: str, path: Path) -> AtomLine:
    name, residue = record[12:16].strip(), record[17:21].strip()
    chain, number = record[21:22].strip(), record[22:27].strip()
    place = " ".join(part for part in (residue, chain, number) if part)
    try:
        x, y, z = (float(record[k : k + 8]) for k in (30, 38, 46))
    except ValueError:
        raise DatasetError(f"{path}: {place}: atom {name}: its position is not three numbers") from None
    element = _element(record, residue)
    if not element:
        raise DatasetError(f"{path}: {place}: atom {name} states no element: write it in columns 77 and 78")
    return AtomLine(name, element, residue, chain, number, (x, y, z), record[16:17].strip())


def _element(record: str, residue: str) -> str:
    """The symbol in columns 77 and 78, else of the name if it leaves no doubt; else empty."""
    stated = record[76:78].strip().capitalize()
    if stated in atomic_numbers and stated != "X":
        return stated
    word = "".join(character for character in record[12:16] if character.isalpha()).capitalize()
    if residue in AMINO_ACIDS or residue in WATERS:
        return word[:1] if word[:1] in atomic_numbers else ""
    is_short = record[12:13] == " " or len(word) == 1
    symbol = word[:1] if is_short else word
    return symbol if symbol in atomic_numbers and symbol != "X" else ""


def _residues(lines: Sequence[AtomLine], path: Path) -> list[Residue]:
    starts = [0, *(i for i, (a, b) in enumerate(pairwise(lines), 1) if a[2:5] != b[2:5]), len(lines)]
    residues = []
    for start, end in pairwise(starts):
        first = lines[start]
        names = [line.name for line in lines[start:end]]
        twice = [name for name, count in Counter(names).items() if count > 1]
        alternates = any(line.alternate for line in lines[start:end])
        if twice and (alternates or first.residue in AMINO_ACIDS or first.residue in WATERS):
            raise DatasetError(
                f"{path}: {first.place}: atom {twice[0]} is there twice: keep one of the alternate locations"
            )
        residues.append(Residue(*first[2:5], dict(zip(names, range(start, end), strict=True))))
    return residues


def _check_hydrogens(residues: Sequence[Residue], lines: Sequence[AtomLine], path: Path) -> None:
    for residue in residues:
        elements = [lines[atom].element for atom in residue.atoms.values()]
        n_hydrogens = elements.count("H")
        if residue.name in WATERS and (n_hydrogens, elements.count("O")) != (2, 1):
            raise DatasetError(f"{path}: {residue.place}: water with {n_hydrogens} hydrogens: add or remove hydrogens")
        if residue.name in AMINO_ACIDS and not n_hydrogens:
            raise DatasetError(f"{path}: {residue.place}: has no hydrogens: add them with a program for proteins")


def _cell(text: Sequence[str], path: Path) -> Float | None:
    """(3, 3) of CRYST1; None without one."""
    for record in text:
        if record.startswith("CRYST1"):
            try:
                parameters = [float(record[start:end]) for start, end in pairwise((6, 15, 24, 33, 40, 47, 54))]
                vectors = np.asarray(Cell.fromcellpar(parameters).array)
            except (ValueError, AssertionError):
                raise DatasetError(f"{path}: CRYST1: is not three lengths and three angles") from None
            if tuple(parameters[:3]) == NO_CELL:
                return None
            if not abs(np.linalg.det(vectors)) > 0:
                raise DatasetError(f"{path}: CRYST1: the cell has no volume: correct or remove the line")
            return vectors
    return None
