"""Doubts about copies: structures or items that count several times, and those whose labels contradict each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tasks.datasets.card import Crystal, Difference, Item
from tasks.datasets.dataset import Dataset
from tasks.datasets.item_structures import structures_of_row
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.importing.checks.copies import Copies, find_copies
from tasks.importing.checks.number_sizes import numbers_in
from tasks.importing.import_checks import too_few_for_energy
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Labels

# Labels of one structure differ by less, if they are of one calculation that was run twice.
SAME_ENERGY = 1e-4  # eV/atom
SAME_FORCE = 1e-2  # eV/Å
SAME_STRESS = 1e-4  # eV/Å³: 16 MPa
SAME_GEOMETRY = 0.05  # Å
SAME_REFERENCE = 1e-3  # relative
REMEDY = "of other states, or of several calculations: correct them, or keep one"


class LabelConflict(NamedTuple):
    """Labels of copies that are apart.

    Args:
        size: (k,) how far the label of each later copy is from that of the first; NaN where one has none.
        bound: beyond which they contradict each other, one number or (k,).
    """

    field: str
    unit: str
    size: Float
    bound: Float | float


def doubtful_copies(dataset: Dataset) -> list[str]:
    """A line about the copies of structures, one about those of items, and one for each label that contradicts."""
    structures = find_copies(dataset.frames, dataset.conditions)
    if not structures.later.size:
        return []
    lines = []
    if dataset.label_arrays or dataset.geometries or not dataset.table.n_items:
        lines += _structure_lines(dataset, structures)
    for name, labels in dataset.label_arrays.items():
        lines += _conflict_lines(f"{name}: ", dataset, structures, _conflicts(dataset.frames, labels, structures))
    for name, geometries in dataset.geometries.items():
        moved = geometries.positions[_atoms_of_first(dataset.frames, structures)]
        sizes = np.linalg.norm(geometries.positions[dataset.frames.atom_indices(structures.later)] - moved, axis=1)
        apart = np.maximum.reduceat(sizes, _starts(dataset.frames, structures))
        conflict = LabelConflict("reference geometry", "Å", apart, SAME_GEOMETRY)
        lines += _conflict_lines(f"{name}: ", dataset, structures, [conflict])
    for sort, items in dataset.table.items.items():
        lines += _item_lines(sort, items, dataset, structures)
    return lines


def _structure_lines(dataset: Dataset, copies: Copies) -> list[str]:
    n, ids = len(dataset.frames), dataset.table.id
    structure, times = copies.most
    clusters = dataset.clusters
    apart = sum(clusters[i] != clusters[copies.first[i]] for i in copies.later.tolist())
    counted = (
        f"{apart} of them are in other clusters than their structure, so that intervals are too narrow: remove them"
        if apart
        else "copies are one cluster"
    )
    lines = [
        f"structures: {copies.later.size} of {n} are copies, {copies.n_different} are different "
        f"({ids[structure]} is there {times} times); {counted}"
    ]
    kept = np.unique(copies.first)
    for name, labels in dataset.label_arrays.items():
        if labels.energy is None or too_few_for_energy(dataset.frames, labels.energy) is not None:
            continue
        few = too_few_for_energy(dataset.frames.take(kept), labels.energy[kept])
        if few is not None:
            lines.append(f"{name}: without copies, {few}")
    return lines


def _atoms_of_first(frames: Frames, copies: Copies) -> Int:
    """The atoms of the first structure of each later copy, one structure after another."""
    return frames.atom_indices(copies.first[copies.later])


def _starts(frames: Frames, copies: Copies) -> Int:
    """Where each later copy begins among the atoms of all later copies."""
    return np.concatenate([[0], np.cumsum(frames.n_atoms[copies.later])[:-1]]).astype(np.int64)


def _conflicts(frames: Frames, labels: Labels, copies: Copies) -> Iterator[LabelConflict]:
    later, first = copies.later, copies.first[copies.later]
    if labels.energy is not None:
        size = np.abs(labels.energy[later] - labels.energy[first])
        yield LabelConflict("energy", "eV", size, np.asarray(SAME_ENERGY * frames.n_atoms[later], np.float64))
    if labels.forces is not None:
        change = labels.forces[frames.atom_indices(later)] - labels.forces[_atoms_of_first(frames, copies)]
        size = np.maximum.reduceat(np.linalg.norm(change, axis=1), _starts(frames, copies))
        yield LabelConflict("forces", "eV/Å", size, SAME_FORCE)
    if labels.stress is not None:
        size = np.abs(labels.stress[later] - labels.stress[first]).max(axis=1)
        yield LabelConflict("stress", "eV/Å³", size, SAME_STRESS)


def _conflict_lines(where: str, dataset: Dataset, copies: Copies, conflicts: Iterable[LabelConflict]) -> list[str]:
    lines, ids = [], dataset.table.id
    for conflict in conflicts:
        beyond = conflict.size > conflict.bound
        if not beyond.any():
            continue
        worst = int(np.nanargmax(conflict.size))
        later = int(copies.later[worst])
        lines.append(
            f"{where}{conflict.field}: {ids[copies.first[later]]} and {ids[later]} are one structure, with labels that "
            f"are {conflict.size[worst]:.4g} {conflict.unit} apart ({beyond.sum()} such copies in all): {REMEDY}"
        )
    return lines


def _item_lines(sort: str, items: Sequence[Item], dataset: Dataset, copies: Copies) -> list[str]:
    """Lines about items of the same structures in other clusters, and about those with other references."""
    seen: dict[Hashable, Item] = {}
    apart, other = list[tuple[Item, Item]](), list[tuple[Item, Item, float]]()
    for item in items:
        first = seen.setdefault(_item_key(item, dataset, copies), item)
        if first is item:
            continue
        if (first.cluster or first.id) != (item.cluster or item.id):
            apart.append((first, item))
        difference = _reference_difference(first, item)
        if difference > SAME_REFERENCE:
            other.append((first, item, difference))
    lines = []
    if apart:
        lines.append(
            f"{sort}: {apart[0][0].id} and {apart[0][1].id} are of the same structures and in two clusters "
            f"({len(apart)} such items in all), so that intervals are too narrow: give them one cluster, or keep one"
        )
    if other:
        first, item, difference = max(other, key=lambda found: found[2])
        lines.append(
            f"{sort}: {first.id} and {item.id} are of the same structures, with references that are "
            f"{100 * difference:.3g} % apart ({len(other)} such items in all): {REMEDY}"
        )
    return lines


def _item_key(item: Item, dataset: Dataset, copies: Copies) -> Hashable:
    """What items of the same structures have in common."""
    if isinstance(item, Difference):
        terms = [(int(copies.first[t.structure]), t.coefficient, len(t.alternatives)) for t in item.terms]
        return (item.quantity, tuple(sorted(terms)))
    measured = tuple(analysis.measure for analysis in item.analyses) if isinstance(item, SimulatedSystem) else ()
    properties = tuple(sorted(next(iter(item.reference.values()), ()))) if isinstance(item, Crystal) else ()
    structures = structures_of_row(dataset, item)
    return (measured, properties, tuple(int(copies.first[index]) for index in structures))


def _reference_difference(first: Item, other: Item) -> float:
    """The largest relative difference of two items' references; infinite if they are not of one form."""
    one, two = (np.array(list(numbers_in(item.model_dump().get("reference")))) for item in (first, other))
    if one.shape != two.shape:
        return np.inf
    return float((np.abs(one - two) / np.maximum(np.maximum(np.abs(one), np.abs(two)), 1e-12)).max(initial=0.0))
