"""The forces of a model on supercells in which one atom or two are displaced: asked, stored, and read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from ase import Atoms
from numpy.typing import NDArray

from tasks.kind import Observation
from tasks.model.calculator import BatchCalculator, ItemFailed
from tasks.simulation.displaced_supercells import read_relaxed
from tasks.simulation.heat_transport import SupercellMatrices, phono3py_crystal
from tasks.simulation.vibrations import phonopy_panics
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Cause

if TYPE_CHECKING:
    from phono3py import Phono3py

NO_ATOM = -1
ORDERS = ("second", "third")


class ForceSet(NamedTuple):
    """Forces on d supercells of s atoms; each has one atom or two displaced.

    Args:
        atom: (d, 2) the displaced atoms of the supercell; `NO_ATOM` in place of a second one.
        displacement: (d, 2, 3) [Å].
        forces: (d, s, 3) [eV/Å].
    """

    atom: Int
    displacement: Float
    forces: Float

    @classmethod
    def empty(cls) -> ForceSet:
        """Of no supercell."""
        return cls(np.zeros((0, 2), np.int64), np.zeros((0, 2, 3)), np.zeros((0, 0, 3)))


class SymmetryEnd(IntEnum):
    """Why a crystal has forces of both orders, or not."""

    COMPLETE = 0
    IMAGINARY = 1  # a frequency is, so third order was not asked
    BROKEN = 2  # the relaxed crystal has another space group, so nothing was asked


class CrystalForces(NamedTuple):
    """A relaxed crystal of n atoms with the model's forces on its supercells.

    Args:
        cell: (3, 3) [Å].
        positions: (n, 3) [Å].
        second, third: by order; without supercells where they were not asked.
    """

    cell: Float
    positions: Float
    end: SymmetryEnd
    second: ForceSet
    third: ForceSet

    def crystal(self, numbers: Int, matrices: SupercellMatrices) -> Phono3py:
        """The crystal of the elements `numbers` (n,), with its force sets.

        Raises:
            ValueError: the matrices do not fit it, or the displacements are no force sets.
        """
        atoms = Atoms(numbers=numbers, positions=self.positions, cell=self.cell, pbc=True)
        crystal = phono3py_crystal(atoms, matrices)
        crystal.phonon_dataset = cast(Any, _second_order(self.second))
        if len(self.third.atom):
            crystal.dataset = cast(Any, _third_order(self.third))
        return crystal


def ask_second_order(crystal: Phono3py, distance: float, model: BatchCalculator) -> ForceSet:
    """The forces on the supercells with one atom displaced by `distance` [Å]; `crystal` gets them, too.

    Raises:
        ItemFailed: the model failed on one of them, with the first one's cause; or has no forces.
    """
    with phonopy_panics():
        crystal.generate_fc2_displacements(distance=distance)
    displaced = cast(Any, crystal.phonon_dataset)["first_atoms"]
    forces = _forces(cast(Any, crystal.phonon_supercells_with_displacements), model)
    atom = np.array([(int(first["number"]), NO_ATOM) for first in displaced], np.int64)
    displacement = np.array([(first["displacement"], np.zeros(3)) for first in displaced], np.float64)
    answered = ForceSet(atom, displacement, forces)
    crystal.phonon_dataset = cast(Any, _second_order(answered))
    return answered


def ask_third_order(crystal: Phono3py, distance: float, model: BatchCalculator) -> ForceSet:
    """The forces on the supercells with one atom or two displaced by `distance` [Å], all in one question.

    Raises:
        ItemFailed: as `ask_second_order`.
    """
    with phonopy_panics():
        crystal.generate_displacements(distance=distance)
    firsts = cast(Any, crystal.dataset)["first_atoms"]
    pairs = [(first, second) for first in firsts for second in first["second_atoms"]]
    forces = _forces(cast(Any, crystal.supercells_with_displacements), model)
    atom = [(first["number"], NO_ATOM) for first in firsts] + [(a["number"], b["number"]) for a, b in pairs]
    displacement = [(first["displacement"], np.zeros(3)) for first in firsts]
    displacement += [(a["displacement"], b["displacement"]) for a, b in pairs]
    return ForceSet(np.array(atom, np.int64), np.array(displacement, np.float64), forces)


def _forces(cells: Sequence[Any], model: BatchCalculator) -> Float:
    """(d, s, 3) [eV/Å] on d supercells of s atoms, in one question."""
    displaced = [Atoms(numbers=c.numbers, positions=c.positions, cell=c.cell, pbc=True) for c in cells]
    answer = model.compute(Frames.from_atoms(displaced), ("forces",))
    if not answer.ok.all():
        raise ItemFailed(Cause(int(answer.failure[~answer.ok][0])))
    if answer.forces is None:
        raise ItemFailed(Cause.UNSUPPORTED)
    return answer.forces.reshape(len(displaced), -1, 3)


def _second_order(stored: ForceSet) -> dict[str, Any]:
    """phono3py's data set of single displacements."""
    rows = zip(stored.atom[:, 0].tolist(), stored.displacement[:, 0], stored.forces, strict=True)
    first_atoms = [{"number": a, "displacement": u, "forces": f} for a, u, f in rows]
    return {"natom": stored.forces.shape[1], "first_atoms": first_atoms}


