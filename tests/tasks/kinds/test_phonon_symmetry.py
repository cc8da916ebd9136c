"""Phonons: forces that break the symmetry of a crystal, or that no displacement causes, have no effect."""

from __future__ import annotations

from typing import Any

import numpy as np
from ase.calculators.emt import EMT

from tasks.kind import Observation
from tasks.simulation.vibrations import crystal, displace
from tests.tasks.kinds.phonon_crystals import METALS, copper, measure, numbers, observe


class Biased(EMT):
    """EMT with a constant force on each atom of a supercell, which breaks all symmetry."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        if len(atoms) > 4:
            bias = np.random.default_rng(0).normal(0.0, 0.01, (len(atoms), 3))
            self.results["forces"] = self.results["forces"] + bias


def test_forces_that_no_displacement_has_made_are_no_response(metals: Observation) -> None:
    cases = METALS[:2]
    plain, biased = measure(metals, METALS), measure(observe(Biased(), cases), cases)
    for row in range(2):
        np.testing.assert_allclose(numbers(biased, row), numbers(plain, row), rtol=1e-6)


class Skewed(EMT):
    """EMT with a constant shear, and a constant force on each atom."""

    def calculate(self, atoms: Any = None, *args: Any, **kwargs: Any) -> None:
        super().calculate(atoms, *args, **kwargs)
        bias = np.random.default_rng(0).normal(0.0, 0.05, (len(atoms), 3))
        self.results["forces"] = self.results["forces"] + bias - bias.mean(axis=0)
        if "stress" in self.results:
            self.results["stress"] = self.results["stress"] + np.array([0.01, 0.0, -0.01, 0.0, 0.02, 0.01])


def test_a_crystal_keeps_its_symmetry_whatever_the_model_says(metals: Observation) -> None:
    observation = observe(Skewed(), METALS[:2])
    assert observation.arrays["n_displacements"].tolist() == metals.arrays["n_displacements"].tolist()[:2]
    np.testing.assert_allclose(observation.arrays["cell"], metals.arrays["cell"][:2], atol=1e-5)
    np.testing.assert_allclose(observation.arrays["positions"], metals.arrays["positions"][:8], atol=1e-5)


def test_the_acoustic_sum_rule_is_imposed() -> None:
    case = copper()
    phonon = crystal(case.atoms, case.supercell, case.primitive)
    forces = np.full((1, 32, 3), [0.002, 0.0, 0.0])  # a net force
    forces[0, 0, 0] -= 0.05
    displace(phonon, np.array([0]), np.array([[0.01, 0.0, 0.0]]), forces)
    phonon.run_qpoints([[0.0, 0.0, 0.0]])
    points: Any = phonon.qpoints
    np.testing.assert_allclose(points.frequencies, 0.0, atol=1e-5)
