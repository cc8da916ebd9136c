"""Structures and labels from files that ASE reads: extended XYZ, trajectories and databases."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError
from ase.db import connect
from ase.io import read
from ase.io.formats import UnknownFileTypeError
from ase.stress import full_3x3_to_voigt_6_stress

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.import_checks import COMMENT_LINE, check_multiplicity
from tasks.importing.label_units import ASE_UNITS, LabelUnits
from tasks.importing.labelled_import import Imported, joined_labels, with_multiplicity
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels, Property, property_shapes

# In the search for the first frame that ASE cannot read.
MAX_FRAMES_SEARCHED = 1_000
# Numeric fields of ASE's structures that are read, and those in which calculators repeat them.
READ = frozenset({"energy", "forces", "stress", "charge", "multiplicity", "spin", "name", "group", "x"})
READ |= {"numbers", "positions", "free_energy", "energies", "stresses"}
# By format other than extended XYZ: how 2S+1 is stated.
STATE_IN: Mapping[str, str] = {
    "traj": "set info['multiplicity'] before writing",
    "db": "write multiplicity= as a key-value pair of its row",
}
# By format other than extended XYZ: how a field of `info` is stated.
FIELD_IN: Mapping[str, str] = {
    "traj": "set info['{field}'] before writing",
    "db": "write {field}= as a key-value pair of its row",
}
# ASE's readers raise many errors over broken files.
READER_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    AssertionError,
    StopIteration,
    UnknownFileTypeError,
    sqlite3.Error,
)


def read_structures(
    path: Path, units: LabelUnits = ASE_UNITS, format: str | None = None, named: bool = False, cluster_field: str = ""
) -> Imported:
    """Structures and labels of a file that ASE can read.

    Energies, forces and stresses are those of the calculator that ASE attaches, else of `info` and `arrays`. Charge and
    2S+1 come from `info` (`charge`; `multiplicity` or `spin`), names from `name`, groups from `group`; those of a
    database from its key-value pairs.

    Args:
        units: of the file.
        format: as ASE names it; None: ASE decides by the file's name and content.
        named: whether each structure must have its own name, since a table refers to it.
        cluster_field: field of `info` whose text is the cluster of the structure, such as its trajectory; empty: none.

    Raises:
        DatasetError: the file cannot be read, or a frame is at fault; the line names file, frame and field.
    """
    structures = read_atoms(path, format)
    names = tuple(_name(atoms, f"frame {i}") for i, atoms in enumerate(structures))
    if named:
        _check_names(structures, names, path)
    elif len(set(names)) < len(names):
        names = tuple(f"{name} #{i}" for i, name in enumerate(names))
    groups = tuple(str(atoms.info.get("group", "")) for atoms in structures)
    clusters = _clusters(structures, cluster_field, path, format) if cluster_field else None
    length = units.factor("length", str(path))
    places = [f"{path}: frame {i}" for i in range(len(structures))]
    parts = [_frame(atoms, length, where) for atoms, where in zip(structures, places, strict=True)]
    frames = Frames.concatenate(parts)
    stated = [_labels(*frame) for frame in zip(structures, parts, places, strict=True)]
    arrays = joined_labels(list(zip(parts, stated, strict=True))).arrays
    labels = Labels(**{name: array * units.factor(name, str(path)) for name, array in arrays.items()})
    state_in = STATE_IN.get(str(format), COMMENT_LINE)
    unused = {name: n for name, n in unused_fields(structures).items() if name != cluster_field}
    return Imported(frames, labels, names, groups, unused, state_in, clusters)


def read_molecules(path: Path, multiplicity: int | None = None, named: bool = False) -> Imported:
    """The same, of structures in which each molecule states its 2S+1.

    Args:
        multiplicity: 2S+1 of every molecule that states none.
    """
    structures = read_structures(path, named=named)
    frames = with_multiplicity(structures.frames, multiplicity)
    check_multiplicity(frames, structures.id, path)
    return replace(structures, frames=frames)


def _name(atoms: Atoms, otherwise: str) -> str:
    return _text(atoms.info.get("name", otherwise))


def _text(value: object) -> str:
    """The text as it was written: ASE reads `name=F` of a comment line as false."""
    return str(value)[0] if isinstance(value, (bool, np.bool_)) else str(value)


def _clusters(structures: Sequence[Atoms], field: str, path: Path, format: str | None) -> tuple[str, ...]:
    """By structure, the text of `info[field]`, which every one must have."""
    write = FIELD_IN.get(str(format), "write {field}= in its comment line").format(field=field)
    for i, atoms in enumerate(structures):
        where = f"{path}: frame {i}: {field}"
        if field not in atoms.info:
            others = ", ".join(sorted(str(name) for name, value in atoms.info.items() if _can_name(value)))
            has = f" (the frame has {others})" if others else ""
            raise DatasetError(f"{where}: is missing{has}: {write}, as --cluster info:{field} needs it of every frame")
        if not _can_name(atoms.info[field]):
            raise DatasetError(f"{where}: cannot name a cluster: {write} as one word or number")
    return tuple(_text(atoms.info[field]) for atoms in structures)


def _can_name(value: object) -> bool:
    """Whether `value` is a text that is not blank, or a number. NaN is not: it would join all without a name."""
    return isinstance(value, (str, int, float, np.number, np.bool_)) and value == value and bool(str(value).strip())


def _check_names(structures: Sequence[Atoms], names: Sequence[str], path: Path) -> None:
    first: dict[str, int] = {}
    for i, (atoms, name) in enumerate(zip(structures, names, strict=True)):
        if not str(atoms.info.get("name", "")):
            raise DatasetError(f"{path}: frame {i}: name: is missing: write name= in its comment line")
        if name in first:
            raise DatasetError(
                f"{path}: frame {i}: name: two frames are called {name}, this one and frame {first[name]}"
            )
        first[name] = i


def unused_fields(structures: Sequence[Atoms]) -> dict[str, int]:
    """By numeric field that is not read, how many frames have it: misspelt labels are among them."""
    counts: Counter[str] = Counter()
    for atoms in structures:
        fields = {**atoms.info, **atoms.arrays, **({} if atoms.calc is None else atoms.calc.results)}
        counts.update(str(name) for name, value in fields.items() if name not in READ and _is_numeric(value))
    return dict(sorted(counts.items()))


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iuf"
    except ValueError:  # ragged
        return False


def read_atoms(path: Path, format: str | None = None) -> list[Atoms]:
    """The structures of a file as ASE reads them.

    Raises:
        DatasetError: the file cannot be read, or has no structures; the line names it.
    """
    try:
        atoms_or_list = read(path, index=":", format=format)
    except FileNotFoundError:
        raise DatasetError(f"{path}: is not there") from None
    except READER_ERRORS as error:
        text = " ".join(str(error).split()) or type(error).__name__
        kind = f" as {format}" if format else ""
        raise DatasetError(f"{path}: {_first_bad(path, format)}cannot be read by ASE{kind}: {text}") from None
    structures = atoms_or_list if isinstance(atoms_or_list, list) else [atoms_or_list]
    if not structures:
        raise DatasetError(f"{path}: has no structures")
    if format == "db" and path.is_file():  # databases keep no `info`
        for atoms, row in zip(structures, connect(path, type="db").select(), strict=True):
            atoms.info |= {**row.data, **row.key_value_pairs}
    return structures


def _first_bad(path: Path, format: str | None) -> str:
    """The first frame that ASE cannot read, as `frame 3: `; empty if it is not known."""
    for index in range(MAX_FRAMES_SEARCHED):
        try:
            read(path, index=index, format=format)
        except READER_ERRORS:
            return f"frame {index}: " if index else ""
    return ""


def _frame(atoms: Atoms, length: float, where: str) -> Frames:
    """One structure, its lengths in units of `length` [Å], with charge and multiplicity from `info`."""
    spin = atoms.info.get("multiplicity", atoms.info.get("spin", 0))
    values = {"charge": atoms.info.get("charge", 0), "multiplicity": spin}
    for name, value in values.items():
        if not isinstance(value, (int, float, np.integer, np.floating)) or value != round(float(value)):
            raise DatasetError(f"{where}: {name}: must be a whole number, not {value!r}")
    arrays: dict[str, Any] = {
        "n_atoms": [len(atoms)],
        "numbers": atoms.numbers,
        "positions": atoms.positions * length,
        "cell": [atoms.cell.array * length],
        "pbc": [atoms.pbc],
        **{name: [round(float(value))] for name, value in values.items()},
    }
    with dataset_faults(where):
        return Frames.from_arrays(arrays)


def _labels(atoms: Atoms, frame: Frames, where: str) -> Labels:
    """The labels of one structure, in the units of the file."""
    return Labels(**{name: _label(atoms, name, shape, where) for name, shape in property_shapes(frame).items()})


def _label(atoms: Atoms, name: Property, shape: tuple[int, ...], where: str) -> Float | None:
    """The label in that shape; None if the frame has none."""
    value = None
    if atoms.calc is not None:
        try:
            value = atoms.calc.get_property(name, atoms, allow_calculation=False)
        except PropertyNotImplementedError:
            value = None
    if value is None:
        value = atoms.arrays.get(name) if name == "forces" else atoms.info.get(name)
    if value is None:
        return None
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise DatasetError(f"{where}: {name}: is not a number") from None
    if name == "stress" and array.size == 9:
        array = full_3x3_to_voigt_6_stress(array.reshape(3, 3))
    if array.size != math.prod(shape):
        raise DatasetError(f"{where}: {name}: has shape {array.shape}, which is not that of {len(atoms)} atoms")
    if not np.isfinite(array).all():
        raise DatasetError(f"{where}: {name}: is not finite")
    if name == "stress" and not atoms.pbc.all():
        raise DatasetError(f"{where}: stress: the structure is not periodic and can have none")
    return array.reshape(shape)
