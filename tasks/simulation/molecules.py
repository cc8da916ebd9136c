"""The molecules of a structure, by its bonds: a barostat moves them as rigid bodies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase.data import covalent_radii

from tasks.structures.frames import Frames, Int

BOND = 1.2
"""Two atoms are bonded that are closer than this times the sum of their covalent radii."""


def molecules_of(frames: Frames) -> Int:
    """(N,) the number of the molecule of each atom, counted through over all structures.

    Raises:
        ValueError: bonds lead from an atom to its own image in the next cell, as in a crystal; the line names it.
    """
    numbers = np.empty(len(frames.numbers), np.int64)
    n_before = 0
    for index in range(len(frames)):
        bonds = _bonds(frames, index)
        walk = _walked(bonds, int(frames.n_atoms[index]))
        if walk.endless is not None:
            raise ValueError(
                f"structure {index}: atom {walk.endless} is bonded to its own image: in a crystal each atom is a "
                "molecule of its own"
            )
        numbers[frames.atom_slice(index)] = walk.molecule + n_before
        n_before += int(walk.molecule.max()) + 1
    return numbers


def check_molecules(frames: Frames, molecules: Int) -> None:
    """Checks that bonds hold the atoms of each molecule together.

    Args:
        molecules: (N,) numbers, which atoms of one structure share.

    Raises:
        ValueError: a molecule falls apart; the line names structure, molecule and atom.
    """
    for index in range(len(frames)):
        own = molecules[frames.atom_slice(index)]
        walk = _walked(_inside(_bonds(frames, index), own), len(own))
        for number in np.unique(own):
            atoms = np.flatnonzero(own == number)
            apart = atoms[walk.molecule[atoms] != walk.molecule[atoms[0]]]
            if apart.size:
                raise ValueError(
                    f"structure {index}: molecule {number}: no bonds lead from atom {atoms[0]} to atom {apart[0]}: "
                    "correct the numbers, or leave them out"
                )


def whole_molecules(frames: Frames, molecules: Int) -> Frames:
    """`frames` with atoms at those periodic images at which the bonds within each molecule are short.

    A barostat moves a molecule as it is: one that lies across the boundary would be torn.
    """
    positions = frames.positions.copy()
    for index in range(len(frames)):
        chosen = frames.atom_slice(index)
        own = molecules[chosen]
        walk = _walked(_inside(_bonds(frames, index), own), len(own))
        positions[chosen] += walk.cells @ frames.cell[index]
    return frames.moved(positions)


class _Bonds(NamedTuple):
    """(b,) atoms at both ends of each bond, and (b, 3) the cell of the second one relative to that of the first."""

    first: Int
    second: Int
    shifts: Int


class _Walk(NamedTuple):
    """The result of following bonds.

    Args:
        molecule: (n,) of each atom, from 0.
        cells: (n, 3) of each atom relative to the first atom of its molecule.
        endless: an atom that is bonded to its own image, if any.
    """

    molecule: Int
    cells: Int
    endless: int | None


def _bonds(frames: Frames, index: int) -> _Bonds:
    from ase.neighborlist import neighbor_list  # slow to import, and only needed here

    atoms = frames.atoms(index)
    return _Bonds(*neighbor_list("ijS", atoms, BOND * covalent_radii[atoms.numbers]))


def _inside(bonds: _Bonds, molecules: Int) -> _Bonds:
    """The bonds within molecules."""
    kept = molecules[bonds.first] == molecules[bonds.second]
    return _Bonds(*(part[kept] for part in bonds))


def _walked(bonds: _Bonds, n_atoms: int) -> _Walk:
    """The molecules that `bonds` make of the atoms."""
    neighbours: list[list[tuple[int, Int]]] = [[] for _ in range(n_atoms)]
    for i, j, shift in zip(bonds.first.tolist(), bonds.second.tolist(), bonds.shifts, strict=True):
        neighbours[i].append((j, shift))
    molecule, cells = np.full(n_atoms, -1), np.zeros((n_atoms, 3), np.int64)
    endless, n = None, 0
    for start in range(n_atoms):
        if molecule[start] >= 0:
            continue
        molecule[start], pending = n, [start]
        while pending:
            i = pending.pop()
            for j, shift in neighbours[i]:
                reached = cells[i] + shift
                if molecule[j] < 0:
                    molecule[j], cells[j] = n, reached
                    pending.append(j)
                elif endless is None and (cells[j] != reached).any():
                    endless = j
        n += 1
    return _Walk(molecule, cells, endless)
