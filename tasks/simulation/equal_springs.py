"""Crystals of equal springs: every atom vibrates on springs of one stiffness, whatever its element.

The vibrations of a model without chemistry, which is harmonic about the first structure that it gets. Its springs hold
atoms in their places (Einstein: one frequency an atom) or join them (Debye: frequencies from zero to that one, their
number growing with the square).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from ase import units
from ase.data import atomic_masses

from tasks.structures.frames import Float, Int

# ħ/k_B of √(eV/Å² / u) [K].
KELVIN = units._hbar * np.sqrt(units._e * 1e20 / units._amu) / units._k
GAS_CONSTANT = units._k * units._Nav  # J/mol/K


# The frequencies of an atom, as shares of its highest one: of each twentieth of the vibrations its middle.
EINSTEIN = np.ones(1)
DEBYE = ((np.arange(20) + 0.5) / 20) ** (1 / 3)


class EqualSprings(NamedTuple):
    """The vibrations of one crystal for m stiffnesses, (m,) each, with the names and units of `Vibrations`."""

    max_frequency_k: Float
    entropy_j_per_mol_k: Float
    free_energy_kj_per_mol: Float
    heat_capacity_j_per_mol_k: Float
    mean_frequency_k: Float
    min_frequency_k: Float


def equal_springs(
    numbers: Int, n_cells: float, stiffness: Float, temperature_k: float, shares: Float = EINSTEIN
) -> EqualSprings:
    """The vibrations of a crystal with atoms of `numbers` (n,) in `n_cells` primitive cells.

    Args:
        stiffness: (m,) of the springs [eV/Å²].
        shares: (s,) of the highest frequency of an atom, which are its frequencies.
    """
    highest = KELVIN * np.sqrt(stiffness[:, None] / atomic_masses[numbers])
    frequency = (highest[:, :, None] * shares).reshape(len(stiffness), -1)
    x = frequency / temperature_k
    occupation, decay = 1.0 / np.expm1(x), np.log(-np.expm1(-x))
    per_mole = 3.0 * GAS_CONSTANT / n_cells / len(shares)
    return EqualSprings(
        highest.max(axis=1),
        per_mole * (x * occupation - decay).sum(axis=1),
        per_mole * temperature_k * (x / 2.0 + decay).sum(axis=1) / 1000.0,
        per_mole * (x**2 * occupation * (occupation + 1.0)).sum(axis=1),
        frequency.mean(axis=1),
        frequency.min(axis=1),
    )
