"""Checks of molecules, selections and orders of atoms in MLIPAudit's files. Each error is one line with its remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from ase import Atoms
from ase.data import atomic_numbers, covalent_radii
from ase.geometry import find_mic

from tasks.datasets.card import DatasetError
from tasks.importing.reading.stated_states import stated_charge
from tasks.simulation.molecules import BOND
from tasks.structures.frames import Bool

Entry = TypeVar("Entry")
# A reference bond and the bond at the start differ by less than this factor; nm and bohr do by more.
SAME_BOND = 1.25
SAME_PLACE = 2e-3  # Å: PDB files have three decimals


def checked_atoms(symbols: Sequence[str], coordinates: Sequence[Sequence[float]], charge: float, where: str) -> Atoms:
    """The molecule, with `charge` and 2S+1 = 1, which MLIPAudit states of every molecule.

    Args:
        coordinates: (n, 3) [Å].

    Raises:
        DatasetError: the line begins with `where`.
    """
    for i, symbol in enumerate(symbols):
        if atomic_numbers.get(symbol, 0) == 0:
            raise DatasetError(f"{where}: atom_symbols: {symbol!r} of atom {i} is no element: write it as C or Cl")
    if len(coordinates) != len(symbols):
        raise DatasetError(
            f"{where}: coordinates: has {len(coordinates)} rows for {len(symbols)} atom_symbols: state one of each atom"
        )
    if not symbols:
        raise DatasetError(f"{where}: atom_symbols: is empty: leave the entry out")
    atoms = Atoms(list(symbols), np.array(coordinates))
    atoms.info = {"charge": stated_charge(charge, where), "spin": 1}
    check_closed_shell(atoms, where)
    return atoms


def check_closed_shell(atoms: Atoms, where: str) -> None:
    """2S+1 = 1 is possible: the number of electrons is even.

    Raises:
        DatasetError: it is odd; the line begins with `where`.
    """
    charge = atoms.info["charge"]
    electrons = int(atoms.numbers.sum()) - charge
    if electrons % 2:
        raise DatasetError(
            f"{where}: charge: {electrons} electrons (charge {charge:+d}) cannot have 2S+1 = 1, which MLIPAudit states "
            "of every molecule: correct the charge, or add missing atoms"
        )


def check_same_order(atoms: Atoms, first: Atoms, names: tuple[str, str], where: str) -> None:
    """Both structures of a reaction have the same atoms in the same order.

    Args:
        names: of `atoms` and of `first`.

    Raises:
        DatasetError: the line begins with `where`.
    """
    name, first_name = names
    if len(atoms) != len(first):
        raise DatasetError(
            f"{where}: {name}: has {len(atoms)} atoms, {first_name} {len(first)}: complete the smaller one"
        )
    changed = np.flatnonzero(atoms.numbers != first.numbers)
    if changed.size:
        i = int(changed[0])
        raise DatasetError(
            f"{where}: {name}: atom {i} is {atoms.symbols[i]}, of {first_name} {first.symbols[i]}: bring the atoms "
            "into the same order"
        )


def check_selection(selection: Sequence[int], atoms: Atoms, field: str, where: str) -> None:
    """The atoms of a selection exist, each once.

    Raises:
        DatasetError: the line begins with `where`.
    """
    for atom in selection:
        if not 0 <= atom < len(atoms):
            raise DatasetError(
                f"{where}: {field}: there is no atom {atom}, but 0 to {len(atoms) - 1}: count the atoms from 0"
            )
    if len(set(selection)) < len(selection):
        raise DatasetError(f"{where}: {field}: names an atom twice: name each once")


def check_ring(ring: Sequence[int], atoms: Atoms, field: str, where: str) -> None:
    """The atoms are a ring, or rings that share bonds: each is bonded to two or more of the others, which are bonded.

    Raises:
        DatasetError: the line begins with `where`.
    """
    check_selection(ring, atoms, field, where)
    bonds = bonded(atoms)[np.ix_(ring, ring)]
    reached = np.zeros(len(ring), np.bool_)
    reached[:1] = True
    for _ in ring:
        reached |= bonds[reached].any(axis=0)
    alone = np.flatnonzero(~reached | (bonds.sum(axis=1) < 2))
    if alone.size:
        atom = ring[int(alone[0])]
        raise DatasetError(
            f"{where}: {field}: is no ring: atom {atom} ({atoms.symbols[atom]}) is not bonded to two of the others: "
            "name the atoms of a ring"
        )


def check_bond(pair: Sequence[int], length: float, atoms: Atoms, where: str) -> None:
    """The atoms are bonded, and `length` [Å] is about the length of their bond at the start.

    Raises:
        DatasetError: the line begins with `where`.
    """
    check_selection(pair, atoms, "pattern_atom_indices", where)
    first, second = pair
    distance = float(atoms.get_distance(first, second))
    if not bonded(atoms)[first, second]:
        raise DatasetError(
            f"{where}: pattern_atom_indices: atoms {first} and {second} are {distance:.3f} Å apart and not bonded: "
            "name both ends of a bond"
        )
    if not 1 / SAME_BOND < length / distance < SAME_BOND:
        raise DatasetError(
            f"{where}: reference_bond_distance: {length:.4g} Å is not the length of this bond, which is "
            f"{distance:.3f} Å at the start: nm or bohr taken for Å? Convert it"
        )


def bonded(atoms: Atoms) -> Bool:
    """(n, n) which atoms of a molecule are bonded, by their distance."""
    radii = covalent_radii[atoms.numbers]
    near = atoms.get_all_distances() < BOND * (radii[:, None] + radii[None, :])
    np.fill_diagonal(near, False)
    return np.asarray(near)


def check_same_structure(atoms: Atoms, other: Atoms, names: tuple[str, str], where: str) -> None:
    """Two files have one structure; atoms may be at other periodic images in the cell of `other`.

    Args:
        names: of the files of `atoms` and `other`.

    Raises:
        DatasetError: the line begins with `where`.
    """
    check_same_order(atoms, other, names, where)
    vectors, _ = find_mic(atoms.positions - other.positions, other.cell, other.pbc)
    away = np.abs(vectors).max(axis=1)
    if away.max() > SAME_PLACE:
        i = int(np.argmax(away))
        raise DatasetError(
            f"{where}: {names[0]}: atom {i} ({atoms.symbols[i]}) is {away[i]:.3g} Å from where {names[1]} has it: take "
            "both files from one release"
        )


def chosen_entries(
    entries: Mapping[str, Entry], dev: int | Sequence[str], is_dev: bool, where: object
) -> dict[str, Entry]:
    """The entries of a file that a mode runs.

    Args:
        dev: of the mode dev: the first so many, or those of these names.

    Raises:
        DatasetError: there is none.
    """
    chosen = dict(entries)
    if is_dev:
        names = list(entries)[:dev] if isinstance(dev, int) else [name for name in dev if name in entries]
        chosen = {name: entries[name] for name in names}
    if not chosen:
        of_mode = "" if isinstance(dev, int) or not is_dev else f" of {', '.join(dev)}, which the mode dev runs"
        raise DatasetError(f"{where}: has no entry{of_mode}: restore the published file")
    return chosen
