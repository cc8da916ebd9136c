"""Labelled frames of DeePMD's npy layout: systems of one composition, and of mixed type.

A system is a folder with

    type.raw, type_map.raw              each atom's index into the names of the elements
    nopbc                               if it exists, nothing is periodic
    set.*/coord.npy, box.npy            (frames, 3N) Å; (frames, 9) Å, rows are the vectors
    set.*/energy, force, virial.npy     (frames,) eV; (frames, 3N) eV/Å; (frames, 9) eV, virial = −V σ
    set.*/fparam.npy                    (frames, k) columns of the author's choice, which the import must be told
    set.*/real_atom_types.npy           mixed type: (frames, N) the types of each frame; −1 stands for no atom

The format states its units. Source: DeePMD-kit's documentation, "Formats of a system" and "Mixed type"
(https://docs.deepmodeling.com/projects/deepmd/en/stable/data/system.html).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from ase.data import atomic_numbers
from numpy.typing import NDArray

from tasks.datasets.card import DatasetError, dataset_faults
from tasks.importing.labelled_import import Imported, joined_labels
from tasks.importing.reading.stated_states import stated_charge, stated_multiplicity
from tasks.importing.reading.stress_matrices import asymmetry, doubtful_matrices, voigt_stress
from tasks.structures.frames import Bool, Float, Frames, Int
from tasks.structures.predictions import Labels, Properties
from tasks.structures.text_files import read_text

Column = Literal["charge", "multiplicity", "other"]
READ = frozenset(f"{name}.npy" for name in ("coord", "box", "energy", "force", "virial", "fparam", "real_atom_types"))
LEAVE_OUT = ": correct it, or leave these labels out: --without {}"
STATE_IN = "add a column to fparam.npy and name it multiplicity in --fparam"


def read_deepmd(path: Path, fparam: Sequence[Column] = (), left_out: Properties = ()) -> Imported:
    """All systems in `path`, which is a system or a folder of systems or links to them at any depth, a group each.

    Args:
        fparam: the columns of `fparam.npy`.
        left_out: labels whose files are not read.

    Raises:
        DatasetError: one line that names file and field, and the frame if there is one.
    """
    if not path.exists():
        raise DatasetError(f"{path}: is not there")
    with dataset_faults(path):
        systems = sorted(_systems(path))
    if not systems:
        raise DatasetError(f"{path}: type.raw: is in no folder here: this is no system of DeePMD, nor a folder of them")
    names = [path.resolve().name if system == path else str(system.relative_to(path)) for system in systems]
    reading = SystemReading(fparam, left_out)
    parts = [part for each in zip(systems, names, strict=True) for part in _system(*each, reading)]
    whole, asymmetries = joined([part.imported for part in parts]), np.concatenate([p.asymmetries for p in parts])
    return replace(whole, doubts=tuple(doubtful_matrices(asymmetries, whole.labels.stress, whole.id)))


class DeepmdFrames(NamedTuple):
    """The frames of a set.

    Args:
        asymmetries: (n,) of their stresses [eV/Å³], as from `tasks.importing.reading.stress_matrices`.
    """

    imported: Imported
    asymmetries: Float


class SystemReading(NamedTuple):
    """How systems are read.

    Args:
        fparam: the columns of `fparam.npy`.
        left_out: labels whose files are not read.
    """

    fparam: Sequence[Column]
    left_out: Properties


def _systems(folder: Path, above: frozenset[Path] = frozenset()) -> list[Path]:
    """The folders with a `type.raw` in `folder`, links to folders included; a link to one `above` leads to no more.

    Raises:
        DatasetError: a link whose target is missing.
    """
    if folder.is_symlink() and not folder.exists():
        raise DatasetError(f"{folder}: is a link to {folder.readlink()}, which is not there: restore or remove it")
    if not folder.is_dir() or (target := folder.resolve()) in above:
        return []
    inner = [system for path in folder.iterdir() for system in _systems(path, above | {target})]
    return [folder, *inner] if (folder / "type.raw").exists() else inner


def joined(parts: Sequence[Imported]) -> Imported:
    """All of `parts`, in order; a label that only some of them have is NaN in the others."""
    frames = Frames.concatenate([part.frames for part in parts])
    labels = joined_labels([(part.frames, part.labels) for part in parts])
    ids = tuple(name for part in parts for name in part.id)
    groups = tuple(group for part in parts for group in part.group)
    unused = sum((Counter(part.unused) for part in parts), Counter[str]())
    return Imported(frames, labels, ids, groups, dict(sorted(unused.items())), parts[0].state_in)


def _system(folder: Path, name: str, reading: SystemReading) -> list[DeepmdFrames]:
    """The sets of one system; its frames are called `system/set.000/0`."""
    elements, types = _elements(folder), _types(folder / "type.raw")
    sets = sorted(path for path in folder.glob("set.*") if path.is_dir())
    if not sets:
        raise DatasetError(f"{folder}: set.*: there is no such folder: the system has no frames")
    return [_set(path, f"{name}/{path.name}", name, elements, types, reading) for path in sets]


def _set(
    folder: Path, name: str, group: str, elements: Sequence[DeepmdType], types: Int, reading: SystemReading
) -> DeepmdFrames:
    coord = _array(folder / "coord.npy", 3 * len(types))
    if coord is None:
        raise DatasetError(f"{folder / 'coord.npy'}: is missing")
    n = len(coord)
    periodic = not (folder.parent / "nopbc").exists()
    mixed_types = _array(folder / "real_atom_types.npy", len(types), n)
    numbers = _numbers(folder, elements, np.tile(types, (n, 1)) if mixed_types is None else _whole(mixed_types))
    is_atom = numbers > 0
    cell = _cells(folder, n) if periodic else np.zeros((n, 3, 3))
    arrays: dict[str, NDArray[Any]] = {
        "n_atoms": is_atom.sum(axis=1),
        "numbers": numbers[is_atom],
        "positions": coord.reshape(n, -1, 3)[is_atom],
        "cell": cell,
        "pbc": np.full((n, 3), periodic),
        **_states(folder, n, reading.fparam),
    }
    with dataset_faults(folder):
        frames = Frames.from_arrays(arrays)
    ids = tuple(f"{name}/{i}" for i in range(n))
    unused = {path.name: n for path in sorted(folder.glob("*.npy")) if path.name not in READ}
    labels, asymmetries = _labels(folder, frames, is_atom, reading.left_out)
    return DeepmdFrames(Imported(frames, labels, ids, (group,) * n, unused, STATE_IN), asymmetries)


def _labels(folder: Path, frames: Frames, is_atom: Bool, left_out: Properties) -> tuple[Labels, Float]:
    """The labels of a set, and the asymmetry of its stresses (n,) [eV/Å³]."""
    n, width = is_atom.shape
    energy, force, virial = (
        None if label in left_out else _array(folder / f"{name}.npy", columns, n, LEAVE_OUT.format(label))
        for label, name, columns in (("energy", "energy", 1), ("forces", "force", 3 * width), ("stress", "virial", 9))
    )
    stress, asymmetries = None, np.zeros(n)
    if virial is not None:
        if not frames.periodic.all():
            raise DatasetError(
                f"{folder / 'virial.npy'}: the system is nopbc and can have none; remove the file, or say "
                "--without stress"
            )
        stress = -voigt_stress(virial) / frames.volumes[:, None]
        asymmetries = asymmetry(virial) / frames.volumes
    forces = None if force is None else force.reshape(n, width, 3)[is_atom]
    return Labels(None if energy is None else energy[:, 0], forces, stress), asymmetries


def _cells(folder: Path, n: int) -> Float:
    box = _array(folder / "box.npy", 9, n)
    if box is None:
        raise DatasetError(f"{folder / 'box.npy'}: is missing; a system without a box has a file nopbc beside type.raw")
    cells = box.reshape(n, 3, 3)
    flat = np.flatnonzero(~(np.abs(np.linalg.det(cells)) > 0))
    if flat.size:
        raise DatasetError(f"{folder / 'box.npy'}: frame {flat[0]}: the box has no volume; is the system nopbc?")
    return cells


def _states(folder: Path, n: int, fparam: Sequence[Column]) -> dict[str, Int]:
    """Charge and multiplicity by frame: from the columns of `fparam.npy`, else 0."""
    path = folder / "fparam.npy"
    states = {"charge": np.zeros(n, np.int64), "multiplicity": np.zeros(n, np.int64)}
    if path.exists() and not fparam:
        raise DatasetError(f"{path}: what its columns are is not stated; say so, as in --fparam charge,multiplicity")
    if not fparam:
        return states
    columns = _array(path, len(fparam), n)
    if columns is None:
        raise DatasetError(f"{path}: is missing, though --fparam says what is in it; leave --fparam out")
    for column, name in enumerate(fparam):
        if name == "other":
            continue
        check = stated_charge if name == "charge" else stated_multiplicity
        states[name] = np.array([check(v, f"{path}: frame {i}") for i, v in enumerate(columns[:, column])], np.int64)
    return states


class DeepmdType(NamedTuple):
    """A type of atoms.

    Args:
        name: as `type_map.raw` has it.
        number: of the element of that name; 0 if there is none.
    """

    name: str
    number: int


def _elements(folder: Path) -> list[DeepmdType]:
    """The types of a system. Names that no atom uses need not be elements."""
    path = folder / "type_map.raw"
    try:
        names = read_text(path).split()
    except (OSError, ValueError):
        raise DatasetError(f"{path}: cannot be read: it names the elements, one symbol a line") from None
    return [DeepmdType(name, atomic_numbers.get(name, 0)) for name in names]


def _types(path: Path) -> Int:
    try:
        types = np.array([int(word) for word in read_text(path).split()], np.int64)
    except (OSError, ValueError, OverflowError):
        raise DatasetError(f"{path}: must be a list of whole numbers, one an atom") from None
    if not types.size:
        raise DatasetError(f"{path}: is empty: the system has no atoms")
    return types


def _numbers(folder: Path, elements: Sequence[DeepmdType], types: Int) -> Int:
    """Atomic numbers of `types` (frames, N), 0 where there is no atom."""
    beyond = np.argwhere((types >= len(elements)) | (types < -1))
    if beyond.size:
        frame, atom = beyond[0]
        kind = f"its type {types[frame, atom]} is none of the {len(elements)} of type_map.raw"
        raise DatasetError(f"{folder}: frame {frame}: atom {atom}: {kind}")
    for kind in np.unique(types[types >= 0]).tolist():
        if elements[kind].number < 1:
            raise DatasetError(
                f"{folder.parent / 'type_map.raw'}: {elements[kind].name!r} is no element; write the elements' symbols "
                "in the order of the types"
            )
    numbers = np.array([kind.number for kind in elements], np.int64)
    return np.where(types < 0, 0, numbers[types])


def _array(path: Path, width: int, n: int | None = None, remedy: str = "") -> Float | None:
    """The rows of an npy file in float64, one a frame; None if there is no such file."""
    try:
        stored = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        return None
    except Exception as error:  # noqa: BLE001 of numpy over a broken header: SyntaxError, among others
        raise DatasetError(f"{path}: cannot be read: {' '.join(str(error).split())}{remedy}") from None
    if not isinstance(stored, np.ndarray) or stored.dtype.kind not in "fiu" or not stored.ndim:
        raise DatasetError(f"{path}: must be an array of numbers{remedy}")
    # One column may have the shape (frames,) or (frames, 1), and (frames, N, 3) may stand for (frames, 3N).
    if not stored.size or stored.size != len(stored) * width or (n is not None and len(stored) != n):
        raise DatasetError(f"{path}: has shape {stored.shape}, not ({'frames' if n is None else n}, {width}){remedy}")
    array = stored.reshape(-1, width).astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if bad.size:
        raise DatasetError(f"{path}: frame {bad[0]}: is not finite{remedy}")
    return array


def _whole(values: Float) -> Int:
    return np.asarray(np.round(values), np.int64)
