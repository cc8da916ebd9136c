"""Energy differences from a DIN file and its structures, in one folder.

A `*.din` file has lines of comments (`#`) and blocks: pairs of lines with a coefficient and the name of a structure, a
line `0`, and the reference [kcal/mol]:

    #@ fieldasrxn 1
    3
    a_struct
    -1.5
    b_struct
    0
    20.34

`fieldasrxn` says which structure names an item: the n-th, the n-th from the end if negative, and all for 0 or without
it. Structures are those of `structures.extxyz`, by name, or files `NAME.xyz` whose second line states charge and 2S+1.

Source: the manual of acpdb, github.com/aoterodelaroza/acpdb; sets of this kind: github.com/aoterodelaroza/refdata.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ase import Atoms

from tasks.datasets.card import Card, DatasetError, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.energy_sums import Sums
from tasks.importing.importers import read_atoms
from tasks.importing.ml_peg.files import atoms_of, charge_and_multiplicity
from tasks.structures.text_files import read_text

STRUCTURES = "structures.extxyz"
DIRECTIVE = "fieldasrxn"


class DinItem(NamedTuple):
    """An item: coefficients by name of structure, in the order of the file, and the reference [kcal/mol]."""

    terms: dict[str, float]
    reference: float
    line: int


def import_din(folder: Path, card: Card) -> Dataset:
    """The energy differences of the one DIN file in `folder`, at the card's default label set.

    Raises:
        DatasetError: one line that names file, line and structure.
    """
    paths = sorted(folder.glob("*.din"))
    if len(paths) != 1:
        raise DatasetError(f"{folder}: *.din: has {len(paths)} files, not one")
    (path,) = paths
    with dataset_faults(path):
        lines = read_text(path).splitlines()
    field, sums, named = _field(lines, path), Sums("kcal/mol"), _named(folder)
    ids: dict[str, int] = {}
    for block in blocks(lines, path):
        for name in block.terms:
            _add(sums, name, named, folder, f"{path}: line {block.line}")
        names = list(block.terms)
        id = "_".join(names) if not field else names[(field - 1 if field > 0 else field) % len(names)]
        ids[id] = ids.get(id, 0) + 1
        sums.add(id if ids[id] == 1 else f"{id} #{ids[id]}", block.terms, block.reference)
    return sums.dataset(card, path)


def blocks(lines: list[str], path: Path) -> Iterator[DinItem]:
    """The items of a DIN file.

    Raises:
        DatasetError: a line is not what the blocks need there.
    """
    stated = [(n, text) for n, line in enumerate(lines, 1) if (text := line.strip()) and not text.startswith("#")]
    terms: dict[str, float] = {}
    rest = iter(stated)
    for number, text in rest:
        coefficient = _number(text, path, number)
        follows, value = next(rest, (number, ""))
        if coefficient == 0.0:
            if not terms:
                raise DatasetError(f"{path}: line {number}: ends an item without structures")
            yield DinItem(terms, _number(value, path, follows), number)
            terms = {}
        elif not value:
            raise DatasetError(f"{path}: line {number}: the file ends after a coefficient")
        else:
            terms[value] = terms.get(value, 0.0) + coefficient
    if terms:
        raise DatasetError(f"{path}: the last item has no line 0 with its reference")


def _number(text: str, path: Path, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DatasetError(f"{path}: line {line}: {text!r} is no number") from None


def _field(lines: list[str], path: Path) -> int:
    """Which structure names an item; 0: all."""
    for line in lines:
        words = line.removeprefix("#@").split() if line.startswith("#@") else []
        for word, value in pairwise(words):
            if word == DIRECTIVE:
                try:
                    return int(value)
                except ValueError:
                    raise DatasetError(f"{path}: {DIRECTIVE}: {value!r} is no whole number") from None
    return 0


def _named(folder: Path) -> dict[str, Atoms]:
    """The structures of `structures.extxyz` by name; empty without that file."""
    path = folder / STRUCTURES
    return {str(atoms.info.get("name", "")): atoms for atoms in read_atoms(path)} if path.is_file() else {}


def _add(sums: Sums, name: str, named: dict[str, Atoms], folder: Path, where: str) -> None:
    if name in named:
        with dataset_faults(folder / STRUCTURES):
            sums.structure(name, named[name])
        return
    path = folder / f"{name}.xyz"
    if not path.is_file():
        raise DatasetError(f"{where}: {name}: neither {STRUCTURES} nor {path.name} has this structure")
    sums.structure(name, atoms_of(path, "xyz"), *charge_and_multiplicity(path))
