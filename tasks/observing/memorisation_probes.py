"""Memorisation probes: some structures of a hidden data set are sent again, as four transformed copies each.

A model that has memorised hidden structures answers them without computing, but it does not know their copies. The
judge sends some structures again (2 %, at least 4 and at most 64): each rotated at random, translated, with its atoms
in another order, and with its atoms displaced by a root mean square of 0.01 Å, at random places among the others. The
first three copies must get the answer of the structure itself, forces rotated and reordered alike. The fourth must get
another energy: it differs by as much as the forces say; for kinds that ask for energies alone, any difference will do
(`tasks.observing.probe_errors`). A model gains nothing by recognising copies (a cell that leans, a coordinate with more
digits): the answer that it looked up for the structure must still agree with the one that it computes for the copy.

Not detected: a table that is searched up to rotation, translation and order, and corrects the energy of a neighbour by
its stored forces, since that is a model of these structures. Nor, if energies alone are asked for, a table that changes
the energy of a neighbour a little. Displacing a structure of one atom only translates it, which shows nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from ase.geometry import wrap_positions
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.structures.frames import PER_ATOM, Float, Frames, Int
from tasks.structures.rotations import other_order, random_rotation

SHARE, LEAST, MOST = 0.02, 4, 64
FARTHEST = 10.0  # Å, of each component of a translation
DISPLACEMENT = 0.01  # Å, root mean square over the atoms of a structure


class Probe(StrEnum):
    """The transformations, in the order in which their answers are stored."""

    ROTATION = "rotation"
    TRANSLATION = "translation"
    PERMUTATION = "permutation"
    DISPLACEMENT = "displacement"


ROW = {probe: row for row, probe in enumerate(Probe)}


@dataclass(frozen=True, eq=False)
class TransformedCopies:
    """The random numbers of the copies of k structures with K atoms.

    Args:
        original: (k,) indices of the structures, increasing.
        rotation: (k, 3, 3) proper rotations.
        translation: (k, 3) [Å].
        atom: (K,) for each atom of the permuted copies, its index among the K atoms.
        displacement: (K, 3) [Å].
    """

    original: Int
    rotation: Float
    translation: Float
    atom: Int
    displacement: Float

    def __len__(self) -> int:
        return len(self.original)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by the names under which they are stored."""
        return {
            "probe_structure": self.original,
            "probe_rotation": self.rotation,
            "probe_translation": self.translation,
            "probe_atom": self.atom,
            "probe_displacement": self.displacement,
        }


def draw_copies(frames: Frames, rng: np.random.Generator) -> TransformedCopies:
    """A random choice of `frames` that are sent again, and the transformations of each."""
    n = len(frames)
    k = min(n, MOST, max(LEAST, int(np.ceil(SHARE * n))))
    original = np.sort(rng.choice(n, k, replace=False)).astype(np.int64)
    counts = frames.n_atoms[original]
    starts = np.cumsum(counts) - counts
    return TransformedCopies(
        original=original,
        rotation=np.array([random_rotation(rng) for _ in original]).reshape(-1, 3, 3),
        translation=rng.uniform(-FARTHEST, FARTHEST, (k, 3)),
        atom=np.concatenate([s + other_order(int(m), rng) for s, m in zip(starts, counts, strict=True)]),
        displacement=_displacement(counts, rng),
    )


def _displacement(counts: Int, rng: np.random.Generator) -> Float:
    """(K, 3) [Å] random, of the root mean square length `DISPLACEMENT` over the atoms of each structure."""
    deviates = rng.normal(size=(int(counts.sum()), 3))
    squared = np.add.reduceat((deviates**2).sum(axis=1), np.cumsum(counts) - counts)
    return np.asarray(deviates * (DISPLACEMENT / np.sqrt(squared / counts)).repeat(counts)[:, None])


