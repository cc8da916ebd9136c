"""`Frames`: a ragged batch of structures held as flat arrays. One type for the disk, the memory and the wire."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from ase import Atoms
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]
Bool = NDArray[np.bool_]

FRAME_DTYPES: Mapping[str, Any] = {
    "n_atoms": np.int64,
    "numbers": np.int64,
    "positions": np.float64,
    "cell": np.float64,
    "pbc": np.bool_,
    "charge": np.int64,
    "multiplicity": np.int64,
}


# The one array that frames may lack, and the key in `info` of an `Atoms` whose moments a data set states: ASE gives
# moments of its own to some structures that it builds.
MOMENTS, STATED_MOMENTS = "initial_magmoms", "initial_magmoms_are_stated"
PER_ATOM = ("numbers", "positions", MOMENTS)


def frame_shapes(n: int, total: int) -> dict[str, tuple[int, ...]]:
    """Shape of every array of a `Frames` of `n` structures with `total` atoms, in the order of the wire."""
    return {
        "n_atoms": (n,),
        "numbers": (total,),
        "positions": (total, 3),
        "cell": (n, 3, 3),
        "pbc": (n, 3),
        "charge": (n,),
        "multiplicity": (n,),
    }


class FramesError(ValueError):
    """Arrays that are not a batch of structures; the message names the field."""


@dataclass(frozen=True, eq=False)
class Frames:
    """A batch of n structures with N atoms in all.

    Args:
        n_atoms: (n,) atoms per structure, at least 1 each.
        numbers: (N,) atomic numbers, 1 to 118.
        positions: (N, 3) [Å].
        cell: (n, 3, 3) [Å], rows are the vectors; zero for none.
        pbc: (n, 3) periodic directions.
        charge: (n,) total charge [e].
        multiplicity: (n,) 2S+1; 0 = not stated.
        initial_magmoms: (N,) initial magnetic moments [μB], as ASE's calculators get them: a magnetic order; NaN for
            all atoms of a structure without one. None: no structure has one.

    Raises:
        FramesError: a field of another length, a non-finite number, an impossible element, a periodic
            direction without a cell vector.
    """

    n_atoms: Int
    numbers: Int
    positions: Float
    cell: Float
    pbc: Bool
    charge: Int
    multiplicity: Int
    initial_magmoms: Float | None = None

    def __post_init__(self) -> None:
        n_atoms = np.ascontiguousarray(self.n_atoms, np.int64)
        if n_atoms.ndim != 1:
            raise FramesError(f"n_atoms must be one-dimensional, not of shape {n_atoms.shape}")
        if n_atoms.size and n_atoms.min() < 1:
            raise FramesError("n_atoms: every structure needs at least one atom")
        for name, shape in frame_shapes(len(n_atoms), int(n_atoms.sum())).items():
            array = np.ascontiguousarray(getattr(self, name), FRAME_DTYPES[name])
            if array.shape != shape:
                raise FramesError(f"{name} must have shape {shape}, not {array.shape}")
            array = array.view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, MOMENTS, self._moments())
        if not (np.isfinite(self.positions).all() and np.isfinite(self.cell).all()):
            raise FramesError("positions and cell must be finite")
        if self.numbers.size and not (self.numbers.min() >= 1 and self.numbers.max() <= 118):
            raise FramesError("numbers must be atomic numbers from 1 to 118")
        if (self.pbc & (np.abs(self.cell).sum(axis=2) == 0)).any():
            raise FramesError("pbc: a periodic direction needs a cell vector")
        if self.multiplicity.size and self.multiplicity.min() < 0:
            raise FramesError("multiplicity must be 2S+1, or 0 where it is not stated")

    def _moments(self) -> Float | None:
        """The moments, checked; None if no structure has any."""
        if self.initial_magmoms is None:
            return None
        moments = np.ascontiguousarray(self.initial_magmoms, np.float64).view()
        if moments.shape != self.numbers.shape:
            raise FramesError(f"{MOMENTS} must have shape {self.numbers.shape}, not {moments.shape}")
        known = np.add.reduceat(np.isfinite(moments), self.offsets[:-1]) if moments.size else np.zeros(0, np.int64)
        if ((known > 0) & (known < self.n_atoms)).any() or np.isinf(moments).any():
            raise FramesError(f"{MOMENTS}: a structure has finite moments of all its atoms, or of none")
        moments.setflags(write=False)
        return moments if known.any() else None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Frames:
        """Frames from named arrays; `charge` and `multiplicity` may be absent (0), and moments."""
        n = len(np.atleast_1d(np.asarray(arrays["n_atoms"])))
        zeros = np.zeros(n, np.int64)
        moments = np.asarray(arrays[MOMENTS]) if MOMENTS in arrays else None
        fields = {name: np.asarray(arrays.get(name, zeros)) for name in FRAME_DTYPES}
        return cls(**fields, initial_magmoms=moments)

    @classmethod
    def from_atoms(cls, structures: Sequence[Atoms]) -> Frames:
        """Frames from ASE structures; charge and 2S+1 are read from `info["charge"]` and `info["spin"]`.

        Moments are read of structures whose `info` says that they are stated, as those of `Frames.atoms` do.
        """
        if not structures:
            raise FramesError("no structure given")
        return cls(
            n_atoms=np.array([len(a) for a in structures], np.int64),
            numbers=np.concatenate([a.numbers for a in structures]).astype(np.int64),
            positions=np.concatenate([a.positions for a in structures]),
            cell=np.array([a.cell.array for a in structures], np.float64),
            pbc=np.array([a.pbc for a in structures], np.bool_),
            charge=np.array([int(a.info.get("charge", 0)) for a in structures], np.int64),
            multiplicity=np.array([int(a.info.get("spin", 0)) for a in structures], np.int64),
            initial_magmoms=np.concatenate([_stated_moments(a) for a in structures]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Frames]) -> Frames:
        """All structures of `parts`, in order."""
        moments = None
        if any(p.initial_magmoms is not None for p in parts):
            known = [(p.initial_magmoms, len(p.numbers)) for p in parts]
            moments = np.concatenate([np.full(n, np.nan) if array is None else array for array, n in known])
        fields = {name: np.concatenate([getattr(p, name) for p in parts]) for name in FRAME_DTYPES}
        return cls(**fields, initial_magmoms=moments)

    def __len__(self) -> int:
        return len(self.n_atoms)

    @cached_property
    def offsets(self) -> Int:
        """(n + 1,) the first atom of each structure in the flat arrays, and the number of all atoms."""
        return np.concatenate([[0], np.cumsum(self.n_atoms)]).astype(np.int64)

    @cached_property
    def frame_index(self) -> Int:
        """(N,) the structure that each atom belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.n_atoms)

    @cached_property
    def periodic(self) -> Bool:
        """(n,) whether all three directions are periodic: only then stress is defined."""
        return np.asarray(self.pbc.all(axis=1))

    @cached_property
    def volumes(self) -> Float:
        """(n,) [Å³]; NaN where a structure is not periodic in all three directions."""
        return np.where(self.periodic, np.abs(np.linalg.det(self.cell)), np.nan)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, in the order of the wire; moments last, if there are any."""
        moments = {} if self.initial_magmoms is None else {MOMENTS: self.initial_magmoms}
        return {name: getattr(self, name) for name in FRAME_DTYPES} | moments

    def atom_slice(self, index: int) -> slice:
        """The atoms of structure `index` in the per-atom arrays."""
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def atoms(self, index: int) -> Atoms:
        """Structure `index` as ASE `Atoms`, with charge and spin in `info`, and moments, where they are stated.

        Calculators always get both: `tasks.model.states.make_atoms`.
        """
        chosen = self.atom_slice(index)
        atoms = Atoms(
            numbers=self.numbers[chosen],
            positions=self.positions[chosen],
            cell=self.cell[index],
            pbc=self.pbc[index],
        )
        if self.charge[index]:
            atoms.info["charge"] = int(self.charge[index])
        if self.multiplicity[index]:
            atoms.info["spin"] = int(self.multiplicity[index])
        if self.initial_magmoms is not None and np.isfinite(self.initial_magmoms[chosen]).all():
            atoms.set_initial_magnetic_moments(self.initial_magmoms[chosen])
            atoms.info[STATED_MOMENTS] = True
        return atoms

    def atom_indices(self, index: Sequence[int] | Int) -> Int:
        """(M,) the atoms of the structures at `index`, one structure after another."""
        chosen = np.asarray(index, np.int64)
        counts = self.n_atoms[chosen]
        starts = np.repeat(self.offsets[chosen] - np.cumsum(counts) + counts, counts)
        return np.asarray(starts + np.arange(int(counts.sum())))

    def take(self, index: Sequence[int] | Int) -> Frames:
        """The structures at `index`, in that order."""
        chosen, atoms = np.asarray(index, np.int64), self.atom_indices(index)
        return Frames(**{name: array[atoms if name in PER_ATOM else chosen] for name, array in self.arrays().items()})

    def between(self, start: int, stop: int) -> Frames:
        """Structures start … stop − 1, without a copy and not checked again."""
        atoms, structures = slice(int(self.offsets[start]), int(self.offsets[stop])), slice(start, stop)
        return self._replaced(
            {name: array[atoms if name in PER_ATOM else structures] for name, array in self.arrays().items()}
        )

    def moved(self, positions: Float, cell: Float | None = None) -> Frames:
        """The same structures at other `positions` (N, 3) [Å], and `cell` (n, 3, 3) [Å]; not checked again."""
        changed = {"positions": positions} if cell is None else {"positions": positions, "cell": cell}
        return self._replaced({name: np.ascontiguousarray(array, np.float64) for name, array in changed.items()})

    def _replaced(self, changed: Mapping[str, NDArray[Any]]) -> Frames:
        """The same frames with other arrays, which are not checked."""
        frames = object.__new__(Frames)
        for name, array in {**self.arrays(), **changed}.items():
            object.__setattr__(frames, name, array)
        return frames

    def batches(self, max_atoms: int) -> Iterator[tuple[int, int]]:
        """Half-open ranges of consecutive structures of at most `max_atoms` atoms (at least one structure)."""
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + max_atoms, side="right")) - 1
            stop = max(stop, start + 1)
            yield start, stop
            start = stop

    def sha256(self) -> str:
        """Hash of names, shapes and bytes of all arrays: of the question to a model, nothing else."""
        return hash_arrays(self.arrays())


def _stated_moments(atoms: Atoms) -> Float:
    """(n,) the moments of a structure that states them; NaN of any other."""
    if not atoms.info.get(STATED_MOMENTS, False):
        return np.full(len(atoms), np.nan)
    return np.asarray(atoms.get_initial_magnetic_moments(), np.float64)


def hash_arrays(arrays: Mapping[str, NDArray[Any]]) -> str:
    """sha256 over names, dtypes, shapes and bytes of `arrays`, by sorted name."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
