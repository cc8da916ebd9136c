"""Residues of a protein from a stated topology, and the atoms of their dihedrals φ, ψ and χ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.internal_coordinates import dihedral_angles
from tasks.trajectories.trajectory import Trajectory

# Four atoms of a residue, "-" of the one before and "+" of the one after it in the chain. The first that exists counts.
DIHEDRALS: Mapping[str, tuple[str, ...]] = {
    "phi": ("-C N CA C",),
    "psi": ("N CA C +N",),
    "chi1": ("N CA CB CG", "N CA CB CG1", "N CA CB SG", "N CA CB OG", "N CA CB OG1"),
    "chi2": (
        "CA CB CG CD",
        "CA CB CG CD1",
        "CA CB CG1 CD1",
        "CA CB CG OD1",
        "CA CB CG ND1",
        "CA CB CG SD",
    ),
    "chi3": ("CB CG CD NE", "CB CG CD CE", "CB CG CD OE1", "CB CG SD CE"),
    "chi4": ("CG CD NE CZ", "CG CD CE NZ"),
    "chi5": ("CD NE CZ NH1",),
}


@dataclass(frozen=True, eq=False)
class ProteinTopology:
    """Names of atoms and residues, as a PDB file states them; water and ions may be among the residues.

    Args:
        atom_names: (N,) such as "CA".
        residue_of_atom: (N,) from 0, in the order of the residues.
        residue_names: (R,) such as "GLY".
        chain_of_residue: (R,) from 0; consecutive residues of one chain are bonded.

    Raises:
        ValueError: lists of another length, residues out of order or without atoms, a name twice in a residue.
    """

    atom_names: tuple[str, ...]
    residue_of_atom: Int
    residue_names: tuple[str, ...]
    chain_of_residue: Int

    def __post_init__(self) -> None:
        if np.shape(self.residue_of_atom) != (len(self.atom_names),):
            raise ValueError(
                f"residue_of_atom: {len(self.residue_of_atom)} for {len(self.atom_names)} atoms: give one each"
            )
        if np.shape(self.chain_of_residue) != (len(self.residue_names),):
            n_chains, n_residues = len(self.chain_of_residue), len(self.residue_names)
            raise ValueError(f"chain_of_residue: {n_chains} for {n_residues} residues: give one each")
        steps = np.diff(self.residue_of_atom, prepend=-1, append=len(self.residue_names))
        if not np.isin(steps, (0, 1)).all() or steps[-1] != 1:
            raise ValueError(
                "residue_of_atom: residues must be 0, 1, 2 … in the order of the atoms, none without atoms"
            )

    @cached_property
    def atoms_of(self) -> Mapping[tuple[int, str], int]:
        """The index of each atom, by residue and name.

        Raises:
            ValueError: a name is twice in a residue.
        """
        atoms: dict[tuple[int, str], int] = {}
        for atom, key in enumerate(zip(self.residue_of_atom.tolist(), self.atom_names, strict=True)):
            if key in atoms:
                residue = f"{self.residue_names[key[0]]} {key[0]}"
                raise ValueError(
                    f"atom_names: {key[1]} is twice in residue {residue}: name each atom of a residue once"
                )
            atoms[key] = atom
        return atoms

    def named(self, atom_name: str) -> Int:
        """(n,) the atoms of that name, such as all "CA", in the order of the residues."""
        return np.array([i for i, name in enumerate(self.atom_names) if name == atom_name], np.int64)


class ResidueDihedrals(NamedTuple):
    """One dihedral of the residues that have it.

    Args:
        residues: (n,).
        angles: (f, n) [°], −180 to 180.
    """

    residues: Int
    angles: Float


def dihedral_atoms(topology: ProteinTopology, dihedral: str) -> tuple[Int, Int]:
    """(n,) residues that have `dihedral`, and (n, 4) its atoms.

    Raises:
        ValueError: no dihedral has that name.
    """
    if dihedral not in DIHEDRALS:
        raise ValueError(f"dihedral: there is no {dihedral}: take one of {', '.join(DIHEDRALS)}")
    residues, quadruples = [], []
    for residue in range(len(topology.residue_names)):
        for names in DIHEDRALS[dihedral]:
            atoms = [_atom(topology, residue, name) for name in names.split()]
            if None not in atoms:
                residues.append(residue)
                quadruples.append(atoms)
                break
    return np.array(residues, np.int64), np.array(quadruples, np.int64).reshape(-1, 4)


def residue_dihedrals(trajectory: Trajectory, topology: ProteinTopology, dihedral: str) -> ResidueDihedrals:
    """One of `DIHEDRALS` in each frame and residue that has it.

    Raises:
        ValueError: no dihedral has that name, or the topology has another number of atoms.
    """
    check_topology(trajectory, topology)
    residues, quadruples = dihedral_atoms(topology, dihedral)
    if not len(residues):
        return ResidueDihedrals(residues, np.zeros((len(trajectory), 0)))
    return ResidueDihedrals(residues, dihedral_angles(trajectory, quadruples))


def check_topology(trajectory: Trajectory, topology: ProteinTopology) -> None:
    """Checks that the topology is that of the trajectory.

    Raises:
        ValueError: it has another number of atoms.
    """
    if len(topology.atom_names) != trajectory.n_atoms:
        stated = f"{len(topology.atom_names)} atoms, the trajectory {trajectory.n_atoms}"
        raise ValueError(f"topology: it has {stated}: give the topology of the structure that was run")


def _atom(topology: ProteinTopology, residue: int, name: str) -> int | None:
    """The atom `name` of `residue`, or of a residue beside it in its chain if the name begins with - or +."""
    beside = {"-": -1, "+": 1}.get(name[0], 0)
    other = residue + beside
    if not 0 <= other < len(topology.residue_names):
        return None
    if topology.chain_of_residue[other] != topology.chain_of_residue[residue]:
        return None
    return topology.atoms_of.get((other, name[1:] if beside else name))
