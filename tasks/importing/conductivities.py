"""Datasets of thermal conductivities from the published layout of the benchmark κ_SRME: a folder with two files.

`phononDB-PBE-structures.extxyz` has the conventional cells. Each states in its comment line `mp_id`, its name; `name`,
its formula; `symm.no`, the number of its space group; `fc2_supercell` and `fc3_supercell`, 3 × 3; `q_mesh`, three
numbers of wave vectors; and may state `primitive_matrix`, which otherwise follows from the centring of the cell.

`kappas_phononDB_PBE_noNAC.json.gz`, or the same without `.gz`, has the references, by column and row:

    {"mp_id": {"1": "mp-2542"}, "temperatures": {"1": [300.0]}, "q_mesh": {"1": [19, 19, 15]},
     "weights": {"1": [1, 6]}, "kappa_TOT_ave": {"1": [292.8]}, "mode_kappa_TOT_ave": {"1": [[[0.0, 0.1], [2.0, 3.0]]]}}

`weights` are the multiplicities of the irreducible wave vectors; `mode_kappa_TOT_ave` has the contribution of each band
at each of them times the multiplicity, and `kappa_TOT_ave` their sum over that of the weights [W/m/K]. Other columns
are ignored. Every structure has one row; all rows are of one temperature.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import spglib
from ase import Atoms
from phonopy.structure.atoms import PhonopyAtoms
from phonopy.structure.cells import guess_primitive_matrix
from pydantic import Field, FiniteFloat, PositiveInt, ValidationError

from tasks.datasets.card import Card, Conductivity, ConductivityReference, DatasetError, Table, dataset_faults, one_line
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_atoms
from tasks.importing.stated_tables import StatedTable
from tasks.simulation.heat_transport import SYMPREC
from tasks.structures.frames import Float, Frames
from tasks.structures.text_files import decoded

STRUCTURES = "phononDB-PBE-structures.extxyz"
REFERENCES = ("kappas_phononDB_PBE_noNAC.json.gz", "kappas_phononDB_PBE_noNAC.json")
COLUMNS = ("mp_id", "temperatures", "q_mesh", "weights", "kappa_TOT_ave", "mode_kappa_TOT_ave")
GROUPS: Mapping[int, str] = {186: "wurtzite", 216: "zinc blende", 225: "rock salt"}
# Of a matrix, in cells; and of a number of atoms.
NO_VOLUME = 1e-6

Row = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
WholeRow = tuple[int, int, int]


class StatedConductivityCell(StatedTable):
    """The comment line of a structure."""

    mp_id: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    space_group: Annotated[int, Field(alias="symm.no", ge=1, le=230)]
    fc2_supercell: tuple[WholeRow, WholeRow, WholeRow]
    fc3_supercell: tuple[WholeRow, WholeRow, WholeRow]
    primitive_matrix: tuple[Row, Row, Row] | None = None
    q_mesh: tuple[PositiveInt, PositiveInt, PositiveInt]


class StatedConductivity(StatedTable):
    """A row of the references."""

    mp_id: str
    temperatures: tuple[FiniteFloat]
    q_mesh: tuple[int, int, int]
    weights: tuple[PositiveInt, ...]
    kappa: Annotated[tuple[FiniteFloat], Field(alias="kappa_TOT_ave")]
    modes: Annotated[tuple[tuple[tuple[FiniteFloat, ...], ...]], Field(alias="mode_kappa_TOT_ave")]


class ConductivityCell(NamedTuple):
    """A structure, what is stated of it, and its primitive vectors in those of the cell, as columns (3, 3)."""

    atoms: Atoms
    stated: StatedConductivityCell
    primitive: Float

    @property
    def primitive_atoms(self) -> float:
        """The atoms of the primitive cell; not whole if the matrix is wrong."""
        return len(self.atoms) * abs(float(np.linalg.det(self.primitive)))


def import_conductivities(folder: Path, card: Card) -> Dataset:
    """A data set of thermal conductivities; the references go to the card's default label set.

    Items are grouped by crystal structure; crystals of one formula are of one cluster.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{folder}: the card names no label set for the references")
    cells = _cells(folder / STRUCTURES)
    path = next((folder / name for name in REFERENCES if (folder / name).exists()), None)
    if path is None:
        raise DatasetError(f"{folder / REFERENCES[0]}: is not there")
    rows = _rows(path)
    for missing, where, other in (
        (cells.keys() - rows.keys(), path, "a structure"),
        (rows.keys() - cells.keys(), folder / STRUCTURES, "a reference"),
    ):
        if missing:
            raise DatasetError(f"{where}: {min(missing)}: is missing, which has {other}")
    items = [
        _item(index, cell, rows[id], card.default_label_set, f"{path}: {id}")
        for index, (id, cell) in enumerate(cells.items())
    ]
    stated = [cell.stated for cell in cells.values()]
    conditions = {
        "supercell": np.array([cell.fc2_supercell for cell in stated], np.int64),
        "third_order_supercell": np.array([cell.fc3_supercell for cell in stated], np.int64),
        "primitive": np.array([cell.primitive for cell in cells.values()]),
        "q_mesh": np.array([cell.q_mesh for cell in stated], np.int64),
    }
    table = Table(
        id=tuple(item.id for item in items),
        group=tuple(item.group for item in items),
        cluster=tuple(item.cluster for item in items),
        conductivities=tuple(items),
    )
    settings = {"temperature_k": _temperature(path, rows)}
    frames = Frames.from_atoms([cell.atoms for cell in cells.values()])
    return Dataset(card.model_copy(update={"periodic": True, "settings": settings}), frames, table, {}, conditions)


