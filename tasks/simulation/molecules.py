"""The molecules of a structure, by its bonds: a barostat moves them as rigid bodies."""

from __future__ import annotations

import numpy as np
from ase.data import covalent_radii
from ase.neighborlist import neighbor_list

from tasks.structures.frames import Frames, Int

BOND = 1.2
"""Two atoms are bonded that are closer than this times the sum of their covalent radii."""


def molecules_of(frames: Frames) -> Int:
    """(N,) the number of the molecule of each atom, counted through over all structures.

    Raises:
        ValueError: bonds lead from an atom to its own image in the next cell, as in a crystal; the line names it.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers = np.empty(len(frames.numbers), np.int64)
    n_before = 0
    for index in range(len(frames)):
        atoms = frames.atoms(index)
        radii = BOND * covalent_radii[atoms.numbers]
        first, second, shifts = neighbor_list("ijS", atoms, radii)
        bonds = coo_array((np.ones(len(first)), (first, second)), shape=(len(atoms), len(atoms)))
        n, molecule = connected_components(bonds, directed=False)
        if (endless := _endless(first, second, shifts, len(atoms))) is not None:
            raise ValueError(
                f"structure {index}: atom {endless} is bonded to its own image: in a crystal each atom is a molecule "
                "of its own"
            )
        numbers[frames.atom_slice(index)] = molecule + n_before
        n_before += n
    return numbers


def _endless(first: Int, second: Int, shifts: Int, n_atoms: int) -> int | None:
    """An atom from which bonds (first, second, shifts) lead to its image in another cell, if any."""
    neighbours: list[list[tuple[int, Int]]] = [[] for _ in range(n_atoms)]
    for i, j, shift in zip(first.tolist(), second.tolist(), shifts, strict=True):
        neighbours[i].append((j, shift))
    cells: list[Int | None] = [None] * n_atoms
    for start in range(n_atoms):
        if cells[start] is not None:
            continue
        cells[start], pending = np.zeros(3, np.int64), [start]
        while pending:
            i = pending.pop()
            for j, shift in neighbours[i]:
                reached = np.asarray(cells[i]) + shift
                known = cells[j]
                if known is None:
                    cells[j] = reached
                    pending.append(j)
                elif (known != reached).any():
                    return j
    return None
