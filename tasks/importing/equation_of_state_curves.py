"""Equations of state of crystals from scans of the volume, with energies: one extended XYZ file, or a table.

Each frame states in its comment line the `name` of its crystal and the `energy` of the cell; frames of one name are one
curve, in any order:

    4
    Lattice="3.5 0 0 0 3.5 0 0 0 3.5" Properties=species:S:1:pos:R:3 name=copper group=metals energy=-14.70
    Cu 0.00 0.00 0.00
    …

As a table, `curves.csv` has a line for each volume and energy of a cell. `curves.extxyz` beside it has one frame for
each crystal, with its `name`, which is scaled to each volume:

    name,volume,energy
    copper,42.9,-14.65

A curve has five or more volumes, and its minimum lies within them. Its reference is the third-order Birch–Murnaghan
equation through its energies: V0, B0 and B0′. Another level of theory is another file with the same crystals, whose
volumes may be others. A frame may state `group`, under which its curve is reported. If all curves of a group have one
composition, they are phases of one substance, and their references have the energies at the minima, too.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from math import gcd
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tasks.datasets.card import Card, Curve, CurveReference, DatasetError, Table, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_structures
from tasks.importing.label_units import LabelUnits
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.reading.progress_report import Report, silent
from tasks.observing.curve_observation import with_curve_numbers
from tasks.simulation.birch_murnaghan import EquationOfState, energy, fit
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.text_files import read_text

MIN_VOLUMES = 5
# Two volumes are the same within this share.
SAME_VOLUME = 1e-6
# Of the height of a curve: energies that are farther from the equation of state are not those of one phase.
MAX_DEVIATION = 0.1
NO_CRYSTAL = "pbc: is no crystal, which is periodic in all directions"
NAME, VOLUME, ENERGY = COLUMNS = ("name", "volume", "energy")


class CurveFile(NamedTuple):
    """A file with curves, and the units of its energies and lengths."""

    path: Path
    units: LabelUnits


class ScannedFrames(NamedTuple):
    """The frames of all curves.

    Args:
        names, groups: by frame, of its crystal.
        energies: (n,) of the cells [eV]; NaN if a frame has none.
    """

    frames: Frames
    names: tuple[str, ...]
    groups: tuple[str, ...]
    energies: Float


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


def import_equations_of_state(
    file: CurveFile, card: Card, report: Report = silent, also: Mapping[str, CurveFile] = MappingProxyType({})
) -> Dataset:
    """The curves in a file, with references at the card's default label set.

    Args:
        also: by another label set, its file with curves of the same crystals.

    Raises:
        DatasetError: one line that names file, crystal and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{file.path}: the card names no label set for the references")
    read, scans = _scans(file, report)
    levels = {card.default_label_set: {scan.name: scan for scan in scans}}
    for label_set, other in also.items():
        levels[label_set] = {scan.name: scan for scan in _scans(other, silent)[1]}
        _check_crystals(scans, levels[label_set], file.path, other.path)
    formulas: dict[str, set[tuple[tuple[int, int], ...]]] = {}
    for scan in scans:
        formulas.setdefault(scan.group, set()).add(scan.formula)
    curves, n_before = list[Curve](), 0
    for scan in scans:
        is_phase = bool(scan.group) and len(formulas[scan.group]) == 1
        with dataset_faults(f"{file.path}: {scan.name}"):
            references = {name: _reference(level[scan.name].eos, is_phase) for name, level in levels.items()}
        structures = tuple(range(n_before, n_before + len(scan.rows)))
        n_before += len(scan.rows)
        curves.append(
            Curve(id=scan.name, group=scan.group, cluster=scan.name, structures=structures, reference=references)
        )
    frames = read.frames.take(np.concatenate([scan.rows for scan in scans]))
    table = Table(
        id=tuple(f"{scan.name} {i}" for scan in scans for i in range(len(scan.rows))),
        group=tuple(scan.group for scan in scans for _ in scan.rows),
        cluster=tuple(scan.name for scan in scans for _ in scan.rows),
        curves=tuple(curves),
    )
    with dataset_faults(file.path):
        return with_curve_numbers(Dataset(with_periodicity(card, frames), frames, table, {}))


def _reference(eos: EquationOfState, is_phase: bool) -> CurveReference:
    v0, b0_gpa, b0_prime, e0 = eos
    return CurveReference(v0_per_atom=v0, b0_gpa=b0_gpa, b0_prime=b0_prime, e0_per_atom=e0 if is_phase else None)


