"""Defects: energies of cells with them, which the heads of their files state."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tasks.datasets.card import DatasetError
from tasks.importing.energy_sums import Sums
from tasks.importing.ml_peg.files import NUMBER, atoms_of, inside, lines_of

GRAPHITE, BORON = "boroncarbide_refbc_graphiteLDA", "boroncarbide_refbc_alphaB_LDA"


def relastab(folder: Path) -> Sums:
    """Relastab: the energies of the structures of each subset above the lowest, which heads of the files state."""
    root = inside(folder, "Relastab")
    sums = Sums("eV")
    for subset in sorted(path for path in root.iterdir() if path.is_dir()):
        names, energies = [], []
        for file in sorted(subset.glob("*.poscar")):
            names.append(sums.structure(f"{subset.name} {file.stem}", atoms_of(file, "vasp")))
            energies.append(head_energy(file))
        if names:
            sums.relative(names, energies, int(np.argmin(energies)), subset.name, subset.name)
    return sums


def head_energy(path: Path) -> float:
    """The energy [eV] that the first line of a POSCAR states: `E0= …`, or its fifth or sixth word.

    Raises:
        DatasetError: it states none.
    """
    head = lines_of(path)[0]
    stated = re.match(rf"\s*E0\s*=\s*({NUMBER.pattern})", head)
    words = [stated[1]] if stated else [word for word in head.split()[4:6] if NUMBER.fullmatch(word)]
    if not words:
        raise DatasetError(f"{path}: line 1: has no energy as E0= or as its fifth or sixth word")
    return float(words[0])


class _Cells:
    """The cells of Defectstab by name, with the energies that they state [eV]."""

    def __init__(self, root: Path) -> None:
        self.sums, self.energies, self.root = Sums("eV"), dict[str, float](), root

    def read(self, files: Iterable[Path]) -> list[str]:
        """Adds cells; their names."""
        names = []
        for file in files:
            name = self.sums.structure(f"{file.parent.name} {file.stem}", atoms_of(file, "vasp"))
            self.energies[name] = head_energy(file)
            names.append(name)
        return names

    def one(self, pattern: str) -> str:
        """The name of the one cell whose file fits.

        Raises:
            DatasetError: there is none, or there are several.
        """
        found = sorted(self.root.glob(pattern))
        if len(found) != 1:
            raise DatasetError(f"{self.root}: {pattern}: has {len(found)} files, not one")
        return self.read(found)[0]

    def n_atoms(self, name: str, element: str = "") -> int:
        """The atoms of a cell, or those of an element."""
        symbols = self.sums.structures[name].get_chemical_symbols()
        return symbols.count(element) if element else len(symbols)

    def add(self, name: str, less: dict[str, float], quantity: str) -> None:
        """Adds the energy of a cell plus those of others with coefficients, as the cells state them."""
        terms = {name: 1.0, **{other: c for other, c in less.items() if c}}
        reference = sum(coefficient * self.energies[other] for other, coefficient in terms.items())
        self.sums.add(name, terms, reference, group=quantity, quantity=quantity)


def defectstab(folder: Path) -> Sums:
    """Defectstab: four subsets, each a quantity; which cells are references is told by the names of the files."""
    root = inside(folder, "Defectstab")
    cells = _Cells(root)
    pure = cells.one("fe_sia/ref.poscar")
    for name in cells.read(path for path in sorted(root.glob("fe_sia/*.poscar")) if path.stem != "ref"):
        cells.add(name, {pure: -cells.n_atoms(name) / cells.n_atoms(pure)}, "fe_sia")
    graphite, boron = cells.one(f"**/{GRAPHITE}.poscar"), cells.one(f"**/{BORON}.poscar")
    atom = {graphite: 1 / cells.n_atoms(graphite), boron: 1 / cells.n_atoms(boron)}
    quantity = "boroncarbide_stoichiometry"
    for name in cells.read(path for path in sorted(root.glob(f"{quantity}/*.poscar")) if "refbc" not in path.name):
        terms = {each: -cells.n_atoms(name, symbol) * atom[each] for each, symbol in ((boron, "B"), (graphite, "C"))}
        cells.add(name, terms, quantity)
    perfect = cells.one("boroncarbide_defects/*NoDefects*.poscar")
    for mark, added in (("Bipolar", {}), ("VB0", {boron: atom[boron]})):
        for name in cells.read(sorted(root.glob(f"boroncarbide_defects/*{mark}*.poscar"))):
            cells.add(name, {perfect: -1.0, **added}, "boroncarbide_defects")
    salt = cells.one("mapi_tetragonal/*pristine*.poscar")
    pair = cells.one("mapi_tetragonal/MAI.poscar" if (root / "mapi_tetragonal/MAI.poscar").is_file() else MAI)
    for name in cells.read(sorted(root.glob("mapi_tetragonal/*VMAI*.poscar"))):
        cells.add(name, {pair: 0.5, salt: -1.0}, "mapi_tetragonal")
    return cells.sums


MAI = "mapi_tetragonal/*_MAI.poscar"
