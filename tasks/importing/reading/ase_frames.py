"""Structures as ASE reads them: their labels, states and texts, checked frame by frame."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.db import connect
from ase.io import iread
from ase.io.formats import filetype

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.datasets.dataset_errors import DAMAGED, MAX_TEXT, fault_text, is_damage
from tasks.importing.labelled_import import joined_labels
from tasks.importing.reading.aselmdb import aselmdb_atoms, is_aselmdb
from tasks.importing.reading.comment_lines import comment_fields
from tasks.importing.reading.frame_fields import EVERY_FIELD, IDENTIFIERS, FrameFields
from tasks.importing.reading.packed_text import check_whole, is_packed, open_text, plain_name
from tasks.importing.reading.read_frames import ReadFrames
from tasks.importing.reading.repeated_fields import not_repeated
from tasks.importing.reading.stated_states import stated_state
from tasks.importing.reading.stress_matrices import asymmetry, voigt_stress
from tasks.importing.reading.text_frames import TextFrame, frame_for_ase, text_frames
from tasks.structures.frames import MOMENTS, Float, Frames
from tasks.structures.predictions import Labels, Property, property_shapes

XYZ = "extxyz"
XYZ_ENDINGS = (".xyz", ".extxyz")
# By format other than extended XYZ: how a field of `info` is stated.
FIELD_IN: Mapping[str, str] = {
    "traj": "set info['{field}'] before writing",
    "db": "write {field}= as a key-value pair of its row",
}


class OpenFrames(NamedTuple):
    """An open file.

    Args:
        frames: its frames, which are read one after another.
        raw: the file itself, whose place shows how much was read.
    """

    frames: Iterator[TextFrame]
    raw: BufferedReader


class FrameSource(NamedTuple):
    """A file of labelled frames, and how it is read.

    Args:
        format: as ASE names it; None: ASE decides by the file's name and content.
        length: the file's unit of lengths [Å].
        cluster_field, needed_by: as in `read_structures`.
        fields: which labels are read, and under which names.
    """

    path: Path
    format: str | None
    length: float
    cluster_field: str = ""
    needed_by: str = ""
    fields: FrameFields = EVERY_FIELD

    @property
    def is_xyz(self) -> bool:
        """Whether the file is extended XYZ, compressed or not."""
        if self.format is not None or not self.path.is_file():
            return self.format == XYZ and self.path.is_file()
        if plain_name(self.path).endswith(XYZ_ENDINGS) or is_aselmdb(self.path):
            return not is_aselmdb(self.path)
        with dataset_faults(self.path):
            return bool(filetype(str(self.path)) == XYZ)

    def frames_of(self, structures: Sequence[Atoms], places: Sequence[int]) -> ReadFrames:
        """What is read of `structures`, which are the frames `places` of the file.

        Raises:
            DatasetError: a frame is at fault; the line names file, frame and field.
        """
        where = [f"{self.path}: frame {place}" for place in places]
        found = frozenset[str]().union(*map(self.fields.rename, structures))
        clusters = tuple(self._cluster(*each) for each in zip(structures, where, strict=True) if self.cluster_field)
        parts = [_frame(atoms, self.length, place) for atoms, place in zip(structures, where, strict=True)]
        labels = [self._labels(*each) for each in zip(structures, parts, where, strict=True)]
        return ReadFrames(
            Frames.concatenate(parts),
            joined_labels(list(zip(parts, labels, strict=True))),
            tuple(_name(atoms) for atoms in structures),
            tuple(text_of(atoms.info.get("group", "")) for atoms in structures),
            clusters,
            self._unused_fields(structures, labels),
            np.array([_number(atoms, "free_energy") for atoms in structures]),
            np.array([self._asymmetry(*each) for each in zip(structures, labels, strict=True)]),
            found,
        )

    def frames_of_texts(self, frames: Sequence[TextFrame], places: Sequence[int]) -> ReadFrames:
        """What is read of frames of extended XYZ."""
        return self.frames_of([self._atoms_of(*each) for each in zip(frames, places, strict=True)], places)

    def atoms(self) -> Iterator[Atoms]:
        """The structures of the file as ASE reads them; names and groups of extended XYZ are as they are written.

        Raises:
            DatasetError: the file cannot be read; the line names it, and the frame if it is known.
        """
        if self.is_xyz:
            with self.open_frames() as opened:
                yield from (self._atoms_of(frame, place) for place, frame in enumerate(opened.frames))
            return
        n = 0
        try:
            for atoms in self._structures():
                yield atoms
                n += 1
        except DatasetError:
            raise
        except FileNotFoundError:
            raise DatasetError(f"{self.path}: is not there") from None
        except Exception as error:
            raise self._unreadable(error, f"frame {n}: " if n else "") from error

    def _structures(self) -> Iterator[Atoms]:
        if self.format in (None, "db") and is_aselmdb(self.path):
            yield from aselmdb_atoms(self.path)
            return
        if self.format != "db" or not self.path.is_file():
            yield from iread(self.path, index=":", format=self.format)
            return
        for row in connect(self.path, type="db").select():
            atoms = row.toatoms()
            # ASE's reader keeps neither, and gives the sum of `initial_charges` for a key `charge`.
            stated = {key: vars(row).get(key, value) for key, value in row.key_value_pairs.items()}
            atoms.info |= {**row.data, **stated}
            yield atoms

    @contextmanager
    def open_frames(self) -> Iterator[OpenFrames]:
        """The frames of an extended XYZ file, one after another.

        Raises:
            DatasetError: the file cannot be read, or a frame is at fault.
        """
        try:
            with open_text(self.path) as opened:
                size = None if is_packed(self.path) else self.path.stat().st_size
                yield OpenFrames(text_frames(opened.text, self.path, size), opened.raw)
        except FileNotFoundError:
            raise DatasetError(f"{self.path}: is not there") from None
        except Exception as error:
            with dataset_faults(self.path):
                check_whole(self.path)  # damage may look like a wrong frame
            if isinstance(error, DatasetError):
                raise
            raise DatasetError(f"{self.path}: {fault_text(error)}") from error

    def _atoms_of(self, frame: TextFrame, place: int) -> Atoms:
        """The structure of a frame, its identifiers as they are written."""
        stated = frame_for_ase(frame, self.fields, f"{self.path}: frame {place}")
        try:
            (atoms,) = iread(StringIO(stated.text), index=":", format=XYZ)
        except Exception as error:
            raise self._unreadable(error, f"frame {place}: ") from error
        names = {*IDENTIFIERS, self.cluster_field}
        is_text = {key: self.fields.name_for(key) in names for key in stated.written}
        atoms.info |= {key: text for key, text in stated.written.items() if is_text[key]}
        if "stress" in _results(atoms) and (matrix := _matrix_in(frame.comment)) is not None:
            atoms.calc.results["stress"] = matrix  # of which ASE keeps the components on one side of the diagonal
        return atoms

    def _unreadable(self, error: BaseException, frame: str) -> DatasetError:
        if is_damage(error):
            return DatasetError(f"{self.path}: {DAMAGED}")
        text = " ".join(str(error).split())[:MAX_TEXT]
        if not isinstance(error, ValueError | OSError) or not text:  # their texts are for programmers
            text = f"{type(error).__name__} {text}".strip()
        if isinstance(error, KeyError):
            key = str(error.args[0])[:MAX_TEXT] if error.args else ""
            text = f"it has {key!r} in place of an element, or lacks a field of that name"
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

    def _unused_fields(self, structures: Sequence[Atoms], labels: Sequence[Labels]) -> Counter[str]:
        """By numeric field that is not read, how many frames have it: misspelt labels are among them."""
        counts: Counter[str] = Counter()
        for atoms, of_frame in zip(structures, labels, strict=True):
            fields = {**atoms.info, **atoms.arrays, **_results(atoms)}
            names = {self.fields.unread_name(str(name)): value for name, value in fields.items()}
            read = ("", self.cluster_field)
            counts.update(name for name, value in names.items() if name not in read and _is_numeric(value))
            counts += not_repeated(
                np.array([np.nan]) if of_frame.energy is None else of_frame.energy,
                np.array([_number(atoms, "free_energy")]),
                np.array([_number(atoms, "energies")]),
                stress_missing="stresses" in fields and of_frame.stress is None,
            )
            if {"spin", "multiplicity"} <= fields.keys() and fields["spin"] != fields["multiplicity"]:
                counts["spin"] += 1
        return counts

    def _labels(self, atoms: Atoms, frame: Frames, where: str) -> Labels:
        """The labels of one structure, in the units of the file."""
        shapes = {n: shape for n, shape in property_shapes(frame).items() if n not in self.fields.left_out}
        return Labels(**{name: self._label(atoms, name, shape, where) for name, shape in shapes.items()})

    def _asymmetry(self, atoms: Atoms, labels: Labels) -> float:
        """Of the stress that the frame states as a matrix, in the unit of the file; 0 if it states none."""
        size = 0 if labels.stress is None else np.size(_stated(atoms, "stress"))
        return float(asymmetry(np.asarray(_stated(atoms, "stress"), np.float64).reshape(1, 9))[0]) if size == 9 else 0.0

    def _label(self, atoms: Atoms, name: Property, shape: tuple[int, ...], where: str) -> Float | None:
        """The label in that shape; None if the frame has none."""
        value = _stated(atoms, name)
        if value is None:
            return None
        remedy = f": correct it, or leave these labels out: --without {name}" if self.fields.may_leave_out else ""
        try:
            array = np.asarray(value, np.float64)
        except (TypeError, ValueError):
            raise DatasetError(f"{where}: {name}: is not a number{remedy}") from None
        if name == "stress" and array.size == 9:
            array = voigt_stress(array.reshape(1, 9))[0]
        if array.size != math.prod(shape):
            of_atoms = f"which is not that of {len(atoms)} atoms"
            raise DatasetError(f"{where}: {name}: has shape {array.shape}, {of_atoms}{remedy}")
        if not np.isfinite(array).all():
            raise DatasetError(f"{where}: {name}: is not finite{remedy}")
        if name == "stress" and not atoms.pbc.all():
            raise DatasetError(f"{where}: stress: the structure is not periodic and can have none{remedy}")
        return array.reshape(shape)


def _stated(atoms: Atoms, name: Property) -> Any:
    """The label as the file has it; None without one."""
    return next((place[name] for place in (_results(atoms), atoms.arrays, atoms.info) if name in place), None)


def text_of(value: object) -> str:
    """The text as it was written: trajectories and databases may have `T` as a truth value."""
    return str(value)[0] if isinstance(value, (bool, np.bool_)) else str(value)


def _matrix_in(comment: str) -> Float | None:
    """The nine numbers of `stress` in a comment line; None if it has another form."""
    text = next((field.value for field in reversed(comment_fields(comment)) if field.key == "stress"), "")
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return None
    return np.array(numbers) if len(numbers) == 9 else None


def can_name(value: object) -> bool:
    """Whether `value` is a text that is not blank, or a number. NaN is not: it would join all without a name."""
    is_name = isinstance(value, (str, int, float, np.number, np.bool_)) and bool(str(value).strip())
    return is_name and str(value).strip().lower() != "nan"


def _name(atoms: Atoms) -> str | None:
    """The name of a structure; None without one."""
    name = text_of(atoms.info.get("name", ""))
    return name if name.strip() else None


def _results(atoms: Atoms) -> Mapping[str, Any]:
    """What the calculator of a read structure holds."""
    return {} if atoms.calc is None else {k: v for k, v in atoms.calc.results.items() if v is not None}


def _number(atoms: Atoms, name: str) -> float:
    """The sum of a result that is no label; NaN if there is none."""
    value = _results(atoms).get(name)
    return np.nan if value is None or not _is_numeric(value) else float(np.sum(value))


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iuf"
    except ValueError:  # ragged
        return False


def _frame(atoms: Atoms, length: float, where: str) -> Frames:
    """One structure, its lengths in units of `length` [Å], with charge and multiplicity from `info`."""
    charge, multiplicity = stated_state(atoms.info, where)
    arrays: dict[str, Any] = {
        "n_atoms": [len(atoms)],
        "numbers": atoms.numbers,
        "positions": atoms.positions * length,
        "cell": [atoms.cell.array * length],
        "pbc": [atoms.pbc],
        "charge": [charge],
        "multiplicity": [multiplicity],
    }
    moments = atoms.arrays.get(MOMENTS, atoms.info.get(MOMENTS))
    if moments is not None:
        arrays[MOMENTS] = _moments(moments, len(atoms), where)
    with dataset_faults(where):
        return Frames.from_arrays(arrays)


def _moments(value: object, n_atoms: int, where: str) -> Float:
    """(n,) initial magnetic moments [μB].

    Raises:
        DatasetError: they are not one number an atom; the line begins with `where`.
    """
    try:
        moments = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        moments = np.zeros(0)
    if moments.size != n_atoms:
        raise DatasetError(
            f"{where}: {MOMENTS}: must be one number an atom, of {n_atoms} atoms: moments that are not collinear are "
            "not read: give the field another name to leave it out"
        )
    return moments.reshape(n_atoms)
