"""The frames that a trainer is tried on: the same in every call, and labels that are an energy and its gradient."""

from __future__ import annotations

import numpy as np
from ase.build import molecule

from submissions.preflight.trainer_data import N_FRAMES, HarmonicField, public_training_frames


def ethanol_field() -> HarmonicField:
    ethanol = molecule("CH3CH2OH")
    return HarmonicField(ethanol.numbers, ethanol.positions)


def test_they_are_the_same_in_every_call() -> None:
    (frames, labels), (again, labels_again) = public_training_frames(), public_training_frames()
    assert len(frames) == N_FRAMES
    np.testing.assert_array_equal(frames.positions, again.positions)
    np.testing.assert_array_equal(labels.energy, labels_again.energy)
    np.testing.assert_array_equal(labels.forces, labels_again.forces)
    assert sorted(set(frames.n_atoms.tolist())) == [9]
    assert labels.energy is not None
    assert 0.1 < labels.energy.min() < labels.energy.max() < 10


def test_at_the_minimum_there_is_no_energy_and_no_force() -> None:
    energy, forces = ethanol_field().evaluate(molecule("CH3CH2OH").positions)
    assert energy == 0
    np.testing.assert_array_equal(forces, 0)


def test_bonds_and_angles_are_those_of_ethanol() -> None:
    field = ethanol_field()
    assert len(field._lengths) == 8  # CC, CO, OH and 5 CH
    assert len(field._angles) == 13  # 6 around each carbon, 1 around oxygen


def test_a_stretched_bond_has_the_energy_of_its_formula() -> None:
    water = molecule("H2O")
    field = HarmonicField(water.numbers, water.positions)
    along = water.positions[1] - water.positions[0]
    water.positions[1] += 0.1 * along / np.linalg.norm(along)
    energy, _ = field.evaluate(water.positions)
    np.testing.assert_allclose(energy, 0.5 * 28.0 * 0.1**2)


def test_forces_are_the_negative_gradient_of_the_energy() -> None:
    frames, labels = public_training_frames()
    field, positions, step = ethanol_field(), frames.positions[:9], 1e-5
    assert labels.forces is not None
    for atom, axis in np.ndindex(9, 3):
        plus, minus = positions.copy(), positions.copy()
        plus[atom, axis] += step
        minus[atom, axis] -= step
        slope = (field.evaluate(plus)[0] - field.evaluate(minus)[0]) / (2 * step)
        np.testing.assert_allclose(labels.forces[atom, axis], -slope, atol=1e-7)


def test_forces_neither_push_nor_turn_the_molecule() -> None:
    frames, labels = public_training_frames()
    assert labels.forces is not None
    forces, positions = labels.forces.reshape(-1, 9, 3), frames.positions.reshape(-1, 9, 3)
    np.testing.assert_allclose(forces.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.cross(positions, forces).sum(axis=1), 0, atol=1e-11)
