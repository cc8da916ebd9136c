"""A slab that is wrapped across its vacuum is found: EMT gives both of its halves surfaces of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, fcc111, graphene, molecule
from ase.calculators.emt import EMT
from ase.io import write
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.card import Card, LabelSet
from tasks.importing.checks.torn_structures import doubtful_tears, find_tears
from tasks.importing.import_summary import summarise
from tasks.importing.importers import read_structures
from tasks.importing.labelled_import import labelled_dataset
from tasks.structures.frames import Frames


def slab(direction: int = 2) -> Atoms:
    """Four layers of copper, which are not periodic along one of the cell vectors."""
    atoms: Atoms = fcc111("Cu", (2, 2, 4), vacuum=6.0)
    order = np.roll([0, 1, 2], direction - 2)
    atoms.set_cell(atoms.cell.array[order])
    atoms.pbc = np.arange(3) != direction
    return atoms


def wrapped(atoms: Atoms, direction: int = 2, share: float = 0.5) -> Atoms:
    """The same, moved by a share of a cell vector and wrapped, as a program does that takes it for periodic."""
    copy = atoms.copy()
    copy.positions += share * copy.cell.array[direction]
    copy.wrap(pbc=np.arange(3) == direction)
    copy.pbc = atoms.pbc
    return copy


def energy(atoms: Atoms) -> float:
    copy = atoms.copy()
    copy.calc = EMT()
    return float(copy.get_potential_energy())


def test_half_a_slab_is_above_the_vacuum() -> None:
    """Two layers are below the vacuum and two above it: the energy of two slabs of two layers, 2.92 eV higher.

    Each of the 4 atoms of the second layer has 3 bonds to the third one: 12 bonds cross the boundary.
    """
    whole, torn = slab(), wrapped(slab())
    assert energy(torn) == pytest.approx(2 * energy(fcc111("Cu", (2, 2, 2), vacuum=6.0)), abs=1e-6)
    assert energy(torn) - energy(whole) == pytest.approx(2.92, abs=0.01)
    torn.pbc = True
    assert energy(torn) == pytest.approx(energy(whole), abs=1e-6)
    torn.pbc = whole.pbc
    assert list(find_tears(Frames.from_atoms([whole, torn, whole]))) == [(1, 2, 12)]
    frames = Frames.from_atoms([whole, torn, torn])
    assert doubtful_tears(frames, ("a", "b", "c")) == [
        "positions: b: is torn across its cell vector c, along which it is not periodic: 12 bonds cross that boundary "
        "(2 structures in all): move its atoms together, or state pbc there"
    ]


@pytest.mark.parametrize("direction", [0, 1, 2])
@given(share=st.floats(0, 1))
def test_a_slab_is_torn_if_any_layer_is_at_the_other_end(direction: int, share: float) -> None:
    whole = slab(direction)
    torn = wrapped(whole, direction, share)
    heights = torn.positions[:, 2]
    is_torn = np.ptp(heights) > np.ptp(whole.positions[:, 2]) + 1.0
    assert bool(list(find_tears(Frames.from_atoms([torn])))) == is_torn


def test_molecules_and_chains() -> None:
    water = molecule("H2O", vacuum=3.0)
    torn = water.copy()
    torn.positions[1, 1] += torn.cell[1, 1]  # an H atom in the next cell
    assert [tear[1:] for tear in find_tears(Frames.from_atoms([water, torn]))] == []  # it is outside of its cell
    torn.wrap(pbc=True)
    torn.positions -= torn.positions[0]
    torn.wrap(pbc=True)  # the O atom at the corner
    # Both H atoms are at the upper end of z, and one of them at the upper end of y, too.
    assert list(find_tears(Frames.from_atoms([torn]))) == [(0, 2, 1)]


@pytest.mark.parametrize(
    "atoms",
    [
        bulk("Cu", cubic=True).repeat(2),
        fcc111("Cu", (2, 2, 4)),  # without a cell vector in the third direction
        graphene(vacuum=1.0),
        molecule("C6H6", vacuum=0.5),  # a tight box
        Atoms("Ar2", [[0, 0, 0], [0, 0, 3.8]], cell=[4.0, 4.0, 4.0]),
        Atoms("Cu", cell=[2.5, 2.5, 2.5]),
        Atoms("H2", [[0, 0, 0], [0, 0, 0.74]], cell=[1.0, 1.0, 0.1]),  # a cell of no meaning
    ],
    ids=str,
)
def test_what_is_whole_is_left_alone(atoms: Atoms) -> None:
    assert not list(find_tears(Frames.from_atoms([atoms])))


def test_the_summary_says_so(tmp_path: Path) -> None:
    frames = [wrapped(slab(), share=0.4 + 0.01 * k) for k in range(10)]
    for k, atoms in enumerate(frames):
        atoms.info["energy"] = -1.0 - 0.1 * k
    write(tmp_path / "slabs.extxyz", frames)
    card = Card(
        name="slabs", version="1", title="Slabs", domain="Catalysis", periodic=False,
        label_sets={"EMT": LabelSet(theory="EMT", dispersion=False)}, default_label_set="EMT",
    )  # fmt: skip
    dataset = labelled_dataset(card, tmp_path / "slabs.extxyz", read_structures(tmp_path / "slabs.extxyz"))
    (line,) = [line for line in summarise(dataset).doubtful if "torn" in line]
    assert line.startswith("positions: frame 0: is torn across its cell vector c")
    assert "(10 structures in all)" in line
