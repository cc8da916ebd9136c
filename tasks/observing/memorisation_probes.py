"""Whether answers about a hidden data set follow from physics: some of its structures, sent again in four guises.

A model that has hidden structures by heart answers them without computing. It does not know them in another guise: some
of them (2 %, at least 4 and at most 64) are sent again, each turned at random, moved, with its atoms in another order,
and with its atoms displaced by a root mean square of 0.01 Å, at random places among the others. The first three must
be answered as the structure itself, forces turned and reordered alike; the fourth with another energy: by as much as
the forces say, or, of kinds that ask for energies alone, by whatever is not nothing (`tasks.observing.probe_errors`).
To tell guises by their looks (a cell that leans, a coordinate with more digits) does not help: what is looked up for
the structure and what is computed for its guise still have to agree.

What is not seen: a table that is searched up to rotation, translation and order, and in which a neighbour's energy is
corrected by its stored forces: that is a model of these structures, if of nothing else. Nor, where energies alone are
asked for, one that adds a little of its own making to what it finds for a neighbour. A structure of one atom is but
moved by a displacement, which shows nothing of it.
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
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.rotations import random_rotation

SHARE, LEAST, MOST = 0.02, 4, 64
FARTHEST = 10.0  # Å, of each component of a translation
DISPLACEMENT = 0.01  # Å, root mean square over the atoms of a structure


class Probe(StrEnum):
    """The guises, in the order in which their answers are stored."""

    ROTATION = "rotation"
    TRANSLATION = "translation"
    PERMUTATION = "permutation"
    DISPLACEMENT = "displacement"


ROW = {probe: row for row, probe in enumerate(Probe)}


@dataclass(frozen=True, eq=False)
class Guises:
    """What was drawn for k of the structures, which have K atoms.

    Args:
        original: (k,) which structures, increasing.
        rotation: (k, 3, 3) proper rotations.
        translation: (k, 3) [Å].
        atom: (K,) in the permuted guise, which of the K atoms each is.
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
        """What was drawn, by the names that it is stored under."""
        return {
            "probe_structure": self.original,
            "probe_rotation": self.rotation,
            "probe_translation": self.translation,
            "probe_atom": self.atom,
            "probe_displacement": self.displacement,
        }


def draw_guises(frames: Frames, rng: np.random.Generator) -> Guises:
    """Which of `frames` are sent again, and in which guises."""
    n = len(frames)
    k = min(n, MOST, max(LEAST, int(np.ceil(SHARE * n))))
    original = np.sort(rng.choice(n, k, replace=False)).astype(np.int64)
    counts = frames.n_atoms[original]
    starts = np.cumsum(counts) - counts
    return Guises(
        original=original,
        rotation=np.array([random_rotation(rng) for _ in original]).reshape(-1, 3, 3),
        translation=rng.uniform(-FARTHEST, FARTHEST, (k, 3)),
        atom=np.concatenate([s + _other_order(int(m), rng) for s, m in zip(starts, counts, strict=True)]),
        displacement=_displacement(counts, rng),
    )


def _other_order(n: int, rng: np.random.Generator) -> Int:
    """(n,) a permutation that is not the identity, if there is one."""
    order = rng.permutation(n)
    return np.roll(order, 1) if np.array_equal(order, np.arange(n)) else order


def _displacement(counts: Int, rng: np.random.Generator) -> Float:
    """(K, 3) [Å] random, of the root mean square length `DISPLACEMENT` over the atoms of each structure."""
    free = rng.normal(size=(int(counts.sum()), 3))
    squared = np.add.reduceat((free**2).sum(axis=1), np.cumsum(counts) - counts)
    return np.asarray(free * (DISPLACEMENT / np.sqrt(squared / counts)).repeat(counts)[:, None])


