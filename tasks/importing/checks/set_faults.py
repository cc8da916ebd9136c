"""What no data set can have, whatever its importer: sums that lose atoms, impossible states, barriers below an end.

`summarise` asks for them of every data set, so that no importer can pass them over. Importers of tables that a person
writes, and of sums, refuse them at once, by `checked_set`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.card import DatasetError, Difference
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.barriers import doubtful_barriers, low_barriers
from tasks.importing.import_checks import impossible_multiplicity
from tasks.structures.frames import MOMENTS, Frames

# Atoms that a sum may gain or lose: the rounding of coefficients such as 1/3.
MAX_IMBALANCE = 1e-6
HYDROGEN = 1
SUPERCELL = "supercell"  # the condition of phonons and of thermal conductivities
UNBALANCED = 'correct the coefficients, or state "unbalanced": true in reactions.json if it is meant'


class Balance(NamedTuple):
    """What a sum gains, beyond rounding.

    Args:
        atoms: by atomic number; elements that balance are absent.
        charge: [e], 0.0 if it balances.
        is_of_protons: whether bare protons alone are missing: they have no electrons, and so no energy to add. The
            charge changes with the H atoms; or a hydrogen atom alone is ionised.
    """

    atoms: dict[int, float]
    charge: float
    is_of_protons: bool

    @property
    def words(self) -> str:
        """The first element that does not balance, as `-1 H atoms`."""
        number, gained = next(iter(self.atoms.items()))
        return f"{gained:+.6g} {chemical_symbols[number]} atoms"


def balance_of(difference: Difference, frames: Frames) -> Balance:
    """What the terms of `difference` gain."""
    numbers = [frames.between(t.structure, t.structure + 1).numbers for t in difference.terms]
    coefficients = np.array([term.coefficient for term in difference.terms])
    weights = np.repeat(coefficients, [len(z) for z in numbers])
    gained = np.bincount(np.concatenate(numbers), weights)
    # Rounding grows with the number of atoms.
    sizes = np.bincount(np.concatenate(numbers), np.abs(weights))
    off = np.flatnonzero(np.abs(gained) > MAX_IMBALANCE * np.maximum(sizes, 1.0)).tolist()
    charges = coefficients * frames.charge[[term.structure for term in difference.terms]]
    charge = float(charges.sum())
    is_off = abs(charge) > MAX_IMBALANCE * max(1.0, float(np.abs(charges).sum()))
    atoms, charge = {number: float(gained[number]) for number in off}, charge if is_off else 0.0
    hydrogen = atoms.get(HYDROGEN, 0.0)
    is_ionised = all(z.tolist() == [HYDROGEN] for z in numbers)
    with_charge = abs(hydrogen - charge) <= MAX_IMBALANCE * max(1.0, abs(hydrogen))
    return Balance(atoms, charge, atoms.keys() == {HYDROGEN} and (with_charge or is_ionised))


def imbalance(difference: Difference, frames: Frames) -> str | None:
    """The atoms that appear or vanish over the terms of `difference`, as `-1 H atoms`; None where none do."""
    balance = balance_of(difference, frames)
    return balance.words if balance.atoms else None


def checked_set(dataset: Dataset, where: object) -> Dataset:
    """`dataset`, if it has no fault of `set_faults`.

    Args:
        where: the file or folder at fault, for the error.

    Raises:
        DatasetError: it has one; one line that names the item or structure.
    """
    faults = set_faults(dataset)
    if faults:
        raise DatasetError(f"{where}: {faults[0]}")
    return dataset


def set_faults(dataset: Dataset) -> list[str]:
    """A line for each sort of fault: its first item or structure, the number of all, and the remedy."""
    sums = [(row.id, imbalance(row, dataset.frames)) for row in dataset.table.differences if not row.unbalanced]
    lost = [f"({id}): terms: the sum has {words}, not 0" for id, words in sums if words is not None]
    lines = [f"differences {lost[0]}: {UNBALANCED}{_more(len(lost), 'sums')}"] if lost else []
    lines += [*list(_wrong_alternatives(dataset))[:1], *list(_changed_profiles(dataset))[:1]]
    state = impossible_multiplicity(dataset.frames, dataset.table.id)
    lines += [state] if state else []
    if SUPERCELL in dataset.conditions and dataset.frames.initial_magmoms is not None:
        lines.append(
            f"{MOMENTS}: displaced supercells follow the symmetry of the atoms alone, which moments may lower: leave "
            "the moments out"
        )
    return lines + low_barriers(dataset)


def doubtful_sets(dataset: Dataset) -> list[str]:
    """A line for each sort of doubt: what the importer took for granted, sums that change the charge, low barriers."""
    lines = list(dataset.doubts)
    frames, ids = dataset.frames, dataset.table.id
    silent = np.flatnonzero(~frames.pbc.any(axis=1) & (frames.multiplicity == 0)).tolist()
    if silent and not dataset.table.pairs:  # whose curves are of no one state
        lines.append(guessed_multiplicities([ids[i] for i in silent]))
    sums = [(row.id, balance_of(row, frames)) for row in dataset.table.differences if not row.unbalanced]
    charged = [(id, balance) for id, balance in sums if balance.charge and not balance.atoms]
    if charged:
        id, balance = charged[0]
        lines.append(
            f"differences ({id}): terms: the charge changes by {balance.charge:+g} e{_more(len(charged), 'sums')}: "
            "right for an ionisation or an electron affinity; else state the charge of each structure"
        )
    return lines + doubtful_barriers(dataset)


def _wrong_alternatives(dataset: Dataset) -> Iterator[str]:
    """Lines about structures of which the lowest takes part, and which are not of the same atoms and charge."""
    for row in dataset.table.differences:
        for term in row.terms:
            if _other_than_first(dataset.frames, (term.structure, *term.alternatives)) is not None:
                yield f"differences ({row.id}): terms: alternatives: must have the atoms and charge of their structure"


def _changed_profiles(dataset: Dataset) -> Iterator[str]:
    """Lines about profiles and paths along which atoms or the charge change."""
    items = [("scans", each.id, each.structures) for each in dataset.table.scans]
    path_of = dataset.conditions.get("path", np.zeros(0))
    for row in dataset.table.paths:
        items += [("paths", row.id, tuple(np.flatnonzero(path_of == row.path).tolist()))]
    for sort, id, structures in items:
        other = _other_than_first(dataset.frames, structures)
        if other is not None:
            yield (
                f"{sort} ({id}): {dataset.table.id[other]}: has other atoms or another charge than "
                f"{dataset.table.id[structures[0]]}: give all of them one composition and charge"
            )


def _other_than_first(frames: Frames, structures: Sequence[int]) -> int | None:
    """The first of `structures` with other atoms than the first, in any order, or another charge; None without one."""
    for index in structures[1:]:
        first = structures[0]
        atoms, others = (np.sort(frames.numbers[frames.atom_slice(i)]) for i in (first, index))
        if not np.array_equal(atoms, others) or frames.charge[index] != frames.charge[first]:
            return index
    return None


def without_protons(sums: Sequence[tuple[str, Balance]]) -> str:
    """A line about sums, by name, that were taken to lack bare protons."""
    id, balance = sums[0]
    return (
        f"differences ({id}): terms: the sum has {balance.words} and {balance.charge:+g} e"
        f"{_more(len(sums), 'sums')}: right for bare protons, whose energy is 0; else correct atoms or charges"
    )


def guessed_multiplicities(names: Sequence[str], known: Sequence[tuple[str, int]] = ()) -> str:
    """A line about molecules whose 2S+1 was taken as the lowest.

    Args:
        known: those of `names` whose ground state is another, with its 2S+1.
    """
    first, more = names[0], f" (and of {len(names) - 1} more)" if len(names) > 1 else ""
    higher = ", ".join(f"{name} ({spin})" for name, spin in known[:3])
    remedy = f"the ground state of {higher} has a higher one" if known else "where it is higher"
    return (
        f"{first}: multiplicity: 2S+1 of this molecule{more} is not stated and taken as the lowest, 1 or 2: state it"
        + (f": {remedy}" if known else f" {remedy}")
    )


def _more(n: int, what: str) -> str:
    return f" ({n} such {what} in all)" if n > 1 else ""
