"""Which structures are drug-like molecules, by what their atoms and positions tell.

Mass and number of atoms are in the qualifying range of A. K. Ghose, V. N. Viswanadhan and J. J. Wendoloski, J. Comb.
Chem. 1, 55 (1999), doi:10.1021/cc9800071: 160 to 480 u, 20 to 70 atoms. Their other two criteria, log P and molar
refractivity, need bond orders and charges, which a structure does not state. The elements are those of organic
molecules, with carbon and with nitrogen or oxygen, as in drugs; the atoms are one molecule.
"""

from __future__ import annotations

import numpy as np
from ase.data import atomic_masses, atomic_numbers, covalent_radii

from tasks.simulation.molecules import BOND
from tasks.structures.frames import Bool, Frames

LEAST_MASS, MOST_MASS = 160.0, 480.0  # u
LEAST_ATOMS, MOST_ATOMS = 20, 70
_ORGANIC = np.array([atomic_numbers[s] for s in ("H", "C", "N", "O", "F", "P", "S", "Cl", "Br", "I")])
_CARBON, _POLAR = 6, (7, 8)


def drug_like(frames: Frames) -> Bool:
    """(n,) whether each structure is one drug-like molecule."""
    starts = np.cumsum(frames.n_atoms) - frames.n_atoms

    def number_of(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, starts)

    mass = number_of(atomic_masses[frames.numbers])
    result: Bool = (
        ~frames.pbc.any(axis=1)
        & (frames.n_atoms >= LEAST_ATOMS)
        & (frames.n_atoms <= MOST_ATOMS)
        & (mass >= LEAST_MASS)
        & (mass <= MOST_MASS)
        & (number_of(np.isin(frames.numbers, _ORGANIC).astype(np.int64)) == frames.n_atoms)
        & (number_of((frames.numbers == _CARBON).astype(np.int64)) > 0)
        & (number_of(np.isin(frames.numbers, _POLAR).astype(np.int64)) > 0)
    )
    for index in np.flatnonzero(result).tolist():
        result[index] = _is_one_molecule(frames, index)
    return result


def _is_one_molecule(frames: Frames, index: int) -> bool:
    from scipy.sparse.csgraph import connected_components  # it takes long to import
    from scipy.spatial.distance import pdist, squareform

    atoms = frames.atom_slice(index)
    radii = covalent_radii[frames.numbers[atoms]]
    bonded = squareform(pdist(frames.positions[atoms])) < BOND * (radii[:, None] + radii)
    n_molecules, _ = connected_components(bonded, directed=False)
    return bool(n_molecules == 1)
