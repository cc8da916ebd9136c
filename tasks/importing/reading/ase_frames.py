"""Structures as ASE reads them: their labels, states and texts, checked frame by frame."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError
from ase.db import connect
from ase.io import iread, read
from ase.io.formats import UnknownFileTypeError, filetype, open_with_compression
from ase.stress import full_3x3_to_voigt_6_stress

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.datasets.dataset_errors import DAMAGED, is_damage
from tasks.importing.labelled_import import joined_labels
from tasks.importing.reading.read_frames import READ, ReadFrames
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels, Property, property_shapes

# In the search for the first frame that ASE cannot read.
MAX_FRAMES_SEARCHED = 1_000
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
    ArithmeticError,
    AssertionError,
    RuntimeError,
    StopIteration,
    UnknownFileTypeError,
    sqlite3.Error,
)


class FrameSource(NamedTuple):
    """A file of labelled frames, and how it is read.

    Args:
        format: as ASE names it; None: ASE decides by the file's name and content.
        length: the file's unit of lengths [Å].
        cluster_field, needed_by: as in `read_structures`.
    """

    path: Path
    format: str | None
    length: float
    cluster_field: str = ""
    needed_by: str = ""

    def frames_of(self, structures: Sequence[Atoms], places: Sequence[int]) -> ReadFrames:
        """What is read of `structures`, which are the frames `places` of the file.

        Raises:
            DatasetError: a frame is at fault; the line names file, frame and field.
        """
        where = [f"{self.path}: frame {place}" for place in places]
        clusters = tuple(self._cluster(*each) for each in zip(structures, where, strict=True) if self.cluster_field)
        parts = [_frame(atoms, self.length, place) for atoms, place in zip(structures, where, strict=True)]
        labels = [_labels(*each) for each in zip(structures, parts, where, strict=True)]
        return ReadFrames(
            Frames.concatenate(parts),
            joined_labels(list(zip(parts, labels, strict=True))),
            tuple(text_of(atoms.info["name"]) if "name" in atoms.info else None for atoms in structures),
            tuple(str(atoms.info.get("group", "")) for atoms in structures),
            clusters,
            _unused_fields(structures),
        )

    def frames_of_text(self, texts: Sequence[str], places: Sequence[int]) -> ReadFrames:
        """What is read of the extended XYZ of single frames."""
        structures: list[Atoms] = []
        for text, place in zip(texts, places, strict=True):
            try:
                structures += iread(StringIO(text), index=":", format=self.format)
            except READER_ERRORS as error:
                raise self._unreadable(error, f"frame {place}: " if place else "") from None
        return self.frames_of(structures, places)

    def atoms(self) -> Iterator[Atoms]:
        """The structures of the file as ASE reads them.

        Raises:
            DatasetError: the file cannot be read; the line names it.
        """
        # Databases keep no `info`.
        rows = connect(self.path, type="db").select() if self.format == "db" and self.path.is_file() else None
        try:
            for atoms in self._structures():
                if rows is not None:
                    row = next(rows)
                    atoms.info |= {**row.data, **row.key_value_pairs}
                yield atoms
        except DatasetError:
            raise
        except FileNotFoundError:
            raise DatasetError(f"{self.path}: is not there") from None
        except READER_ERRORS as error:
            raise self._unreadable(error, _first_bad(self.path, self.format)) from None

    def _structures(self) -> Iterator[Atoms]:
        if not self.path.is_file() or (self.format or filetype(str(self.path))) != "extxyz":
            yield from iread(self.path, index=":", format=self.format)
            return
        with open_with_compression(str(self.path), "r") as file:
            n = 0
            for atoms in iread(file, index=":", format="extxyz"):
                yield atoms
                n += 1
            self.check_end(file, n)

    def check_end(self, rest: Iterable[str], n: int) -> None:
        """Checks that extended XYZ has no text after the blank line at which reading ends.

        Args:
            rest: the lines after frame `n` - 1, the last one that was read.

        Raises:
            DatasetError: it has; the line names file and frame.
        """
        if any(map(str.strip, rest)):
            raise DatasetError(
                f"{self.path}: frame {n}: begins with a blank line: remove the blank lines between frames, or the text "
                "after the last frame"
            )

    def _unreadable(self, error: BaseException, frame: str) -> DatasetError:
        if is_damage(error):
            return DatasetError(f"{self.path}: {DAMAGED}")
        text = " ".join(str(error).split()) or type(error).__name__
        kind = f" as {self.format}" if self.format else ""
        return DatasetError(f"{self.path}: {frame}cannot be read by ASE{kind}: {text}")

    def _cluster(self, atoms: Atoms, where: str) -> str:
        """The text of `info[cluster_field]`, which every frame must have."""
        field = self.cluster_field
        write = FIELD_IN.get(str(self.format), "write {field}= in its comment line").format(field=field)
        if field not in atoms.info:
            others = ", ".join(sorted(str(name) for name, value in atoms.info.items() if can_name(value)))
            has = f" (the frame has {others})" if others else ""
            needed_by = self.needed_by or f"--cluster info:{field}"
            raise DatasetError(f"{where}: {field}: is missing{has}: {write}, as {needed_by} needs it of every frame")
        if not can_name(atoms.info[field]):
            raise DatasetError(f"{where}: {field}: cannot name a cluster: {write} as one word or number")
        return text_of(atoms.info[field])


def text_of(value: object) -> str:
    """The text as it was written: ASE reads `name=F` of a comment line as false."""
    return str(value)[0] if isinstance(value, (bool, np.bool_)) else str(value)


def can_name(value: object) -> bool:
    """Whether `value` is a text that is not blank, or a number. NaN is not: it would join all without a name."""
    return isinstance(value, (str, int, float, np.number, np.bool_)) and value == value and bool(str(value).strip())


def _first_bad(path: Path, format: str | None) -> str:
    """The first frame that ASE cannot read, as `frame 3: `; empty if it is not known."""
    for index in range(MAX_FRAMES_SEARCHED):
        try:
            read(path, index=index, format=format)
        except READER_ERRORS:
            return f"frame {index}: " if index else ""
    return ""


def _unused_fields(structures: Sequence[Atoms]) -> Counter[str]:
    """By numeric field that is not read, how many frames have it: misspelt labels are among them."""
    counts: Counter[str] = Counter()
    for atoms in structures:
        fields = {**atoms.info, **atoms.arrays, **({} if atoms.calc is None else atoms.calc.results)}
        counts.update(str(name) for name, value in fields.items() if name not in READ and _is_numeric(value))
    return counts


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iuf"
    except ValueError:  # ragged
        return False


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
