"""Vacancies of metals, from the tables of MLIP Arena: `…fcc.csv` or `…hcp.csv`.

Columns `symbol`, `volume_per_atom` [Å³] and `e_vacform` [eV]; a blank is no reference, and a name that ends in `_mag`
is of a magnetic calculation, which is left out. A metal is a supercell of 108 atoms (fcc) or 36 (hcp, ideal c/a), and
the same without its first atom; the formation energy is E(vacancy) − (N − 1)/N E(perfect), each relaxed. Migration
(column `e_vacmig` [eV]) is a path on which a nearest neighbour moves into the vacancy: the second atom, as MLIP Arena
has it, which in hcp comes from the next plane. Its cell is that of the stated volume; MLIP Arena relaxes it first.

Source: MLIP Arena (github.com/atomind-ai/mlip-arena at commit 6239aea), after T. Angsten et al., New J. Phys. 16,
015018 (2014).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.data import atomic_numbers
from numpy.typing import NDArray

from tasks.datasets.card import (
    Card,
    DatasetError,
    Difference,
    MinimumEnergyPath,
    PathReference,
    Summand,
    Table,
    dataset_faults,
)
from tasks.datasets.dataset import Dataset
from tasks.datasets.path_roles import PathRole
from tasks.importing.checks.set_faults import checked_set
from tasks.importing.labelled_import import with_periodicity
from tasks.structures.frames import Frames
from tasks.structures.text_files import read_text

MAGNETIC = "_mag"
NEIGHBOUR = 1  # of atom 0, at the distance of nearest neighbours; in hcp of the next plane


def import_vacancies(path: Path, card: Card) -> Dataset:
    """Perfect crystals and vacancies to relax, with formation energies at the card's default label set.

    Raises:
        DatasetError: one line that names file, row and field.
    """
    level, lattice = _level(path, card), _lattice(path)
    structures: dict[str, Atoms] = {}
    rows: list[Difference] = []
    for symbol, volume, energy in _rows(path, "e_vacform"):
        perfect = supercell(symbol, lattice, volume)
        first, n = len(structures), len(perfect)
        structures |= {f"{symbol} perfect": perfect, f"{symbol} vacancy": perfect[1:]}
        terms = (Summand(structure=first + 1, coefficient=1.0), Summand(structure=first, coefficient=-(n - 1) / n))
        rows.append(Difference(id=symbol, group=lattice, cluster=symbol, terms=terms, reference={level: energy}))
    return _dataset(card, path, structures, lattice, {}, differences=tuple(rows))


def import_migration(path: Path, card: Card) -> Dataset:
    """Paths of vacancies, with barriers at the card's default label set.

    Raises:
        DatasetError: one line that names file, row and field.
    """
    level, lattice = _level(path, card), _lattice(path)
    structures: dict[str, Atoms] = {}
    rows: list[MinimumEnergyPath] = []
    for symbol, volume, energy in _rows(path, "e_vacmig"):
        perfect = supercell(symbol, lattice, volume)
        vacancy = perfect[1:]
        moved = vacancy.copy()
        moved.positions[NEIGHBOUR - 1] += perfect.get_distance(NEIGHBOUR, 0, mic=True, vector=True)
        structures |= {f"{symbol} reactant": vacancy, f"{symbol} product": moved}
        reference = {level: PathReference(barrier=energy)}
        rows.append(MinimumEnergyPath(id=symbol, group=lattice, cluster=symbol, path=len(rows), reference=reference))
    roles = [int(PathRole.REACTANT), int(PathRole.PRODUCT)]
    conditions = {"path": np.repeat(np.arange(len(rows)), 2), "role": np.array(roles * len(rows))}
    return _dataset(card, path, structures, lattice, conditions, paths=tuple(rows))


def _dataset(
    card: Card,
    path: Path,
    structures: Mapping[str, Atoms],
    lattice: str,
    conditions: dict[str, NDArray[Any]],
    **items: Any,
) -> Dataset:
    frames, names = Frames.from_atoms(list(structures.values())), tuple(structures)
    clusters = tuple(name.split()[0] for name in names)
    table = Table(id=names, group=(lattice,) * len(names), cluster=clusters, **items)
    return checked_set(Dataset(with_periodicity(card, frames), frames, table, {}, conditions), path)


def _level(path: Path, card: Card) -> str:
    if card.default_label_set is None:
        raise DatasetError(f"{path}: the card names no label set for the references")
    return card.default_label_set


def _lattice(path: Path) -> str:
    lattice = next((name for name in ("fcc", "hcp") if path.stem.casefold().endswith(name)), None)
    if lattice is None:
        raise DatasetError(f"{path}: its name must end in fcc.csv or hcp.csv, which says the lattice")
    return lattice


def supercell(symbol: str, lattice: str, volume: float) -> Atoms:
    """108 atoms of an fcc metal, or 36 of an hcp one, at `volume` [Å³] for an atom."""
    if lattice == "fcc":
        cubic: Atoms = bulk(symbol, "fcc", a=np.cbrt(4 * volume), cubic=True).repeat(3)
        return cubic
    ratio = np.sqrt(8 / 3)
    a = np.cbrt(4 * volume / (np.sqrt(3) * ratio))
    hexagonal: Atoms = bulk(symbol, "hcp", a=a, c=a * ratio).repeat((3, 3, 2))
    return hexagonal


def _rows(path: Path, column: str) -> list[tuple[str, float, float]]:
    """Symbol, volume for an atom and `column` of each metal that has all three.

    Raises:
        DatasetError: a symbol or number cannot be, a metal is there twice, or there is none.
    """
    with dataset_faults(path):
        lines = read_text(path).splitlines()
    heads = [head.strip() for head in (lines[0] if lines else "").split(",")]
    rows: dict[str, tuple[float, float]] = {}
    for number, line in enumerate(lines[1:], 1):
        row = dict(zip(heads, (word.strip() for word in line.split(",")), strict=False))
        symbol = row.get("symbol", "")
        where = f"{path}: row {number} ({symbol})"
        if symbol.endswith(MAGNETIC) or not row.get(column) or not row.get("volume_per_atom"):
            continue
        if symbol not in atomic_numbers:
            raise DatasetError(f"{where}: symbol: is no element")
        if symbol in rows:
            raise DatasetError(f"{where}: symbol: is there twice")
        try:
            volume, energy = float(row["volume_per_atom"]), float(row[column])
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from None
        if not 0 < volume < math.inf:
            raise DatasetError(f"{where}: volume_per_atom: must be above zero and finite, not {volume:g}")
        if not math.isfinite(energy):
            raise DatasetError(f"{where}: {column}: must be finite, not {energy:g}: leave it blank if it is not known")
        rows[symbol] = volume, energy
    if not rows:
        raise DatasetError(f"{path}: {column}: no metal has one")
    return [(symbol, *values) for symbol, values in rows.items()]
