"""Lengths in nm and bohr are doubted, by every kind of bond; lengths in Å are not."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, molecule
from ase.data import covalent_radii

from tasks.importing.reading.length_checks import doubtful_lengths
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.structures.frames import Frames

IDS = tuple(f"frame {i}" for i in range(20))
BOHR = 0.529177
KINDS = {
    "metals": [bulk(x, cubic=True) for x in ("Cu", "Al", "Li", "Cs", "W")],
    "salts": [bulk("NaCl", "rocksalt", a=5.64), bulk("MgO", "rocksalt", a=4.21), bulk("Si"), bulk("C")],
    "molecules": [molecule(x) for x in ("H2O", "N2", "CO", "C6H6", "CH3CH2OH", "H2", "LiF")],
    "surfaces": [fcc111(x, (2, 2, 3), vacuum=8) for x in ("Cu", "Pt")],
}


def doubted(frames: Frames, ids: tuple[str, ...]) -> list[str]:
    return doubtful_lengths(nearest_atoms(frames).in_radii, ids)


def scaled(made: list[Atoms], factor: float) -> Frames:
    copies = [atoms.copy() for atoms in made]
    for atoms in copies:
        atoms.set_cell(atoms.cell.array * factor)
        atoms.positions = atoms.positions * factor
    return Frames.from_atoms(copies)


def test_distances_in_radii_are_those_of_ase() -> None:
    made = [*KINDS["metals"], *KINDS["salts"], *KINDS["molecules"]]
    by_hand = []
    for atoms in made:
        large = atoms.repeat((3, 3, 3)) if atoms.pbc.all() else atoms
        radii = covalent_radii[large.numbers]
        with np.errstate(invalid="ignore"):
            shares = large.get_all_distances(mic=bool(atoms.pbc.all())) / (radii[:, None] + radii)
        by_hand.append(shares[np.triu_indices(len(large), 1)].min())
    together = Frames.from_atoms(made)
    several = together.n_atoms > 1
    assert several.sum() >= 10
    np.testing.assert_allclose(nearest_atoms(together).in_radii[several], np.array(by_hand)[several], rtol=1e-9)
    far = Atoms("H2", [(0, 0, 0), (0, 0, 1.5)])  # 2.42 radii: beyond the first that are searched
    assert nearest_atoms(Frames.from_atoms([far])).in_radii[0] == pytest.approx(1.5 / (2 * covalent_radii[1]))
    assert np.isnan(nearest_atoms(Frames.from_atoms([Atoms("H")])).in_radii[0])


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_in_angstrom_are_left_alone(kind: str) -> None:
    for factor in (0.85, 1.0, 1.15):
        assert doubted(scaled(KINDS[kind], factor), IDS) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("factor", "mistake"), [(10.0, "Å taken for nm"), (1 / BOHR, "bohr taken for Å"), (BOHR, "Å taken for bohr")]
)
def test_lengths_in_other_units_are_doubted(kind: str, factor: float, mistake: str) -> None:
    lines = doubted(scaled(KINDS[kind], factor), IDS)
    assert lines
    assert all(line.startswith("positions: ") for line in lines)
    assert any(mistake in line for line in lines)


def test_one_frame_of_many_is_named() -> None:
    made = [molecule("H2O") for _ in range(5)]
    made[3].positions *= 0.42
    (line,) = doubted(Frames.from_atoms(made), IDS)
    assert line.startswith("positions: frame 3: a shortest distance of 0.4")
    assert "less than 0.45: nm taken for Å, Å taken for bohr, or atoms that overlap?" in line
    made[3].positions *= 10
    (line,) = doubted(Frames.from_atoms(made), IDS)
    assert line.startswith("positions: frame 3: no two atoms are within 3 times the sum of their covalent radii")
