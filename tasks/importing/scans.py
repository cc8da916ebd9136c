"""Datasets of energy profiles from a folder of scans: one extended XYZ file each, and `scans.json` where it is needed.

    biphenyl.extxyz   the structures of the scan `biphenyl`, in the order of x
    …                 each comment line has `x`; molecules have `charge` and `multiplicity`
    scans.json        optional

`x` is an angle [°], or a displacement as a share of the whole, and increases from frame to frame. Without references
in `scans.json` the `energy` of each comment line is the reference, in eV, at the card's one label set. Else:

    {"reference_unit": "kcal/mol",
     "scans": {"biphenyl": {"reference": [0.0, 1.2, 2.1], "group": "biaryls", "cluster": "biphenyl"}}}

`reference_unit` is that of every `reference` (one number a frame, of the card's default label set) or `references` (by
label set), counted from any zero; energies in comment lines are then ignored. Without a `reference_unit` the file has
no references. Energies of stacking faults are divided by an area: `"area_angstrom2": 12.3`, or `"area": "cell"` for
|a × b| of the cell. Units per area (eV/Å², meV/Å², J/m², mJ/m²) are for scans that have one;
references are kept in eV. Scans of one `cluster` are correlated; without one each stands for itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field, FiniteFloat

from tasks.datasets.card import Card, DatasetError, Positive, Scan, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_atoms, read_molecules
from tasks.importing.labelled_import import Imported, formulas, with_periodicity
from tasks.importing.stated_tables import (
    StatedItem,
    StatedTable,
    check_areas,
    check_label_sets,
    read_stated,
    references_by_label_set,
)
from tasks.structures.frames import Frames
from tasks.structures.units import SURFACE_UNITS, Unit, unit_size

SCANS, SUFFIX = "scans.json", ".extxyz"
# Cells of one scan differ in |a × b| by no more than this share of it: the rounding of files.
SAME_AREA = 1e-4


class StatedScan(StatedItem):
    """The reference of one scan, and the area by which its energies are divided."""

    area_angstrom2: Positive | None = None
    area: Literal["cell"] | None = None
    reference: tuple[FiniteFloat, ...] | None = None
    references: dict[str, tuple[FiniteFloat, ...]] | None = None


class StatedScans(StatedTable):
    """`scans.json`."""

    reference_unit: Unit | None = None
    scans: dict[str, StatedScan] = Field(default_factory=dict)


class ScanFile(NamedTuple):
    """One file of the folder, its structures and labels, and x of each frame."""

    path: Path
    structures: Imported
    x: tuple[float, ...]


def import_scans(folder: Path, card: Card, multiplicity: int | None = None) -> Dataset:
    """A data set of energy profiles from the scans in `folder`; a structure is called `<scan> <number>`.

    Args:
        multiplicity: 2S+1 of every molecule that states none.

    Raises:
        DatasetError: one line that names file, frame or scan, and field.
    """
    if not folder.is_dir():
        raise DatasetError(f"{folder}: is {'no folder' if folder.exists() else 'not there'}")
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        raise DatasetError(f"{folder}: has no scan: one file called <name>{SUFFIX} each")
    if card.default_label_set is None:
        raise DatasetError(f"{folder}: default_label_set: the card names no label set for the references")
    stated = read_stated(folder / SCANS, StatedScans) if (folder / SCANS).exists() else StatedScans()
    for name in stated.scans:
        if folder / f"{name}{SUFFIX}" not in paths:
            raise DatasetError(f"{folder / SCANS}: scans.{name}: there is no {name}{SUFFIX}")
    files = [_read_file(path, multiplicity) for path in paths]
    frames = Frames.concatenate([file.structures.frames for file in files])
    scans, first = [], 0
    for file in files:
        scans.append(_scan(file, stated, card, first))
        first += len(file.x)
    check_areas([scan.area for scan in scans], f"{folder / SCANS}: scans", [scan.id for scan in scans])
    columns = {
        "id": tuple(f"{file.path.stem} {i}" for file in files for i in range(len(file.x))),
        "group": tuple(scan.group for scan in scans for _ in scan.x),
        "cluster": tuple(scan.cluster for scan in scans for _ in scan.x),
    }
    return Dataset(with_periodicity(card, frames), frames, Table(**columns, scans=tuple(scans)), {})


def _read_file(path: Path, multiplicity: int | None) -> ScanFile:
    structures = read_molecules(path, multiplicity)
    check_same_atoms(structures.frames, path)
    x = tuple(_x(atoms.info.get("x"), f"{path}: frame {i}: x") for i, atoms in enumerate(read_atoms(path)))
    for i in range(1, len(x)):
        if not x[i] > x[i - 1]:
            raise DatasetError(f"{path}: frame {i}: x: {x[i]:g} comes after {x[i - 1]:g}: order the frames by x")
    return ScanFile(path, structures, x)


def check_same_atoms(frames: Frames, path: Path) -> None:
    """All frames of a scan have the atoms and the charge of the first: else their energies cannot be compared.

    Raises:
        DatasetError: one line that names file and frame.
    """
    formula = formulas(frames)
    for i in range(1, len(frames)):
        if formula[i] != formula[0]:
            raise DatasetError(
                f"{path}: frame {i}: is {formula[i]}, not {formula[0]} as frame 0: is it of another scan?"
            )
        if frames.charge[i] != frames.charge[0]:
            charges = f"{frames.charge[i]:+d}, not {frames.charge[0]:+d}"
            raise DatasetError(f"{path}: frame {i}: charge: is {charges} as in frame 0")
        if (frames.pbc[i] != frames.pbc[0]).any():
            raise DatasetError(f"{path}: frame {i}: pbc: is not that of frame 0")


def _x(value: object, where: str) -> float:
    if value is None:
        raise DatasetError(f"{where}: is missing: write x= in its comment line")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise DatasetError(f"{where}: is not a number: {str(value)[:60]!r}")
    if not np.isfinite(value):
        raise DatasetError(f"{where}: is not finite")
    return float(value)


def _scan(file: ScanFile, stated: StatedScans, card: Card, first: int) -> Scan:
    """The scan of `file`, whose structures begin at `first`."""
    name = file.path.stem
    scan = stated.scans.get(name, StatedScan())
    where = f"{file.path.parent / SCANS}: scans.{name}"
    area = _area(file, scan, where)
    if stated.reference_unit is not None:
        reference = _stated_reference(scan, stated.reference_unit, area, card, where)
        for energies in reference.values():
            if len(energies) != len(file.x):
                raise DatasetError(f"{where}: reference: has {len(energies)} numbers for {len(file.x)} frames")
    elif scan.reference is not None or scan.references is not None:
        raise DatasetError(f"{file.path.parent / SCANS}: reference_unit: is missing: scans.{name} has references")
    else:
        reference = {str(card.default_label_set): _energies(file)}
    check_label_sets(reference, card, where)
    structures = tuple(range(first, first + len(file.x)))
    cluster = scan.cluster or name
    with dataset_faults(file.path):
        return Scan(
            id=name, group=scan.group, cluster=cluster, structures=structures, x=file.x, area=area, reference=reference
        )


def _energies(file: ScanFile) -> tuple[float, ...]:
    """The energy label [eV] of each frame."""
    energy = file.structures.labels.energy
    missing = range(len(file.x)) if energy is None else np.flatnonzero(np.isnan(energy))
    if energy is None or len(missing):
        raise DatasetError(
            f"{file.path}: frame {missing[0]}: energy: is missing: write energy= [eV] in its comment line, "
            f"or state references in {SCANS}"
        )
    return tuple(energy.tolist())


def _stated_reference(
    scan: StatedScan, unit: str, area: float | None, card: Card, where: str
) -> dict[str, tuple[float, ...]]:
    """The energies [eV] by label set."""
    by_label_set = references_by_label_set(scan.reference, scan.references, card, where)
    # The reference of a stacking fault may be energies of whole cells as well as energies per area.
    per_area = unit in SURFACE_UNITS
    if per_area and area is None:
        raise DatasetError(f"{where}: area_angstrom2: is missing: reference_unit is {unit}")
    size = unit_size(unit, per_area) * (area if per_area and area is not None else 1.0)
    return {name: tuple(value * size for value in values) for name, values in by_label_set.items()}


def _area(file: ScanFile, scan: StatedScan, where: str) -> float | None:
    """The area [Å²] as stated, or |a × b| of the cells, which must be the same."""
    if scan.area is None:
        return scan.area_angstrom2
    if scan.area_angstrom2 is not None:
        raise DatasetError(f"{where}: area: area_angstrom2 is stated, too: leave out one of both")
    cell = file.structures.frames.cell
    areas = np.linalg.norm(np.cross(cell[:, 0], cell[:, 1]), axis=1)
    if not areas[0] > 0:
        raise DatasetError(f"{file.path}: frame 0: cell: has no area |a × b|: state area_angstrom2")
    other = np.flatnonzero(np.abs(areas / areas[0] - 1.0) > SAME_AREA)
    if other.size:
        i = int(other[0])
        raise DatasetError(
            f"{file.path}: frame {i}: cell: |a × b| is {areas[i]:.6g} Å², not {areas[0]:.6g} as in frame 0: "
            "state area_angstrom2"
        )
    return float(areas[0])