def _third_order(stored: ForceSet) -> dict[str, Any]:
    """phono3py's data set of pairs of displacements."""
    firsts: dict[tuple[int, bytes], dict[str, Any]] = {}
    numbered = enumerate(zip(stored.atom.tolist(), stored.displacement, stored.forces, strict=True), 1)
    for number, ((first, second), (u, v), forces) in numbered:
        key = (first, u.tobytes())
        if second == NO_ATOM:
            firsts[key] = {"number": first, "displacement": u, "forces": forces, "id": number, "second_atoms": []}
        elif key in firsts:
            displaced = {"number": second, "displacement": v, "forces": forces, "id": number}
            firsts[key]["second_atoms"].append(displaced)
        else:
            raise ValueError("observation: third_atom: a pair without the displacement of its first atom alone")
    return {"natom": stored.forces.shape[1], "first_atoms": list(firsts.values())}


def force_arrays(frames: Frames, answered: Mapping[int, CrystalForces]) -> dict[str, NDArray[Any]]:
    """The arrays of an observation, but for `failure`.

    `cell` (n, 3, 3) and `positions` (N, 3), NaN where a crystal failed; `end` (n,) codes of `SymmetryEnd`; and by order
    `n_second` (n,), 0 where nothing was asked, with `second_atom`, `second_displacement` and `second_forces` of the
    crystals one after another, likewise `third`.

    Args:
        answered: by index, the crystals that did not fail.
    """
    arrays: dict[str, NDArray[Any]] = {
        "cell": np.full(frames.cell.shape, np.nan),
        "positions": np.full(frames.positions.shape, np.nan),
        "end": np.zeros(len(frames), np.int8),
    }
    for index, value in answered.items():
        arrays["cell"][index], arrays["positions"][frames.atom_slice(index)] = value.cell, value.positions
        arrays["end"][index] = value.end
    for order in ORDERS:
        sets: dict[int, ForceSet] = {index: getattr(value, order) for index, value in answered.items()}
        arrays[f"n_{order}"] = np.array([len(sets[i].atom) if i in sets else 0 for i in range(len(frames))], np.int64)
        whole = ForceSet.empty()
        arrays[f"{order}_atom"] = np.concatenate([whole.atom, *(s.atom for s in sets.values())])
        arrays[f"{order}_displacement"] = np.concatenate([whole.displacement, *(s.displacement for s in sets.values())])
        arrays[f"{order}_forces"] = np.concatenate(
            [np.zeros((0, 3)), *(s.forces.reshape(-1, 3) for s in sets.values())]
        )
    return arrays


def read_forces(observation: Observation, frames: Frames, sizes: Mapping[str, Int]) -> dict[int, CrystalForces]:
    """By index, the crystals that did not fail, from the arrays of `force_arrays`.

    Args:
        sizes: by order, (n,) the atoms of the supercells.

    Raises:
        ValueError: the observation is not of these structures; the line names the array.
    """
    cell, positions, found = read_relaxed(observation, frames)
    ends, answered = observation.array("end", (len(frames),), np.int8), found.tolist()
    if ends.size and not (ends.min() >= 0 and ends.max() <= max(SymmetryEnd)):
        raise ValueError("observation: end has codes that name no end")
    second, third = (_read_sets(observation, order, answered, sizes[order]) for order in ORDERS)
    return {
        i: CrystalForces(cell[i], positions[frames.atom_slice(i)], SymmetryEnd(int(ends[i])), second[i], third[i])
        for i in answered
    }


def _read_sets(observation: Observation, order: str, answered: Sequence[int], sizes: Int) -> dict[int, ForceSet]:
    counts = observation.array(f"n_{order}", (len(sizes),), np.int64)
    if (counts < 0).any() or counts.sum() != counts[answered].sum():
        raise ValueError(f"observation: n_{order}: does not fit failure")
    moved, rows = int(counts.sum()), int((counts * sizes).sum())
    atom = observation.array(f"{order}_atom", (moved, 2), np.int64)
    displacement = observation.array(f"{order}_displacement", (moved, 2, 3))
    forces = observation.array(f"{order}_forces", (rows, 3))
    sets, begin, row = {}, 0, 0
    for i in answered:
        end, last = begin + int(counts[i]), row + int(counts[i] * sizes[i])
        sets[i] = ForceSet(atom[begin:end], displacement[begin:end], forces[row:last].reshape(-1, sizes[i], 3))
        begin, row = end, last
    return sets
