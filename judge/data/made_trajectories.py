"""`judge data make-trajectory`: hidden trajectories of molecules, made by the judge with GFN2-xTB.

While a data set is made, `DATA/.making-NAME@VERSION/` holds its request with the seed, and by molecule the frames so
far with the state of the run. The same command continues there; the data set is written whole at the end.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ase.data import covalent_radii
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from judge.data.import_options import SEED_BITS
from submissions.progress import Reporter
from tasks.datasets.card import Card, DatasetError, LabelSet, dataset_faults, one_line
from tasks.datasets.dataset import Dataset
from tasks.importing.importers import read_molecules
from tasks.importing.rmd17 import MoleculeTrajectory, trajectory_dataset
from tasks.simulation.start_geometries import start_geometries
from tasks.simulation.thermal_trajectory import (
    KEPT,
    Checkpoint,
    ThermalFrames,
    ThermalSettings,
    TrajectoryError,
    thermal_trajectory,
)
from tasks.simulation.xtb import ACCURACY, METHOD, XTBCalculator, one_thread, xtb_version
from tasks.structures.frames import Float, Frames
from tasks.trajectories.equivalent_atoms import bonds
from tasks.trajectories.pair_distances import molecules_of

REQUEST = "request.json"
LABEL_SET = METHOD
PAPER = "C. Bannwarth, S. Ehlert, S. Grimme, J. Chem. Theory Comput. 15, 1652 (2019), doi:10.1021/acs.jctc.8b01176"
# In sums of covalent radii: bonds of organic molecules stretch to 1.2 at 500 K.
BROKEN = 1.8
GROUP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class TrajectoryRequest(BaseModel):
    """What is to be made.

    Args:
        molecules: by name, the hash of the start geometry with charge and 2S+1.
        seed: of all molecules; that of each follows from it and the molecule's name.
        method: with its version.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    molecules: dict[str, str]
    n_frames: int
    every: int
    equilibration: int
    temperature_k: float
    timestep_fs: float
    friction_per_ps: float
    seed: int
    method: str

    @property
    def settings(self) -> ThermalSettings:
        """How each trajectory is made."""
        return ThermalSettings(
            self.n_frames,
            self.every,
            self.equilibration,
            self.temperature_k,
            self.timestep_fs,
            self.friction_per_ps,
        )

    @property
    def origin(self) -> str:
        """All that makes the data again, for the card."""
        molecules = ", ".join(self.molecules)
        return (
            f"Made by judge data make-trajectory: {self.method}; Langevin dynamics (BAOAB) at {self.temperature_k:g} K "
            f"with a friction of {self.friction_per_ps:g}/ps and a time step of {self.timestep_fs:g} fs; "
            f"{self.equilibration} steps before the first frame and {self.every} from one to the next, "
            f"{self.n_frames} frames each of {molecules}; seed {self.seed}; numpy {np.__version__}"
        )


def start_of(molecule: str, multiplicity: int | None = None) -> tuple[str, Frames]:
    """Name and start geometry of a molecule, which is one of the built-in ones or an XYZ file of one structure.

    Args:
        multiplicity: 2S+1 of a molecule in a file that states none.

    Raises:
        DatasetError: there is no such molecule or file, or the file is at fault; one line.
    """
    known = start_geometries()
    if molecule in known:
        return molecule, known[molecule]
    path = Path(molecule)
    if path.suffix not in (".xyz", ".extxyz"):
        raise DatasetError(f"MOLECULE: {molecule!r} is unknown: say {', '.join(known)}, or the path of a file NAME.xyz")
    if not GROUP.fullmatch(path.stem):
        raise DatasetError(f"{path}: its name names the molecule: use letters, digits, - and _ only")
    frames = read_molecules(path, multiplicity).frames
    if len(frames) != 1:
        raise DatasetError(f"{path}: has {len(frames)} structures, not one: keep the one to start from")
    if frames.pbc.any():
        raise DatasetError(f"{path}: pbc: the structure is periodic, and only molecules are made: remove its cell")
    return path.stem, frames


