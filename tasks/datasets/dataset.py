"""Data sets on disk: structures and labels are separate files, so that observing a model never opens the labels.

<data root>/<name>@<version>/
  card.toml             tasks.datasets.card.Card
  frames.safetensors    the arrays of a Frames: may enter a container; and conditions (pressure, fixed atoms)
  labels.safetensors    `<label set>/energy|forces|stress`, and of relaxed geometries `<label set>/positions|cell`;
                        absent where the table holds all references
  table.json            tasks.datasets.card.Table: names, groups, which structures form an item, references
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tasks.datasets.card import Card, DatasetError, Table, card_toml, dataset_faults
from tasks.datasets.dataset_checks import (
    CARD,
    CONDITIONS,
    FRAMES,
    LABELS,
    TABLE,
    check_conditions,
    check_labels,
    check_pairs,
    check_structures,
    check_table,
)
from tasks.datasets.geometries import GEOMETRY, Geometries, check_geometries, geometries_of
from tasks.datasets.system_checks import check_systems
from tasks.structures.frames import FRAME_DTYPES, MOMENTS, Frames, hash_arrays
from tasks.structures.predictions import ALL_PROPERTIES, Labels
from tasks.structures.text_files import read_text

__all__ = [
    "Dataset",
    "DatasetError",
    "Structures",
    "load_dataset",
    "load_structures",
    "new_folder",
    "read_card",
    "save_dataset",
]


@dataclass(frozen=True, eq=False)
class Structures:
    """The part of a data set that an observing task gets: its structures, and no labels.

    Args:
        name: name@version of the data set.
        conditions: by name, one row a structure or an atom: the conditions of its simulation
            (`tasks.datasets.dataset_checks.CONDITIONS`).
        hidden: whether the card states no date since which the structures are public.
    """

    name: str
    frames: Frames
    conditions: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    hidden: bool = False

    def condition(self, name: str) -> NDArray[Any]:
        """The condition of that name.

        Raises:
            ValueError: the data set has none.
        """
        if name not in self.conditions:
            raise ValueError(f"{self.name}/{FRAMES}: {name}: is missing: this kind of task needs it")
        return self.conditions[name]

    @cached_property
    def frames_sha256(self) -> str:
        """Hash of structures and conditions, which define the questions to a model."""
        return hash_arrays({**self.frames.arrays(), **self.conditions})


@dataclass(frozen=True, eq=False)
class Dataset:
    """Structures with labels and table, checked against each other.

    Args:
        label_arrays: by label set.
        geometries: by label set, the relaxed geometries.
        doubts: what its importer took for granted, a line each; they are not stored.

    Raises:
        DatasetError: an array of a wrong shape, an index out of range, a label where there can be none; the line
            begins with the file's name.
    """

    card: Card
    frames: Frames
    table: Table
    label_arrays: Mapping[str, Labels]
    conditions: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    geometries: Mapping[str, Geometries] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_structures(self.card, self.frames)
        check_conditions(self.conditions, self.frames)
        check_table(self.card, self.table, len(self.frames))
        check_pairs(self.table.pairs, self.frames)
        check_systems(f"{TABLE}: systems", self.table.systems, self.card, self.frames)
        for name in (*self.label_arrays, *self.geometries):
            if name not in self.card.label_sets:
                raise DatasetError(f"{LABELS}: {name}: is not a label set of {CARD}: {sorted(self.card.label_sets)}")
        for name, labels in self.label_arrays.items():
            check_labels(name, labels, self.frames)
        for name, geometries in self.geometries.items():
            check_geometries(f"{LABELS}: {name}", geometries, self.frames)
        for name in self.card.label_sets:
            labelled = name in self.label_arrays or name in self.geometries
            if not labelled and not self.table.n_items:  # every item has all label sets
                raise DatasetError(f"{CARD}: label_sets.{name}: has neither labels nor references")

    @property
    def structures(self) -> Structures:
        """The structures alone."""
        return Structures(self.card.full_name, self.frames, self.conditions, self.card.hidden)

    def label_set(self, name: str | None) -> str:
        """`name`, or the default label set for None.

        Raises:
            DatasetError: the data set has no such label set.
        """
        chosen = self.card.default_label_set if name is None else name
        if chosen is None or chosen not in self.card.label_sets:
            known = ", ".join(sorted(self.card.label_sets)) or "none"
            raise DatasetError(f"{self.card.full_name}/{CARD}: label_sets: there is no {chosen!r}, but {known}")
        return chosen

    def labels(self, label_set: str | None = None) -> Labels:
        """The labels of `label_set` (None: the default); all None if only the table has references of it."""
        return self.label_arrays.get(self.label_set(label_set), Labels())

    def baselines(self, label_set: str | None = None) -> Mapping[str, float]:
        """By metric, the baseline that the card states in place of a computed one."""
        return self.card.baselines.get(self.label_set(label_set), {})

    @cached_property
    def clusters(self) -> tuple[str, ...]:
        """By structure, the name of its cluster; a structure without one in the card's column has its own."""
        column = self.card.cluster_column
        if column is None:
            return self.table.id
        names = self.table.group if column == "group" else self.table.cluster
        return tuple(name or id for name, id in zip(names, self.table.id, strict=True))


def load_structures(folder: Path) -> Structures:
    """The structures of the data set in `folder`. Opens neither labels nor table.

    Raises:
        DatasetError: one line that names file and field.
    """
    card = read_card(folder)
    frames, conditions = _read_frames(folder, card)
    try:
        check_structures(card, frames)
        check_conditions(conditions, frames)
    except DatasetError as error:
        raise DatasetError(f"{folder / str(error)}") from None
    return Structures(card.full_name, frames, conditions, card.hidden)


