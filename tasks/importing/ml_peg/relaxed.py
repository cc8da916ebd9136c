"""Relaxed crystals, diffusion paths and vibrations."""

from __future__ import annotations

import bz2
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.io import read

from tasks.datasets.card import (
    Card,
    DatasetError,
    Difference,
    MinimumEnergyPath,
    PathReference,
    Summand,
    Table,
    dataset_faults,
)
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.datasets.path_roles import PathRole
from tasks.importing.labelled_import import with_periodicity
from tasks.importing.ml_peg.files import atoms_of, inside, json_of
from tasks.importing.phonopy_files import import_phonopy
from tasks.importing.pymatgen_records import atoms_of_record
from tasks.simulation.vibrations import VibrationSettings
from tasks.structures.frames import Frames

# Barriers [eV], which ML-PEG's program states.
OXYGEN_BARRIERS = {"MoS2": 2.53, "MoSe2": 1.55, "MoTe2": 0.90, "WS2": 2.68, "WSe2": 1.66, "WTe2": 1.01}
LITHIUM_BARRIERS = {"b": 0.27, "c": 2.5}
PHONON_MESH = VibrationSettings(mesh=(6, 6, 6))
CRYSTAL_TYPES = ("fcc", "bcc", "diamond", "rocksalt", "zincblende")


class RelaxedCrystals:
    """Starts with their relaxed references, pressures, and perhaps energies for an atom [eV]."""

    def __init__(self) -> None:
        self.starts: dict[str, Atoms] = {}
        self.references: list[Atoms] = []
        self.groups: list[str] = []
        self.pressures: list[float] = []
        self.energies: list[float | None] = []

    def add(
        self, name: str, start: Atoms, reference: Atoms, energy: float | None, group: str = "", pressure: float = 0.0
    ) -> None:
        """Adds a crystal; a name that is there is left out."""
        if name not in self.starts:
            self.starts[name] = start
            self.references.append(reference)
            self.groups.append(group)
            self.pressures.append(pressure)
            self.energies.append(energy)

    def dataset(self, card: Card) -> Dataset:
        """The data set, at the card's default label set.

        Raises:
            DatasetError: there are no crystals.
        """
        if not self.starts:
            raise DatasetError(f"{card.name}: has no crystals")
        level, names = str(card.default_label_set), tuple(self.starts)
        frames = Frames.from_atoms(list(self.starts.values()))
        ends = Frames.from_atoms(self.references)
        rows = tuple(
            Difference(
                id=f"{name} energy",
                group=group,
                cluster=name,
                terms=(Summand(structure=i, coefficient=1 / len(start)),),
                reference={level: energy},
            )
            for i, ((name, start), group, energy) in enumerate(
                zip(self.starts.items(), self.groups, self.energies, strict=True)
            )
            if energy is not None
        )
        table = Table(id=names, group=tuple(self.groups), cluster=names, differences=rows)
        conditions = {"pressure_gpa": np.array(self.pressures)} if any(self.pressures) else {}
        geometries = {level: Geometries(ends.positions, ends.cell)}
        return Dataset(with_periodicity(card, frames), frames, table, {}, conditions, geometries)


class Paths:
    """Reactants and products, with barriers [eV]."""

    def __init__(self) -> None:
        self.ends: dict[str, tuple[Atoms, Atoms]] = {}
        self.barriers: dict[str, float] = {}

    def dataset(self, card: Card) -> Dataset:
        """The data set, at the card's default label set."""
        level = str(card.default_label_set)
        frames = Frames.from_atoms([atoms for ends in self.ends.values() for atoms in ends])
        rows = tuple(
            MinimumEnergyPath(
                id=id, group=id, cluster=id, path=i, reference={level: PathReference(barrier=self.barriers[id])}
            )
            for i, id in enumerate(self.ends)
        )
        names = tuple(f"{id}: {role}" for id in self.ends for role in ("reactant", "product"))
        cluster = tuple(id for id in self.ends for _ in range(2))
        table = Table(id=names, group=("",) * len(names), cluster=cluster, paths=rows)
        roles = [int(PathRole.REACTANT), int(PathRole.PRODUCT)]
        conditions = {"path": np.repeat(np.arange(len(rows)), 2), "role": np.array(roles * len(rows))}
        return Dataset(with_periodicity(card, frames), frames, table, {}, conditions)


def lattice_constants(folder: Path, file: str = "lattice_constants_ref.json") -> RelaxedCrystals:
    """lattice_constants: conventional cells of cubic solids, against constants of PBE."""
    types = json_of(folder / "lattice_constants_ref_types.json")
    path = folder / file
    crystals = RelaxedCrystals()
    for name, constant in json_of(path).items():
        kind = str(types.get(name, "")).casefold()
        if kind not in CRYSTAL_TYPES:
            raise DatasetError(f"{path}: {name}: its type {kind!r} is none of {', '.join(CRYSTAL_TYPES)}")
        # The start is two per cent larger, so that a relaxation has something to do.
        start, end = (bulk(name, kind, a=float(constant) * factor, cubic=True) for factor in (1.02, 1.0))
        crystals.add(name, start, end, None, kind)
    return crystals


