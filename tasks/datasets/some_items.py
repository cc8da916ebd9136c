"""Some items of a data set, with their structures: a smaller data set of the same form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tasks.datasets.card import Item, MinimumEnergyPath
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.datasets.item_structures import structures_of_row
from tasks.structures.frames import Float, Int
from tasks.structures.predictions import Labels

SEED = 0


def some_items(dataset: Dataset, n_items: int) -> Dataset:
    """At most `n_items` items of each sort, drawn at random, in their order; of a data set without items, structures.

    Structures that belong to no item are left out, if it has items; with relaxed geometries, as many of them are drawn.
    Reaction paths are not chosen from.
    """
    rng, table = np.random.default_rng(SEED), dataset.table
    kept: dict[str, list[Item]] = {}
    for sort, rows in table.items.items():
        chosen = range(len(rows)) if _is_of_paths(rows) else _some(len(rows), n_items, rng)
        kept[sort] = [rows[i] for i in chosen]
    if table.n_items:
        used = {index for rows in kept.values() for row in rows for index in structures_of_row(dataset, row)}
        if dataset.geometries:
            used |= set(_some(len(dataset.frames), n_items, rng).tolist())
        structures = np.array(sorted(used), np.int64)
    else:
        structures = _some(len(dataset.frames), n_items, rng)
    if len(structures) == len(dataset.frames):
        return dataset
    new = {int(old): k for k, old in enumerate(structures)}
    changed: dict[str, Any] = {sort: tuple(_renumbered(row, new) for row in rows) for sort, rows in kept.items()}
    for name in ("id", "group", "cluster"):
        column = getattr(table, name)
        changed[name] = tuple(column[i] for i in structures) if column else column
    atoms = dataset.frames.atom_indices(structures)
    return replace(
        dataset,
        frames=dataset.frames.take(structures),
        table=table.model_copy(update=changed),
        label_arrays={name: _labels(labels, structures, atoms) for name, labels in dataset.label_arrays.items()},
        conditions=_conditions(dataset, structures, atoms),
        geometries={
            name: Geometries(each.positions[atoms], each.cell[structures]) for name, each in dataset.geometries.items()
        },
    )


def _is_of_paths(rows: tuple[Item, ...]) -> bool:
    return any(isinstance(row, MinimumEnergyPath) for row in rows)


def _some(n: int, n_items: int, rng: np.random.Generator) -> Int:
    return np.sort(rng.permutation(n)[:n_items]).astype(np.int64)


def _renumbered(row: Item, new: Mapping[int, int]) -> Item:
    """The row with the new numbers of its structures."""
    changed: dict[str, Any] = {}
    for name in ("structure", "structures"):
        value = getattr(row, name, None)
        if value is not None:
            changed[name] = new[value] if isinstance(value, int) else tuple(new[index] for index in value)
    if hasattr(row, "terms"):
        changed["terms"] = tuple(
            term.model_copy(
                update={
                    "structure": new[term.structure],
                    "alternatives": tuple(new[index] for index in term.alternatives),
                }
            )
            for term in row.terms
        )
    return row.model_copy(update=changed)


def _labels(labels: Labels, structures: Int, atoms: Int) -> Labels:
    def of(array: Float | None, rows: Int) -> Float | None:
        return None if array is None else array[rows]

    return Labels(of(labels.energy, structures), of(labels.forces, atoms), of(labels.stress, structures))


def _conditions(dataset: Dataset, structures: Int, atoms: Int) -> dict[str, Any]:
    n_atoms = len(dataset.frames.numbers)
    return {name: array[atoms if len(array) == n_atoms else structures] for name, array in dataset.conditions.items()}