def transformed(frames: Frames, copies: TransformedCopies) -> Frames:
    """4 k structures: the rotated copies of all, then the translated ones, and so on in the order of `Probe`.

    A structure is rotated about its centroid, the cell with the atoms. Translated atoms are wrapped back into the cell
    in its periodic directions.
    """
    originals = frames.take(copies.original)
    index = originals.frame_index
    centroid = (np.add.reduceat(originals.positions, originals.offsets[:-1]) / originals.n_atoms[:, None])[index]
    rotated = centroid + np.einsum("aij,aj->ai", copies.rotation[index], originals.positions - centroid)
    translated = originals.positions + copies.translation[index]
    for i in np.flatnonzero(originals.pbc.any(axis=1)):
        atoms = originals.atom_slice(int(i))
        translated[atoms] = wrap_positions(translated[atoms], originals.cell[i], originals.pbc[i])
    by_probe = {
        Probe.ROTATION: originals.moved(rotated, np.einsum("kij,kvj->kvi", copies.rotation, originals.cell)),
        Probe.TRANSLATION: originals.moved(translated),
        Probe.PERMUTATION: _reordered(originals, copies.atom),
        Probe.DISPLACEMENT: originals.moved(originals.positions + copies.displacement),
    }
    return Frames.concatenate([by_probe[probe] for probe in Probe])


def _reordered(frames: Frames, atom: Int) -> Frames:
    arrays = frames.arrays()
    return Frames.from_arrays({**arrays, **{name: arrays[name][atom] for name in PER_ATOM if name in arrays}})


def stored_copies(observation: Observation, frames: Frames) -> TransformedCopies | None:
    """The copies that were sent with `frames`; None if there were none.

    Raises:
        ValueError: the observation is not of these structures.
    """
    if "probe_structure" not in observation.arrays:
        return None
    k = len(np.atleast_1d(observation.arrays["probe_structure"]))
    original = observation.array("probe_structure", (k,), np.int64)
    if not k or original[0] < 0 or original[-1] >= len(frames) or (np.diff(original) <= 0).any():
        raise ValueError("observation: probe_structure names structures that do not exist, or one twice")
    total = int(frames.n_atoms[original].sum())
    atom = observation.array("probe_atom", (total,), np.int64)
    if not np.array_equal(np.sort(atom), np.arange(total)):
        raise ValueError("observation: probe_atom is no order of atoms")
    return TransformedCopies(
        original=original,
        rotation=observation.array("probe_rotation", (k, 3, 3)),
        translation=observation.array("probe_translation", (k, 3)),
        atom=atom,
        displacement=observation.array("probe_displacement", (total, 3)),
    )


@dataclass(frozen=True, eq=False)
class CopyAnswers:
    """A model's answers to the four copies of k structures with K atoms, by row of `Probe`.

    Args:
        energy: (4, k) [eV].
        forces: (4, K, 3) [eV/Å] as answered, rotated and reordered; None if not asked for.
        failure: (4, k) codes of `Cause`.
    """

    energy: Float
    forces: Float | None
    failure: NDArray[np.int8]


def stored_answers(observation: Observation, copies: TransformedCopies) -> CopyAnswers:
    """The stored answers to `copies`.

    Raises:
        ValueError: they are missing, or of other structures.
    """
    shape, total = (len(Probe), len(copies)), len(copies.atom)
    with_forces = "probe_forces" in observation.arrays
    return CopyAnswers(
        energy=observation.array("probe_energy", shape),
        forces=observation.array("probe_forces", (len(Probe), total, 3)) if with_forces else None,
        failure=observation.array("probe_failure", shape, np.int8),
    )


def split_answers(
    arrays: Mapping[str, NDArray[Any]], frames: Frames, copies: TransformedCopies
) -> dict[str, NDArray[Any]]:
    """The answers to `frames`, and those to their copies, which follow them, as `probe_…`.

    Args:
        arrays: energy (n + 4 k,), failure, and if asked for forces (N + 4 K, 3) and stress (n + 4 k, 6).
    """
    stored: dict[str, NDArray[Any]] = dict(copies.arrays())
    for name, array in arrays.items():
        n = len(frames.numbers) if name == "forces" else len(frames)
        stored[name] = array[:n]
        if name != "stress":  # the forces already show whether the answers follow a rotation
            stored[f"probe_{name}"] = array[n:].reshape(len(Probe), -1, *array.shape[1:])
    return stored
