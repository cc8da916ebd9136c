"""Doubtful lengths, compared with sums of covalent radii: nm or bohr taken for Å."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from ase.data import covalent_radii
from ase.neighborlist import neighbor_list

from tasks.importing.import_checks import MIN_VOLUME, small_molecules
from tasks.structures.frames import Float, Frames
from tasks.trajectories.pair_distances import least_pair_distances, molecules_of

# In r_i + r_j. Bonds have 0.8 to 1.2 of it, atoms in rare gases up to 2.7, and thermal motion takes off a few per cent.
SHORTEST, FARTHEST = 0.45, 3.0
# Of half the structures. Å taken for bohr is 1.89 of what is meant, and bohr taken for Å the inverse.
DENSE_SET, SPARSE_SET = 0.62, 1.4
# Most structures have a pair within the first of these; the larger ones cost more, and are tried if there is none.
SEARCHED = (1.3, 2.0, FARTHEST)


def nearest_in_radii(frames: Frames) -> Float:
    """(n,) the shortest distance of two atoms of each structure, images included, in the sum of their covalent radii.

    inf beyond 3; NaN for a single atom (its images show nothing), or an impossibly small cell.
    Radii: Cordero et al., doi:10.1039/b801115j, as ASE has them.
    """
    nearest = np.full(len(frames), np.nan)
    vectors = np.where(frames.pbc, np.linalg.norm(frames.cell, axis=2), np.inf).min(axis=1)
    tiny = (frames.volumes / frames.n_atoms < MIN_VOLUME) | (vectors < MIN_VOLUME)
    several, small = frames.n_atoms > 1, small_molecules(frames)
    for molecule in molecules_of(frames, np.flatnonzero(several & small)):
        first, second = np.triu_indices(len(molecule.numbers), 1)
        radii = covalent_radii[molecule.numbers]
        least = least_pair_distances(molecule.positions, radii[first] + radii[second])
        nearest[molecule.indices] = np.where(least < FARTHEST, least, np.inf)
    for i in np.flatnonzero(~tiny & several & ~small):
        atoms = frames.atoms(int(i))
        radii = covalent_radii[atoms.numbers]
        for reach in SEARCHED:
            first, second, distance = neighbor_list("ijd", atoms, radii * reach)
            nearest[i] = (distance / (radii[first] + radii[second])).min(initial=np.inf)
            if np.isfinite(nearest[i]):
                break
    return nearest


def doubtful_lengths(frames: Frames, ids: Sequence[str]) -> list[str]:
    """A line each for structures, or half of all, whose atoms are too near or too far from each other."""
    nearest = nearest_in_radii(frames)
    lines = []
    near, far = np.flatnonzero(nearest < SHORTEST), np.flatnonzero(nearest > FARTHEST)
    if near.size:
        worst = int(near[np.argmin(nearest[near])])
        lines.append(
            f"positions: {ids[worst]}: a shortest distance of {nearest[worst]:.2f} times the sum of the covalent "
            f"radii{_more(near.size)} is less than {SHORTEST}: nm taken for Å, Å taken for bohr, or atoms that overlap?"
        )
    if far.size:
        lines.append(
            f"positions: {ids[int(far[0])]}: no two atoms{_more(far.size)} are within {FARTHEST:g} times the sum of "
            "their covalent radii: Å taken for nm, bohr taken for Å, or fragments far apart?"
        )
    middle = float(np.median(nearest[~np.isnan(nearest)])) if (~np.isnan(nearest)).any() else 1.0
    begin = (
        f"positions: half of the structures have shortest distances of {middle:.2f} times the sum of the covalent radii"
    )
    if middle < DENSE_SET and 2 * near.size < len(nearest):
        lines.append(f"{begin} and less: Å taken for bohr (1.89)?")
    if SPARSE_SET < middle <= FARTHEST:
        lines.append(f"{begin} and more: bohr taken for Å (1.89)?")
    return lines


def _more(n: int) -> str:
    return f" ({n} structures in all)" if n > 1 else ""
