"""Which atoms of two trajectories of one molecule are the same, from their bonds: the orders that make them agree.

Atoms that the bonds alone cannot tell apart, such as the hydrogens of a methyl group, may be exchanged, so there are
often several orders. Bonds are pairs of atoms whose median distance over the frames is below 1.3 times the sum of their
covalent radii (Cordero et al., doi:10.1039/b801115j, as ASE has them), so that one stretched bond changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from ase.data import covalent_radii

from tasks.structures.frames import Bool, Int
from tasks.trajectories.pair_distances import MoleculeFrames, pair_distances

BONDED = 1.3  # in the sum of the covalent radii
# Frames at even distances that the median is taken over.
FRAMES = 200
# Of a molecule with more orders than this, as many are given.
MOST = 1000


def bonds(molecule: MoleculeFrames) -> Bool:
    """(n, n) which atoms are bonded."""
    n, step = len(molecule.numbers), max(1, len(molecule.positions) // FRAMES)
    first, second = np.triu_indices(n, 1)
    radii = covalent_radii[molecule.numbers]
    near = np.median(pair_distances(molecule.positions[::step]), axis=0) < BONDED * (radii[first] + radii[second])
    bonded = np.zeros((n, n), np.bool_)
    bonded[first[near], second[near]] = True
    return bonded | bonded.T


def same_molecule_orders(first: MoleculeFrames, other: MoleculeFrames) -> list[Int]:
    """Orders (n,) of the atoms of `first` in which they have the elements and bonds of those of `other`, at most 1,000.

    Empty if the two are not the same molecule. The order as it stands comes first if it is one.
    """
    if not np.array_equal(np.sort(first.numbers), np.sort(other.numbers)):
        return []
    ours, theirs = bonds(first), bonds(other)
    return list(islice(_orders(_kinds(first.numbers, ours), ours, _kinds(other.numbers, theirs), theirs), MOST))


def _kinds(numbers: Int, bonded: Bool) -> list[bytes]:
    """By atom, its element and surroundings, as bytes that are equal for atoms that may be equivalent."""
    kinds = [bytes([number]) for number in numbers.tolist()]
    neighbours = [np.flatnonzero(row).tolist() for row in bonded]
    for _ in numbers:  # as far as the molecule is long
        known = {kind: bytes([place]) for place, kind in enumerate(sorted(set(kinds)))}
        kinds = [
            known[kind] + b":" + b"".join(sorted(known[kinds[j]] for j in near))
            for kind, near in zip(kinds, neighbours, strict=True)
        ]
        if len(set(kinds)) == len(known):
            break
    names = {kind: place for place, kind in enumerate(sorted(set(kinds)))}
    return [bytes([number, names[kind]]) for number, kind in zip(numbers.tolist(), kinds, strict=True)]


def _orders(our_kinds: list[bytes], ours: Bool, their_kinds: list[bytes], theirs: Bool) -> Iterator[Int]:
    """All orders, by extending one atom at a time; atoms next to those that are placed come first."""
    if sorted(our_kinds) != sorted(their_kinds):
        return
    n = len(our_kinds)
    sequence = _connected(theirs)
    placed = np.full(n, -1, np.int64)
    taken = np.zeros(n, np.bool_)

    def extend(depth: int) -> Iterator[Int]:
        if depth == n:
            yield placed.copy()
            return
        atom = sequence[depth]
        before = sequence[:depth]
        # The same place first, so that the order as it stands is the first one.
        for each in sorted(range(n), key=lambda other: other != atom):
            if taken[each] or our_kinds[each] != their_kinds[atom]:
                continue
            if np.array_equal(ours[each, placed[before]], theirs[atom, before]):
                placed[atom], taken[each] = each, True
                yield from extend(depth + 1)
                placed[atom], taken[each] = -1, False

    yield from extend(0)


def _connected(bonded: Bool) -> list[int]:
    """All atoms, each next to one before it where the molecule allows."""
    sequence: list[int] = []
    remaining = set(range(len(bonded)))
    while remaining:
        near = [atom for atom in sorted(remaining) if bonded[atom, sequence].any()]
        atom = near[0] if near else min(remaining)
        sequence.append(atom)
        remaining.remove(atom)
    return sequence
