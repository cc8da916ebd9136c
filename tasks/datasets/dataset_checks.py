"""Checks between the files of a data set. Each raises a `DatasetError` that names file and field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Card, Conductivity, Crystal, DatasetError, Difference, MinimumEnergyPath, Table
from tasks.datasets.diatomic_pairs import Diatomic, bond_vectors
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels, property_shapes


class Condition(NamedTuple):
    """An array of conditions: its dtype, the shape of one row, and whether it has a row an atom or a structure."""

    dtype: Any
    shape: tuple[int, ...] = ()
    per_atom: bool = False


# The conditions of a simulation, arrays beside those of the frames.
CONDITIONS: Mapping[str, Condition] = {
    "pressure_gpa": Condition(np.float64),
    "temperature_k": Condition(np.float64),  # of the heat bath, in place of the task's
    "supercell": Condition(np.int64, (3, 3)),  # columns: its vectors in those of the cell, as phonopy has it
    "primitive": Condition(np.float64, (3, 3)),  # columns: the primitive vectors, likewise
    "third_order_supercell": Condition(np.int64, (3, 3)),  # likewise, for force constants of third order
    "q_mesh": Condition(np.int64, (3,)),  # of wave vectors, for thermal conductivity
    "fixed": Condition(np.bool_, per_atom=True),  # whether the atom stays where it is
    "molecule": Condition(np.int64, per_atom=True),  # number of its molecule, which a barostat moves as a whole
    "curve": Condition(np.int64),  # number of its equation of state, if volumes alone do not tell it
    "path": Condition(np.int64),  # number of the reaction that the structure belongs to
    "role": Condition(np.int64),  # of the structure in its reaction: a `tasks.datasets.path_roles.PathRole`
}
CARD, FRAMES, LABELS, TABLE = "card.toml", "frames.safetensors", "labels.safetensors", "table.json"


def check_structures(card: Card, frames: Frames) -> None:
    """There are structures, and they are periodic as the card states."""
    if not len(frames):
        raise DatasetError(f"{FRAMES}: n_atoms: there is no structure")
    if card.periodic != bool(frames.periodic.all()):
        raise DatasetError(f"{CARD}: periodic: is {str(card.periodic).lower()}, which the pbc of {FRAMES} is not")


def check_conditions(conditions: Mapping[str, NDArray[Any]], frames: Frames) -> None:
    """Conditions are known and finite, with one row a structure or an atom."""
    for name, array in conditions.items():
        if name not in CONDITIONS:
            raise DatasetError(f"{FRAMES}: {name}: is no known condition: {', '.join(CONDITIONS)}")
        dtype, shape, per_atom = CONDITIONS[name]
        expected = (len(frames.numbers) if per_atom else len(frames), *shape)
        if array.dtype != dtype or array.shape != expected:
            raise DatasetError(f"{FRAMES}: {name}: must be {np.dtype(dtype)}{expected}")
        if not np.isfinite(array).all():
            raise DatasetError(f"{FRAMES}: {name}: must be finite")
        if len(shape) == 2 and (np.abs(np.linalg.det(array)) < 1e-8).any():
            raise DatasetError(f"{FRAMES}: {name}: has a matrix without a volume")


def check_table(card: Card, table: Table, n: int) -> None:
    """Names, items and references fit `n` structures and the card's label sets."""
    for name, column in (("id", table.id), ("group", table.group), ("cluster", table.cluster)):
        if len(column) != n:
            raise DatasetError(f"{TABLE}: {name}: has {len(column)} entries for {n} structures")
    if len(set(table.id)) != n:
        raise DatasetError(f"{TABLE}: id: two structures have one name")
    for field, items in table.items.items():
        if len({item.id for item in items}) != len(items):
            raise DatasetError(f"{TABLE}: {field}.id: two items have one name")
        for row, item in enumerate(items):
            if isinstance(item, SimulatedSystem):  # see `tasks.datasets.system_checks`
                continue
            if isinstance(item, Difference):
                used = [index for term in item.terms for index in (term.structure, *term.alternatives)]
            elif isinstance(item, MinimumEnergyPath):
                used = [item.path]  # there are at least as many structures as paths
            else:
                used = [item.structure] if isinstance(item, (Crystal, Conductivity)) else list(item.structures)
            if max(used) >= n:
                raise DatasetError(f"{TABLE}: {field}.{row} ({item.id}): structure {max(used)} is not one of {n}")
            if isinstance(item, Diatomic):  # it may have no reference
                complete = item.reference.keys() <= card.label_sets.keys()
            else:
                complete = item.reference.keys() == card.label_sets.keys()
            if not complete:
                raise DatasetError(f"{TABLE}: {field}.{row}.reference ({item.id}): must have {sorted(card.label_sets)}")
    areas = [item.area for item in table.differences] + [item.area for item in table.scans]
    if len({area is None for area in areas}) > 1:
        raise DatasetError(f"{TABLE}: area: some items have one and some have none: they have no unit in common")


def check_pairs(pairs: Sequence[Diatomic], frames: Frames) -> None:
    """The structures of a pair have the same two atoms, at increasing distances."""
    for row, pair in enumerate(pairs):
        where = f"{TABLE}: pairs.{row}.structures ({pair.id})"
        structures = list(pair.structures)
        if (frames.n_atoms[structures] != 2).any():
            raise DatasetError(f"{where}: each must have two atoms")
        first = frames.offsets[structures]
        if len(np.unique(np.stack([frames.numbers[first], frames.numbers[first + 1]]), axis=1).T) > 1:
            raise DatasetError(f"{where}: are of several pairs of elements")
        if (np.diff(np.linalg.norm(bond_vectors(frames, structures), axis=1)) <= 0).any():
            raise DatasetError(f"{where}: must be in the order of increasing distance")


def check_labels(label_set: str, labels: Labels, frames: Frames) -> None:
    """Labels have the shapes of `frames`; each row is finite or all NaN; only periodic structures have stress."""
    shapes = property_shapes(frames)
    for name, array in labels.arrays.items():
        shape = shapes[name]
        where = f"{LABELS}: {label_set}/{name}"
        if array.shape != shape:
            raise DatasetError(f"{where}: must have shape {shape}, not {array.shape}")
        rows = np.isnan(array.reshape(len(array), -1))
        if np.isinf(array).any() or (rows.any(axis=1) & ~rows.all(axis=1)).any():
            raise DatasetError(f"{where}: a row must be finite, or all NaN where there is no label")
        if rows.all():
            raise DatasetError(f"{where}: is NaN everywhere; leave it out")
        if name == "stress" and not rows[~frames.periodic].all():
            index = int(np.flatnonzero(~frames.periodic & ~rows.all(axis=1))[0])
            raise DatasetError(f"{where}: structure {index} is not periodic and can have no stress")
