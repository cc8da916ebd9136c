"""Like atoms that are exchanged between two structures which should have the same atoms in the same order.

The order as given is compared with the best assignment among atoms of one element: the one with the least sum of
squared displacements, along shortest periodic images, after the structures have been laid over each other. A cycle of
exchanged atoms is found where the assignment is much nearer, and most atoms hardly move. No exchange is a cycle that a
turn of a group explains: the hydrogens of a methyl group, or both halves of a phenyl ring, which keep their bonds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase.data import covalent_radii

from tasks.structures.frames import Bool, Float, Int
from tasks.trajectories.minimum_image import shortest_vectors
from tasks.trajectories.periodic_matching import crystal_displacements, matched, nearest
from tasks.trajectories.superposition import superposed

MOVED = 0.5  # Å: atoms that are exchanged move at least so far, since no two are as near to each other
STILL = 0.3  # Å: in the best order half of the atoms move no farther
NEARER = 4.0  # the sum of squares of a cycle is smaller by this factor in the best order
TURNED = 0.5  # Å: the atoms of a group that only turned are as near after the turn
BONDED = 1.3  # in the sum of the covalent radii
MAX_ATOMS = 2000  # that are assigned: more take seconds
ROUNDS = 5


class PlacedAtoms(NamedTuple):
    """The atoms of a structure, in their order.

    Args:
        positions: (n, 3) [Å].
        cell: (3, 3) [Å].
    """

    positions: Float
    cell: Float


class Exchange(NamedTuple):
    """Atoms that are exchanged.

    Args:
        atoms: their indices.
        given: the largest displacement of these in the given order [Å].
        best: likewise in the best order.
        is_all: whether no atom moves any more in the best order: the structures are copies of each other.
    """

    atoms: tuple[int, ...]
    given: float
    best: float
    is_all: bool


def exchanged_atoms(numbers: Int, pbc: Bool, first: PlacedAtoms, second: PlacedAtoms) -> Exchange | None:
    """The exchanged atoms of two structures; None if there are none.

    Args:
        numbers: (n,) the elements of both.
    """
    given = _displacements(pbc, first, second)
    if given is None or not _can_be_exchanged(numbers, given):
        return None
    order, best = _assigned(numbers, pbc, first, second, given)
    if np.median(np.linalg.norm(best, axis=1)) > STILL:
        return None
    given_squares, best_squares = (given**2).sum(axis=1), (best**2).sum(axis=1)
    exchanged: list[int] = []
    for cycle in _cycles(order):
        is_nearer = NEARER * best_squares[cycle].sum() < given_squares[cycle].sum()
        if is_nearer and given_squares[cycle].max() > MOVED**2 and not _is_turn(numbers, pbc, first, second, cycle):
            exchanged += cycle
    if not exchanged:
        return None
    atoms = sorted(exchanged)
    largest, smallest = float(given_squares[atoms].max()) ** 0.5, float(best_squares[atoms].max()) ** 0.5
    return Exchange(tuple(atoms), largest, smallest, bool(best_squares.max() < STILL**2))


def _displacements(pbc: Bool, first: PlacedAtoms, second: PlacedAtoms) -> Float | None:
    """(n, 3) displacements in the given order; None if no atom moves far, whatever the common translation."""
    if not pbc.any():
        return np.asarray(superposed(second.positions[None], first.positions)[0] - first.positions)
    cells_differ = pbc.all() and not np.allclose(first.cell, second.cell, rtol=0.0, atol=1e-6)
    if cells_differ:
        vectors = crystal_displacements(second.positions, second.cell, first.positions, first.cell)
    else:
        vectors = second.positions - first.positions
    images = nearest(vectors - np.median(vectors, axis=0), first.cell, pbc)
    if np.linalg.norm(images, axis=1).max() < MOVED / 2:
        return None
    return _without_translation(matched(vectors, first.cell, pbc), first.cell, pbc)


def _without_translation(vectors: Float, cell: Float, pbc: Bool) -> Float:
    """`vectors` (n, 3) without the translation of most atoms: the few that move far do not count."""
    images = nearest(vectors, cell, pbc)
    for _ in range(ROUNDS):
        images = nearest(images - np.median(images, axis=0), cell, pbc)
    return images


def _can_be_exchanged(numbers: Int, given: Float) -> bool:
    """Whether at least two like atoms move far."""
    far = numbers[np.linalg.norm(given, axis=1) > MOVED]
    return bool(len(far) > len(np.unique(far)))


def _assigned(numbers: Int, pbc: Bool, first: PlacedAtoms, second: PlacedAtoms, given: Float) -> tuple[Int, Float]:
    """(n,) which atom of the second structure belongs to each of the first, and (n, 3) their displacements.

    Only atoms that move far are assigned anew in a periodic structure: the others hold it in its place. How a molecule
    is turned depends on all atoms. Assignment and superposition are repeated.
    """
    order: Int = np.arange(len(numbers), dtype=np.int64)
    far = np.flatnonzero(np.linalg.norm(given, axis=1) > MOVED) if pbc.any() else order
    best = given
    if len(far) > MAX_ATOMS:
        return order, best
    for _ in range(ROUNDS):
        change = _best_order(numbers, first.positions, first.positions + best, far, first.cell, pbc)
        if (change == np.arange(len(change))).all():
            break
        order = order[change]
        if pbc.any():
            moved = (first.positions + best)[change] - first.positions
            best = _without_translation(moved, first.cell, pbc)
        else:
            best = np.asarray(superposed(second.positions[order][None], first.positions)[0] - first.positions)
    return order, best


def _best_order(numbers: Int, here: Float, there: Float, atoms: Int, cell: Float, pbc: Bool) -> Int:
    """(n,) the order of `there` (n, 3) with the least sum of squares from `here`, for `atoms` of one element each."""
    from scipy.optimize import linear_sum_assignment  # it takes long to import, and few structures need it

    order: Int = np.arange(len(numbers), dtype=np.int64)
    for element in np.unique(numbers[atoms]):
        like = atoms[numbers[atoms] == element]
        vectors = there[like][None] - here[like][:, None]
        images = shortest_vectors(vectors.reshape(1, -1, 3), cell[None], pbc)
        squares = (images**2).sum(axis=2).reshape(len(like), len(like))
        order[like] = like[linear_sum_assignment(squares)[1]]
    return order


def _cycles(order: Int) -> list[list[int]]:
    """The cycles of a permutation that have at least two atoms."""
    cycles, seen = [], set[int]()
    for start in np.flatnonzero(order != np.arange(len(order))).tolist():
        cycle, atom = list[int](), start
        while atom not in seen:
            seen.add(atom)
            cycle.append(atom)
            atom = int(order[atom])
        if cycle:
            cycles.append(cycle)
    return cycles


def _is_turn(numbers: Int, pbc: Bool, first: PlacedAtoms, second: PlacedAtoms, cycle: list[int]) -> bool:
    """Whether the atoms of `cycle` and their neighbours, two bonds far, were turned together as a rigid body."""
    here = nearest(first.positions - first.positions[cycle[0]], first.cell, pbc)
    there = nearest(second.positions - second.positions[cycle[0]], second.cell, pbc)
    group = np.isin(np.arange(len(numbers)), cycle)
    for _ in range(2):
        near = np.flatnonzero(group)
        reach = BONDED * (covalent_radii[numbers][None, :] + covalent_radii[numbers[near]][:, None])
        vectors = here[None, :] - here[near][:, None]
        images = shortest_vectors(vectors.reshape(1, -1, 3), first.cell[None], pbc).reshape(vectors.shape)
        group = group | (np.linalg.norm(images, axis=2) < reach).any(axis=0)
    chosen = np.flatnonzero(group)
    away = superposed(there[chosen][None], here[chosen])[0] - here[chosen]
    return bool(np.linalg.norm(away, axis=1)[np.isin(chosen, cycle)].max() < TURNED)
