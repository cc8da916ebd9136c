"""Equations of state of crystals from scans of the volume, with energies: one extended XYZ file.

Each frame states in its comment line the `name` of its crystal and the `energy` of the cell; frames of one name are one
curve, in any order:

    4
    Lattice="3.5 0 0 0 3.5 0 0 0 3.5" Properties=species:S:1:pos:R:3 name=copper group=metals energy=-14.70
    Cu 0.00 0.00 0.00
    …

A curve has five or more volumes, and its minimum lies within them. Its reference is the third-order Birch–Murnaghan
equation through its energies: V0, B0 and B0′. A frame may state `group`, under which its curve is reported. If all
curves of a group have one composition, they are phases of one substance, and their references have the energies at the
minima, too.
"""

from __future__ import annotations

from collections import Counter
from math import gcd
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tasks.datasets.card import Card, Curve, CurveReference, DatasetError, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_structures
from tasks.importing.label_units import LabelUnits
from tasks.importing.labelled_import import Imported, with_periodicity
from tasks.importing.reading.progress_report import Report, silent
from tasks.simulation.birch_murnaghan import EquationOfState, energy, fit
from tasks.structures.frames import Float, Int

MIN_VOLUMES = 5
# Two volumes are the same within this share.
SAME_VOLUME = 1e-6
# Of the height of a curve: energies that are farther from the equation of state are not those of one phase.
MAX_DEVIATION = 0.1


class VolumeScan(NamedTuple):
    """The frames of one crystal.

    Args:
        rows: (k,) its frames, by increasing volume.
        formula: its atomic numbers, and how many atoms of each are in the smallest unit.
        eos: per atom.
    """

    name: str
    group: str
    rows: Int
    formula: tuple[tuple[int, int], ...]
    eos: EquationOfState


def import_equations_of_state(path: Path, card: Card, units: LabelUnits, report: Report = silent) -> Dataset:
    """The curves in the file `path`, at the card's default label set.

    Args:
        units: of the file.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{path}: the card names no label set for the references")
    read = read_structures(path, units, "extxyz", cluster_field="name", needed_by="its curve", report=report)
    by_name: dict[str, list[int]] = {}
    for row, name in enumerate(read.cluster or ()):
        by_name.setdefault(name, []).append(row)
    scans = [_scan(read, name, np.array(rows, np.int64), f"{path}: {name}") for name, rows in by_name.items()]
    formulas: dict[str, set[tuple[tuple[int, int], ...]]] = {}
    for scan in scans:
        formulas.setdefault(scan.group, set()).add(scan.formula)
    curves, n_before = list[Curve](), 0
    for scan in scans:
        v0, b0_gpa, b0_prime, e0 = scan.eos
        is_phase = bool(scan.group) and len(formulas[scan.group]) == 1
        with dataset_faults(f"{path}: {scan.name}"):
            reference = CurveReference(
                v0_per_atom=v0, b0_gpa=b0_gpa, b0_prime=b0_prime, e0_per_atom=e0 if is_phase else None
            )
        structures = tuple(range(n_before, n_before + len(scan.rows)))
        n_before += len(scan.rows)
        curves.append(
            Curve(
                id=scan.name,
                group=scan.group,
                cluster=scan.name,
                structures=structures,
                reference={card.default_label_set: reference},
            )
        )
    frames = read.frames.take(np.concatenate([scan.rows for scan in scans]))
    table = Table(
        id=tuple(f"{scan.name} {i}" for scan in scans for i in range(len(scan.rows))),
        group=tuple(scan.group for scan in scans for _ in scan.rows),
        cluster=tuple(scan.name for scan in scans for _ in scan.rows),
        curves=tuple(curves),
    )
    with dataset_faults(path):
        return Dataset(with_periodicity(card, frames), frames, table, {})


def _scan(read: Imported, name: str, rows: Int, where: str) -> VolumeScan:
    """The scan in the frames `rows`, with its equation of state.

    Raises:
        DatasetError: they are no scan, or have no equation of state; the line begins with `where`.
    """
    frames = read.frames.take(rows)
    if not frames.periodic.all():
        raise DatasetError(f"{where}: pbc: is no crystal, which is periodic in all directions")
    energies = np.full(len(rows), np.nan) if read.labels.energy is None else read.labels.energy[rows]
    if np.isnan(energies).any():
        frame = int(rows[np.isnan(energies)][0])
        raise DatasetError(f"{where}: energy: frame {frame} has none: write energy= in its comment line")
    formulas = {_formula(part) for part in np.split(frames.numbers, frames.offsets[1:-1])}
    groups = sorted({read.group[row] for row in rows})
    for what, values in (("compositions", formulas), ("groups", groups)):
        if len(values) > 1:
            raise DatasetError(f"{where}: name: its frames have {len(values)} {what}: give each crystal its own name")
    order = np.argsort(frames.volumes / frames.n_atoms, kind="stable")
    volume, energy_per_atom = (frames.volumes / frames.n_atoms)[order], (energies / frames.n_atoms)[order]
    if (np.diff(volume) < SAME_VOLUME * volume[1:]).any():
        raise DatasetError(f"{where}: name: two frames have one volume: give each crystal its own name")
    if len(rows) < MIN_VOLUMES:
        raise DatasetError(f"{where}: has {len(rows)} volumes: a curve needs {MIN_VOLUMES} or more")
    return VolumeScan(name, groups[0], rows[order], formulas.pop(), _equation_of_state(volume, energy_per_atom, where))


def _equation_of_state(volume: Float, energy_per_atom: Float, where: str) -> EquationOfState:
    """The equation of state through energies (k,) [eV/atom] at volumes (k,) [Å³/atom].

    Raises:
        DatasetError: there is none, or the energies are not near it.
    """
    eos = fit(volume, energy_per_atom)
    if eos is None or not volume[0] < eos.v0 < volume[-1]:
        at = "" if eos is None else f", but at {eos.v0:.4g} Å³/atom"
        raise DatasetError(
            f"{where}: energy: has no minimum within its volumes{at}: add volumes on both sides, or see --units"
        )
    deviation = float(np.abs(energy(volume, eos) - energy_per_atom).max())
    if not deviation <= MAX_DEVIATION * np.ptp(energy_per_atom):
        raise DatasetError(
            f"{where}: energy: is up to {1000 * deviation:.3g} meV/atom from the equation of state: leave out "
            "volumes at which the crystal is in another phase or state"
        )
    return eos


def _formula(numbers: Int) -> tuple[tuple[int, int], ...]:
    counts = Counter(numbers.tolist())
    unit = gcd(*counts.values())
    return tuple(sorted((number, n // unit) for number, n in counts.items()))
