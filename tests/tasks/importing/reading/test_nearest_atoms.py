"""Shortest distances of many structures at once are those of a neighbour list, in any cell."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.importing.reading import nearest_atoms as module
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.structures.frames import Frames


def by_list(frames: Frames) -> module.NearestAtoms:
    """The same by ASE's neighbour list alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_PAIRS", -1)
        return nearest_atoms(frames)


def random_structures(seed: int, n: int = 12) -> list[Atoms]:
    """Few atoms, some far outside their cells, which are skewed, small and periodic in some directions."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(n):
        n_atoms = int(rng.integers(1, 7))
        cell = rng.uniform(-1, 1, (3, 3)) * rng.uniform(0, 2) + np.diag(rng.uniform(2, 9, 3))
        pbc = rng.random(3) < rng.choice([0.0, 0.6, 1.0])
        cell[~pbc & (rng.random(3) < 0.5)] = 0.0
        positions = rng.uniform(-1, 1, (n_atoms, 3)) * rng.choice([3.0, 30.0])
        made.append(Atoms(rng.choice([1, 6, 29, 55], n_atoms), positions=positions, cell=cell, pbc=pbc))
    return made


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_distances_are_those_of_a_neighbour_list(seed: int) -> None:
    frames = Frames.from_atoms(random_structures(seed))
    np.testing.assert_allclose(nearest_atoms(frames), by_list(frames), rtol=1e-9)


def test_crystals_surfaces_and_molecules_together() -> None:
    made = [
        bulk("Cu"),
        bulk("W", cubic=True).repeat(3),
        fcc111("Pt", (2, 2, 3), vacuum=8),
        molecule("C60"),
        Atoms("He"),
    ]
    frames = Frames.from_atoms(made)
    np.testing.assert_allclose(nearest_atoms(frames), by_list(frames), rtol=1e-9)
    assert np.isinf(nearest_atoms(frames).distance[-1])


def test_the_sum_of_all_parts_is_reported() -> None:
    reports: list[tuple[int, int, str]] = []
    nearest_atoms(Frames.from_atoms([bulk("Cu")] * 3 + [molecule("CO")] * 2), lambda *done: reports.append(done))
    assert reports[-1] == (5, 5, "structures")
