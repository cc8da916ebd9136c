"""The list of known mistakes against published constants, and the fit against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from ase import Atoms

from tasks.structures.frames import Frames
from tasks.structures.known_mistakes import (
    SIZE_MISTAKES,
    STRESS_ORDERS,
    UNIT_MISTAKES,
    both_ways,
    fit,
    nearest,
    order_words,
    values_by_order,
)

# CODATA 2018: hartree in eV, bohr in Å, eV/Å³ in GPa; thermochemical calorie.
HARTREE, BOHR, GPA, KCAL = 27.211386, 0.529177211, 160.2176634, 23.060548
PUBLISHED = {
    ("energy", "eV", "hartree"): HARTREE,
    ("energy", "eV", "rydberg"): HARTREE / 2,
    ("energy", "kcal/mol", "eV"): KCAL,
    ("energy", "kJ/mol", "eV"): 4.184 * KCAL,
    ("differences", "kJ/mol", "kcal/mol"): 4.184,
    ("forces", "eV/Å", "hartree/bohr"): HARTREE / BOHR,
    ("forces", "kJ/mol/nm", "eV/Å"): 41.84 * KCAL,
    ("forces", "eV/nm", "eV/Å"): 10.0,
    ("stress", "GPa", "eV/Å³"): GPA,
    ("stress", "bar", "eV/Å³"): 1e4 * GPA,
    ("stress", "eV/Å³", "hartree/bohr³"): HARTREE / BOHR**3,
    ("scans per area", "J/m²", "eV/Å²"): 16.02176634,
}


@pytest.mark.parametrize("mistake", PUBLISHED, ids="-".join)
def test_factors_are_those_of_published_constants(mistake: tuple[str, str, str]) -> None:
    quantity, wrong, right = mistake
    (factor,) = [m.factor for m in UNIT_MISTAKES[quantity] if (m.wrong, m.right) == (wrong, right)]
    assert factor == pytest.approx(PUBLISHED[mistake], rel=1e-6)


def test_every_mistake_is_known_in_both_directions_and_is_nearest_to_itself() -> None:
    for quantity in UNIT_MISTAKES:
        for mistake in both_ways(quantity):
            assert mistake.inverse.inverse.factor == pytest.approx(mistake.factor)
            distance, found = nearest(both_ways(quantity), mistake.factor)[0]
            assert distance == pytest.approx(0.0, abs=1e-9)
            assert found.factor == pytest.approx(mistake.factor)


def test_the_fit_is_that_of_numpy() -> None:
    rng = np.random.default_rng(2)
    expected = rng.normal(size=(5, 3))
    values = -3.0 * expected + rng.normal(size=(5, 3))
    found = fit(values, expected)
    slope, residual, *_ = np.linalg.lstsq(expected.reshape(-1, 1), values.ravel(), rcond=None)
    assert found.slope == pytest.approx(slope[0])
    assert found.residual == pytest.approx(math.sqrt(residual[0]) / np.linalg.norm(values))
    assert found.ratio == pytest.approx(np.linalg.norm(values) / np.linalg.norm(expected))
    assert found.correlation == pytest.approx(found.slope / found.ratio)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_nothing_fits_zeros_and_numbers_that_are_not_finite(bad: float) -> None:
    for sides in ((np.full(3, bad), np.ones(3)), (np.ones(3), np.full(3, bad))):
        assert math.isnan(fit(*sides).slope)
        assert fit(*sides).residual == math.inf


def test_values_in_an_order_of_components_come_back_in_the_right_one() -> None:
    right = np.random.default_rng(0).normal(size=(4, 6))
    for order in STRESS_ORDERS:
        np.testing.assert_array_equal(values_by_order(right[:, list(order)], order), right)
    assert order_words((0, 1, 2, 5, 3, 4)) == "the order xx yy zz xy yz xz in place of xx yy zz yz xz xy"


def test_mistakes_of_size_have_a_factor_for_each_structure() -> None:
    cells = [Atoms("Cu2", [[0, 0, 0], [1, 1, 1]], cell=[3, 3, 3], pbc=True), Atoms("Cu", cell=[2, 2, -2], pbc=True)]
    frames = Frames.from_atoms(cells)
    (per_atom,), (virial,) = SIZE_MISTAKES["energy"], SIZE_MISTAKES["stress"]
    assert per_atom.factors(frames) == pytest.approx([0.5, 1.0])
    assert virial.factors(frames) == pytest.approx([27.0, 8.0])
