"""The summary of an import, for a person to check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.card import Difference, Scan, Table
from tasks.datasets.dataset import Dataset
from tasks.importing.checks.atom_order import doubtful_orders
from tasks.importing.checks.copy_doubts import doubtful_copies
from tasks.importing.checks.set_faults import doubtful_sets, set_faults
from tasks.importing.checks.torn_structures import doubtful_tears
from tasks.importing.checks.zero_references import zero_references
from tasks.importing.import_checks import (
    doubtful_labels,
    energy_spread,
    impossible_labels,
    impossible_structures,
)
from tasks.importing.reading.length_checks import doubtful_lengths
from tasks.importing.reading.nearest_atoms import nearest_atoms
from tasks.importing.reading.progress_report import Report, silent
from tasks.importing.references.reference_checks import doubtful_references, impossible_references
from tasks.kinds.relaxed_geometries import Comparison, ReferenceGeometries
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Labels


class ValueRange(NamedTuple):
    """Smallest, median and largest of some numbers."""

    low: float
    median: float
    high: float


class LabelSummary(NamedTuple):
    """The labels of one label set; None for labels that it does not have.

    Args:
        n_energy, n_forces, n_stress: frames with such a label.
        energy_per_atom: [eV/atom].
        energy_spread: size of the energy per atom after the fit of a constant per element [eV/atom].
        force: size of the force on an atom [eV/Å].
        stress: components [eV/Å³], positive in tension.
        stress_size: size of a component [eV/Å³].
    """

    n_energy: int
    n_forces: int
    n_stress: int
    energy_per_atom: ValueRange | None
    energy_spread: ValueRange | None
    force: ValueRange | None
    stress: ValueRange | None
    stress_size: ValueRange | None


class ImportSummary(NamedTuple):
    """Sizes, elements, states and ranges.

    Args:
        atoms: per structure.
        elements: by symbol, the number of structures with it.
        n_magnetic: structures with initial magnetic moments.
        charges, multiplicities: by value, the number of structures; a multiplicity of 0 is not stated.
        distance: shortest distance between two atoms of each structure [Å], of the structures with one below 3 Å.
        volume_per_atom: of the periodic structures [Å³].
        labels: by label set.
        references: of the items, by label set, quantity and unit.
        impossible, doubtful: a line each, as from `tasks.importing.import_checks` and its like.
    """

    n_structures: int
    n_atoms: int
    atoms: ValueRange
    elements: Mapping[str, int]
    n_periodic: int
    n_molecules: int
    n_magnetic: int
    charges: Mapping[int, int]
    multiplicities: Mapping[int, int]
    n_groups: int
    n_items: int
    distance: ValueRange | None
    volume_per_atom: ValueRange | None
    labels: Mapping[str, LabelSummary]
    references: Mapping[str, ValueRange]
    impossible: tuple[str, ...]
    doubtful: tuple[str, ...]


def summarise(dataset: Dataset, report: Report = silent) -> ImportSummary:
    """Sizes, elements, states and ranges of `dataset`, and what is impossible or doubtful in it."""
    frames, ids = dataset.frames, dataset.table.id
    # Pairs are made for all distances, the shortest ones included.
    are_pairs = bool(dataset.table.pairs)
    unknown = np.full(len(frames), np.inf)
    distances, in_radii = (unknown, unknown) if are_pairs else nearest_atoms(frames, report)
    sets = dataset.label_arrays
    impossible = impossible_structures(frames, ids, distances)
    impossible += [f"{name}: {line}" for name, s in sets.items() for line in impossible_labels(frames, ids, s)]
    impossible += impossible_references(dataset) + set_faults(dataset)
    doubtful = [] if are_pairs else doubtful_lengths(in_radii, ids) + doubtful_tears(frames, ids)
    doubtful += doubtful_references(dataset)
    doubtful += doubtful_sets(dataset) + zero_references(dataset) + doubtful_orders(dataset) + doubtful_copies(dataset)
    doubtful += [f"{name}: {line}" for name, s in sets.items() for line in doubtful_labels(frames, ids, s)]
    atoms = range_of(frames.n_atoms.astype(np.float64))
    assert atoms is not None  # a dataset has structures
    return ImportSummary(
        n_structures=len(frames),
        n_atoms=len(frames.numbers),
        atoms=atoms,
        elements=_elements(frames),
        n_periodic=int(frames.periodic.sum()),
        n_molecules=int((~frames.pbc.any(axis=1)).sum()),
        n_magnetic=_n_magnetic(frames),
        charges=_counted(frames.charge.tolist()),
        multiplicities=_counted(frames.multiplicity.tolist()),
        n_groups=len(set(dataset.table.group)),
        n_items=dataset.table.n_items,
        distance=range_of(np.where(np.isfinite(distances), distances, np.nan)),
        volume_per_atom=range_of(frames.volumes / frames.n_atoms),
        labels={name: _label_summary(frames, labels) for name, labels in sets.items()},
        references={**_references(dataset.table), **_geometries(dataset)},
        impossible=tuple(impossible),
        doubtful=tuple(doubtful),
    )


def _label_summary(frames: Frames, labels: Labels) -> LabelSummary:
    energy, forces, stress = labels.energy, labels.forces, labels.stress
    with_forces = np.array([]) if forces is None else frames.frame_index[np.isfinite(forces[:, 0])]
    return LabelSummary(
        n_energy=0 if energy is None else int(np.isfinite(energy).sum()),
        n_forces=len(np.unique(with_forces)),
        n_stress=0 if stress is None else int(np.isfinite(stress[:, 0]).sum()),
        energy_per_atom=None if energy is None else range_of(energy / frames.n_atoms),
        energy_spread=None if energy is None else range_of(np.abs(energy_spread(frames, energy))),
        force=None if forces is None else range_of(np.linalg.norm(forces, axis=1)),
        stress=None if stress is None else range_of(stress),
        stress_size=None if stress is None else range_of(np.abs(stress)),
    )


def _references(table: Table) -> dict[str, ValueRange]:
    """The ranges of all references of one sort; of a scan, its highest energy above its lowest."""
    values: dict[str, list[float]] = {}
    for difference in table.differences:
        for label_set, value in difference.reference.items():
            what = f"{label_set}: {difference.quantity or 'difference'} {_unit(difference)}"
            values.setdefault(what, []).append(value)
    for scan in table.scans:
        for label_set, energies in scan.reference.items():
            what = f"{label_set}: height of a profile {_unit(scan)}"
            values.setdefault(what, []).append(max(energies) - min(energies))
    for path in table.paths:
        for label_set, reference in path.reference.items():
            for name, energy in reference.model_dump(exclude_none=True).items():
                values.setdefault(f"{label_set}: {name.replace('_', ' ')} of a path [eV]", []).append(energy)
    for pair in table.pairs:
        for label_set, curve in pair.reference.items():
            values.setdefault(f"{label_set}: depth of a pair [eV]", []).append(curve.energies[-1] - min(curve.energies))
    for crystal in table.crystals:
        for label_set, properties in crystal.reference.items():
            for name, value in properties.items():
                values.setdefault(f"{label_set}: {name}", []).append(value)
    for analysis in (analysis for system in table.systems for analysis in system.analyses):
        for label_set, value in (analysis.references or {}).items():
            if isinstance(value, float):  # no curve, and no positions
                values.setdefault(f"{label_set}: {analysis.measure}", []).append(value)
    ranges = {what: range_of(np.array(of_sort)) for what, of_sort in values.items()}
    return {what: value_range for what, value_range in ranges.items() if value_range is not None}


def _geometries(dataset: Dataset) -> dict[str, ValueRange]:
    """The distances of the starts from their reference geometries, and the errors of their volumes."""
    frames, values = dataset.frames, {}
    for name, geometries in dataset.geometries.items():
        references = ReferenceGeometries(dataset.structures, geometries, Comparison("periodicity"))
        distances = references.distances(frames.positions, frames.cell, geometries.known)
        values[f"{name}: distance of the start [Å]"] = range_of(distances)
        volumes = references.volume_errors(frames.cell, geometries.known)
        values[f"{name}: volume of the start, above the reference's [%]"] = range_of(volumes)
    return {what: value_range for what, value_range in values.items() if value_range is not None}


def _unit(item: Difference | Scan) -> str:
    return "[eV]" if item.area is None else "[eV/Å²]"


def range_of(values: Float) -> ValueRange | None:
    """Smallest, median and largest of the `values` that are not NaN; None if all are."""
    known = values[~np.isnan(values)]
    return ValueRange(float(known.min()), float(np.median(known)), float(known.max())) if known.size else None


def _n_magnetic(frames: Frames) -> int:
    """The structures with initial magnetic moments."""
    moments = frames.initial_magmoms
    return 0 if moments is None else int(np.isfinite(moments[frames.offsets[:-1]]).sum())


def _elements(frames: Frames) -> dict[str, int]:
    pairs = np.unique(frames.frame_index * 119 + frames.numbers) % 119
    return {chemical_symbols[z]: int(n) for z, n in zip(*np.unique(pairs, return_counts=True), strict=True)}


def _counted(values: list[int]) -> dict[int, int]:
    return dict(sorted(Counter(values).items()))