def _cells(path: Path) -> dict[str, ConductivityCell]:
    cells: dict[str, ConductivityCell] = {}
    for frame, atoms in enumerate(read_atoms(path, "extxyz")):
        where = f"{path}: {atoms.info.get('mp_id', f'frame {frame}')}"
        info = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in atoms.info.items()}
        try:
            stated = StatedConductivityCell.model_validate(info)
        except ValidationError as error:
            raise DatasetError(f"{where}: {one_line(error)}") from None
        if stated.mp_id in cells:
            raise DatasetError(f"{where}: is there twice")
        cells[stated.mp_id] = _cell(where, atoms, stated)
    return cells


def _cell(where: str, atoms: Atoms, stated: StatedConductivityCell) -> ConductivityCell:
    if not atoms.pbc.all():
        raise DatasetError(f"{where}: pbc: is no crystal, which is periodic in all directions")
    for name in ("fc2_supercell", "fc3_supercell"):
        if abs(np.linalg.det(np.array(getattr(stated, name)))) < NO_VOLUME:
            raise DatasetError(f"{where}: {name}: has no volume")
    spglib_cell = (atoms.cell.array, atoms.get_scaled_positions(), atoms.numbers)
    found = spglib.get_spacegroup(spglib_cell, symprec=SYMPREC)
    if found is None or f"({stated.space_group})" not in found:
        raise DatasetError(f"{where}: symm.no: is {stated.space_group}, but the structure has {found or 'none'}")
    if stated.primitive_matrix is None:
        of_phonopy = PhonopyAtoms(numbers=atoms.numbers, cell=atoms.cell.array, positions=atoms.positions)
        primitive = np.asarray(guess_primitive_matrix(of_phonopy, symprec=SYMPREC), np.float64)
    else:
        primitive = np.array(stated.primitive_matrix)
    cell = ConductivityCell(atoms, stated, primitive)
    n = cell.primitive_atoms
    if abs(n - round(n)) > NO_VOLUME or round(n) < 1:
        raise DatasetError(f"{where}: primitive_matrix: leaves {n:.3g} of {len(atoms)} atoms")
    return cell


def _rows(path: Path) -> dict[str, StatedConductivity]:
    columns = _read(path)
    missing = [name for name in COLUMNS if not isinstance(columns.get(name), dict)]
    if missing:
        raise DatasetError(f"{path}: {missing[0]}: is missing: a column of values by row")
    rows: dict[str, StatedConductivity] = {}
    for row, id in columns["mp_id"].items():
        lacking = [name for name in COLUMNS if row not in columns[name]]
        if lacking:
            raise DatasetError(f"{path}: {id}: {lacking[0]}: is missing")
        try:
            stated = StatedConductivity.model_validate({name: columns[name][row] for name in COLUMNS})
        except ValidationError as error:
            raise DatasetError(f"{path}: {id}: {one_line(error)}") from None
        if stated.mp_id in rows:
            raise DatasetError(f"{path}: {id}: is there twice")
        rows[stated.mp_id] = stated
    return rows


def _read(path: Path) -> Mapping[str, Any]:
    with dataset_faults(path):
        data = path.read_bytes()
        columns = json.loads(decoded(gzip.decompress(data) if path.suffix == ".gz" else data))
    if not isinstance(columns, dict):
        raise DatasetError(f"{path}: must have an entry for each column, such as mp_id")
    return columns


def _temperature(path: Path, rows: Mapping[str, StatedConductivity]) -> float:
    first, temperature = next((id, row.temperatures[0]) for id, row in rows.items())
    for id, row in rows.items():
        if row.temperatures[0] != temperature:
            raise DatasetError(
                f"{path}: {id}: temperatures: is {row.temperatures[0]:g} K, but that of {first} is {temperature:g} K"
            )
    return temperature


def _item(index: int, cell: ConductivityCell, row: StatedConductivity, label_set: str, where: str) -> Conductivity:
    stated = cell.stated
    if row.q_mesh != stated.q_mesh:
        raise DatasetError(f"{where}: q_mesh: is {row.q_mesh}, but the structure states {stated.q_mesh}")
    points = int(np.prod(stated.q_mesh))
    if sum(row.weights) != points:
        raise DatasetError(f"{where}: weights: add up to {sum(row.weights)}, but the mesh has {points} wave vectors")
    bands = 3 * round(cell.primitive_atoms)
    modes = row.modes[0]
    if any(len(of_point) != bands for of_point in modes):
        raise DatasetError(f"{where}: mode_kappa_TOT_ave: must have {bands} bands, three an atom of the primitive cell")
    try:
        reference = ConductivityReference(kappa=row.kappa[0], weights=row.weights, modes=modes)
    except ValidationError as error:
        raise DatasetError(f"{where}: {one_line(error)}") from None
    return Conductivity(
        id=stated.mp_id,
        group=GROUPS.get(stated.space_group, f"space group {stated.space_group}"),
        cluster=stated.name,
        structure=index,
        reference={label_set: reference},
    )
