"""Thermal momenta: Maxwell and Boltzmann, without drift and rotation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from ase import units
from ase.build import bulk, fcc111, molecule
from ase.md.velocitydistribution import MaxwellBoltzmannDistribution, Stationary, ZeroRotation

from tasks.simulation.velocities import kinetic_energies, masses_of, thermal_momenta
from tasks.structures.frames import Frames


def test_momenta_are_thermal_and_those_of_ase() -> None:
    """Maxwell and Boltzmann from default_rng(0), no drift, no rotation: as ASE makes them of each structure alone."""
    free = [molecule("CO"), molecule("C6H6"), molecule("H2O")]
    frames = Frames.from_atoms([bulk("Cu", cubic=True).repeat(8), *free, fcc111("Pt", (2, 2, 2), vacuum=5.0)])
    momenta = thermal_momenta(frames, 300.0, 0)
    masses = masses_of(frames)
    np.testing.assert_array_equal(masses, np.concatenate([frames.atoms(i).get_masses() for i in range(5)]))
    kinetic = kinetic_energies(momenta, masses, frames.offsets[:-1])
    # 2048 atoms: the temperature's standard deviation is 300 K · sqrt(2 / 6144) = 5.4 K.
    assert kinetic[0] / (1.5 * units.kB * 2048) == pytest.approx(300.0, abs=20.0)
    for i in range(5):
        atoms = frames.atoms(i)
        if i != 1:  # of a linear molecule ASE divides by zero
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # deprecated, and that it looks away from periodicity
                MaxwellBoltzmannDistribution(atoms, temperature_K=300.0, rng=np.random.default_rng(0))
                Stationary(atoms)
                ZeroRotation(atoms)
            np.testing.assert_allclose(momenta[frames.atom_slice(i)], atoms.get_momenta(), rtol=0, atol=1e-9)
        atoms.set_momenta(momenta[frames.atom_slice(i)])
        np.testing.assert_allclose(atoms.get_momenta().sum(axis=0), 0.0, atol=1e-9)
        np.testing.assert_allclose(atoms.get_angular_momentum(), 0.0, atol=1e-8)


def test_a_lone_atom_stays_where_it_is() -> None:
    frames = Frames.from_atoms([molecule("H")])
    assert not thermal_momenta(frames, 300.0, 0).any()
