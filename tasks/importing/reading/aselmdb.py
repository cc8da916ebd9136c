"""ASE databases in LMDB files (`.aselmdb`), as OMol25, OMat24, OC20 and ODAC are published. Nothing is unpickled.

The file has an entry for each row: its number as text, and zlib-compressed JSON with the row's fields. The entries
`nextid`, `deleted_ids` and `metadata` are no rows. Source: `aselmdb.py` of ase-db-backends 0.11.0, whose dependencies
(drivers of database servers) are not needed here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import all_properties
from ase.db.row import AtomsRow
from ase.io.jsonio import decode

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.reading.lmdb_pages import LmdbError, is_lmdb, open_lmdb

ENDING = ".aselmdb"
MAX_ROW = 1 << 28  # bytes of JSON: a row of 10^6 atoms has less
DAMAGED = "fetch it again, or convert it: ase db MINE.aselmdb --insert-into MINE.db, with ase-db-backends installed"


def is_aselmdb(path: Path) -> bool:
    """Whether a file, or a folder of such files, is read as ASE database in LMDB."""
    if path.is_dir():
        return any(path.rglob(f"*{ENDING}"))
    return path.is_file() and (path.suffix == ENDING or is_lmdb(path))


def aselmdb_atoms(path: Path) -> Iterator[Atoms]:
    """The structures of a file, or of all such files in a folder; `data` and key-value pairs of each row in `info`.

    Raises:
        DatasetError: a file or row cannot be read; the line names both.
    """
    for file in sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]:
        yield from _atoms_of(file)


def _atoms_of(path: Path) -> Iterator[Atoms]:
    try:
        database = open_lmdb(path)
        places = database.places()
    except LmdbError as error:
        raise DatasetError(f"{path}: is no intact file of LMDB ({error}): {DAMAGED}") from None
    with dataset_faults(f"{path}: deleted_ids"):
        deleted = set(_json(database.value(places[b"deleted_ids"]))) if b"deleted_ids" in places else set()
    rows = {int(key): place for key, place in places.items() if key.isdigit()}
    for number in sorted(rows.keys() - deleted):
        with dataset_faults(f"{path}: row {number}"):
            atoms = _structure(_json(database.value(rows[number])))
        yield atoms


def _json(value: bytes) -> Any:
    """The JSON in a value.

    Raises:
        ValueError: it is none, or too large.
    """
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(value, MAX_ROW)
        if unpacking.unconsumed_tail:
            raise ValueError(f"is larger than {MAX_ROW >> 20} MiB")
        return decode(text.decode())
    except (zlib.error, UnicodeDecodeError):
        raise ValueError(f"is no JSON in zlib, as rows of ASE are: pickled objects are not read; {DAMAGED}") from None


def _structure(fields: dict[str, Any]) -> Atoms:
    """The structure of a row, without constraints, which labels do not depend on."""
    for name in all_properties:
        if isinstance(fields.get(name), list):
            fields[name] = np.array(fields[name])
    fields.pop("constraints", None)
    stated = {**dict(fields.get("data") or {}), **dict(fields.get("key_value_pairs") or {})}
    atoms: Atoms = AtomsRow(fields).toatoms()
    atoms.info |= stated
    return atoms