def starts_of(molecules: Sequence[str], multiplicity: int | None = None) -> dict[str, Frames]:
    """By name, the start geometries of `molecules`, as from `start_of`.

    Raises:
        DatasetError: a molecule is stated twice, or two have the same atoms in the same order; one line.
    """
    starts: dict[str, Frames] = {}
    for molecule in molecules:
        name, frames = start_of(molecule, multiplicity)
        if name in starts:
            raise DatasetError(f"MOLECULE: {name} is stated twice: name each molecule once")
        for other, others in starts.items():
            if np.array_equal(frames.numbers, others.numbers):
                raise DatasetError(
                    f"MOLECULE: {name} has the atoms of {other} in the same order, so that a data set could not tell "
                    "them apart: make a data set of its own"
                )
        starts[name] = frames
    return starts


def make_request(
    name: str, version: str, starts: Mapping[str, Frames], settings: ThermalSettings, seed: int | None, data: Path
) -> TrajectoryRequest:
    """The request with its seed: the stated one, or that of an unfinished data set, or a random one.

    Raises:
        DatasetError: the data set is there, or its unfinished folder was begun with other options; tblite is missing.
    """
    folder = data / f"{name}@{version}"
    if folder.exists():
        raise DatasetError(f"{folder}: version: exists already; say another --version")
    with dataset_faults("judge data make-trajectory"):
        method = f"{METHOD} by tblite {xtb_version()} (accuracy {ACCURACY:g}, charges start from those of atoms)"
    request = TrajectoryRequest(
        name=name,
        version=version,
        molecules={molecule: frames.sha256() for molecule, frames in starts.items()},
        n_frames=settings.n_frames,
        every=settings.every,
        equilibration=settings.equilibration,
        temperature_k=settings.temperature_k,
        timestep_fs=settings.timestep_fs,
        friction_per_ps=settings.friction_per_ps,
        seed=secrets.randbits(SEED_BITS) if seed is None else seed,
        method=method,
    )
    begun = _begun(making_folder(data, request))
    if begun is None:
        return request
    if seed is None:
        request = request.model_copy(update={"seed": begun.seed})
    for field in TrajectoryRequest.model_fields:
        now, then = getattr(request, field), getattr(begun, field)
        if now != then:
            changed = f"{then!r}, not {now!r}" if field != "molecules" else f"{_names(then)}, not {_names(now)}"
            raise DatasetError(
                f"{making_folder(data, request)}: {field}: was begun with {changed}: give the same options to continue "
                "it, or remove the folder"
            )
    return request


def card_of_trajectories(request: TrajectoryRequest, title: str) -> Card:
    """The card: hidden, with all that makes the data again in `origin`.

    Raises:
        DatasetError: name or version is wrong; one line that names the option.
    """
    molecules = ", ".join(request.molecules)
    try:
        return Card(
            name=request.name,
            version=request.version,
            title=title or f"Molecular dynamics of {molecules} by {METHOD} at {request.temperature_k:g} K",
            domain="Molecules",
            citation=PAPER,
            periodic=False,
            default_label_set=LABEL_SET,
            label_sets={LABEL_SET: LabelSet(theory=METHOD, dispersion=True)},
            origin=request.origin,
        )
    except ValidationError as error:
        raise DatasetError(f"--{one_line(error)}") from None


def make_trajectories(
    request: TrajectoryRequest, starts: Mapping[str, Frames], card: Card, data: Path, reporter: Reporter
) -> Dataset:
    """The data set, molecule by molecule in the order of time. What is done after a kill remains.

    Raises:
        DatasetError: a calculation did not converge, or a molecule exploded; the line names molecule and step.
    """
    folder = making_folder(data, request)
    with dataset_faults(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / REQUEST, request.model_dump_json(indent=1).encode())
    trajectories = []
    with one_thread():
        for name, start in starts.items():
            made = _made(request, name, start, folder, reporter)
            reporter.say(
                f"{name}: {request.n_frames} frames, mean temperature {made.temperature.mean():.0f} K "
                f"(bath {request.temperature_k:g} K)"
            )
            times = np.array([request.settings.step_of(k) for k in range(request.n_frames)])
            if (broken := longest_bond(start, made.positions)).stretch > BROKEN:
                reporter.say(
                    f"DOUBTFUL  {name}: from frame {broken.frame} on a bond is {broken.stretch:.1f} times the sum of "
                    "the covalent radii: the molecule has reacted; a lower --temperature, or another --seed?"
                )
            state = int(start.charge[0]), int(start.multiplicity[0])
            arrays = made.positions, made.energy, made.forces
            trajectories.append(MoleculeTrajectory(name, start.numbers, *arrays, times, *state))
    return trajectory_dataset(card, folder, trajectories, card.full_name)


