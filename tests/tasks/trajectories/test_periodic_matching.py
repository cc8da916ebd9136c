"""Matching of periodic structures: what is no displacement is none, and what is left is its size."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import bulk, fcc111

from tasks.structures.frames import Bool, Float
from tasks.trajectories.periodic_matching import crystal_displacements, matched, nearest

ALL = np.ones(3, np.bool_)


def rms(vectors: Float) -> float:
    return float(np.sqrt((vectors**2).sum(axis=1).mean()))


def test_origin_images_strain_and_orientation_are_no_displacement() -> None:
    rng, crystal = np.random.default_rng(0), bulk("CaF2", "fluorite", a=5.46).repeat((2, 1, 1))
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    other = crystal.copy()
    other.set_cell(crystal.cell.array @ (np.eye(3) + 0.03 * rng.normal(size=(3, 3))) @ turn, scale_atoms=True)
    other.positions += rng.normal(size=3) + rng.integers(-2, 3, (len(other), 3)) @ other.cell.array
    for atoms in (other, crystal):
        displacements = crystal_displacements(atoms.positions, atoms.cell.array, crystal.positions, crystal.cell.array)
        np.testing.assert_allclose(matched(displacements, crystal.cell.array, ALL), 0.0, atol=1e-12)


def test_one_displaced_atom_is_that_far_less_the_common_translation() -> None:
    crystal = bulk("Cu", cubic=True).repeat(2)
    cell, n = crystal.cell.array, len(crystal)
    for atom in (0, 7):  # the first is tried as the origin, too
        displacements = np.zeros((n, 3))
        displacements[atom] = (0.6, 0.0, 0.0)
        displacements += (100.0, 2.0, -3.0)
        expected = 0.6 * np.sqrt((1 - 1 / n) / n)
        assert rms(matched(displacements, cell, ALL)) == pytest.approx(expected, abs=1e-12)


def test_the_result_is_the_least_over_all_translations_of_small_cells() -> None:
    rng = np.random.default_rng(3)
    cell = np.array([[3.0, 0.0, 0.0], [1.0, 3.2, 0.0], [-0.7, 0.4, 2.9]])
    for _ in range(6):
        displacements = 0.25 * rng.normal(size=(6, 3)) + rng.integers(-1, 2, (6, 3)) @ cell
        found = rms(matched(displacements, cell, ALL))
        grid = np.stack(np.meshgrid(*[np.arange(6) / 6] * 3), axis=-1).reshape(-1, 3) @ cell
        least = min(rms(nearest(displacements - translation, cell, ALL)) for translation in grid)
        assert found <= least + 1e-12


@pytest.mark.parametrize("pbc", [np.array([True, True, False]), np.zeros(3, np.bool_)])
def test_a_direction_without_period_has_no_images(pbc: Bool) -> None:
    slab = fcc111("Cu", (2, 2, 2), vacuum=5.0)
    displacements = np.zeros((len(slab), 3))
    displacements[0, 2] = 12.0
    n = len(slab)
    expected = 12.0 * np.sqrt((1 - 1 / n) / n)
    assert rms(matched(displacements, slab.cell.array, pbc)) == pytest.approx(expected, abs=1e-12)