def load_dataset(folder: Path) -> Dataset:
    """The data set in `folder`, with every file checked against its hash, and the files against each other.

    Raises:
        DatasetError: one line that names file and field.
    """
    card = read_card(folder)
    frames, conditions = _read_frames(folder, card)
    with dataset_faults(folder / TABLE):
        table = Table.model_validate_json(_read(folder, TABLE, card))
    arrays = _read_arrays(folder, LABELS, card) if LABELS in card.sha256 or (folder / LABELS).exists() else {}
    by_set: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in arrays.items():
        label_set, _, name = key.rpartition("/")
        if name not in (*ALL_PROPERTIES, *GEOMETRY) or array.dtype != np.float64:
            names = ", ".join((*ALL_PROPERTIES, *GEOMETRY))
            raise DatasetError(f"{folder / LABELS}: {key}: must be <label set>/NAME in float64, NAME one of {names}")
        by_set.setdefault(label_set, {})[name] = array
    labels, geometries = _labels(by_set), geometries_of(by_set, f"{folder / LABELS}")
    try:
        return Dataset(card, frames, table, labels, conditions, geometries)
    except DatasetError as error:
        raise DatasetError(f"{folder / str(error)}") from None


def _labels(by_set: Mapping[str, Mapping[str, NDArray[Any]]]) -> dict[str, Labels]:
    chosen = {name: {p: parts[p] for p in ALL_PROPERTIES if p in parts} for name, parts in by_set.items()}
    return {name: Labels(**parts) for name, parts in chosen.items() if parts}


def new_folder(card: Card, data_root: Path) -> Path:
    """The folder of a data set that is not there yet.

    Raises:
        DatasetError: the folder exists already: a data set is never overwritten, its version goes up.
    """
    folder = data_root / card.full_name
    if folder.exists():
        raise DatasetError(f"{folder}: version: exists already; give the changed dataset a new version")
    return folder


def save_dataset(dataset: Dataset, data_root: Path) -> Path:
    """Writes `dataset` to its folder under `data_root`, whole or not at all, and returns the folder.

    Raises:
        DatasetError: the folder exists already: a data set is never overwritten, its version goes up. Or it cannot be
            written.
    """
    folder = new_folder(dataset.card, data_root)
    files = {
        FRAMES: _pack({**dataset.frames.arrays(), **dataset.conditions}),
        TABLE: (json.dumps(dataset.table.stored(), indent=1, ensure_ascii=False) + "\n").encode(),
    }
    labels = {
        f"{label_set}/{name}": array
        for part in (dataset.label_arrays, dataset.geometries)
        for label_set, labels in part.items()
        for name, array in labels.arrays.items()
    }
    if labels:
        files[LABELS] = _pack(labels)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    files[CARD] = card_toml(dataset.card.model_copy(update={"sha256": hashes})).encode()
    try:
        data_root.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".new-", dir=data_root))
    except OSError as error:
        raise _unwritable(data_root, error) from None
    try:
        for name, data in files.items():
            with (temporary / name).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        temporary.chmod(0o755)
        os.rename(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _unwritable(folder, error) from None
    return folder


def _unwritable(path: Path, error: OSError) -> DatasetError:
    return DatasetError(f"{path}: cannot be written: {error.strerror}: make room for it, or set data to another folder")


def read_card(folder: Path) -> Card:
    """The card of the data set in `folder`. Opens no other file.

    Raises:
        DatasetError: one line that names file and field.
    """
    path = folder / CARD
    with dataset_faults(path):
        try:
            stated = tomllib.loads(read_text(path))
        except (ValueError, RecursionError) as error:  # of tomllib, and of Python's limits on digits and depth
            raise DatasetError(f"{path}: is not TOML: {error}") from None
        card = Card.model_validate(stated)
    if folder.name != card.full_name:
        raise DatasetError(f"{path}: name: the folder must be called {card.full_name}, not {folder.name}")
    return card


def _read(folder: Path, name: str, card: Card) -> bytes:
    """The bytes of a file, which must have the hash on the card."""
    path = folder / name
    with dataset_faults(path):
        data = path.read_bytes()
    if name not in card.sha256:
        raise DatasetError(f"{folder / CARD}: sha256.{name}: is missing")
    if hashlib.sha256(data).hexdigest() != card.sha256[name]:
        raise DatasetError(f"{path}: sha256: is not what {CARD} states; restore the file or make a new version")
    return data


def _read_arrays(folder: Path, name: str, card: Card) -> dict[str, NDArray[Any]]:
    try:
        return dict(load(_read(folder, name, card)))
    except SafetensorError as error:
        raise DatasetError(f"{folder / name}: is not a safetensors file: {error}") from None


def _read_frames(folder: Path, card: Card) -> tuple[Frames, dict[str, NDArray[Any]]]:
    """The structures, and their conditions."""
    arrays = _read_arrays(folder, FRAMES, card)
    for name, dtype in FRAME_DTYPES.items():
        if name not in arrays:
            raise DatasetError(f"{folder / FRAMES}: {name}: is missing")
        if arrays[name].dtype != dtype:
            raise DatasetError(f"{folder / FRAMES}: {name}: must be {np.dtype(dtype)}, not {arrays[name].dtype}")
    if MOMENTS in arrays and arrays[MOMENTS].dtype != np.float64:
        raise DatasetError(f"{folder / FRAMES}: {MOMENTS}: must be float64, not {arrays[MOMENTS].dtype}")
    conditions = {name: array for name, array in arrays.items() if name in CONDITIONS}
    with dataset_faults(folder / FRAMES):
        return Frames.from_arrays(arrays), conditions


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    # np.array, not ascontiguousarray, and sorted: the same content gives the same bytes.
    return save({name: np.array(arrays[name], order="C") for name in sorted(arrays)})
