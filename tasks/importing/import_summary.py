"""What was imported, for a person to look over before trusting it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.card import Difference, Scan, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.import_checks import (
    doubtful_labels,
    energy_spread,
    impossible_labels,
    impossible_structures,
    shortest_distances,
)
from tasks.importing.length_checks import doubtful_lengths
from tasks.importing.reference_checks import doubtful_references, impossible_references
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels


class Span(NamedTuple):
    """Smallest, median and largest of some numbers."""

    low: float
    median: float
    high: float


class LabelSummary(NamedTuple):
    """Of one label set; None where it has no such labels.

    Args:
        n_energy, n_forces, n_stress: frames with such a label.
        energy_per_atom: [eV/atom].
        energy_spread: its size after the fit of a constant per element [eV/atom].
        force: size of the force on an atom [eV/Å].
        stress: components [eV/Å³], positive in tension.
        stress_size: size of a component [eV/Å³].
    """

    n_energy: int
    n_forces: int
    n_stress: int
    energy_per_atom: Span | None
    energy_spread: Span | None
    force: Span | None
    stress: Span | None
    stress_size: Span | None


class ImportSummary(NamedTuple):
    """Sizes, elements, states and ranges.

    Args:
        atoms: per structure.
        elements: by symbol, in how many structures it occurs.
        charges, multiplicities: by value, of how many structures; a multiplicity of 0 is not stated.
        distance: shortest one between two atoms of each structure [Å], of the structures that have one below 3 Å.
        volume_per_atom: of the periodic structures [Å³].
        labels: by label set.
        references: of the items, by label set, what it is, and its unit.
        impossible, doubtful: a line each, as from `tasks.importing.import_checks` and its like.
    """

    n_structures: int
    n_atoms: int
    atoms: Span
    elements: Mapping[str, int]
    n_periodic: int
    n_molecules: int
    charges: Mapping[int, int]
    multiplicities: Mapping[int, int]
    n_groups: int
    n_items: int
    distance: Span | None
    volume_per_atom: Span | None
    labels: Mapping[str, LabelSummary]
    references: Mapping[str, Span]
    impossible: tuple[str, ...]
    doubtful: tuple[str, ...]


def summarise(dataset: Dataset) -> ImportSummary:
    """Sizes, elements, states and ranges of `dataset`, and what is impossible or doubtful in it."""
    frames, ids = dataset.frames, dataset.table.id
    distances = shortest_distances(frames)
    sets = dataset.label_arrays
    impossible = impossible_structures(frames, ids, distances)
    impossible += [f"{name}: {line}" for name, s in sets.items() for line in impossible_labels(frames, ids, s)]
    impossible += impossible_references(dataset)
    doubtful = doubtful_lengths(frames, ids) + doubtful_references(dataset)
    doubtful += [f"{name}: {line}" for name, s in sets.items() for line in doubtful_labels(frames, ids, s)]
    atoms = span(frames.n_atoms.astype(np.float64))
    assert atoms is not None  # a dataset has structures
    return ImportSummary(
        n_structures=len(frames),
        n_atoms=len(frames.numbers),
        atoms=atoms,
        elements=_elements(frames),
        n_periodic=int(frames.periodic.sum()),
        n_molecules=int((~frames.pbc.any(axis=1)).sum()),
        charges=_counted(frames.charge.tolist()),
        multiplicities=_counted(frames.multiplicity.tolist()),
        n_groups=len(set(dataset.table.group)),
        n_items=dataset.table.n_items,
        distance=span(np.where(np.isfinite(distances), distances, np.nan)),
        volume_per_atom=span(frames.volumes / frames.n_atoms),
        labels={name: _of_labels(frames, labels) for name, labels in sets.items()},
        references=_references(dataset.table),
        impossible=tuple(impossible),
        doubtful=tuple(doubtful),
    )


def _of_labels(frames: Frames, labels: Labels) -> LabelSummary:
    energy, forces, stress = labels.energy, labels.forces, labels.stress
    with_forces = np.array([]) if forces is None else frames.frame_index[np.isfinite(forces[:, 0])]
    return LabelSummary(
        n_energy=0 if energy is None else int(np.isfinite(energy).sum()),
        n_forces=len(np.unique(with_forces)),
        n_stress=0 if stress is None else int(np.isfinite(stress[:, 0]).sum()),
        energy_per_atom=None if energy is None else span(energy / frames.n_atoms),
        energy_spread=None if energy is None else span(np.abs(energy_spread(frames, energy))),
        force=None if forces is None else span(np.linalg.norm(forces, axis=1)),
        stress=None if stress is None else span(stress),
        stress_size=None if stress is None else span(np.abs(stress)),
    )


def _references(table: Table) -> dict[str, Span]:
    """Of all references of one sort; of a scan, its highest energy above its lowest."""
    found: dict[str, list[float]] = {}
    for difference in table.differences:
        for label_set, value in difference.reference.items():
            what = f"{label_set}: {difference.quantity or 'difference'} {_unit(difference)}"
            found.setdefault(what, []).append(value)
    for scan in table.scans:
        for label_set, energies in scan.reference.items():
            what = f"{label_set}: height of a profile {_unit(scan)}"
            found.setdefault(what, []).append(max(energies) - min(energies))
    for crystal in table.crystals:
        for label_set, properties in crystal.reference.items():
            for name, value in properties.items():
                found.setdefault(f"{label_set}: {name}", []).append(value)
    spans = {what: span(np.array(values)) for what, values in found.items()}
    return {what: one for what, one in spans.items() if one is not None}


def _unit(item: Difference | Scan) -> str:
    return "[eV]" if item.area is None else "[eV/Å²]"


def span(values: Float) -> Span | None:
    """Smallest, median and largest of `values` that are numbers; None where none is."""
    there = values[~np.isnan(values)]
    return Span(float(there.min()), float(np.median(there)), float(there.max())) if there.size else None


def _elements(frames: Frames) -> dict[str, int]:
    pairs = np.unique(frames.frame_index * 119 + frames.numbers) % 119
    return {chemical_symbols[z]: int(n) for z, n in zip(*np.unique(pairs, return_counts=True), strict=True)}


def _counted(values: list[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
