"""Copies of crystals with other lattice vectors, and the stress of copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT

from tasks.kind import Observation
from tasks.metrics.measurement import Measurement
from tasks.physicality.copied_stress import rotated_stress
from tasks.physicality.structures import build_physicality
from tasks.physicality.variants import PROBES, change_of_basis, variants
from tasks.structures.frames import Float, Frames
from tests.tasks.physicality.pair_potential import KIND, SMALL, Pairs, column, measured, observed, part


def lattice_changes(atoms: Atoms, n: int) -> list[Float]:
    """The matrices that turn the vectors of `atoms` into those of its copies."""
    frames = Frames.from_atoms([atoms])
    copies = variants(frames, np.random.default_rng(3), n, 50.0)
    of_lattice = np.flatnonzero(copies.probe == list(PROBES).index("lattice"))
    return [copies.frames.cell[i] @ np.linalg.inv(frames.cell[0]) for i in of_lattice]


def test_changes_of_basis_are_unimodular_and_of_every_sort() -> None:
    rng = np.random.default_rng(0)
    for determinant in (1, -1):
        drawn = [change_of_basis(rng, 3, determinant) for _ in range(300)]
        assert all(np.array_equal(matrix, np.rint(matrix)) for matrix in drawn)
        assert [np.linalg.det(matrix) for matrix in drawn] == pytest.approx([determinant] * 300)
        largest = {tuple(np.abs(matrix).argmax(axis=1)) for matrix in drawn}
        assert len(largest) >= 6  # exchanges: every order of the vectors
        assert any((np.diag(matrix) < 0).any() for matrix in drawn)
        assert all(np.count_nonzero(matrix) > 3 for matrix in drawn)  # sums


def test_copies_span_the_same_lattice_and_alternate_in_handedness() -> None:
    for matrix, determinant in zip(lattice_changes(bulk("Cu"), 4), (-1, 1, -1, 1), strict=True):
        assert matrix == pytest.approx(np.rint(matrix))
        assert np.linalg.det(matrix) == pytest.approx(determinant)


def test_vectors_without_periodicity_stay_as_they_are() -> None:
    slab = Atoms("Cu", cell=[[2.5, 0, 0], [0.3, 2.6, 0], [0, 0, 20]], pbc=[True, True, False])
    for matrix in lattice_changes(slab, 3):
        assert matrix[2] == pytest.approx([0, 0, 1])
        assert matrix[:2, 2] == pytest.approx([0, 0])
        assert abs(np.linalg.det(matrix)) == pytest.approx(1.0)
    (inverted,) = lattice_changes(Atoms("Cu", cell=[9, 9, 2.5], pbc=[False, False, True]), 3)
    assert inverted == pytest.approx(np.diag([1, 1, -1]))
    assert lattice_changes(Atoms("Cu"), 3) == []


class Handed(EMT):
    """Its stress has the sign of det(cell)."""

    def calculate(self, *args: Any, **kwargs: Any) -> None:
        super().calculate(*args, **kwargs)
        if "stress" in self.results:
            self.results["stress"] = self.results["stress"] * np.sign(np.linalg.det(self.atoms.cell.array))


def bulk_modulus(atoms: Atoms) -> float:
    """K [eV/Å³] from the pressures of strained cells."""
    pressure = []
    for strain in (-0.005, 0.005):
        strained = atoms.copy()
        strained.set_cell((1.0 + strain) * atoms.cell.array, scale_atoms=True)
        strained.calc = Handed()
        pressure.append(-strained.get_stress()[:3].mean())
    return float(pressure[0] - pressure[1]) / 0.03


def test_a_stress_with_the_sign_of_the_determinant_is_found() -> None:
    copper = bulk("Cu")
    exchanged = copper.copy()
    exchanged.set_cell(copper.cell.array[[1, 0, 2]])
    assert bulk_modulus(exchanged) == pytest.approx(-bulk_modulus(copper), rel=1e-6)  # what elasticity would see

    measurement = measured(Handed(), part("Cu", "Al"))
    assert measurement.items.failures() == {}
    for index, name in enumerate(("Cu", "Al")):
        atoms = part("Cu", "Al").frames.atoms(index)
        atoms.calc = EMT()
        by_hand = 2.0 * float(np.sqrt((atoms.get_stress() ** 2).mean()))
        assert by_hand > 1e-3
        assert column(measurement, f"{name}: lattice_stress", "stress_error") == pytest.approx(by_hand, rel=1e-6)
        assert column(measurement, f"{name}: rotation_stress", "stress_error") < 1e-9
    assert measurement.metrics["strain_stress"].value < 1e-6
    assert measurement.metrics["lattice_energy"].value < 1e-9


def test_a_left_handed_crystal_of_the_test_set_shows_it_as_well() -> None:
    dataset = part("Cu")
    cell = dataset.frames.cell[:, [1, 0, 2]]
    mirrored = type(dataset)(dataset.card, dataset.frames.moved(dataset.frames.positions, cell), dataset.table, {})
    assert measured(Handed(), mirrored).metrics["lattice_stress"].value > 1e-3
    assert measured(EMT(), mirrored).metrics["lattice_stress"].value < 1e-9


def test_the_stress_of_a_rotated_crystal_is_rotated() -> None:
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # x to y, y to −x
    stress = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])  # xx yy zz yz xz xy
    assert rotated_stress(stress, turn[None])[0] == pytest.approx([2.0, 1.0, 3.0, 5.0, -4.0, -6.0])


def test_one_failed_copy_fails_its_item_alone() -> None:
    dataset = part("Cu", "Al", "H2O")
    observation, before = observed(Pairs(), dataset)
    failure = observation.arrays["restressed_failure"].copy()
    failure[0] = 1
    after = KIND.measure(Observation({**observation.arrays, "restressed_failure": failure}), dataset, SMALL, None)
    assert sum(after.items.failures().values()) == 1
    assert failed(after) == ["Cu: rotation_stress"]
    assert failed(before) == []


def failed(measurement: Measurement) -> list[str]:
    return [name for name, cause in zip(measurement.items.id, measurement.items.cause, strict=True) if cause]


def test_an_observation_without_these_stresses_is_measured_as_before() -> None:
    """The judge did not ask for them before version 2 of the observation."""
    observation, now = observed(Pairs(), build_physicality(), SMALL)
    arrays = {name: array for name, array in observation.arrays.items() if not name.startswith("restressed_")}
    before = KIND.measure(Observation(arrays), build_physicality(), SMALL, None)
    assert now.metrics.keys() - before.metrics.keys() == {"rotation_stress", "lattice_stress"}
    assert all(now.metrics[name] == metric for name, metric in before.metrics.items())
