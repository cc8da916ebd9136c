"""Trajectories of molecules from the published layout of rMD17: `rmd17_<molecule>.npz`.

    nuclear_charges  (n,)       atomic numbers
    coords           (m, n, 3)  Å
    energies         (m,)       kcal/mol, total energies
    forces           (m, n, 3)  kcal/mol/Å
    old_indices      (m,)       the place of each frame in the trajectory of MD17: its order in time

`old_energies` and `old_forces` are not read. Source: A. S. Christensen and O. A. von Lilienfeld, "On the role of
gradients for machine learning of molecular energies and forces", Mach. Learn.: Sci. Technol. 1, 045018 (2020),
doi:10.1088/2632-2153/abba6f; the files: doi:10.6084/m9.figshare.12672038. They are sampled from trajectories at 500 K
and computed again by PBE/def2-SVP.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase import units
from ase.data import chemical_symbols
from numpy.typing import NDArray

from tasks.datasets.card import Card, DatasetError, dataset_faults
from tasks.datasets.dataset import Dataset
from tasks.importing.labelled_import import Imported, labelled_dataset
from tasks.importing.mlipaudit.energy_units import check_total
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Labels
from tasks.suites.names import did_you_mean, known_name

PREFIX = "rmd17_"
# Where the files lie in the archive, counted from its own folder or from the one that it was unpacked into.
FOLDERS = (".", "npz_data", "rmd17/npz_data")
KCAL_PER_MOL = units.kcal / units.mol  # eV
# By array, its number of axes.
ARRAYS: Mapping[str, int] = {"nuclear_charges": 1, "coords": 3, "energies": 1, "forces": 3, "old_indices": 1}
# Clusters of correlated frames: each molecule's time is cut into as many parts.
TIME_PARTS = 100


class MoleculeTrajectory(NamedTuple):
    """The frames of one molecule in the order of time.

    Args:
        name: of the molecule.
        numbers: (n,) atomic numbers.
        positions: (m, n, 3) [Å].
        energy: (m,) [eV].
        forces: (m, n, 3) [eV/Å].
        time_index: (m,) increasing places in the trajectory.
        charge: of the molecule [e].
        multiplicity: its 2S+1.
    """

    name: str
    numbers: Int
    positions: Float
    energy: Float
    forces: Float
    time_index: Int
    charge: int = 0
    multiplicity: int = 1


def import_rmd17(folder: Path, card: Card, only: Sequence[str] = (), n_frames: int | None = None) -> Dataset:
    """The trajectories in `folder`, one group for each molecule, its frames in the order of time.

    All molecules of rMD17 are neutral singlets.

    Args:
        only: molecules to read; empty: all.
        n_frames: of each molecule, at even distances in time; None: all.

    Raises:
        DatasetError: one line that names the file, the array and the remedy.
    """
    paths = _files(folder, only)
    trajectories = []
    for name, path in paths.items():
        trajectory = read_rmd17(path, name)
        if n_frames is not None:
            trajectory = _evenly(trajectory, n_frames, path)
        trajectories.append(trajectory)
    return trajectory_dataset(card, folder, trajectories, "rmd17")


def trajectory_dataset(card: Card, path: Path, trajectories: Sequence[MoleculeTrajectory], source: str) -> Dataset:
    """A data set of `trajectories`, whose frames are named `SOURCE/MOLECULE/TIME INDEX`.

    Equal names in two data sets are the same moment of the same trajectory. Frames of one hundredth of a molecule's
    time form a cluster.

    Args:
        path: of the files, for errors.
        source: the run or publication that the time indices belong to.

    Raises:
        DatasetError: two molecules have the same atoms in the same order; too few frames for their energies; an
            impossible 2S+1. One line.
    """
    _check_different(trajectories, path)
    parts, ids, groups, clusters = [], list[str](), list[str](), list[str]()
    for each in trajectories:
        m = len(each.energy)
        parts.append(_frames(each))
        ids += [f"{source}/{each.name}/{index}" for index in each.time_index.tolist()]
        groups += [each.name] * m
        clusters += [f"{each.name} {part:02d}" for part in (np.arange(m) * TIME_PARTS // m).tolist()]
    labels = Labels(
        np.concatenate([each.energy for each in trajectories]),
        np.concatenate([each.forces.reshape(-1, 3) for each in trajectories]),
    )
    frames = Frames.concatenate(parts)
    imported = Imported(frames, labels, tuple(ids), tuple(groups), state_in="", cluster=tuple(clusters))
    dataset = labelled_dataset(card, path, imported)
    return replace(dataset, card=dataset.card.model_copy(update={"cluster_column": "cluster"}))


def _frames(trajectory: MoleculeTrajectory) -> Frames:
    m, n = len(trajectory.energy), len(trajectory.numbers)
    return Frames(
        n_atoms=np.full(m, n, np.int64),
        numbers=np.tile(trajectory.numbers, m),
        positions=trajectory.positions.reshape(-1, 3),
        cell=np.zeros((m, 3, 3)),
        pbc=np.zeros((m, 3), np.bool_),
        charge=np.full(m, trajectory.charge, np.int64),
        multiplicity=np.full(m, trajectory.multiplicity, np.int64),
    )


def _check_different(trajectories: Sequence[MoleculeTrajectory], path: Path) -> None:
    first: dict[bytes, str] = {}
    for each in trajectories:
        other = first.setdefault(each.numbers.tobytes(), each.name)
        if other != each.name:
            raise DatasetError(
                f"{path}: {each.name}: has the atoms of {other} in the same order, so that a data set could not tell "
                "them apart: leave one out, or put it into a data set of its own"
            )


def _files(folder: Path, only: Sequence[str]) -> dict[str, Path]:
    """By molecule, its file."""
    paths: dict[str, Path] = {}
    for each in FOLDERS:
        for path in sorted((folder / each).glob(f"{PREFIX}*.npz")):
            name = path.stem.removeprefix(PREFIX)
            if name in paths:
                raise DatasetError(f"{path}: {name} is in {paths[name]}, too: move one of the two files away")
            paths[name] = path
    if not paths:
        raise DatasetError(f"{folder}: has no file {PREFIX}MOLECULE.npz: unpack the archive of rMD17 there")
    chosen = {name: known_name(name, paths) for name in only}
    for name, molecule in chosen.items():
        if molecule is None:
            meant = did_you_mean(name, paths)
            raise DatasetError(f"--only: {name!r} has no file in {folder}: say {', '.join(paths)}{meant}")
    return {name: path for name, path in paths.items() if not only or name in chosen.values()}


def read_rmd17(path: Path, name: str) -> MoleculeTrajectory:
    """The trajectory in a file of rMD17, in the order of time.

    Args:
        name: of the molecule.

    Raises:
        DatasetError: an array is missing, of a wrong shape or type, or not finite; two frames of one time; energies in
            another unit. One line that names file, array and remedy.
    """
    arrays = _arrays(path)
    numbers, times = _numbers(arrays["nuclear_charges"], path), _times(arrays["old_indices"], path)
    m, n = len(times), len(numbers)
    for key, shape in {"coords": (m, n, 3), "energies": (m,), "forces": (m, n, 3)}.items():
        if arrays[key].shape != shape:
            raise DatasetError(
                f"{path}: {key}: has shape {arrays[key].shape}, not {shape}, for {n} nuclear_charges and {m} "
                "old_indices: take the file as it was published"
            )
    order = np.argsort(times, kind="stable")
    values = {key: np.asarray(arrays[key], np.float64)[order] for key in ("coords", "energies", "forces")}
    for key, array in values.items():
        bad = np.flatnonzero(~np.isfinite(array.reshape(m, -1)).all(axis=1))
        if bad.size:
            more = f" (and {bad.size - 1} more)" if bad.size > 1 else ""
            raise DatasetError(f"{path}: {key}: frame {order[bad[0]]}{more} is not finite: leave it out of all arrays")
    symbols = [chemical_symbols[number] for number in numbers.tolist()]
    check_total(float(np.median(values["energies"])), symbols, "kcal/mol", f"{path}: energies")
    return MoleculeTrajectory(
        name,
        numbers,
        values["coords"],
        values["energies"] * KCAL_PER_MOL,
        values["forces"] * KCAL_PER_MOL,
        times[order],
    )


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays that are read, with their number of axes and real numbers in them. Nothing is unpickled."""
    arrays: dict[str, NDArray[Any]] = {}
    with dataset_faults(path):
        if not zipfile.is_zipfile(path):
            raise DatasetError(f"{path}: is no intact npz archive: fetch the file again")
    with dataset_faults(path), np.load(path, allow_pickle=False) as stored:
        for key in ARRAYS:
            if key not in stored:
                others = ", ".join(sorted(stored.files)) or "nothing"
                raise DatasetError(f"{path}: {key}: is missing (the file has {others}): rename what is meant")
            with dataset_faults(f"{path}: {key}"):
                arrays[key] = stored[key]
    for name, n_axes in ARRAYS.items():
        array = arrays[name]
        if array.dtype.kind not in "iuf":
            raise DatasetError(f"{path}: {name}: has {array.dtype}, not real numbers: take the published file")
        if array.ndim != n_axes:
            raise DatasetError(f"{path}: {name}: has {array.ndim} axes, not {n_axes}: take the published file")
    return arrays


