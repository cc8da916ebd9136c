"""Datasets of labelled frames from what the field has: extended XYZ, ASE trajectories and databases."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.calculators.calculator import PropertyNotImplementedError
from ase.io import read
from ase.io.formats import UnknownFileTypeError
from ase.stress import full_3x3_to_voigt_6_stress

from tasks.card import Card, DatasetError, Difference, Table
from tasks.dataset import Dataset
from tasks.frames import FRAME_DTYPES, Float, Frames, FramesError
from tasks.predictions import Labels

MAX_FRAMES_LOOKED_AT = 1_000
# ASE's readers raise whatever they stumble over.
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


class Imported(NamedTuple):
    """What a file holds: structures with names and groups, and the labels found with them."""

    frames: Frames
    labels: Labels
    id: tuple[str, ...]
    group: tuple[str, ...]

    def table(self, differences: Sequence[Difference] = ()) -> Table:
        """The names and groups; each structure is its own cluster."""
        return Table(id=self.id, group=self.group, cluster=self.id, differences=tuple(differences))


class ImportSummary(NamedTuple):
    """What was imported, for a person to look over before trusting it.

    Args:
        elements: atomic numbers that occur.
        energy_per_atom, force, stress: smallest and largest energy per atom [eV/atom], |force| on an atom [eV/Å] and
            stress component [eV/Å³]; None where there are no such labels.
    """

    n_structures: int
    n_atoms: int
    largest: int
    elements: tuple[int, ...]
    n_periodic: int
    n_charged: int
    n_items: int
    energy_per_atom: tuple[float, float] | None
    force: tuple[float, float] | None
    stress: tuple[float, float] | None


def summarise(dataset: Dataset, label_set: str | None = None) -> ImportSummary:
    """Sizes, elements and ranges of `dataset`."""
    frames = dataset.frames
    labels = dataset.labels(label_set) if dataset.card.label_sets else Labels()
    return ImportSummary(
        n_structures=len(frames),
        n_atoms=len(frames.numbers),
        largest=int(frames.n_atoms.max()),
        elements=tuple(int(z) for z in np.unique(frames.numbers)),
        n_periodic=int(frames.periodic.sum()),
        n_charged=int((frames.charge != 0).sum()),
        n_items=dataset.table.n_items,
        energy_per_atom=_range(None if labels.energy is None else labels.energy / frames.n_atoms),
        force=_range(None if labels.forces is None else np.linalg.norm(labels.forces, axis=1)),
        stress=_range(labels.stress),
    )


def _range(values: Float | None) -> tuple[float, float] | None:
    return None if values is None else (float(np.nanmin(values)), float(np.nanmax(values)))


def import_frames(path: Path, card: Card) -> Dataset:
    """A dataset of labelled frames from extended XYZ, an ASE trajectory or an ASE database.

    Args:
        card: the labels go to its default label set; `periodic` is set from the structures.

    Raises:
        DatasetError: the file cannot be read, or a frame is at fault; the line names file, frame and field.
    """
    found = read_structures(path)
    labels = found.labels
    if card.default_label_set is None or all(x is None for x in (labels.energy, labels.forces, labels.stress)):
        raise DatasetError(f"{path}: energy, forces, stress: no frame has any, or the card names no label set for them")
    return Dataset(with_periodicity(card, found.frames), found.frames, found.table(), {card.default_label_set: labels})


def read_structures(path: Path) -> Imported:
    """Structures and labels of a file that ASE can read.

    Energies, forces and stresses are those of the calculator that ASE attaches, else `info` and `arrays`. Charge and
    2S+1 come from `info` (`charge`; `multiplicity` or `spin`), names from `name`, groups from `group`.

    Raises:
        DatasetError: as in `import_frames`.
    """
    structures = _read(path)
    names = tuple(str(atoms.info.get("name", f"frame {i}")) for i, atoms in enumerate(structures))
    if len(set(names)) < len(names):
        names = tuple(f"{name} #{i}" for i, name in enumerate(names))
    groups = tuple(str(atoms.info.get("group", "")) for atoms in structures)
    parts = [_frame(atoms, f"{path}: frame {i}") for i, atoms in enumerate(structures)]
    frames = Frames.concatenate(parts)
    columns = [[_label(a, name, f"{path}: frame {i}") for i, a in enumerate(structures)] for name in _ROWS]
    energy, forces, stress = (_column(column, frames, name) for column, name in zip(columns, _ROWS, strict=True))
    labels = Labels(None if energy is None else energy[:, 0], forces, stress)
    return Imported(frames, labels, names, groups)


def _read(path: Path) -> list[Atoms]:
    try:
        found = read(path, index=":")
    except FileNotFoundError:
        raise DatasetError(f"{path}: is not there") from None
    except READER_ERRORS as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise DatasetError(f"{path}: {_first_bad(path)}cannot be read by ASE: {text}") from None
    structures = found if isinstance(found, list) else [found]
    if not structures:
        raise DatasetError(f"{path}: has no structures")
    return structures


def _first_bad(path: Path) -> str:
    """The first frame that ASE cannot read, as `frame 3: `; empty where it cannot be told."""
    for index in range(MAX_FRAMES_LOOKED_AT):
        try:
            read(path, index=index)
        except READER_ERRORS:
            return f"frame {index}: " if index else ""
    return ""


def _frame(atoms: Atoms, where: str) -> Frames:
    """One structure, with charge and multiplicity from `info`."""
    spin = atoms.info.get("multiplicity", atoms.info.get("spin", 0))
    values = {"charge": atoms.info.get("charge", 0), "multiplicity": spin}
    for name, value in values.items():
        if not isinstance(value, (int, float, np.integer, np.floating)) or value != round(float(value)):
            raise DatasetError(f"{where}: {name}: must be a whole number, not {value!r}")
    arrays: dict[str, Any] = {
        "n_atoms": [len(atoms)],
        "numbers": atoms.numbers,
        "positions": atoms.positions,
        "cell": [atoms.cell.array],
        "pbc": [atoms.pbc],
        **{name: [round(float(value))] for name, value in values.items()},
    }
    try:
        return Frames(**{name: np.asarray(arrays[name]) for name in FRAME_DTYPES})
    except FramesError as error:
        raise DatasetError(f"{where}: {error}") from None


_ROWS = {"energy": 1, "forces": 3, "stress": 6}


def _label(atoms: Atoms, name: str, where: str) -> Float | None:
    """The label as rows: energy (1, 1), forces (n_atoms, 3), stress (1, 6); None where the frame has none."""
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
    shape = (len(atoms), 3) if name == "forces" else (1, _ROWS[name])
    if array.size != shape[0] * shape[1]:
        raise DatasetError(f"{where}: {name}: has shape {array.shape}, which is not that of {len(atoms)} atoms")
    if not np.isfinite(array).all():
        raise DatasetError(f"{where}: {name}: is not finite")
    if name == "stress" and not atoms.pbc.all():
        raise DatasetError(f"{where}: stress: the structure is not periodic and can have none")
    return array.reshape(shape)


def _column(rows: Sequence[Float | None], frames: Frames, name: str) -> Float | None:
    """The labels of all frames in one array, NaN where a frame has none; None where no frame has one."""
    if all(row is None for row in rows):
        return None
    sizes = frames.n_atoms if name == "forces" else np.ones(len(frames), np.int64)
    filled = [np.full((int(k), _ROWS[name]), np.nan) if r is None else r for r, k in zip(rows, sizes, strict=True)]
    return np.concatenate(filled)


def with_periodicity(card: Card, frames: Frames) -> Card:
    """`card` with `periodic` as the structures have it."""
    return card.model_copy(update={"periodic": bool(frames.periodic.all())})
