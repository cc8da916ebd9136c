"""Reference geometries: relaxed structures as labels, so that they never enter a container."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from ase.data import chemical_symbols

from tasks.datasets.card import DatasetError
from tasks.structures.frames import Bool, Float, Frames

# Names in `labels.safetensors`, beside those of `tasks.structures.predictions.ALL_PROPERTIES`.
GEOMETRY = ("positions", "cell")
# Volume of a cell [Å³] below which its vectors lie in a plane.
NO_VOLUME = 1e-6


@dataclass(frozen=True, eq=False)
class Geometries:
    """The relaxed geometries of n structures with N atoms, in the order of their atoms; NaN where there is none.

    Args:
        positions: (N, 3) [Å].
        cell: (n, 3, 3) [Å], rows are the vectors; zero for none.
    """

    positions: Float
    cell: Float

    @property
    def arrays(self) -> Mapping[str, Float]:
        """The arrays by name."""
        return {name: getattr(self, name) for name in GEOMETRY}

    @property
    def known(self) -> Bool:
        """(n,) whether the structure has a reference."""
        return np.asarray(np.isfinite(self.cell).all(axis=(1, 2)))


def geometries_of(by_set: Mapping[str, Mapping[str, Float]], where: str) -> dict[str, Geometries]:
    """By label set, the geometries among its arrays by name; other arrays and label sets without any are left out.

    Raises:
        DatasetError: a label set has positions or cells alone; the line begins with `where`.
    """
    geometries = {}
    for name, arrays in by_set.items():
        missing = [part for part in GEOMETRY if part not in arrays]
        if len(missing) == 1:
            raise DatasetError(f"{where}: {name}/{missing[0]}: is missing")
        if not missing:
            geometries[name] = Geometries(*(arrays[part] for part in GEOMETRY))
    return geometries


def check_geometries(where: str, geometries: Geometries, frames: Frames) -> None:
    """Geometries have the shapes of `frames`, and each is complete or all NaN, with a cell where it is periodic.

    Raises:
        DatasetError: the line begins with `where`.
    """
    shapes = {"positions": frames.positions.shape, "cell": frames.cell.shape}
    for name, array in geometries.arrays.items():
        if array.shape != shapes[name]:
            raise DatasetError(f"{where}/{name}: must have shape {shapes[name]}, not {array.shape}")
    finite = np.isfinite(geometries.positions).all(axis=1)
    absent = np.isnan(geometries.positions).all(axis=1)
    complete = np.logical_and.reduceat(finite, frames.offsets[:-1]) & geometries.known
    missing = np.logical_and.reduceat(absent, frames.offsets[:-1]) & np.isnan(geometries.cell).all(axis=(1, 2))
    _refuse(~complete & ~missing, f"{where}/positions", "must be finite, or all NaN where there is no reference")
    if missing.all():
        raise DatasetError(f"{where}/positions: is NaN everywhere; leave it out")
    flat = np.zeros(len(frames), np.bool_)
    flat[complete] = np.abs(np.linalg.det(geometries.cell[complete])) < NO_VOLUME
    _refuse(flat & frames.periodic, f"{where}/cell", "has no volume")


def _refuse(wrong: Bool, where: str, what: str) -> None:
    if wrong.any():
        raise DatasetError(f"{where}: structure {int(np.flatnonzero(wrong)[0])}: {what}")


def atom_name(frames: Frames, index: int, atom: int) -> str:
    """An atom of structure `index`, counted from 0 in it, for a message: `atom 3 (Cu)`."""
    return f"atom {atom} ({chemical_symbols[int(frames.numbers[frames.offsets[index] + atom])]})"
