"""Bond lengths, angles, dihedrals and the planarity of rings, in each frame.

Vectors between bonded atoms are taken at their shortest periodic image, so molecules may lie across a boundary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.structures.frames import Float, Int
from tasks.trajectories.minimum_image import shortest_vectors
from tasks.trajectories.trajectory import Trajectory, frame_slices, index_array

AtomTuples = Sequence[Sequence[int]] | Int


def bond_lengths(trajectory: Trajectory, pairs: AtomTuples) -> Float:
    """(f, n) distances [Å] between the atoms of `pairs` (n, 2).

    Raises:
        ValueError: not pairs, or an atom that does not exist or is given twice in a pair.
    """
    indices = _atom_tuples(trajectory, "pairs", pairs, 2)
    lengths = np.empty((len(trajectory), len(indices)))
    for frames in frame_slices(len(trajectory), 3 * len(indices)):
        (bonds,) = _bond_vectors(trajectory, indices, frames)
        lengths[frames] = np.linalg.norm(bonds, axis=2)
    return lengths


def bond_angles(trajectory: Trajectory, triples: AtomTuples) -> Float:
    """(f, n) angles [°] at the middle atoms of `triples` (n, 3), 0 to 180.

    Raises:
        ValueError: not triples, or an atom that does not exist or is given twice in a triple.
    """
    indices = _atom_tuples(trajectory, "triples", triples, 3)
    angles = np.empty((len(trajectory), len(indices)))
    for frames in frame_slices(len(trajectory), 6 * len(indices)):
        to_middle, from_middle = _bond_vectors(trajectory, indices, frames)
        angles[frames] = angles_between(-to_middle, from_middle)
    return angles


def dihedral_angles(trajectory: Trajectory, quadruples: AtomTuples) -> Float:
    """(f, n) dihedrals [°] about the middle bonds of `quadruples` (n, 4), −180 to 180, 0 for cis (IUPAC's sign).

    Raises:
        ValueError: not quadruples, or an atom that does not exist or is given twice in a quadruple.
    """
    indices = _atom_tuples(trajectory, "quadruples", quadruples, 4)
    dihedrals = np.empty((len(trajectory), len(indices)))
    for frames in frame_slices(len(trajectory), 9 * len(indices)):
        first, middle, last = _bond_vectors(trajectory, indices, frames)
        normal_first, normal_last = np.cross(first, middle), np.cross(middle, last)
        sine = np.einsum("fnk,fnk->fn", first, normal_last) * np.linalg.norm(middle, axis=2)
        cosine = np.einsum("fnk,fnk->fn", normal_first, normal_last)
        dihedrals[frames] = np.degrees(np.arctan2(sine, cosine))
    return dihedrals


def ring_planarities(trajectory: Trajectory, ring: Sequence[int] | Int) -> Float:
    """(f,) root mean square distance [Å] of the atoms of `ring` from their best plane.

    Raises:
        ValueError: fewer than 4 atoms, which are always in a plane, or an atom that does not exist or is given twice.
    """
    atoms = trajectory.atom_indices("ring", ring)
    if len(atoms) < 4:
        raise ValueError(f"ring: {len(atoms)} atoms are always in a plane: name at least 4")
    planarities = np.empty(len(trajectory))
    for frames in frame_slices(len(trajectory), 3 * len(atoms)):
        from_first = trajectory.positions[frames, atoms] - trajectory.positions[frames, atoms[:1]]
        whole = shortest_vectors(from_first, trajectory.cells[frames], trajectory.pbc)
        planarities[frames] = _plane_deviations(whole)
    return planarities


def angles_between(first: Float, second: Float) -> Float:
    """(...,) angles [°] between vectors (..., 3); right to the last digits also near 0 and 180."""
    sine = np.linalg.norm(np.cross(first, second), axis=-1)
    return np.asarray(np.degrees(np.arctan2(sine, np.einsum("...k,...k->...", first, second))))


def _plane_deviations(points: Float) -> Float:
    """(f,) root mean square distances of `points` (f, n, 3) from the best plane of each; NaN if a point is NaN."""
    centred = points - points.mean(axis=1, keepdims=True)
    finite = np.isfinite(centred).all(axis=(1, 2))
    smallest = np.linalg.svd(np.where(finite[:, None, None], centred, 0.0), compute_uv=False)[:, -1]
    return np.where(finite, smallest / np.sqrt(points.shape[1]), np.nan)


def _bond_vectors(trajectory: Trajectory, indices: Int, frames: slice) -> list[Float]:
    """(f, n, 3) vectors [Å] from each atom of the tuples `indices` (n, k) to the next one: k − 1 arrays."""
    positions, cells = trajectory.positions[frames], trajectory.cells[frames]
    return [
        shortest_vectors(positions[:, end] - positions[:, start], cells, trajectory.pbc)
        for start, end in zip(indices.T[:-1], indices.T[1:], strict=True)
    ]


def _atom_tuples(trajectory: Trajectory, name: str, atoms: AtomTuples, size: int) -> Int:
    """(n, size) the tuples as an array, checked."""
    indices = index_array(name, np.asarray(atoms), trajectory.n_atoms)
    if indices.ndim != 2 or indices.shape[1] != size:
        raise ValueError(f"{name} must have shape (n, {size}), not {indices.shape}")
    ordered = np.sort(indices, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise ValueError(f"{name}: an atom is given twice in one of them: name {size} different atoms")
    return indices
