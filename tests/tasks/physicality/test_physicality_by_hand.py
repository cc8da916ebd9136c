"""The sizes of the errors, computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import make_supercell
from ase.calculators.emt import EMT
from ase.calculators.fd import calculate_numerical_stress

from tasks.physicality.variants import PROBES
from tasks.simulation.diatomics import measures
from tests.tasks.physicality.pair_potential import SMALL, Pairs, column, observed, part


def test_a_change_with_orientation_by_hand() -> None:
    class Field(Pairs):
        """In an electric field along x, so to say: each atom has a dipole along the force on it."""

        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["energy"] += float(np.abs(self.results["forces"][:, 0]).sum())

    dataset = part("C2H5OH", "H2O")
    observation, measurement = observed(Field(), dataset)
    atoms = dataset.frames.atoms(0)

    def energy(rotation: Any) -> Any:
        turned = Atoms(atoms.numbers, atoms.positions @ rotation.T, calculator=Field())
        return turned.get_potential_energy()

    probe, original = observation.arrays["variant_probe"], observation.arrays["variant_original"]
    rotations = observation.arrays["variant_rotation"][(probe == list(PROBES).index("rotation")) & (original == 0)]
    assert len(rotations) == SMALL.n_variants
    assert np.allclose(rotations @ rotations.transpose(0, 2, 1), np.eye(3))
    assert np.linalg.det(rotations) == pytest.approx(1.0)
    by_hand = max(abs(energy(rotation) - energy(np.eye(3))) for rotation in rotations) / len(atoms)
    assert by_hand > 1e-3
    assert column(measurement, "C2H5OH: rotation", "energy_error") == pytest.approx(by_hand, rel=1e-9)


def test_forces_and_stress_by_hand() -> None:
    dataset = part("Cu", "H2O")

    class Wrong(EMT):
        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["forces"] = self.results["forces"] * 1.1
            if "stress" in self.results:
                self.results["stress"] = -self.results["stress"]

    observation, measurement = observed(Wrong(), dataset)
    atoms = dataset.frames.atoms(0)
    atoms.calc = EMT()
    along = observation.arrays["direction"][:, : len(atoms)]
    assert (along**2).sum(axis=(1, 2)) == pytest.approx(1.0)
    work = (along * atoms.get_forces()).sum(axis=(1, 2))
    assert column(measurement, "Cu: gradient", "force_error") == pytest.approx(
        0.1 * np.sqrt((work**2).mean()), rel=1e-4
    )
    assert column(measurement, "Cu: gradient", "scale") == pytest.approx(1.1 * np.sqrt((work**2).mean()), rel=1e-9)
    stress = calculate_numerical_stress(atoms, eps=1e-4, voigt=True)
    by_hand = 2.0 * np.sqrt((stress**2).mean())
    assert column(measurement, "Cu: strain", "stress_error") == pytest.approx(by_hand, rel=1e-4)
    assert np.isnan(column(measurement, "H2O: gradient", "stress_error"))
    assert "H2O: strain" not in measurement.items.id


def test_extensivity_by_hand() -> None:
    class Root(EMT):
        def calculate(self, *args: Any, **kwargs: Any) -> None:
            super().calculate(*args, **kwargs)
            self.results["energy"] *= np.sqrt(len(self.atoms))

    dataset = part("Cu", "H2O")
    _, measurement = observed(Root(), dataset)
    for index, name in enumerate(("Cu: supercell", "H2O: fragments")):
        single = dataset.frames.atoms(index)
        double = make_supercell(single, np.diag([1, 1, 2])) if index == 0 else None
        if double is None:
            double = single + Atoms(single.numbers, single.positions + np.array([0.0, 40.0, 0.0]))
        single.calc, double.calc = Root(), Root()
        by_hand = abs(double.get_potential_energy() - 2 * single.get_potential_energy()) / len(double)
        assert by_hand > 1e-3
        assert column(measurement, name, "energy_error") == pytest.approx(by_hand, rel=1e-9)


def test_pairs_are_those_of_the_curve() -> None:
    dataset = part("Al")
    observation, measurement = observed(Pairs(), dataset)
    r = observation.arrays["diatomic_distance"][1]
    curve = [Atoms("CC", [(0, 0, 0), (x, 0, 0)], calculator=Pairs()) for x in r]
    energy = np.array([atoms.get_potential_energy() for atoms in curve])
    expected = measures(r, energy, np.array([atoms.get_forces()[1, 0] for atoms in curve]))
    for name, value in expected._asdict().items():
        assert column(measurement, "C2", name) == pytest.approx(value, rel=1e-6, abs=1e-9)
