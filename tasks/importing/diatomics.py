"""Datasets of diatomics from the published layout of Matbench Discovery: one JSON file, which may be gzipped.

    {"PBE": {"O-O": {"distances": [0.528, 0.555], "energies": [153.8, 126.6],
                     "forces": [[[-1102.9, 0, 0], [1102.9, 0, 0]], [[-926.8, 0, 0], [926.8, 0, 0]]]}},
     "r2SCAN": {}}

By level of theory and pair: distances [Å], increasing; energies [eV], counted from any zero; forces [eV/Å] of both
atoms, the second of which lies in the direction of x, or none. Other fields are ignored. A pair without distances
(`"O-H": {}`) has no reference. The label sets of the card are read, each of which must be in the file.

A structure is made for each of 119 geometric distances from 0.1 to 6 Å: two atoms along x in a periodic cube of 50 Å.
Pairs with Po, At, Rn, Fr or Ra are left out, as Matbench Discovery leaves them out (commit 2c7f9fc).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ase.data import atomic_numbers, chemical_symbols
from pydantic import FiniteFloat, ValidationError

from tasks.datasets.card import Card, DatasetError, Table, dataset_faults, one_line
from tasks.datasets.dataset import Dataset
from tasks.datasets.diatomic_pairs import Diatomic, DiatomicReference
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.stated_tables import StatedTable
from tasks.simulation.diatomics import pair_frames
from tasks.structures.text_files import decoded

N_DISTANCES, SHORTEST, LONGEST, BOX = 119, 0.1, 6.0, 50.0  # Å
LEFT_OUT = frozenset({"Po", "At", "Rn", "Fr", "Ra"})
# Forces across the bond, and the sum of both, are at most so large [eV/Å]: what calculations leave of zero.
STRAY_FORCE = 0.05
# The forces of a level of theory agree with the slopes of its energies within this factor, in the median of its pairs.
SAME_SLOPE = 1.25
# Points from the first on: high on the wall, where the slope is largest.
STEEP = 8
P_BLOCK = frozenset(z for last in (10, 18, 36, 54, 86) for z in range(last - 5, last + 1))
GZIP = b"\x1f\x8b"


class StatedPairCurve(StatedTable):
    """A pair at one level of theory."""

    distances: tuple[FiniteFloat, ...] = ()
    energies: tuple[FiniteFloat, ...] = ()
    forces: tuple[tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...], ...] = ()


def import_diatomics(path: Path, card: Card) -> Dataset:
    """A data set of diatomics; the structures of a pair are called `<pair> <number>`.

    Raises:
        DatasetError: one line that names file, level of theory, pair and field.
    """
    levels = _read(path)
    missing = [name for name in card.label_sets if name not in levels]
    if missing or not card.label_sets:
        asked = f"{missing[0]}: is not in it" if missing else "the card names no label set"
        raise DatasetError(f"{path}: {asked}: it has {', '.join(levels) or 'nothing'}")
    references: dict[tuple[int, int], dict[str, DiatomicReference]] = {}
    for label_set in card.label_sets:
        for numbers, stated in _level(f"{path}: {label_set}", levels[label_set]).items():
            of_pair = references.setdefault(numbers, {})
            if stated is not None:
                of_pair[label_set] = stated
    if not references:
        raise DatasetError(f"{path}: has no pair with known elements")
    rows = [
        Diatomic(
            id=_name(numbers),
            group=_block(numbers),
            structures=tuple(range(N_DISTANCES * row, N_DISTANCES * (row + 1))),
            reference=references[numbers],
        )
        for row, numbers in enumerate(sorted(references))
    ]
    r = np.geomspace(SHORTEST, LONGEST, N_DISTANCES)
    frames = pair_frames(sorted(references), np.tile(r, (len(rows), 1)), BOX)
    table = Table(
        id=tuple(f"{row.id} {i}" for row in rows for i in range(N_DISTANCES)),
        group=tuple(row.group for row in rows for _ in range(N_DISTANCES)),
        cluster=tuple(row.id for row in rows for _ in range(N_DISTANCES)),
        pairs=tuple(rows),
    )
    return Dataset(with_periodicity(card, frames), frames, table, {})


def _read(path: Path) -> Mapping[str, Any]:
    """The file by level of theory."""
    if not path.exists():
        raise DatasetError(f"{path}: is not there")
    with dataset_faults(path):
        data = path.read_bytes()
        levels = json.loads(decoded(gzip.decompress(data) if data.startswith(GZIP) else data))
    if not isinstance(levels, dict):
        raise DatasetError(f"{path}: must have an entry for each level of theory, such as PBE")
    return levels


def _level(where: str, pairs: object) -> dict[tuple[int, int], DiatomicReference | None]:
    """The references of one level of theory by atomic numbers; None for a pair without one."""
    if not isinstance(pairs, dict):
        raise DatasetError(f"{where}: must have an entry for each pair, such as O-O")
    references: dict[tuple[int, int], DiatomicReference | None] = {}
    for name, curve in pairs.items():
        numbers = _numbers(f"{where}: {name}", name)
        if numbers in references:
            raise DatasetError(f"{where}: {name}: the pair is there twice")
        if LEFT_OUT.isdisjoint(chemical_symbols[z] for z in numbers):
            references[numbers] = _reference(f"{where}: {name}", curve)
    _check_slopes(where, [stated for stated in references.values() if stated is not None])
    return references


def _numbers(where: str, name: str) -> tuple[int, int]:
    """The atomic numbers of a pair, the smaller one first."""
    symbols = name.split("-")
    unknown = [symbol for symbol in symbols if not atomic_numbers.get(symbol)]
    if len(symbols) != 2 or unknown:
        raise DatasetError(f"{where}: must be two elements joined by a dash, such as O-O")
    first, second = sorted(atomic_numbers[symbol] for symbol in symbols)
    return first, second


def _reference(where: str, curve: object) -> DiatomicReference | None:
    try:
        stated = StatedPairCurve.model_validate(curve)
        if not stated.distances:
            return None
        forces = _radial(where, stated.forces) if stated.forces else ()
        return DiatomicReference(distances=stated.distances, energies=stated.energies, forces=forces)
    except ValidationError as error:
        raise DatasetError(f"{where}: {one_line(error)}") from None


def _radial(where: str, stated: Sequence[Sequence[Sequence[float]]]) -> tuple[float, ...]:
    """(n,) the forces that drive the atoms apart, from those of both atoms (n, 2, 3)."""
    if any(len(atoms) != 2 for atoms in stated):
        raise DatasetError(f"{where}: forces: must be three components of two atoms at each distance")
    forces = np.array(stated)
    across, net = np.abs(forces[:, :, 1:]).max(), np.abs(forces.sum(axis=1)).max()
    if across > STRAY_FORCE:
        raise DatasetError(f"{where}: forces: of {across:.3g} eV/Å across x: the atoms must lie along x")
    if net > STRAY_FORCE:
        raise DatasetError(f"{where}: forces: of both atoms add up to {net:.3g} eV/Å: are they of two atoms alone?")
    return tuple(((forces[:, 1, 0] - forces[:, 0, 0]) / 2.0).tolist())


def _check_slopes(where: str, references: list[DiatomicReference]) -> None:
    """The forces of a level of theory are −dE/dr, in the median of its pairs."""
    shares = [_share(reference) for reference in references if reference.forces]
    if not shares:
        return
    share = float(np.median(shares))
    if share < 0.0:
        raise DatasetError(f"{where}: forces: have the sign of gradients: forces drive the second atom to larger x")
    if not 1.0 / SAME_SLOPE <= share <= SAME_SLOPE:
        raise DatasetError(
            f"{where}: forces: are {share:.4g} times −dE/dr: hartree, kcal/mol or bohr taken for eV or Å?"
        )


def _share(reference: DiatomicReference) -> float:
    """The forces as a multiple of −dE/dr, in the median of the first points."""
    stated = (reference.distances, reference.energies, reference.forces)
    r, energy, force = (np.array(values[:STEEP]) for values in stated)
    slope = np.diff(energy) / np.diff(r)
    with np.errstate(divide="ignore", invalid="ignore"):  # flat energies give inf or NaN, which agree with nothing
        return float(np.median(-(force[1:] + force[:-1]) / 2.0 / slope))


def _name(numbers: tuple[int, int]) -> str:
    return "-".join(chemical_symbols[z] for z in numbers)


def _block(numbers: tuple[int, int]) -> str:
    """The group of a pair: the block of its element in the periodic table."""
    if numbers[0] != numbers[1]:
        return "two elements"
    z = numbers[0]
    since = z - max(noble for noble in (0, 2, 10, 18, 36, 54, 86) if noble < z)
    if since <= 2:
        return "s block"
    if z > 54 and since <= 16:
        return "f block"
    return "p block" if z in P_BLOCK else "d block"
