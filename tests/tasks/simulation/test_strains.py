"""Strains, elastic tensors and their averages over all orientations."""

from __future__ import annotations

import numpy as np
import pytest
from ase.build import bulk

from tasks.simulation.strains import deformation, elastic_tensor, is_stable, moduli, strained, voigt_strains
from tasks.structures.frames import Float


def test_a_deformation_has_its_strain() -> None:
    rng = np.random.default_rng(2)
    for strain in (*voigt_strains((0.01,), (-0.06,)), rng.uniform(-0.1, 0.1, 6)):
        f = deformation(strain)
        xx, yy, zz, yz, xz, xy = strain * [1, 1, 1, 0.5, 0.5, 0.5]
        np.testing.assert_allclose((f.T @ f - np.eye(3)) / 2, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-15)
        assert np.allclose(f, np.triu(f))
        atoms = bulk("Si", cubic=True)
        deformed = strained(atoms, strain)
        np.testing.assert_allclose(deformed.positions, atoms.positions @ f.T, atol=1e-12)


def random_stable_tensor(rng: np.random.Generator) -> Float:
    root = rng.normal(size=(6, 6))
    return np.asarray(root @ root.T + 3 * np.eye(6))


def test_the_tensor_of_a_linear_crystal_without_symmetry_is_found_whatever_stress_is_left() -> None:
    rng = np.random.default_rng(7)
    strains = voigt_strains((-0.01, 0.02), (0.01, 0.03, -0.02))
    for _ in range(5):
        tensor, left = random_stable_tensor(rng), rng.normal(size=6)
        np.testing.assert_allclose(elastic_tensor(strains, strains @ tensor + left), tensor, atol=1e-9)


def test_voigt_and_reuss_are_averages_over_all_orientations() -> None:
    """For a crystal without symmetry, from the tensor of fourth rank: no Voigt notation, none of its factors of two."""
    rng = np.random.default_rng(11)
    index = np.array([[0, 5, 4], [5, 1, 3], [4, 3, 2]])
    twice = np.where(index > 2, 2.0, 1.0)
    for _ in range(5):
        tensor = random_stable_tensor(rng)
        stiffness = tensor[index[:, :, None, None], index[None, None]]
        compliance = np.linalg.inv(tensor)[index[:, :, None, None], index[None, None]]
        compliance = compliance / twice[:, :, None, None] / twice[None, None]
        # The isotropic part of c_ijkl has c_iijj = 9 K and c_ijij = 3 K + 10 G; of s_ijkl, 1/K and 1/(3K) + 5/(2G).
        c_iijj, c_ijij = np.einsum("iijj", stiffness), np.einsum("ijij", stiffness)
        s_iijj, s_ijij = np.einsum("iijj", compliance), np.einsum("ijij", compliance)
        averages = moduli(tensor)
        assert averages.k_voigt == pytest.approx(c_iijj / 9)
        assert averages.g_voigt == pytest.approx((c_ijij - c_iijj / 3) / 10)
        assert averages.k_reuss == pytest.approx(1 / s_iijj)
        assert averages.g_reuss == pytest.approx(5 / 2 / (s_ijij - s_iijj / 3))
        assert averages.k_reuss <= averages.k_vrh <= averages.k_voigt
        assert averages.g_reuss <= averages.g_vrh <= averages.g_voigt


def test_a_tensor_that_some_strain_lowers_is_not_stable() -> None:
    tensor = np.diag([3.0, 2.0, 1.0, 1.0, 1.0, 1.0])
    assert is_stable(tensor)
    tensor[0, 1] = tensor[1, 0] = 2.5  # 3 × 2 < 2.5²
    assert not is_stable(tensor)
    assert not is_stable(np.zeros((6, 6)))
    assert not is_stable(np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))
