"""From stored answers to the questions of further laws: items by structure and law."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.kind import Observation
from tasks.observing.frames_observation import read_frames
from tasks.physicality.laws import (
    ATOM,
    GHOST,
    METALS,
    SLAB_SIZE,
    FurtherLaws,
    antisymmetry,
    by_structure,
    exponents,
    fluctuations,
    is_single_precision,
    jacobian,
    small_structures,
)
from tasks.physicality.measures import ProbeItem, structure_item
from tasks.structures.frames import Float

MOLECULE_ATOMS = 10  # acetone
SLAB_ATOMS = len(METALS) * math.prod(SLAB_SIZE)
RIGHT_EXPONENT = 2.0


def law_rows(observation: Observation, dataset: Dataset, laws: FurtherLaws) -> list[ProbeItem]:
    """The items of all further laws, each law a group."""
    return [
        *_whole_rows(observation, dataset),
        *_jacobian_rows(observation, dataset, laws),
        *_distant_rows(observation, laws),
        _slab_row(observation),
        *_time_step_rows(observation, dataset, laws),
    ]


def _whole_rows(observation: Observation, dataset: Dataset) -> Iterator[ProbeItem]:
    """Total force [eV/Å], torque [eV] of molecules about their centroid, and precision, of each structure's answer."""
    frames = dataset.frames
    answer = read_frames(observation, frames)
    with_forces = answer.forces is not None
    every = np.full(frames.positions.shape, np.nan) if answer.forces is None else answer.forces
    for index in range(len(frames)):
        failure, rows = answer.failure[[index]], frames.atom_slice(index)
        forces, arms = every[rows], frames.positions[rows] - frames.positions[rows].mean(axis=0)
        total = {"force_error": float(np.linalg.norm(forces.sum(axis=0)))}
        yield structure_item(dataset, index, "net_force", failure, total, with_forces)
        if not frames.pbc[index].any():
            torque = {"torque_error": float(np.linalg.norm(np.cross(arms, forces).sum(axis=0)))}
            yield structure_item(dataset, index, "torque", failure, torque, with_forces)
        energy = answer.energy[[index]]
        single = any(is_single_precision(values) for values in (forces, energy, energy / len(forces)))
        found = {"single_precision": float(single) if np.isfinite(energy).all() else np.nan}
        yield structure_item(dataset, index, "precision", failure, found, True)


def _jacobian_rows(observation: Observation, dataset: Dataset, laws: FurtherLaws) -> Iterator[ProbeItem]:
    small = small_structures(dataset.frames, laws)
    n_atoms = dataset.frames.n_atoms[small].tolist()
    if not n_atoms:
        return
    forces = _forces(observation, "moved", sum(6 * n * n for n in n_atoms))
    failure = observation.causes(6 * sum(n_atoms), name="moved_failure")
    ends = np.cumsum([6 * n for n in n_atoms])
    for index, of_structure, end, n in zip(small, by_structure(forces, n_atoms), ends, n_atoms, strict=True):
        values = {"antisymmetry": antisymmetry(jacobian(of_structure, laws.jacobian_step))}
        causes = failure[end - 6 * n : end]
        yield structure_item(dataset, int(index), "jacobian", causes, values, "moved_forces" in observation.arrays)


def _distant_rows(observation: Observation, laws: FurtherLaws) -> Iterator[ProbeItem]:
    sizes = [MOLECULE_ATOMS, MOLECULE_ATOMS + laws.n_ghosts, *[MOLECULE_ATOMS + 1] * laws.n_distant]
    forces = _forces(observation, "distant", sum(sizes))
    failure = observation.causes(len(sizes), name="distant_failure")
    starts = np.cumsum([0, *sizes[:-1]])
    of_molecule = [forces[start : start + MOLECULE_ATOMS] for start in starts]
    supported = "distant_forces" in observation.arrays
    for k, (beside, cause) in enumerate(zip(of_molecule, failure, strict=True)):
        if k:
            group = "ghosts" if k == 1 else "distant_atom"
            name = f"acetone and {laws.n_ghosts} {GHOST}" if k == 1 else f"acetone and {ATOM} {k - 1}"
            change = float(np.linalg.norm(beside - of_molecule[0], axis=1).max())
            worst = int(max(cause, failure[0]))
            values = {"force_error": np.nan if worst else change}
            yield ProbeItem(f"{name}: {group}", group, "acetone", worst, values, supported)


def _slab_row(observation: Observation) -> ProbeItem:
    both, first, second = observation.array("slab_energy", (3,))
    worst = int(observation.causes(3, name="slab_failure").max())
    error = abs(float(both - first - second)) / SLAB_ATOMS
    values = {"energy_error": np.nan if worst else error}
    return ProbeItem("Al and Ni: slabs", "slabs", "Al and Ni", worst, values, True)


def _time_step_rows(observation: Observation, dataset: Dataset, laws: FurtherLaws) -> Iterator[ProbeItem]:
    small = small_structures(dataset.frames, laws)
    shape = (len(laws.time_steps_fs), len(small), max(laws.n_steps) + 1)
    fluctuation = fluctuations(observation.array("time_step_energy", shape), laws.n_steps)
    exponent = exponents(fluctuation, laws.time_steps_fs)
    failure = observation.causes(len(small), name="time_step_failure")
    for k, index in enumerate(small):
        values = {
            "exponent_error": abs(float(exponent[k]) - RIGHT_EXPONENT),
            "exponent": float(exponent[k]),
            "fluctuation": float(fluctuation[-1, k]) / int(dataset.frames.n_atoms[index]),
        }
        yield structure_item(dataset, int(index), "time_step", failure[[k]], values, True)


def _forces(observation: Observation, name: str, n: int) -> Float:
    """(n, 3); NaN if the model has none."""
    if f"{name}_forces" not in observation.arrays:
        return np.full((n, 3), np.nan)
    return observation.array(f"{name}_forces", (n, 3))