def _check_crystals(scans: list[VolumeScan], others: Mapping[str, VolumeScan], path: Path, other_path: Path) -> None:
    """Both files have the same crystals.

    Raises:
        DatasetError: one of the files lacks a crystal, or has another of its name.
    """
    if missing := [scan.name for scan in scans if scan.name not in others]:
        raise DatasetError(f"{other_path}: name: {missing[0]} is missing, which {path} has")
    if extra := others.keys() - {scan.name for scan in scans}:
        raise DatasetError(f"{path}: name: {min(extra)} is missing, which {other_path} has")
    for scan in scans:
        if others[scan.name].formula != scan.formula:
            raise DatasetError(f"{other_path}: {scan.name}: has another composition than in {path}")


def _scans(file: CurveFile, report: Report) -> tuple[ScannedFrames, list[VolumeScan]]:
    """The frames of a file, and its scans in the order of their first frames.

    Raises:
        DatasetError: as of `import_equations_of_state`.
    """
    read = _read_table(*file) if file.path.suffix == ".csv" else _read_frames(*file, report)
    by_name: dict[str, list[int]] = {}
    for row, name in enumerate(read.names):
        by_name.setdefault(name, []).append(row)
    return read, [_scan(read, name, np.array(rows, np.int64), f"{file.path}: {name}") for name, rows in by_name.items()]


def _read_frames(path: Path, units: LabelUnits, report: Report) -> ScannedFrames:
    read = read_structures(path, units, "extxyz", cluster_field=NAME, needed_by="its curve", report=report)
    energies = np.full(len(read.frames), np.nan) if read.labels.energy is None else read.labels.energy
    return ScannedFrames(read.frames, read.cluster or (), read.group, energies)


def _read_table(path: Path, units: LabelUnits) -> ScannedFrames:
    """The crystals beside a table, scaled to its volumes.

    Raises:
        DatasetError: one line that names file, line and column.
    """
    beside = path.with_suffix(".extxyz")
    crystals = read_structures(beside, units, "extxyz", named=True)
    if not crystals.frames.periodic.all():
        name = crystals.id[int(np.argmin(crystals.frames.periodic))]
        raise DatasetError(f"{beside}: {name}: {NO_CRYSTAL}")
    try:
        lines = csv.DictReader(StringIO(read_text(path)))
        table = list(lines)
    except (OSError, ValueError, csv.Error) as error:
        raise DatasetError(f"{path}: cannot be read as a table ({error})") from error
    if missing := [name for name in COLUMNS if name not in (lines.fieldnames or ())]:
        raise DatasetError(f"{path}: {missing[0]}: there is no such column: begin with the line {','.join(COLUMNS)}")
    rows, numbers = list[int](), {VOLUME: list[float](), ENERGY: list[float]()}
    for number, line in enumerate(table, start=2):
        if line[NAME] not in crystals.id:
            raise DatasetError(f"{path}: line {number}: name: there is no {line[NAME]!r} in {beside}")
        rows.append(crystals.id.index(line[NAME]))
        for column, values in numbers.items():
            values.append(_number(line[column], f"{path}: line {number}: {column}"))
    if not rows:
        raise DatasetError(f"{path}: has no line with a volume")
    volumes = np.array(numbers[VOLUME]) * units.factor("length", str(path)) ** 3
    if not volumes.min() > 0:
        raise DatasetError(f"{path}: line {int(np.argmin(volumes)) + 2}: volume: must be above 0")
    frames = crystals.frames.take(np.array(rows, np.int64))
    scale = np.cbrt(volumes / frames.volumes)
    scaled = replace(
        frames,
        positions=frames.positions * np.repeat(scale, frames.n_atoms)[:, None],
        cell=frames.cell * scale[:, None, None],
    )
    energies = np.array(numbers[ENERGY]) * units.factor("energy", str(path))
    return ScannedFrames(
        scaled, tuple(crystals.id[row] for row in rows), tuple(crystals.group[row] for row in rows), energies
    )


def _number(text: str | None, where: str) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise DatasetError(f"{where}: {text!r} is no number")
    return number


def _scan(read: ScannedFrames, name: str, rows: Int, where: str) -> VolumeScan:
    """The scan in the frames `rows`, with its equation of state.

    Raises:
        DatasetError: they are no scan, or have no equation of state; the line begins with `where`.
    """
    frames = read.frames.take(rows)
    if not frames.periodic.all():
        raise DatasetError(f"{where}: {NO_CRYSTAL}")
    energies = read.energies[rows]
    if np.isnan(energies).any():
        frame = int(rows[np.isnan(energies)][0])
        raise DatasetError(f"{where}: energy: frame {frame} has none: write energy= in its comment line")
    formulas = {_formula(part) for part in np.split(frames.numbers, frames.offsets[1:-1])}
    groups = sorted({read.groups[row] for row in rows})
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