def _numbers(charges: NDArray[Any], path: Path) -> Int:
    numbers = charges.astype(np.int64)
    wrong = np.flatnonzero((numbers != charges) | (numbers < 1) | (numbers > 118))
    if wrong.size:
        value = charges[wrong[0]]
        raise DatasetError(f"{path}: nuclear_charges: {value} of atom {wrong[0]} is no atomic number: write 1 to 118")
    if not numbers.size:
        raise DatasetError(f"{path}: nuclear_charges: has no atom: take the published file")
    return numbers


def _times(stated: NDArray[Any], path: Path) -> Int:
    if not stated.size:
        raise DatasetError(f"{path}: old_indices: has no frame: take the published file")
    times = stated.astype(np.int64) if np.isfinite(stated).all() else np.full(stated.shape, -1, np.int64)
    wrong = np.flatnonzero((times != stated) | (times < 0))
    if wrong.size:
        raise DatasetError(
            f"{path}: old_indices: {stated[wrong[0]]} of frame {wrong[0]} is no place in a trajectory: write whole "
            "numbers from 0 on"
        )
    values, counts = np.unique(times, return_counts=True)
    if len(values) < len(times):
        twice = values[counts > 1]
        frames = np.flatnonzero(times == twice[0])
        more = f" ({len(twice)} such places in all)" if len(twice) > 1 else ""
        raise DatasetError(
            f"{path}: old_indices: frames {frames[0]} and {frames[1]} have the same place {twice[0]}{more}, so that "
            "their order in time is unknown: leave one of them out of all arrays"
        )
    return times


def _evenly(trajectory: MoleculeTrajectory, n: int, path: Path) -> MoleculeTrajectory:
    m = len(trajectory.energy)
    if n > m:
        raise DatasetError(f"--frames: {n} are more than the {m} of {path}: say at most {m}")
    chosen = (np.arange(n) * m) // n
    return trajectory._replace(
        positions=trajectory.positions[chosen],
        energy=trajectory.energy[chosen],
        forces=trajectory.forces[chosen],
        time_index=trajectory.time_index[chosen],
    )
