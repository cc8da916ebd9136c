"""Molecules by bonds: water in a box, also across its boundary, and crystals, which have none."""

from __future__ import annotations

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule

from tasks.simulation.molecules import molecules_of
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
