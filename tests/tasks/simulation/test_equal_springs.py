"""Crystals of equal springs by hand: one oscillator, the classical limit, and Debye's law."""

from __future__ import annotations

import numpy as np
import pytest
from ase import units

from tasks.simulation.equal_springs import DEBYE, equal_springs

R = 8.314462618  # J/mol/K


def test_an_atom_with_a_frequency_of_the_temperature() -> None:
    """x = 1: C = 3 R e / (e - 1)², S = 3 R (1 / (e - 1) - ln(1 - 1/e)), F = 3 R T (1/2 + ln(1 - 1/e))."""
    kelvin = np.array([300.0])
    stiffness = 63.546 * units._amu * (kelvin * units._k / units._hbar) ** 2 / (units._e * 1e20)
    found = equal_springs(np.array([29]), 1.0, stiffness, 300.0)
    assert found.max_frequency_k == found.min_frequency_k == found.mean_frequency_k == pytest.approx(kelvin)
    assert found.heat_capacity_j_per_mol_k == pytest.approx([3 * R * 0.9206735942], rel=1e-6)
    assert found.entropy_j_per_mol_k == pytest.approx([3 * R * (0.5819767069 + 0.4586751454)], rel=1e-6)
    assert found.free_energy_kj_per_mol == pytest.approx([0.9 * R * (0.5 - 0.4586751454)], rel=1e-6)


def test_light_atoms_vibrate_faster_and_numbers_are_of_a_primitive_cell() -> None:
    """Boron (10.81) and gold (196.97), twice each in two primitive cells; in the classical limit, 3 R an atom."""
    found = equal_springs(np.array([5, 79, 5, 79]), 2.0, np.array([1.0, 4.0]), 1e5)
    assert found.max_frequency_k / found.min_frequency_k == pytest.approx([np.sqrt(196.96657 / 10.81)] * 2, rel=1e-4)
    assert found.max_frequency_k[1] == pytest.approx(2 * found.max_frequency_k[0])
    assert found.heat_capacity_j_per_mol_k == pytest.approx([6 * R] * 2, rel=1e-4)


def test_the_energy_of_joined_atoms_is_that_of_debye() -> None:
    """Zero-point energy 9/8 R θ, mean frequency 3/4 θ; C of 3 R (1 - θ² / 20 T²) at a high temperature."""
    found = equal_springs(np.array([29]), 1.0, np.array([3.0]), 1000.0, DEBYE)
    theta = found.max_frequency_k[0]
    assert found.mean_frequency_k[0] == pytest.approx(0.75 * theta, rel=2e-3)
    assert found.heat_capacity_j_per_mol_k[0] == pytest.approx(3 * R * (1 - (theta / 1000) ** 2 / 20), rel=1e-3)
    cold = equal_springs(np.array([29]), 1.0, np.array([3.0]), 1.0, DEBYE)
    assert cold.free_energy_kj_per_mol[0] == pytest.approx(9 / 8 * R * theta / 1000, rel=2e-3)
