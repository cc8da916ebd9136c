"""Like atoms that are exchanged between two structures are found; hops, turns and strains are no exchange."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from ase.io import write

from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.importing.checks.atom_order import doubtful_orders
from tasks.importing.checks.exchanged_atoms import Exchange, PlacedAtoms, exchanged_atoms
from tasks.importing.import_summary import summarise
from tasks.importing.reaction_paths import import_reaction_paths
from tasks.importing.relaxed_structures import import_relaxed_structures
from tasks.structures.frames import Frames
from tests.tasks.importing.checks.test_buildable import CARD
from tests.tasks.kind_examples import EXAMPLES


def vacancy() -> Atoms:
    """A cell of copper from which the atom at the origin is missing."""
    atoms = bulk("Cu", cubic=True).repeat(2)
    del atoms[0]
    return atoms


def hop(start: Atoms, atom: int = 0) -> Atoms:
    """The neighbour `atom` of the vacancy goes there, and all others move by a little."""
    end = start.copy()
    end.positions[atom] = 0.0
    end.rattle(0.05, seed=1)
    return end


def exchanged(first: Atoms, second: Atoms) -> Exchange | None:
    placed = (PlacedAtoms(atoms.positions, atoms.cell.array) for atoms in (first, second))
    return exchanged_atoms(first.numbers, first.pbc, *placed)


def swapped(atoms: Atoms, *cycle: int) -> Atoms:
    """`atoms` with the positions of those in `cycle` passed on."""
    made = atoms.copy()
    made.positions[list(cycle)] = atoms.positions[[*cycle[1:], *cycle[:1]]]
    return made


def turned(atoms: Atoms, group: list[int], origin: int, axis: np.ndarray, degrees: float) -> Atoms:
    """`atoms` with a group turned about an axis through the atom `origin`."""
    made = atoms.copy()
    part = made[group]
    part.rotate(degrees, axis, center=atoms.positions[origin])
    made.positions[group] = part.positions
    return made


def test_two_atoms_of_a_path_with_a_real_hop() -> None:
    start = vacancy()
    assert exchanged(start, hop(start)) is None
    found = exchanged(start, swapped(hop(start), 10, 20))
    assert found is not None
    assert found.atoms == (10, 20)
    assert found.given > 2.5 > 0.5 > found.best
    assert not found.is_all


def test_a_cycle_of_three_atoms() -> None:
    start = vacancy()
    found = exchanged(start, swapped(hop(start), 10, 20, 15))
    assert found is not None
    assert found.atoms == (10, 15, 20)


def test_a_hop_across_the_boundary_and_a_common_translation() -> None:
    start = vacancy()
    end = hop(start)
    end.translate([0.4, 0.0, 1.0])
    end.wrap()
    assert exchanged(start, end) is None
    found = exchanged(start, swapped(end, 7, 9))
    assert found is not None
    assert found.atoms == (7, 9)


def test_atoms_of_several_elements_are_not_mixed() -> None:
    salt = bulk("NaCl", "rocksalt", a=5.64, cubic=True).repeat((2, 1, 1))
    start = salt[[i for i in range(len(salt)) if i != 2]]
    assert exchanged(start, swapped(start, 0, 1)) is None  # a sodium and a chloride: no order has this as its mistake
    assert exchanged(start, swapped(start, 0, 3)) is not None


def test_an_exchange_of_an_adatom_is_a_reaction() -> None:
    """The adatom goes into the surface, and an atom of the surface comes out at the next site but one."""
    slab = bulk("Al", cubic=True).repeat((3, 3, 1))
    slab.center(vacuum=6.0, axis=2)
    top = slab.positions[:, 2].max()
    surface = int(np.flatnonzero(np.abs(slab.positions[:, 2] - top) < 0.1)[4])
    a = 4.05
    start = slab + Atoms("Al", [slab.positions[surface] + [-a / 2, 0.0, a / 2]])
    end = start.copy()
    end.positions[-1] = start.positions[surface]
    end.positions[surface] = start.positions[surface] + [a / 2, 0.0, a / 2]
    assert exchanged(start, end) is None


@pytest.mark.parametrize("degrees", [60.0, 90.0, 120.0, 180.0])
def test_a_methyl_group_turns(degrees: float) -> None:
    ethane = molecule("CH3CH2OH")
    carbons = [int(i) for i in np.flatnonzero(ethane.numbers == 6)]
    methyl = next(c for c in carbons if np.sum(ethane.get_distances(c, np.flatnonzero(ethane.numbers == 1)) < 1.3) == 3)
    other = next(c for c in carbons if c != methyl)
    hydrogens = [int(i) for i in np.flatnonzero(ethane.numbers == 1) if ethane.get_distance(methyl, int(i)) < 1.3]
    axis = ethane.positions[other] - ethane.positions[methyl]
    assert exchanged(ethane, turned(ethane, hydrogens, methyl, axis, degrees)) is None


def test_hydrogens_of_two_groups_and_of_one_group() -> None:
    """Two of one methyl group: its other hand, which no turn makes. Two of several groups: other bonds."""
    butane = molecule("trans-butane")
    hydrogens = [int(i) for i in np.flatnonzero(butane.numbers == 1)]
    groups: dict[int, list[int]] = {}
    for h in hydrogens:
        carbons = np.flatnonzero(butane.numbers == 6)
        groups.setdefault(int(carbons[np.argmin(butane.get_distances(h, carbons))]), []).append(h)
    methyl = next(group for group in groups.values() if len(group) == 3)
    other = next(group for group in groups.values() if group is not methyl)
    moved = butane.copy()
    moved.rattle(0.05, seed=3)
    moved.rotate(40, "x")
    for pair in ((methyl[0], other[0]), (methyl[0], methyl[1])):
        found = exchanged(butane, swapped(moved, *pair))
        assert found is not None
        assert found.atoms == tuple(sorted(pair))


def test_a_ring_turns_over() -> None:
    """Half a turn of the phenyl ring of phenol about its bond to oxygen exchanges four pairs of atoms."""
    phenol = molecule("C6H6")
    first = int(np.flatnonzero(phenol.numbers == 1)[0])
    axis = phenol.positions[first] - phenol.get_center_of_mass()
    ring = [i for i in range(len(phenol)) if i != first]
    box = phenol.copy()
    box.set_cell([12.0, 12.0, 12.0])
    box.pbc = True
    box.center()
    assert exchanged(box, turned(box, ring, first, axis, 180.0)) is None


def test_a_scrambled_order_and_a_changed_cell() -> None:
    start = bulk("Cu", cubic=True).repeat(2)
    start.rattle(0.05, seed=2)
    order = np.random.default_rng(0).permutation(len(start))
    end = start[order]
    end.set_cell(1.05 * end.cell, scale_atoms=True)
    found = exchanged(start, end)
    assert found is not None
    assert found.is_all
    assert found.best < 0.5


def test_a_molecule_that_folds_is_no_exchange() -> None:
    rng = np.random.default_rng(5)
    along = np.array([1.0, 0.0, 0.0])
    chain = Atoms("C40", np.cumsum(rng.normal(size=(40, 3)) + along, axis=0))
    folded = Atoms("C40", np.cumsum(1.5 * rng.normal(size=(40, 3)), axis=0))
    assert exchanged(chain, folded) is None


def test_relaxed_references_are_doubted_by_item_and_atoms(tmp_path: Path) -> None:
    starts, references = [], []
    for name, swap in (("right", ()), ("wrong", (3, 12)), ("wrong, too", (4, 9))):
        start = vacancy()
        start.info["name"] = name
        end = swapped(start, *swap)
        end.rattle(0.05, seed=4)
        end.set_cell(1.02 * end.cell, scale_atoms=True)
        starts.append(start)
        references.append(end)
    write(tmp_path / "structures.extxyz", starts)
    write(tmp_path / "references.extxyz", references)
    lines = [line for line in summarise(import_relaxed_structures(tmp_path, CARD)).doubtful if "exchanged" in line]
    assert len(lines) == 1
    assert lines[0].startswith("PBE: wrong: reference: atoms 3 (Cu), 12 (Cu) look exchanged: in the given order they ")
    assert lines[0].endswith("(2 such items in all)")


def test_ends_of_paths_are_doubted_by_item_and_atoms(tmp_path: Path) -> None:
    """A degenerate exchange, after which the crystal is what it was, is a reaction."""
    ends = {"hop": hop(vacancy()), "swapped": swapped(hop(vacancy()), 3, 12), "ring": swapped(vacancy(), 3, 12)}
    structures, paths = [vacancy()], []
    structures[0].info["name"] = "start"
    for name, end in ends.items():
        end.info["name"] = name
        structures.append(end)
        paths.append({"id": f"path {name}", "reactant": "start", "product": name, "reference": {"barrier": 0.7}})
    write(tmp_path / "structures.extxyz", structures)
    (tmp_path / "paths.json").write_text(json.dumps({"reference_unit": "eV", "paths": paths}))
    lines = doubtful_orders(import_reaction_paths(tmp_path, CARD))
    assert len(lines) == 1
    assert lines[0].startswith("paths: path swapped: product: atoms 3 (Cu), 12 (Cu) look exchanged: ")


def test_reference_positions_of_a_protein_are_doubted_by_analysis() -> None:
    """Two carbons of butane in the wrong order, of the atoms that an analysis names."""
    butane = molecule("trans-butane")
    butane.info = {"charge": 0, "spin": 1}
    carbons = [int(i) for i in np.flatnonzero(butane.numbers == 6)]
    chain = [*carbons, *(int(i) for i in np.flatnonzero(butane.numbers == 1))]
    positions = butane.positions[chain]
    positions[[0, 2]] = positions[[2, 0]]
    analyses = [
        {"measure": "rmsd", "name": name, "atoms": chain, "reference": {"PBE": reference.tolist()}}
        for name, reference in (("right", butane.positions[chain]), ("wrong", positions))
    ]
    system = SimulatedSystem.model_validate({"id": "butane", "structure": 0, "analyses": analyses})
    table = Table(id=("b",), group=("",), cluster=("b",), systems=(system,))
    card = CARD.model_copy(update={"periodic": False, "domain": "Molecules"})
    lines = doubtful_orders(Dataset(card, Frames.from_atoms([butane]), table, {}))
    first, second = sorted((carbons[0], carbons[2]))
    assert len(lines) == 1
    assert lines[0].startswith(f"PBE: butane: wrong: reference: atoms {first} (C), {second} (C) look exchanged")


@pytest.mark.parametrize("kind", EXAMPLES)
def test_sound_data_sets_are_not_doubted(kind: str) -> None:
    assert doubtful_orders(EXAMPLES[kind]().dataset) == []
