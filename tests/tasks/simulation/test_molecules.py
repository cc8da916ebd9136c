"""Molecules by bonds: water in a box, also across its boundary, and crystals, which have none."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from tasks.simulation.molecules import check_molecules, molecules_of, whole_molecules
from tasks.structures.frames import Frames


def water_box(n: int) -> Atoms:
    """n³ waters on a grid of 3.5 Å, turned at random and wrapped into the cell; the atoms of each follow each other."""
    rng, box = np.random.default_rng(0), Atoms(cell=[3.5 * n] * 3, pbc=True)
    for corner in np.ndindex(n, n, n):
        water = molecule("H2O")
        water.rotate(rng.uniform(0, 360), rng.normal(size=3))
        water.positions += 3.5 * np.array(corner)
        box += water
    box.wrap()
    return box


def test_waters_are_molecules_also_across_the_boundary() -> None:
    box = water_box(4)
    frames = Frames.from_atoms([box, molecule("CH3CH2OH"), Atoms("Ar2", [(0, 0, 0), (0, 0, 3.8)])])
    expected = [*np.repeat(np.arange(64), 3), *[64] * 9, 65, 66]
    np.testing.assert_array_equal(molecules_of(frames), expected)
    assert (np.ptp(box.positions.reshape(64, 3, 3), axis=1).max(axis=1) > 7).any()


def test_a_crystal_has_no_molecules() -> None:
    frames = Frames.from_atoms([molecule("H2O"), bulk("Cu", cubic=True)])
    with pytest.raises(ValueError, match="structure 1: atom 2 is bonded to its own image: in a crystal each atom"):
        molecules_of(frames)


def test_molecules_across_the_boundary_become_whole_and_keep_their_place() -> None:
    water = molecule("H2O")
    water.set_cell([4.0] * 3)
    water.pbc = True
    split = water.copy()
    split.wrap()
    assert np.ptp(split.positions, axis=0).max() > 3.0
    frames = Frames.from_atoms([split, water])
    whole = whole_molecules(frames, molecules_of(frames))
    assert np.ptp(whole.positions[:3], axis=0).max() < 2.0
    shifts = (whole.positions - frames.positions) / 4.0
    np.testing.assert_allclose(shifts, np.rint(shifts), atol=1e-12)
    np.testing.assert_allclose(whole.atoms(0).get_all_distances(), water.get_all_distances(), atol=1e-12)


def test_atoms_that_no_bonds_join_are_no_molecule() -> None:
    frames = Frames.from_atoms([molecule("H2O")])
    check_molecules(frames, np.zeros(3, np.int64))
    check_molecules(frames, np.array([0, 0, 5]))
    with pytest.raises(ValueError, match="structure 0: molecule 2: no bonds lead from atom 1 to atom 2: correct the"):
        check_molecules(frames, np.array([0, 2, 2]))