def measured_constants(folder: Path) -> RelaxedCrystals:
    """lattice_constants against experiment."""
    return lattice_constants(folder, "lattice_constants_ref_exp.json")


def entries_of(path: Path) -> Iterator[tuple[str, Atoms, float]]:
    """Name, structure and energy [eV] of each entry of a file of Alexandria.

    Raises:
        DatasetError: an entry has another form.
    """
    with dataset_faults(path):
        stated = json.loads(bz2.decompress(path.read_bytes()))
    for number, entry in enumerate(stated["entries"]):
        try:
            yield str(entry["data"]["mat_id"]), atoms_of_record(entry["structure"]), float(entry["energy"])
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path}: entries.{number}: {type(error).__name__}: {error}") from None


def low_dimensional(folder: Path, pattern: str = "alexandria_2d_*.json.bz2") -> RelaxedCrystals:
    """The layers (2D) of low_dimensional_relaxation, along the first two vectors; the start is one per cent wider."""
    crystals = RelaxedCrystals()
    for path in sorted(folder.glob(pattern)):
        for name, reference, energy in entries_of(path):
            start = reference.copy()
            scale = np.diag([1.01, 1.01 if "2d" in pattern else 1.0, 1.0])
            start.set_cell(start.cell.array @ scale, scale_atoms=True)
            crystals.add(name, start, reference, energy / len(reference))
    return crystals


def wires(folder: Path) -> RelaxedCrystals:
    """The chains (1D) of low_dimensional_relaxation, along the first vector."""
    return low_dimensional(folder, "alexandria_1d_*.json.bz2")


def high_pressure(folder: Path) -> RelaxedCrystals:
    """high_pressure_relaxation: each crystal at 0 to 150 GPa, from its structure at 0 GPa; groups are pressures."""
    starts = {name: atoms for name, atoms, _ in entries_of(folder / "P000.json.bz2")}
    crystals = RelaxedCrystals()
    for path in sorted(folder.glob("P[0-9][0-9][0-9].json.bz2")):
        pressure = float(path.name[1:4])
        for name, reference, energy in entries_of(path):
            if name in starts and len(starts[name]) == len(reference):
                group = f"{pressure:g} GPa"
                # Alexandria's energies at a pressure are those of the electrons, without p V.
                crystals.add(
                    f"{name} at {group}", starts[name].copy(), reference, energy / len(reference), group, pressure
                )
    return crystals


def oxygen_diffusion(folder: Path) -> Paths:
    """O_diffusion_2D_TMDs."""
    paths = Paths()
    for name, barrier in OXYGEN_BARRIERS.items():
        ends = [inside(folder, "O_diffusion_2D_TMDs") / f"{name}_{end}.xyz" for end in ("initial", "end")]
        if all(path.is_file() for path in ends):
            paths.ends[name] = (_plain(atoms_of(ends[0])), _plain(atoms_of(ends[1])))
            paths.barriers[name] = barrier
    return _with_paths(paths, folder)


def lithium_diffusion(folder: Path) -> Paths:
    """li_diffusion: along b and c of LiFePO4."""
    paths = Paths()
    for end, barrier in LITHIUM_BARRIERS.items():
        files = [folder / "LiFePO4_start_bc.cif", folder / f"LiFePO4_end_{end}.cif"]
        if all(path.is_file() for path in files):
            first, last = (_plain(read(path)) for path in files)
            last.set_cell(first.cell)
            paths.ends[f"path {end}"] = (first, last)
            paths.barriers[f"path {end}"] = barrier
    return _with_paths(paths, folder)


def _plain(atoms: Any) -> Atoms:
    return Atoms(atoms.numbers, atoms.positions, cell=atoms.cell, pbc=atoms.pbc)


def _with_paths(paths: Paths, folder: Path) -> Paths:
    if not paths.ends:
        raise DatasetError(f"{folder}: has no pair of ends")
    return paths


class VibratingCrystals(NamedTuple):
    """Crystals with the forces on their displaced supercells."""

    folder: Path

    def dataset(self, card: Card) -> Dataset:
        """With the sums over the mesh of ML-PEG, and its frequencies."""
        return import_phonopy(self.folder, card, PHONON_MESH, spectrum=True)


def phonons(folder: Path) -> VibratingCrystals:
    """phonons: files of phonopy, `alex_phonons/alex_phonon_data/*.yaml.bz2`."""
    return VibratingCrystals(inside(inside(folder, "alex_phonons"), "alex_phonon_data"))


READERS: Mapping[str, Callable[[Path], RelaxedCrystals | Paths | VibratingCrystals]] = {
    "phonons": phonons,
    "lattice_constants": lattice_constants,
    "lattice_constants_experimental": measured_constants,
    "low_dimensional_relaxation": low_dimensional,
    "low_dimensional_relaxation_1D": wires,
    "high_pressure_relaxation": high_pressure,
    "O_diffusion_2D_TMDs": oxygen_diffusion,
    "li_diffusion": lithium_diffusion,
}
