"""Starts and ends of relaxations, and the distance of a structure from its reference geometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from ase.units import GPa
from numpy.typing import NDArray

from tasks.datasets.dataset import Structures
from tasks.datasets.geometries import Geometries
from tasks.kind import Observation
from tasks.simulation.lockstep_batches import Done
from tasks.simulation.relaxation import LastIterate
from tasks.structures.frames import Bool, Float, Frames
from tasks.structures.predictions import Cause
from tasks.trajectories.periodic_matching import crystal_displacements, matched, nearest
from tasks.trajectories.superposition import rmsd

SAME_LENGTH = 1e-4
Matching = Literal["periodicity", "superposition"]
ComparedAtoms = Literal["all", "heavy"]
# Of a cell: its three lengths; or, for an atom, its volume, the area of its first two vectors, the length of the first.
Extent = Literal["lattice_constant", "volume", "area", "length"]
EXTENT_UNITS: Mapping[Extent, str] = {
    "lattice_constant": "Å",
    "volume": "Å³/atom",
    "area": "Å²/atom",
    "length": "Å/atom",
}


class Comparison(NamedTuple):
    """How structures are compared with their references.

    Args:
        matching: `periodicity` superposes molecules alone, and matches others by their lattice.
        atoms: `heavy` leaves hydrogen out.
        extent: of cells that may change; None: it is not compared.
    """

    matching: Matching
    atoms: ComparedAtoms = "all"
    extent: Extent | None = None


class RelaxedEnds(NamedTuple):
    """The ends of the relaxations of n structures with N atoms; NaN where a model failed on the way.

    Args:
        positions: (N, 3) [Å].
        cell: (n, 3, 3) [Å].
        energy: (n,) [eV].
        largest_force: (n,) [eV/Å], on an atom that may move.
        steps: (n,) of the optimiser.
        cause: (n,) codes of `Cause`: also NOT_CONVERGED.
    """

    positions: Float
    cell: Float
    energy: Float
    largest_force: Float
    steps: Float
    cause: NDArray[np.int8]


def fixed_atoms(structures: Structures) -> Bool:
    """(N,) the condition `fixed`; without it no atom is."""
    frames = structures.frames
    return np.asarray(structures.conditions.get("fixed", np.zeros(len(frames.numbers), np.bool_)))


def free_cells(structures: Structures) -> Bool:
    """(n,) the structures whose cell may relax: periodic in all directions, without fixed atoms."""
    frames = structures.frames
    return np.asarray(frames.periodic & ~np.logical_or.reduceat(fixed_atoms(structures), frames.offsets[:-1]))


def end_arrays(frames: Frames, ends: Sequence[Done[LastIterate]]) -> dict[str, NDArray[np.generic]]:
    """The arrays of an observation: positions to `steps` of `RelaxedEnds`, `converged` and `failure` (n,)."""
    n = len(frames)
    cell, positions = np.full((n, 3, 3), np.nan), np.full((len(frames.numbers), 3), np.nan)
    energy, force = np.full(n, np.nan), np.full(n, np.nan)
    steps, converged = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    for index, end in enumerate(ends):
        if end.value is not None:
            cell[index] = end.value.atoms.cell.array
            positions[frames.atom_slice(index)] = end.value.atoms.positions
            energy[index], force[index] = end.value.energy, end.value.largest_force
            steps[index], converged[index] = end.value.steps, end.value.converged
    return {
        "positions": positions,
        "cell": cell,
        "energy": energy,
        "largest_force": force,
        "steps": steps,
        "converged": converged,
        "failure": np.array([end.cause for end in ends], np.int8),
    }


def read_ends(observation: Observation, frames: Frames) -> RelaxedEnds:
    """The ends that are stored; one that did not converge has that cause.

    Raises:
        ValueError: the observation does not fit `frames`.
    """
    n = len(frames)
    cause = observation.causes(n).copy()
    converged = observation.array("converged", (n,), np.bool_)
    energy = observation.array("energy", (n,))
    steps = np.where(cause == 0, observation.array("steps", (n,), np.int64), np.nan)
    cause[(cause == 0) & ~converged] = Cause.NOT_CONVERGED
    cause[(cause == 0) & ~np.isfinite(energy)] = Cause.NON_FINITE
    positions, cell = observation.array("positions", (len(frames.numbers), 3)), observation.array("cell", (n, 3, 3))
    return RelaxedEnds(positions, cell, energy, observation.array("largest_force", (n,)), steps, cause)


def with_enthalpies(ends: RelaxedEnds, structures: Structures) -> RelaxedEnds:
    """The ends with E + p V [eV] in place of energies, at the condition `pressure_gpa`."""
    pressure = structures.conditions.get("pressure_gpa", np.zeros(len(ends.energy)))
    return ends._replace(energy=ends.energy + pressure * GPa * np.abs(np.linalg.det(ends.cell)))


def _extents(extent: Extent, cell: Float, n_atoms: NDArray[np.int64]) -> Float:
    """(k, 3) lengths [Å] of the vectors of cells (k, 3, 3), or (k, 1) volume, area or length for an atom."""
    lengths = np.linalg.norm(cell, axis=2)
    if extent == "lattice_constant":
        return np.asarray(lengths)
    if extent == "volume":
        size = np.abs(np.linalg.det(cell))
    else:
        size = np.linalg.norm(np.cross(cell[:, 0], cell[:, 1]), axis=1) if extent == "area" else lengths[:, 0]
    return np.asarray((size / n_atoms)[:, None])


def _n_equal(lengths: Float) -> Float:
    """(k, 3) of each length (k, 3) how many of its cell it equals, within a part in 10,000; itself is one."""
    equal = np.abs(lengths[:, :, None] - lengths[:, None, :]) <= SAME_LENGTH * lengths.max(axis=1)[:, None, None]
    return np.asarray(np.maximum(equal.sum(axis=2), 1).astype(np.float64))


class ReferenceGeometries(NamedTuple):
    """The reference geometries of `structures`, and how others are compared with them."""

    structures: Structures
    geometries: Geometries
    comparison: Comparison

    def distances(self, positions: Float, cell: Float, chosen: Bool) -> Float:
        """(n,) root mean square distance [Å] from the reference of each structure of `chosen` (n,); NaN for others.

        Args:
            positions: (N, 3) [Å].
            cell: (n, 3, 3) [Å].
        """
        distances = np.full(len(cell), np.nan)
        for index in np.flatnonzero(chosen & self.geometries.known):
            atoms = self.structures.frames.atom_slice(int(index))
            distances[index] = self._distance(int(index), positions[atoms], cell[index])
        return distances

    def _distance(self, index: int, positions: Float, cell: Float) -> float:
        """Where atoms are fixed they hold the structure in its place, and the others are compared as they stand."""
        frames = self.structures.frames
        atoms, pbc = frames.atom_slice(index), frames.pbc[index]
        reference, reference_cell = self.geometries.positions[atoms], self.geometries.cell[index]
        fixed = fixed_atoms(self.structures)[atoms]
        if self.comparison.atoms == "heavy":
            heavy = frames.numbers[atoms] > 1
            if not heavy.any():
                raise ValueError(f"structure {index}: rmsd_of: heavy: has hydrogen alone: compare all atoms")
            positions, reference, fixed = positions[heavy], reference[heavy], fixed[heavy]
        if fixed.any():
            vectors = nearest(positions - reference, reference_cell, pbc)[~fixed]
        elif self.comparison.matching == "superposition" or not pbc.any():
            return float(rmsd(positions[None], reference)[0])
        elif pbc.all():
            vectors = matched(crystal_displacements(positions, cell, reference, reference_cell), reference_cell, pbc)
        else:
            vectors = matched(positions - reference, reference_cell, pbc)
        return float(np.sqrt((vectors**2).sum(axis=1).mean()))

    def extent_errors(self, extent: Extent, cell: Float, chosen: Bool) -> Float:
        """(n,) the error of the extent of the crystals of `chosen` (n,), in its unit; NaN for others.

        Of lattice constants it is the sum of the absolute errors of the different ones, of equal ones their mean; else
        it has a sign.
        """
        chosen = chosen & self.geometries.known & free_cells(self.structures)
        errors = np.full(len(cell), np.nan)
        n_atoms = self.structures.frames.n_atoms[chosen]
        ours, theirs = (_extents(extent, cells[chosen], n_atoms) for cells in (cell, self.geometries.cell))
        difference = ours - theirs
        if extent == "lattice_constant":
            errors[chosen] = (np.abs(difference) / _n_equal(theirs)).sum(axis=1)
        else:
            errors[chosen] = difference[:, 0]
        return errors

    def extent_counts(self, extent: Extent) -> Float:
        """(n,) the extents of each structure: its different lattice constants, else one."""
        lengths = np.linalg.norm(self.geometries.cell, axis=2)
        if extent != "lattice_constant":
            return np.ones(len(lengths))
        return np.asarray((1.0 / _n_equal(lengths)).sum(axis=1))

    def volume_errors(self, cell: Float, chosen: Bool) -> Float:
        """(n,) volume over the reference's, less one [%], of the crystals of `chosen` (n,); NaN for others."""
        chosen = chosen & self.geometries.known & free_cells(self.structures)
        errors = np.full(len(cell), np.nan)
        volumes = np.abs(np.linalg.det(cell[chosen]))
        errors[chosen] = 100.0 * (volumes / np.abs(np.linalg.det(self.geometries.cell[chosen])) - 1.0)
        return errors
