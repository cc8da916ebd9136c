"""Relaxed crystals, diffusion paths and vibrations."""

from __future__ import annotations

import bz2
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import Atoms
from ase.build import bulk
from ase.spacegroup.symmetrize import refine_symmetry

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
from tasks.structures.text_files import decoded

# Barriers [eV], which ML-PEG's program states.
OXYGEN_BARRIERS = {"MoS2": 2.53, "MoSe2": 1.55, "MoTe2": 0.90, "WS2": 2.68, "WSe2": 1.66, "WTe2": 1.01}
LITHIUM_BARRIERS = {"b": 0.27, "c": 2.5}
PHONON_MESH = VibrationSettings(mesh=(6, 6, 6))
CRYSTAL_TYPES, SILICON_CARBIDE = ("fcc", "bcc", "diamond", "rocksalt", "zincblende"), "2H-SiC"
# Crystals of Alexandria are drawn at random: so many, with this seed.
N_DRAWN, SEED = 3000, 42
VACUUM = 100.0  # Å, the length of the vectors along which a layer or chain is not periodic


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
    """lattice_constants: conventional cells, against constants of PBE.

    Starts are two per cent wider, so that a relaxation has something to do; ML-PEG begins at experiment.
    """
    types, path = json_of(folder / "lattice_constants_ref_types.json"), folder / file
    constants = json_of(path)
    crystals = RelaxedCrystals()
    for name, kind in types.items():
        try:
            start, end = (_crystal(name, str(kind), constants, factor) for factor in (1.02, 1.0))
        except (KeyError, ValueError) as error:
            raise DatasetError(f"{path}: {name} ({kind}): {type(error).__name__}: {error}") from None
        crystals.add(name, start, end, None, str(kind))
    return crystals


def _crystal(name: str, kind: str, constants: Mapping[str, float], factor: float) -> Atoms:
    """The conventional cell of a crystal, with its constants times `factor`."""
    if kind == SILICON_CARBIDE:
        a, c = (factor * float(constants[f"{name}({axis})"]) for axis in "ac")
        return Atoms(
            "C2Si2",
            scaled_positions=[[1 / 3, 2 / 3, 0], [2 / 3, 1 / 3, 1 / 2], [1 / 3, 2 / 3, 1 / 4], [2 / 3, 1 / 3, 3 / 4]],
            cell=[[a, 0, 0], [-a / 2, a * np.sqrt(3) / 2, 0], [0, 0, c]],
            pbc=True,
        )
    if kind.casefold() not in CRYSTAL_TYPES:
        raise ValueError(f"its type is none of {', '.join((*CRYSTAL_TYPES, SILICON_CARBIDE))}")
    return bulk(name, kind.casefold(), a=factor * float(constants[name]), cubic=True)


def measured_constants(folder: Path) -> RelaxedCrystals:
    """lattice_constants against experiment."""
    return lattice_constants(folder, "lattice_constants_ref_exp.json")


def entries_of(path: Path) -> Iterator[tuple[str, Atoms, float]]:
    """Name, structure and energy [eV] of each entry of a file of Alexandria.

    Raises:
        DatasetError: an entry has another form.
    """
    with dataset_faults(path):
        stated = json.loads(decoded(bz2.decompress(path.read_bytes())))
    for number, entry in enumerate(stated["entries"]):
        try:
            yield str(entry["data"]["mat_id"]), atoms_of_record(entry["structure"]), float(entry["energy"])
        except (KeyError, TypeError, ValueError) as error:
            raise DatasetError(f"{path}: entries.{number}: {type(error).__name__}: {error}") from None


def drawn(n_entries: int) -> list[int]:
    """The places of the entries that are judged."""
    return sorted(random.Random(SEED).sample(range(n_entries), min(N_DRAWN, n_entries)))


def low_dimensional(folder: Path, pattern: str = "alexandria_2d_*.json.bz2", n_periodic: int = 2) -> RelaxedCrystals:
    """The layers (2D) of low_dimensional_relaxation, along the first two vectors, or chains along the first.

    Structures are drawn from all files, the last one first. Starts are symmetrised, have 100 Å of vacuum, and are one
    per cent wider, so that a relaxation has something to do; those of ML-PEG are not wider.
    """
    entries = [entry for path in sorted(folder.glob(pattern), reverse=True) for entry in entries_of(path)]
    wider = np.diag([1.01] * n_periodic + [1.0] * (3 - n_periodic))
    crystals = RelaxedCrystals()
    for place in drawn(len(entries)):
        name, reference, energy = entries[place]
        start = reference.copy()
        refine_symmetry(start)
        start, reference = (in_vacuum(atoms, n_periodic) for atoms in (start, reference))
        start.set_cell(start.cell.array @ wider, scale_atoms=True)
        crystals.add(name, start, reference, energy / len(reference))
    return crystals


def in_vacuum(atoms: Atoms, n_periodic: int) -> Atoms:
    """The structure with vectors of 100 Å after the first `n_periodic` ones; its atoms stay where they are."""
    copy = Atoms(atoms)
    cell = copy.cell.array.copy()
    cell[n_periodic:] *= VACUUM / np.linalg.norm(cell[n_periodic:], axis=1, keepdims=True)
    copy.set_cell(cell, scale_atoms=False)
    return copy


def wires(folder: Path) -> RelaxedCrystals:
    """The chains (1D) of low_dimensional_relaxation."""
    return low_dimensional(folder, "alexandria_1d_*.json.bz2", 1)


def high_pressure(folder: Path) -> RelaxedCrystals:
    """high_pressure_relaxation: each crystal at 0 to 150 GPa, from its structure at 0 GPa; groups are pressures.

    ML-PEG compares Alexandria's energies at a pressure with enthalpies E + p V.

    Raises:
        DatasetError: a crystal has no reference at a pressure, or one of another size.
    """
    all_starts = [(name, atoms) for name, atoms, _ in entries_of(folder / "P000.json.bz2")]
    starts = [all_starts[place] for place in drawn(len(all_starts))]
    crystals = RelaxedCrystals()
    for path in sorted(folder.glob("P[0-9][0-9][0-9].json.bz2")):
        pressure = float(path.name[1:4])
        references = {name: (atoms, energy) for name, atoms, energy in entries_of(path)}
        group = f"{pressure:g} GPa"
        for name, start in starts:
            reference, energy = references.get(name, (None, 0.0))
            if reference is None or len(reference) != len(start):
                raise DatasetError(f"{path}: {name}: is missing, or has another number of atoms than at 0 GPa")
            energy /= len(reference)
            crystals.add(f"{name} at {group}", start.copy(), reference, energy, group, pressure)
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
            first, last = (_plain(atoms_of(path)) for path in files)
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