def in_guise(frames: Frames, guises: Guises) -> Frames:
    """4 k structures: all in the first guise of `Probe`, then all in the second, and so on.

    Rotated about the centroid, the cell with the atoms; moved atoms are put back into the cell where it is periodic.
    """
    own = frames.take(guises.original)
    each = own.frame_index
    centroid = (np.add.reduceat(own.positions, own.offsets[:-1]) / own.n_atoms[:, None])[each]
    turned = centroid + np.einsum("aij,aj->ai", guises.rotation[each], own.positions - centroid)
    moved = own.positions + guises.translation[each]
    for i in np.flatnonzero(own.pbc.any(axis=1)):
        where = own.atom_slice(int(i))
        moved[where] = wrap_positions(moved[where], own.cell[i], own.pbc[i])
    made = {
        Probe.ROTATION: own.moved(turned, np.einsum("kij,kvj->kvi", guises.rotation, own.cell)),
        Probe.TRANSLATION: own.moved(moved),
        Probe.PERMUTATION: _reordered(own, guises.atom),
        Probe.DISPLACEMENT: own.moved(own.positions + guises.displacement),
    }
    return Frames.concatenate([made[probe] for probe in Probe])


def _reordered(frames: Frames, atom: Int) -> Frames:
    arrays = frames.arrays()
    return Frames.from_arrays({**arrays, **{name: arrays[name][atom] for name in ("numbers", "positions")}})


def stored_guises(observation: Observation, frames: Frames) -> Guises | None:
    """What was drawn when `frames` were asked about; None where they were not sent again.

    Raises:
        ValueError: the observation is not of these structures.
    """
    if "probe_structure" not in observation.arrays:
        return None
    k = len(np.atleast_1d(observation.arrays["probe_structure"]))
    original = observation.array("probe_structure", (k,), np.int64)
    if not k or original[0] < 0 or original[-1] >= len(frames) or (np.diff(original) <= 0).any():
        raise ValueError("observation: probe_structure names structures that there are not, or one twice")
    total = int(frames.n_atoms[original].sum())
    atom = observation.array("probe_atom", (total,), np.int64)
    if not np.array_equal(np.sort(atom), np.arange(total)):
        raise ValueError("observation: probe_atom is no order of atoms")
    return Guises(
        original=original,
        rotation=observation.array("probe_rotation", (k, 3, 3)),
        translation=observation.array("probe_translation", (k, 3)),
        atom=atom,
        displacement=observation.array("probe_displacement", (total, 3)),
    )


@dataclass(frozen=True, eq=False)
class GuiseAnswers:
    """What a model answered about k structures with K atoms, in each of the four guises of `Probe`.

    Args:
        energy: (4, k) [eV].
        forces: (4, K, 3) [eV/Å] as they were answered, turned and reordered; None where not asked.
        failure: (4, k) codes of `Cause`.
    """

    energy: Float
    forces: Float | None
    failure: NDArray[np.int8]


def stored_answers(observation: Observation, guises: Guises) -> GuiseAnswers:
    """The answers about `guises`.

    Raises:
        ValueError: the observation has them not, or of other structures.
    """
    shape, total = (len(Probe), len(guises)), len(guises.atom)
    known = "probe_forces" in observation.arrays
    return GuiseAnswers(
        energy=observation.array("probe_energy", shape),
        forces=observation.array("probe_forces", (len(Probe), total, 3)) if known else None,
        failure=observation.array("probe_failure", shape, np.int8),
    )


def split_answers(arrays: Mapping[str, NDArray[Any]], frames: Frames, guises: Guises) -> dict[str, NDArray[Any]]:
    """The answers about `frames`, and under `probe_…` those about their guises, which were asked after them.

    Args:
        arrays: energy (n + 4 k,), failure, and where asked forces (N + 4 K, 3) and stress (n + 4 k, 6).
    """
    found: dict[str, NDArray[Any]] = dict(guises.arrays())
    for name, array in arrays.items():
        own = len(frames.numbers) if name == "forces" else len(frames)
        found[name] = array[:own]
        if name != "stress":  # its turning is told from the forces' turning
            found[f"probe_{name}"] = array[own:].reshape(len(Probe), -1, *array.shape[1:])
    return found
