"""The forces of a model on the displaced supercells of crystals: computed, stored, and read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.simulation.lockstep_batches import Done
from tasks.simulation.vibrations import crystal, displace, phonopy_panics
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Cause

if TYPE_CHECKING:
    from phonopy import Phonopy


class Supercells(NamedTuple):
    """A model's answers on the s-atom supercells of a relaxed crystal.

    Args:
        cell: (3, 3) [Å], of the relaxed crystal.
        positions: (n, 3) [Å], of the relaxed crystal.
        atom: (d,) which atom of the supercell is moved.
        displacement: (d, 3) [Å].
        forces: (d, s, 3) [eV/Å].
        residual_forces: (s, 3) [eV/Å] of the supercell without a displacement.
    """

    cell: Float
    positions: Float
    atom: Int
    displacement: Float
    forces: Float
    residual_forces: Float

    def force_constants(self, numbers: Int, supercell: Int, primitive: Float) -> Phonopy:
        """The relaxed crystal of the elements `numbers` (n,), with force constants.

        Raises:
            ValueError: the matrices do not fit it.
        """
        atoms = Atoms(numbers=numbers, positions=self.positions, cell=self.cell, pbc=True)
        phonon = crystal(atoms, supercell, primitive)
        displace(phonon, self.atom, self.displacement, self.forces - self.residual_forces)
        return phonon


def supercell_sizes(frames: Frames, supercell: Int) -> Int:
    """(n,) atoms of each supercell of the matrices (n, 3, 3)."""
    folds: Int = np.rint(np.abs(np.linalg.det(supercell))).astype(np.int64)
    return frames.n_atoms * folds


def ask_supercells(phonon: Phonopy, atoms: Atoms, distance: float, model: BatchCalculator) -> Supercells:
    """The forces on the supercells of `phonon`, displaced by `distance` [Å], and on the one without a displacement.

    Args:
        atoms: the relaxed crystal of `phonon`.

    Raises:
        ItemFailed: the model failed on one of them, with the first one's cause; or has no forces.
    """
    # Along the vectors of the cell only, as in LAMBench (phonon.py at commit 53663f0), not along their sums.
    with phonopy_panics():
        phonon.generate_displacements(distance=distance, is_diagonal=False)
    dataset, displaced = cast(Any, phonon.dataset), cast(Any, phonon.supercells_with_displacements)
    moved, cells = dataset["first_atoms"], [phonon.supercell, *displaced]
    displaced = [Atoms(numbers=c.numbers, positions=c.positions, cell=c.cell, pbc=True) for c in cells]
    answer = model.compute(Frames.from_atoms(displaced), ("forces",))
    if not answer.ok.all():
        raise ItemFailed(Cause(int(answer.failure[~answer.ok][0])))
    if answer.forces is None:
        raise ItemFailed(Cause.UNSUPPORTED)
    forces = answer.forces.reshape(len(displaced), -1, 3)
    return Supercells(
        cell=atoms.cell.array,
        positions=atoms.positions,
        atom=np.array([m["number"] for m in moved], np.int64),
        displacement=np.array([m["displacement"] for m in moved], np.float64),
        forces=forces[1:],
        residual_forces=forces[0],
    )


def supercell_arrays(frames: Frames, done: Sequence[Done[Supercells]]) -> Mapping[str, NDArray[Any]]:
    """The arrays of an observation.

    `cell` (n, 3, 3) and `positions` (N, 3), NaN where a crystal failed; `n_displacements` (n,), 0 where it failed;
    `failure` (n,); and of the other crystals, one after another, `atom`, `displacement`, `forces`, `residual_forces`.
    """
    cell, positions = np.full(frames.cell.shape, np.nan), np.full(frames.positions.shape, np.nan)
    counts = np.zeros(len(frames), np.int64)
    answered = {index: job.value for index, job in enumerate(done) if job.value is not None}
    for index, value in answered.items():
        cell[index], positions[frames.atom_slice(index)] = value.cell, value.positions
        counts[index] = len(value.atom)
    none = np.zeros((0, 3))
    return {
        "cell": cell,
        "positions": positions,
        "n_displacements": counts,
        "failure": np.array([job.cause for job in done], np.int8),
        "atom": np.concatenate([np.zeros(0, np.int64), *(v.atom for v in answered.values())]),
        "displacement": np.concatenate([none, *(v.displacement for v in answered.values())]),
        "forces": np.concatenate([none, *(v.forces.reshape(-1, 3) for v in answered.values())]),
        "residual_forces": np.concatenate([none, *(v.residual_forces for v in answered.values())]),
    }


def read_relaxed(observation: Observation, frames: Frames) -> tuple[Float, Float, Int]:
    """(n, 3, 3) cells and (N, 3) positions of the relaxed crystals [Å], and the indices of those that did not fail.

    Raises:
        ValueError: the observation is not of these structures; the line names the array.
    """
    n = len(frames)
    cell = observation.array("cell", (n, 3, 3))
    positions = observation.array("positions", frames.positions.shape)
    return cell, positions, np.flatnonzero(observation.causes(n) == 0)


def read_supercells(observation: Observation, frames: Frames, supercell: Int) -> Iterator[tuple[int, Supercells]]:
    """The index of each crystal that did not fail, and the stored answers on its supercells.

    Raises:
        ValueError: the observation is not of these structures; the line names the array.
    """
    cell, positions, answered = read_relaxed(observation, frames)
    counts = observation.array("n_displacements", (len(frames),), np.int64)
    if (counts[answered] < 1).any() or counts.sum() != counts[answered].sum():
        raise ValueError("observation: n_displacements: does not fit failure")
    sizes = supercell_sizes(frames, supercell)[answered]
    moved = np.concatenate([[0], np.cumsum(counts[answered])])
    rows = np.concatenate([[0], np.cumsum(counts[answered] * sizes)])
    still = np.concatenate([[0], np.cumsum(sizes)])
    atom = observation.array("atom", (moved[-1],), np.int64)
    displacement = observation.array("displacement", (moved[-1], 3))
    forces = observation.array("forces", (rows[-1], 3))
    residual = observation.array("residual_forces", (still[-1], 3))
    for k, index in enumerate(answered.tolist()):
        chosen = slice(moved[k], moved[k + 1])
        yield (
            index,
            Supercells(
                cell=cell[index],
                positions=positions[frames.atom_slice(index)],
                atom=atom[chosen],
                displacement=displacement[chosen],
                forces=forces[rows[k] : rows[k + 1]].reshape(-1, sizes[k], 3),
                residual_forces=residual[still[k] : still[k + 1]],
            ),
        )
