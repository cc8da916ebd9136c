"""The shortest distances of atoms in many structures at once, images included.

Structures of as many atoms, with as many images, are compared pair by pair in one go; the largest ones by a neighbour
list, one after another.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from ase.data import covalent_radii
from ase.geometry import complete_cell
from ase.neighborlist import neighbor_list
from numpy.typing import NDArray

from tasks.importing.import_checks import MIN_DISTANCE, MIN_VOLUME
from tasks.importing.reading.progress_report import Report, silent
from tasks.structures.frames import Bool, Float, Frames, Int

# Å: pairs farther apart are not searched for.
SEARCHED = 3.0
# The same in r_i + r_j. Most structures have a pair within the first of these; the larger ones cost more.
SEARCHED_RADII = (1.3, 2.0, 3.0)
# Structures with more pairs, images included, are searched by a neighbour list.
MAX_PAIRS = 200_000
# Pairs that are held in memory at once.
PAIRS_AT_ONCE = 300_000
# Å³: a cell of a smaller volume has no inverse.
NO_VOLUME = 1e-6


class NearestAtoms(NamedTuple):
    """The shortest distances between two atoms of n structures.

    Args:
        distance: (n,) [Å]; inf beyond 3 Å. Of an impossibly small cell it is an upper bound: the cell would have
            billions of images within 3 Å.
        in_radii: (n,) in the sum of their covalent radii; inf beyond 3; NaN for a single atom (its images show
            nothing), or an impossibly small cell. Radii: Cordero et al., doi:10.1039/b801115j, as ASE has them.
    """

    distance: Float
    in_radii: Float


def nearest_atoms(frames: Frames, report: Report = silent) -> NearestAtoms:
    """The shortest distances in each structure."""
    n, several = len(frames), frames.n_atoms > 1
    # The densest packing keeps atoms farthest apart.
    packed = np.cbrt(2**0.5 * frames.volumes / frames.n_atoms)
    vectors = np.where(frames.pbc, np.linalg.norm(frames.cell, axis=2), np.inf).min(axis=1)
    dense = frames.volumes / frames.n_atoms < MIN_VOLUME
    distance, in_radii = np.fmin(packed, vectors), np.full(n, np.nan)
    measured = ~dense & (vectors >= MIN_DISTANCE)
    largest = np.maximum.reduceat(covalent_radii[frames.numbers], frames.offsets[:-1])
    todo, n_done = np.flatnonzero(measured), 0
    for share in SEARCHED_RADII:
        for part, nearest in _nearest(frames, todo, np.maximum(SEARCHED, 2 * share * largest[todo])):
            distance[part] = np.where(nearest.distance < SEARCHED, nearest.distance, np.inf)
            in_radii[part] = np.where(nearest.in_radii < share, nearest.in_radii, np.inf)
            n_done = min(n, n_done + len(part))
            report(n_done, n, "structures")
        todo = todo[several[todo] & np.isinf(in_radii[todo])]
    in_radii[~several | (vectors < MIN_VOLUME)] = np.nan
    return NearestAtoms(distance, in_radii)


def _nearest(frames: Frames, chosen: Int, reach: Float) -> Iterator[tuple[Int, NearestAtoms]]:
    """Parts of the structures `chosen` (m,), and their shortest distances, which are right up to `reach` (m,) [Å]."""
    if not chosen.size:
        return
    cells, pbc, n_atoms = _complete_cells(frames)[chosen], frames.pbc[chosen], frames.n_atoms[chosen]
    flat = np.abs(np.linalg.det(cells)) < NO_VOLUME
    inverse = np.linalg.inv(np.where(flat[:, None, None], np.eye(3), cells))
    # A vector with a fractional component f is no shorter than |f| times the height of the cell in that direction.
    heights = 1.0 / np.linalg.norm(inverse, axis=1)
    images = np.where(pbc, np.floor(reach[:, None] / heights + 0.5), 0.0)
    n_pairs = n_atoms * (n_atoms - 1) / 2 * (2 * images + 1).prod(axis=1)
    listed = flat | (n_pairs > MAX_PAIRS)
    forms, form_of = np.unique(np.column_stack([n_atoms, images]), axis=0, return_inverse=True)
    for number, (n, *shifts) in enumerate(forms.astype(np.int64).tolist()):
        members = np.flatnonzero(~listed & (form_of.reshape(-1) == number))
        at_once = max(1, PAIRS_AT_ONCE // max(1, n * (n - 1) // 2))
        for begin in range(0, len(members), at_once):
            part = members[begin : begin + at_once]
            atoms = frames.atom_indices(chosen[part]).reshape(-1, n)
            radii, periodic = (
                covalent_radii[frames.numbers[atoms]],
                pbc[part] if any(shifts) or pbc[part].any() else None,
            )
            yield chosen[part], _by_pairs(frames.positions[atoms], radii, cells[part], inverse[part], periodic, shifts)
    for i in np.flatnonzero(listed):
        yield chosen[[i]], _by_list(frames, int(chosen[i]))


def _by_pairs(
    positions: Float, radii: Float, cell: Float, inverse: Float, pbc: Bool | None, images: list[int]
) -> NearestAtoms:
    """The shortest distances of f structures with n atoms each.

    Args:
        positions: (f, n, 3) [Å].
        radii: (f, n) [Å].
        cell, inverse: (f, 3, 3).
        pbc: (f, 3); None: no direction is periodic.
        images: how many cells are searched on each side in each direction.
    """
    first, second = np.triu_indices(positions.shape[1], 1)
    apart = positions[:, first] - positions[:, second]
    if pbc is not None:
        apart -= (np.round(apart @ inverse) * pbc[:, None]) @ cell
    axes = np.ascontiguousarray(np.moveaxis(apart, 2, 0))
    squares, to_itself = np.full(axes.shape[1:], np.inf), np.full(len(positions), np.inf)
    for image in product(*(range(-n, n + 1) for n in images)):
        shift = (np.array(image, np.float64) @ cell).T
        np.minimum(
            squares, sum((axis + step[:, None]) ** 2 for axis, step in zip(axes, shift, strict=True)), out=squares
        )
        if any(image):
            np.minimum(to_itself, (shift**2).sum(axis=0), out=to_itself)
    apart_in_radii = np.sqrt(squares) / (radii[:, first] + radii[:, second])
    own = np.sqrt(to_itself)
    return NearestAtoms(
        np.sqrt(np.fmin(squares.min(axis=1, initial=np.inf), to_itself)),
        np.fmin(apart_in_radii.min(axis=1, initial=np.inf), own / (2 * radii.max(axis=1))),
    )


def _by_list(frames: Frames, index: int) -> NearestAtoms:
    """The shortest distances of one structure, each of shape (1,)."""
    atoms = frames.atoms(index)
    radii = covalent_radii[atoms.numbers]
    distance, in_radii = neighbor_list("d", atoms, SEARCHED).min(initial=np.inf), np.inf
    for share in SEARCHED_RADII:
        first, second, apart = neighbor_list("ijd", atoms, radii * share)
        in_radii = (apart / (radii[first] + radii[second])).min(initial=np.inf)
        if np.isfinite(in_radii):
            break
    return NearestAtoms(np.array([distance]), np.array([in_radii]))


def _complete_cells(frames: Frames) -> NDArray[np.float64]:
    """(n, 3, 3) the cells; directions that are not periodic have a vector, too."""
    cells = frames.cell.copy()
    cells[~frames.pbc.any(axis=1)] = np.eye(3)
    for i in np.flatnonzero(frames.pbc.any(axis=1) & (np.abs(cells).sum(axis=2) == 0).any(axis=1)):
        cells[i] = complete_cell(cells[i])
    return cells
