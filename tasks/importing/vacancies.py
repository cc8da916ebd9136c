"""Vacancies of metals, from the tables of MLIP Arena: `…fcc.csv` or `…hcp.csv`.

Columns `symbol`, `volume_per_atom` [Å³] and `e_vacform` [eV]; a blank is no reference, and a name that ends in `_mag`
is of a magnetic calculation, which is left out. A metal is a supercell of 108 atoms (fcc) or 36 (hcp, ideal c/a), and
the same without its first atom; the formation energy is E(vacancy) − (N − 1)/N E(perfect), each relaxed.

Source: MLIP Arena (github.com/atomind-ai/mlip-arena at commit 6239aea), after T. Angsten et al., New J. Phys. 16,
015018 (2014).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.data import atomic_numbers

from tasks.datasets.card import Card, DatasetError, Difference, Summand, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.labelled_import import with_periodicity
from tasks.structures.frames import Frames

MAGNETIC = "_mag"


def import_vacancies(path: Path, card: Card) -> Dataset:
    """The data set in `path`, at the card's default label set.

    Raises:
        DatasetError: one line that names file, row and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{path}: the card names no label set for the references")
    lattice = next((name for name in ("fcc", "hcp") if path.stem.casefold().endswith(name)), None)
    if lattice is None:
        raise DatasetError(f"{path}: its name must end in fcc.csv or hcp.csv, which says the lattice")
    structures: dict[str, Atoms] = {}
    rows: list[Difference] = []
    for number, (symbol, volume, energy) in enumerate(_rows(path), 1):
        where = f"{path}: row {number} ({symbol})"
        if symbol not in atomic_numbers:
            raise DatasetError(f"{where}: symbol: is no element")
        if f"{symbol} perfect" in structures:
            raise DatasetError(f"{where}: symbol: is there twice")
        perfect = supercell(symbol, lattice, volume)
        first, n = len(structures), len(perfect)
        structures |= {f"{symbol} perfect": perfect, f"{symbol} vacancy": perfect[1:]}
        terms = (Summand(structure=first + 1, coefficient=1.0), Summand(structure=first, coefficient=-(n - 1) / n))
        reference = {card.default_label_set: energy}
        rows.append(Difference(id=symbol, group=lattice, cluster=symbol, terms=terms, reference=reference))
    if not rows:
        raise DatasetError(f"{path}: has no formation energy")
    frames, names = Frames.from_atoms(list(structures.values())), tuple(structures)
    clusters = tuple(name.split()[0] for name in names)
    table = Table(id=names, group=(lattice,) * len(names), cluster=clusters, differences=tuple(rows))
    return Dataset(with_periodicity(card, frames), frames, table, {})


def supercell(symbol: str, lattice: str, volume: float) -> Atoms:
    """108 atoms of an fcc metal, or 36 of an hcp one, at `volume` [Å³] for an atom."""
    if lattice == "fcc":
        cubic: Atoms = bulk(symbol, "fcc", a=np.cbrt(4 * volume), cubic=True).repeat(3)
        return cubic
    ratio = np.sqrt(8 / 3)
    a = np.cbrt(4 * volume / (np.sqrt(3) * ratio))
    hexagonal: Atoms = bulk(symbol, "hcp", a=a, c=a * ratio).repeat((3, 3, 2))
    return hexagonal


def _rows(path: Path) -> list[tuple[str, float, float]]:
    """Symbol, volume and formation energy of each metal that has all three."""
    with dataset_faults(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    heads = [head.strip() for head in (lines[0] if lines else "").split(",")]
    rows = []
    for number, line in enumerate(lines[1:], 1):
        row = dict(zip(heads, (word.strip() for word in line.split(",")), strict=False))
        symbol = row.get("symbol", "")
        if symbol.endswith(MAGNETIC) or not row.get("e_vacform") or not row.get("volume_per_atom"):
            continue
        try:
            rows.append((symbol, float(row["volume_per_atom"]), float(row["e_vacform"])))
        except ValueError as error:
            raise DatasetError(f"{path}: row {number} ({symbol}): {error}") from None
    return rows
