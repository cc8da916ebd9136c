"""Data sets of phonons from files of phonopy, one a crystal, as in the MDR phonon database (https://mdr.nims.go.jp).

`Phonopy.save` writes such a file (`phonopy_params.yaml`), plain or compressed: the unit cell, the matrices of the
supercell and the primitive cell, and displacements of one atom at a time with the forces on all. The references follow
from these forces by `tasks.simulation.vibrations`, as for a model. Born charges in a file are ignored, and so are its
masses (models have the standard ones of the elements).

With the spectrum, a crystal has its mean and lowest frequency, too, and its frequencies over the irreducible wave
vectors of the mesh; one with imaginary frequencies has these alone, since its sums mean nothing.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from bisect import bisect_right
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import spglib
import yaml
from ase import Atoms
from phonopy.interface.phonopy_yaml import load_phonopy_yaml
from phonopy.structure.atoms import PhonopyAtoms

from tasks.datasets.card import Bands, Card, Crystal, DatasetError, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.crystal_tables import crystal_table
from tasks.kinds.phonons import PROPERTIES, SPECTRUM, property_values
from tasks.simulation.vibrations import (
    MeshFrequencies,
    Vibrations,
    VibrationSettings,
    crystal,
    displace,
    mesh_frequencies,
    vibrations,
)
from tasks.structures.frames import Float, Frames, Int

OPENERS: Mapping[str, Callable[..., Any]] = {
    ".yaml": open,
    ".yaml.bz2": bz2.open,
    ".yaml.xz": lzma.open,
    ".yaml.gz": gzip.open,
}
# Of an uncompressed file: a thousand displaced supercells of a thousand atoms are smaller.
MAX_BYTES = 1 << 28
# phonopy uses PyYAML's unsafe loader, with which a file can run any code.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
UNITS = {"length": "angstrom", "force": "ev/angstrom", "force_constants": "ev/angstrom^2"}
# The first space group of each crystal system except the first.
SYSTEMS = ("triclinic", "monoclinic", "orthorhombic", "tetragonal", "trigonal", "hexagonal", "cubic")
FIRST_OF_SYSTEM = (3, 16, 75, 143, 168, 195)


class PhonopyFile(NamedTuple):
    """The crystal of a file, and its vibrations.

    Args:
        supercell, primitive: as in `tasks.simulation.vibrations.crystal`.
        system: the crystal system.
        mesh: its frequencies over the mesh.
    """

    name: str
    atoms: Atoms
    supercell: Int
    primitive: Float
    system: str
    reference: Vibrations
    mesh: MeshFrequencies

    def is_stable(self, settings: VibrationSettings) -> bool:
        """Whether it has no imaginary frequency beyond the tolerance."""
        return self.reference.is_stable(settings.imaginary_tolerance_thz)


def import_phonopy(
    folder: Path,
    card: Card,
    settings: VibrationSettings = VibrationSettings(),  # noqa: B008
    *,
    spectrum: bool = False,
) -> Dataset:
    """A data set of the kind *phonons* from all phonopy files of `folder`, grouped by crystal system.

    Args:
        card: the references go to its default label set.
        settings: of the task; temperature and mesh are kept on the card.
        spectrum: whether the references have the spectrum, and unstable crystals are read.

    Raises:
        DatasetError: there is no file, two have one name, or one is at fault; the line names file and field.
    """
    if card.default_label_set is None:
        raise DatasetError(f"{folder}: the card names no label set for the references")
    with dataset_faults(folder):
        paths = {path: name for path in sorted(folder.iterdir()) if (name := _stem(path)) is not None}
    if not paths:
        raise DatasetError(f"{folder}: there is no file of phonopy ({', '.join(OPENERS)})")
    names = list(paths.values())
    for path, name in paths.items():
        if names.count(name) > 1:
            raise DatasetError(f"{path}: name: two files are of {name}")
    files = [read_phonopy(path, settings) for path in paths]
    unstable = [f for f in files if not f.is_stable(settings)]
    if unstable and not spectrum:
        listed = ", ".join(f"{f.name} ({f.reference.lowest_frequency_thz:.2f} THz)" for f in unstable)
        raise DatasetError(f"{folder}: imaginary frequencies, with which no sum means anything: take out {listed}")
    frames = Frames.from_atoms([f.atoms for f in files])
    conditions = {
        "supercell": np.array([f.supercell for f in files], np.int64),
        "primitive": np.array([f.primitive for f in files], np.float64),
    }
    kept = {"temperature_k": settings.temperature_k}
    if isinstance(settings.mesh, float):
        kept["mesh"] = settings.mesh
    filled = card.model_copy(update={"periodic": True, "settings": kept})
    level = card.default_label_set
    crystals = [_crystal(file, index, level, settings, spectrum=spectrum) for index, file in enumerate(files)]
    return Dataset(filled, frames, crystal_table(crystals), {}, conditions)


def read_phonopy(path: Path, settings: VibrationSettings) -> PhonopyFile:
    """The crystal of one file, and the vibrations from its forces.

    Raises:
        DatasetError: the file is at fault; the line names it and the field.
    """
    content = _read(path)
    _check_units(path, content)
    try:
        data = load_phonopy_yaml(content)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise DatasetError(f"{path}: is not a file of phonopy: {_one_line(error)}") from None
    if data.unitcell is None or data.supercell_matrix is None:
        missing = "unit_cell" if data.unitcell is None else "supercell_matrix"
        raise DatasetError(f"{path}: {missing}: is missing")
    primitive = np.eye(3) if data.primitive_matrix is None else np.array(data.primitive_matrix)
    with dataset_faults(path):
        phonon = crystal(data.unitcell, data.supercell_matrix, primitive)
    _check_order(path, phonon.supercell, data.supercell)
    atom, displacement, forces = _displacements(path, data.dataset, len(phonon.supercell))
    with dataset_faults(f"{path}: displacements"):
        displace(phonon, atom, displacement, forces)
    cell = data.unitcell
    return PhonopyFile(
        name=str(_stem(path)),
        atoms=Atoms(numbers=cell.numbers, positions=cell.positions, cell=cell.cell, pbc=True),
        supercell=np.array(data.supercell_matrix, np.int64),
        primitive=primitive,
        system=_crystal_system(cell),
        reference=vibrations(phonon, settings),
        mesh=mesh_frequencies(phonon, settings),
    )


def _stem(path: Path) -> str | None:
    """The name of a file without the endings in `OPENERS`; None for other files."""
    ending = next((e for e in OPENERS if path.name.endswith(e) and len(path.name) > len(e)), None)
    return None if ending is None else path.name.removesuffix(ending)


def _read(path: Path) -> dict[str, Any]:
    """The YAML in a file, as plain objects."""
    opened = OPENERS[path.name.removeprefix(str(_stem(path)))]
    with dataset_faults(path), opened(path, "rb") as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise DatasetError(f"{path}: is larger than {MAX_BYTES >> 20} MiB")
    try:
        content = yaml.load(text, Loader=LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: is not plain YAML: {_one_line(error)}") from None
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: is not a file of phonopy: it has no fields")
    return content


def _check_units(path: Path, content: Mapping[str, Any]) -> None:
    """Checks that the file states Å and eV, or comes from VASP, which has these units."""
    header, units = content.get("phonopy"), content.get("physical_unit")
    if isinstance(units, dict):
        for name, unit in UNITS.items():
            if str(units.get(name, unit)).lower() != unit:
                raise DatasetError(f"{path}: physical_unit.{name}: must be {unit}, not {units[name]}")
    elif not (isinstance(header, dict) and header.get("calculator") == "vasp"):
        raise DatasetError(f"{path}: physical_unit: is missing: state length (angstrom) and force (eV/angstrom)")


def _check_order(path: Path, built: PhonopyAtoms, stated: PhonopyAtoms | None) -> None:
    """Checks that the atoms of the supercell are in the order of the file, and so of its forces."""
    if stated is None:
        return
    if len(stated) == len(built) and (stated.numbers == built.numbers).all():
        apart = stated.scaled_positions - built.scaled_positions
        if np.abs((apart - np.rint(apart)) @ built.cell).max() < 1e-3:
            return
    raise DatasetError(f"{path}: supercell: is not what unit_cell and supercell_matrix make")


def _displacements(path: Path, stated: Any, size: int) -> tuple[Int, Float, Float]:
    """(d,) displaced atoms, (d, 3) displacements [Å] and (d, size, 3) forces [eV/Å] of a file."""
    moves = None if stated is None else stated.get("first_atoms")
    if not moves:
        raise DatasetError(f"{path}: displacements: must be there, and of one atom at a time")
    if any(move.get("forces") is None for move in moves):
        raise DatasetError(f"{path}: displacements.forces: are missing")
    try:
        atom = np.array([move["number"] for move in moves], np.int64)
        displacement = np.array([move["displacement"] for move in moves], np.float64)
        forces = np.array([move["forces"] for move in moves], np.float64)
    except (TypeError, ValueError):
        raise DatasetError(f"{path}: displacements: are not all of one shape") from None
    if displacement.shape != (len(moves), 3) or forces.shape != (len(moves), size, 3):
        raise DatasetError(f"{path}: displacements.forces: must be on the {size} atoms of the supercell")
    if not (np.isfinite(displacement).all() and np.isfinite(forces).all()):
        raise DatasetError(f"{path}: displacements: must be finite")
    if atom.min() < 0 or atom.max() >= size:
        raise DatasetError(f"{path}: displacements.atom: must be from 1 to {size}")
    return atom, displacement, forces


def _crystal_system(cell: PhonopyAtoms) -> str:
    """The name of the crystal system; empty if no space group is found. Magnetic moments do not count."""
    structure: Any = (cell.cell, cell.scaled_positions, cell.numbers)
    symmetry = spglib.get_symmetry_dataset(structure, symprec=1e-5)
    return "" if symmetry is None else SYSTEMS[bisect_right(FIRST_OF_SYSTEM, symmetry.number)]


def _crystal(file: PhonopyFile, index: int, label_set: str, settings: VibrationSettings, *, spectrum: bool) -> Crystal:
    properties = [*(PROPERTIES if file.is_stable(settings) else ()), *(SPECTRUM if spectrum else ())]
    values = property_values(file.reference, properties)
    return Crystal(
        id=file.name,
        group=file.system,
        cluster=file.name,
        structure=index,
        reference={label_set: {p.name: value for p, value in zip(properties, values, strict=True)}},
        bands={label_set: Bands.model_validate(file.mesh._asdict())} if spectrum else {},
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