class LongestBond(NamedTuple):
    """The longest bond of a trajectory.

    Args:
        stretch: its length in sums of covalent radii; 0 without a bond.
        frame: the first one in which a bond is longer than `BROKEN`, else the one of the longest.
    """

    stretch: float
    frame: int


def longest_bond(start: Frames, positions: Float) -> LongestBond:
    """The longest bond of `positions` (f, n, 3) [Å] among those that the one structure `start` has."""
    (molecule,) = molecules_of(start, [0])
    first, second = np.nonzero(np.triu(bonds(molecule)))
    if not len(first):
        return LongestBond(0.0, 0)
    radii = covalent_radii[start.numbers]
    lengths = np.linalg.norm(positions[:, first] - positions[:, second], axis=2) / (radii[first] + radii[second])
    longest = lengths.max(axis=1)
    frame = np.argmax(longest > BROKEN) if longest.max() > BROKEN else np.argmax(longest)
    return LongestBond(float(longest.max()), int(frame))


def discard_making(request: TrajectoryRequest, data: Path) -> None:
    """Removes the unfinished folder of a data set that was written."""
    shutil.rmtree(making_folder(data, request), ignore_errors=True)


def making_folder(data: Path, request: TrajectoryRequest) -> Path:
    """The folder of a data set that is not finished."""
    return data / f".making-{request.name}@{request.version}"


def _names(molecules: Mapping[str, str]) -> str:
    """The molecules, each with the beginning of the hash of its start geometry."""
    return ", ".join(f"{name} ({sha256[:6]})" for name, sha256 in molecules.items())


def _begun(folder: Path) -> TrajectoryRequest | None:
    path = folder / REQUEST
    if not path.is_file():
        return None
    with dataset_faults(f"{path}: remove the folder to begin again"):
        return TrajectoryRequest.model_validate_json(path.read_bytes())


def _made(request: TrajectoryRequest, name: str, start: Frames, folder: Path, reporter: Reporter) -> ThermalFrames:
    """The trajectory of one molecule, from its checkpoint if there is one."""
    path, settings = folder / f"{name}.safetensors", request.settings

    def keep(state: Checkpoint) -> None:
        with dataset_faults(path):
            _write(path, save(dict(state)))

    with reporter.unit(name) as report:
        try:
            return thermal_trajectory(
                start,
                settings,
                seed_of(request.seed, name),
                XTBCalculator(),
                checkpoint=_checkpoint(path),
                keep=keep,
                progress=lambda step: report(step, settings.n_steps, "steps"),
            )
        except TrajectoryError as error:
            raise DatasetError(
                f"{name}: {error}: say a shorter --timestep-fs or a lower --temperature, or another --seed, and "
                f"remove {folder}"
            ) from None


def seed_of(seed: int, molecule: str) -> int:
    """The seed of one molecule, which does not depend on the others."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{molecule}".encode()).digest()[:8], "big")


def _checkpoint(path: Path) -> Checkpoint | None:
    if not path.is_file():
        return None
    try:
        with dataset_faults(path):
            arrays: dict[str, Any] = dict(load(path.read_bytes()))
    except SafetensorError as error:
        raise DatasetError(f"{path}: is no checkpoint: {error}: remove it to begin this molecule again") from None
    missing = [key for key in KEPT if key not in arrays]
    if missing:
        raise DatasetError(f"{path}: {missing[0]}: is missing: remove the file to begin this molecule again")
    return arrays


def _write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
