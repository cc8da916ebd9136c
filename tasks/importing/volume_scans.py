"""Scans of the energy over the volume, from crystals alone: each with its lengths times 0.8 to 1.2, in 21 steps.

The crystals are the records of a file of matcalc (`*.json.gz`, such as the WBM crystals of its formation energies), or
the frames of a file that ASE reads, each with its `name`. There are no references: the shape of the energy is measured
(`shape` of the kind `equation_of_state`).

Source: MLIP Arena's E–V scans of 1000 WBM crystals (github.com/atomind-ai/mlip-arena at commit 6239aea).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ase import Atoms

from tasks.datasets.card import Card, Curve, DatasetError, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_atoms
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.matcalc import read_crystals
from tasks.observing.curve_observation import with_curve_numbers
from tasks.structures.frames import Frames

LENGTHS = np.linspace(0.8, 1.2, 21)


def import_volume_scans(path: Path, card: Card) -> Dataset:
    """A curve of 21 structures for each crystal in the file `path`.

    Raises:
        DatasetError: one line that names file and crystal.
    """
    crystals = read_crystals(path)[1] if path.name.endswith((".json", ".json.gz")) else _frames(path)
    structures: list[Atoms] = []
    curves: list[Curve] = []
    for name, atoms in crystals.items():
        if not atoms.pbc.all():
            raise DatasetError(f"{path}: {name}: is no crystal, which is periodic in all directions")
        first = len(structures)
        numbers = tuple(range(first, first + len(LENGTHS)))
        curves.append(Curve(id=name, cluster=name, structures=numbers, reference={}))
        structures += [stretched(atoms, float(share)) for share in LENGTHS]
    frames = Frames.from_atoms(structures)
    ids = tuple(f"{curve.id} {share:.2f}" for curve in curves for share in LENGTHS)
    clusters = tuple(curve.cluster for curve in curves for _ in LENGTHS)
    table = Table(id=ids, group=("",) * len(ids), cluster=clusters, curves=tuple(curves))
    return with_curve_numbers(Dataset(with_periodicity(card, frames), frames, table, {}))


def stretched(atoms: Atoms, share: float) -> Atoms:
    """The crystal with all its lengths times `share`."""
    copy = Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=atoms.pbc)
    copy.set_cell(share * copy.cell, scale_atoms=True)
    return copy


def _frames(path: Path) -> dict[str, Atoms]:
    crystals: dict[str, Atoms] = {}
    for number, atoms in enumerate(read_atoms(path)):
        name = str(atoms.info.get("name", number))
        if name in crystals:
            raise DatasetError(f"{path}: frame {number}: name: {name} is that of another frame")
        crystals[name] = atoms
    return crystals
