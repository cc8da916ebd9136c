"""Replication into a range of sizes, and the largest size that fits."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.simulation.supercells import Counts, largest_that_fits, repeats


@settings(max_examples=60)
@given(
    edges=st.tuples(*[st.floats(2.0, 30.0)] * 3),
    pbc=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    n_atoms=st.integers(2, 60),
)
def test_cells_are_replicated_into_the_range_shortest_axes_most(
    edges: tuple[float, float, float], pbc: tuple[bool, bool, bool], n_atoms: int
) -> None:
    """Against every product of three counts."""
    lengths = np.array(edges)
    counts = repeats(np.diag(lengths), pbc, n_atoms, 80, 100)
    axes = [axis for axis in range(3) if pbc[axis]]
    most = [100 // n_atoms if periodic else 1 for periodic in pbc]
    possible = [
        (a, b, c)
        for a in range(1, most[0] + 1)
        for b in range(1, min(most[1], 100 // (n_atoms * a)) + 1)
        for c in range(1, min(most[2], 100 // (n_atoms * a * b)) + 1)
    ]
    atoms = {(a, b, c): a * b * c * n_atoms for a, b, c in possible}
    in_range = [c for c in possible if atoms[c] >= 80]
    assert counts in possible
    if not axes:
        return
    edges_of = {c: [c[axis] * edges[axis] for axis in axes] for c in possible}
    elongation = {c: max(each) / min(each) for c, each in edges_of.items()}
    if in_range:
        assert counts in in_range
        assert elongation[counts] <= min(elongation[c] for c in in_range) + 1e-5
    else:
        assert atoms[counts] == max(atoms.values())
    for axis, other in itertools.permutations(axes, 2):
        assert not (lengths[axis] < lengths[other] and counts[axis] < counts[other])


def test_a_cubic_cell_of_four_atoms_has_864() -> None:
    assert repeats(np.eye(3) * 4.0, (True, True, True), 4, 800, 1000) == (6, 6, 6)
    assert repeats(np.diag([4.0, 4.0, 100.0]), (True, True, False), 4, 800, 1000) == (15, 15, 1)
    assert repeats(np.diag([4.0, 4.0, 24.0]), (True, True, True), 24, 800, 1000) == (6, 6, 1)


@given(limit=st.integers(0, 20), n=st.integers(1, 20))
def test_bisection_finds_the_largest_that_fits_and_asks_few(limit: int, n: int) -> None:
    sizes: list[Counts] = [(k, 1, 1) for k in range(1, n + 1)]
    tried: list[int] = []

    def fits(counts: Counts) -> bool:
        tried.append(counts[0])
        return counts[0] <= limit

    largest = largest_that_fits(sizes, fits)
    assert largest == ((min(limit, n), 1, 1) if limit else None)
    assert len(tried) <= n.bit_length()
