"""Units of labels: stated, converted to ours, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tasks.datasets.card import DatasetError
from tasks.importing.importers import read_structures
from tasks.importing.label_units import parse_units


def test_units_are_turned_into_ours(tmp_path: Path) -> None:
    """A frame of which every number is one: the constants are CODATA's, typed here."""
    text = (
        '1\nLattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3:forces:R:3 pbc="T T T" energy=1.0 '
        'stress="1 0 0 0 2 0 0 0 3"\nH 1 1 1 1 1 1\n'
    )
    path = tmp_path / "one.extxyz"
    path.write_text(text)
    units = parse_units("energy=hartree,length=bohr,forces=hartree/bohr,stress=-kbar")
    imported = read_structures(path, units)
    np.testing.assert_allclose(imported.frames.positions, 0.529177, rtol=1e-6)
    np.testing.assert_allclose(np.diag(imported.frames.cell[0]), 5.29177, rtol=1e-6)
    np.testing.assert_allclose(imported.labels.energy, 27.21138, rtol=1e-6)
    np.testing.assert_allclose(imported.labels.forces, 51.42206, rtol=1e-6)
    np.testing.assert_allclose(imported.labels.stress[0, :3], [-6.241509e-4, -12.483018e-4, -18.724527e-4], rtol=1e-6)
    with pytest.raises(DatasetError, match=r"one\.extxyz: forces: its unit is not stated; add forces=… to --units"):
        read_structures(path, parse_units("energy=eV,length=angstrom"))


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("length=angstrom,energy=kcal/mol", "energy", 0.0433641),
        ("length=Å,energy=kJ/mol", "energy", 0.01036427),
        ("length=nm", "length", 10.0),
        ("length=angstrom,forces=kcal/mol/angstrom", "forces", 0.0433641),
        ("length=angstrom,forces=Ry/bohr", "forces", 25.71103),
        ("length=angstrom,stress=GPa", "stress", 0.006241509),
        ("length=angstrom,stress=-eV/Å³", "stress", -1.0),
        ("length=bohr,stress=hartree/bohr^3", "stress", 183.6315),
        ("ase", "stress", 1.0),
    ],
)
def test_a_unit_is_as_large_as_the_books_say(text: str, quantity: str, value: float) -> None:
    assert getattr(parse_units(text), quantity) == pytest.approx(value, rel=2e-6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", r"--units: '' is not one of energy, length, forces, stress"),
        ("SI", r"--units: 'SI' is not one of"),
        ("length=furlong", r"--units: length: 'furlong' is no unit of it that is known; say ase, or"),
        ("length=bohr,forces=eV", r"--units: forces: 'eV' is no unit of it"),
        ("length=bohr,stress=GPa/bohr", r"--units: stress: 'GPa/bohr' is no unit of it"),
        ("length=bohr,energy=-eV", r"--units: energy: '-eV' is no unit of it"),
        ("length=bohr,length=bohr", r"--units: length is stated twice"),
        ("energy=eV", r"--units: length is not stated: add length=angstrom"),
    ],
)
def test_units_that_are_none_are_refused(text: str, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        parse_units(text)


def test_energies_per_atom_become_totals(tmp_path: Path) -> None:
    path = tmp_path / "two.extxyz"
    path.write_text("1\nenergy=-2.0\nH 0 0 0\n2\nenergy=-3.0\nH 0 0 0\nH 0 0 1\n")
    totals = read_structures(path, parse_units("energy=hartree/atom,length=angstrom")).labels.energy
    np.testing.assert_allclose(totals, [-2 * 27.21138, -6 * 27.21138], rtol=1e-6)
    with pytest.raises(DatasetError, match="'furlong' is no unit of it"):
        parse_units("energy=furlong/atom,length=bohr")
    with pytest.raises(DatasetError, match="'bohr/atom' is no unit of it"):
        parse_units("length=bohr/atom,energy=eV")
