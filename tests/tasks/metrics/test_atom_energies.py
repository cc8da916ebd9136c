"""Energies of atoms by hand, and that balanced sums have none."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms

from tasks.metrics.atom_energies import net_atoms, sums_of_atoms
from tasks.structures.composition import composition
from tasks.structures.frames import Frames

ONE_GROUP = np.array([""] * 8)


def test_the_atoms_that_a_sum_gains() -> None:
    """Water from H₂ and O₂ gains none but by rounding; half a water has 1 H and ½ O."""
    counts = composition(Frames.from_atoms([Atoms("H2O"), Atoms("H2"), Atoms("O2")]))
    item, structure = np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0])
    net = net_atoms(counts, item, structure, np.array([1.0, -1.0 + 1e-9, -0.5, 0.5]))
    assert net.tolist() == [[0.0, 0.0], [1.0, 0.5]]


def test_balanced_sums_have_the_answer_zero() -> None:
    references = np.array([-0.5, -0.4, -0.6, -0.5, -0.3])
    assert sums_of_atoms(np.zeros((5, 2)), ONE_GROUP[:5], references).tolist() == [0.0] * 5


def test_four_total_energies_have_the_median_energy_of_an_atom() -> None:
    """Energies of an atom are -1, -3, -4 and -9 eV: their mean, -4.25 eV, has a larger error in the mean."""
    atoms, references = np.ones((4, 1)), np.array([-1.0, -3.0, -4.0, -9.0])
    assert sums_of_atoms(atoms, ONE_GROUP[:4], references) == pytest.approx([-3.5] * 4)
    assert sums_of_atoms(atoms[:3], ONE_GROUP[:3], references[:3]).tolist() == [0.0] * 3


def test_energies_of_elements_where_each_has_four_references() -> None:
    """Two elements of -2 and -5 eV, and what they gain in eight crystals, which no composition tells."""
    shares = np.array([1.0, 0.0, 0.5, 0.5, 0.25, 0.25, 0.75, 0.75])
    atoms = np.stack([shares, 1.0 - shares], axis=1)
    gains = 0.1 * np.array([0.0, 0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    answers = sums_of_atoms(atoms, ONE_GROUP, atoms @ [-2.0, -5.0] + gains)
    assert answers == pytest.approx(atoms @ [-2.0, -5.0])
    of_seven = sums_of_atoms(atoms[:7], ONE_GROUP[:7], (atoms @ [-2.0, -5.0] + gains)[:7])
    assert np.ptp(of_seven) == pytest.approx(0.0)  # one energy for all atoms


def test_energies_of_groups() -> None:
    """At 0 and at 100 GPa, four crystals each."""
    groups = np.array(["0 GPa"] * 4 + ["100 GPa"] * 4)
    gains = np.array([0.1, -0.1] * 4)
    answers = sums_of_atoms(np.ones((8, 1)), groups, np.repeat([-4.0, 3.0], 4) + gains)
    assert answers == pytest.approx(np.repeat([-4.0, 3.0], 4))


def test_a_model_that_has_the_references_sets_no_scale() -> None:
    """All energies are those of the elements: zero remains, whose error is the references."""
    atoms = np.array([[1.0, 0.0], [0.0, 1.0]] * 4)
    references = atoms @ [-2.0, -5.0]
    answers = sums_of_atoms(atoms, ONE_GROUP, references)
    assert np.abs(answers - references).mean() > 1.0
