"""Further laws, with questions of their own: the structures that are asked about, and runs of dynamics.

    net_force, torque    those of a whole structure, and of a whole molecule, are zero
    antisymmetry         the Jacobian of the forces J = ∂F/∂r is symmetric: λ = ‖(J − Jᵀ)/2‖ / ‖J‖ (Frobenius norms; F.
                         Bigi and others, arXiv:2412.11569), by central differences
    ghosts, distant_atom forces on a molecule do not change by atoms far from it, in a box of 120 Å: their images are
                         farther still
    slabs                two slabs 100 Å apart have the sum of their energies
    time_step            the total energy of velocity Verlet fluctuates as the square of the time step
    single_precision     whether all forces, or all energies for each atom, are numbers in single precision

The first and the last follow from answers to the structures themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

import numpy as np
from ase import Atoms
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, PositiveFloat, PositiveInt

from tasks.kind import Parameters
from tasks.model.calculator import BatchCalculator
from tasks.simulation.velocities import thermal_momenta
from tasks.simulation.velocity_verlet import LockstepRun, RunBounds
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause

BOX = 120.0  # Å, in which a molecule is alone
GHOST, GHOSTS_FROM, GHOSTS_TO, GHOSTS_APART = "Ne", 43.0, 56.0, 6.0  # Å from its centroid, and from each other
ATOM, ATOM_FROM, ATOM_TO = "H", 20.0, 50.0  # Å
METALS, LATTICE, SLAB_SIZE = ("Al", "Ni"), 3.79, (2, 2, 3)  # Å; between the constants of both
GAP, RATTLE = 100.0, 0.05  # Å
BOUNDS = RunBounds(energy_ev_per_atom=10.0, temperature_k=1e5)


def _decrease(steps: tuple[float, ...]) -> tuple[float, ...]:
    if any(finer >= coarser for coarser, finer in pairwise(steps)):
        raise ValueError("steps must go from the coarsest to the finest")
    return steps


Steps = Annotated[tuple[PositiveFloat, ...], Field(min_length=2), AfterValidator(_decrease)]


class FurtherLaws(Parameters):
    """Sizes and steps.

    Args:
        largest: atoms of the largest structure whose Jacobian is taken and whose dynamics are run.
        jacobian_step: by which each coordinate moves, back and forth [Å].
        n_ghosts: atoms beside the molecule, all at once.
        n_distant: places of the one atom beside it.
        time_steps_fs: from the coarsest to the finest.
        duration_fs: of each run.
        temperature_k: of the momenta at its start.
    """

    largest: PositiveInt = 9
    jacobian_step: PositiveFloat = 0.003
    n_ghosts: PositiveInt = 20
    n_distant: PositiveInt = 10
    time_steps_fs: Steps = (1.0, 0.5, 0.25)
    duration_fs: PositiveFloat = 50.0
    temperature_k: PositiveFloat = 300.0

    @property
    def n_steps(self) -> tuple[int, ...]:
        """The number of steps of each run."""
        return tuple(max(2, round(self.duration_fs / step)) for step in self.time_steps_fs)


class LawFrames(NamedTuple):
    """The structures of the questions.

    Args:
        moved: of each of `small`, one after another, 3N × 2 structures: each coordinate forth and back.
        distant: the molecule alone, with the ghosts, and with one atom at each of its places.
        slabs: both, the first, the second.
    """

    moved: Frames | None
    distant: Frames
    slabs: Frames


def small_structures(frames: Frames, laws: FurtherLaws) -> NDArray[np.int64]:
    """(k,) indices of the structures that are small enough for a Jacobian and dynamics."""
    return np.flatnonzero(frames.n_atoms <= laws.largest)


def law_frames(frames: Frames, laws: FurtherLaws, seed: int) -> LawFrames:
    """Always the same for the same frames, parameters and seed."""
    rng = np.random.default_rng([seed, 1])
    moved = [_moved(frames.take([i]), laws.jacobian_step) for i in small_structures(frames, laws)]
    return LawFrames(Frames.concatenate(moved) if moved else None, _distant(laws, rng), _slabs(rng))


def _moved(structure: Frames, step: float) -> Frames:
    copies = []
    for coordinate in range(3 * len(structure.numbers)):
        for signed in (step, -step):
            positions = structure.positions.copy()
            positions.flat[coordinate] += signed
            copies.append(structure.moved(positions))
    return Frames.concatenate(copies)


def _distant(laws: FurtherLaws, rng: np.random.Generator) -> Frames:
    from ase.build import molecule  # takes long to import, and pages never need it

    alone: Atoms = molecule("CH3COCH3")
    alone.info.clear()
    alone.set_cell([BOX] * 3)
    alone.pbc = True
    alone.center()
    middle = alone.positions.mean(axis=0)
    places: list[Float] = []
    while len(places) < laws.n_ghosts:
        place = middle + _direction(rng) * rng.uniform(GHOSTS_FROM, GHOSTS_TO)
        if all(np.linalg.norm(place - other) > GHOSTS_APART for other in places):
            places.append(place)
    atoms = [middle + _direction(rng) * rng.uniform(ATOM_FROM, ATOM_TO) for _ in range(laws.n_distant)]
    beside = [Atoms(GHOST * len(places), places), *(Atoms(ATOM, [place]) for place in atoms)]
    return Frames.from_atoms([alone, *(alone + others for others in beside)])


def _direction(rng: np.random.Generator) -> Float:
    vector = rng.normal(size=3)
    return np.asarray(vector / np.linalg.norm(vector))


def _slabs(rng: np.random.Generator) -> Frames:
    from ase.build import fcc111

    first, second = (fcc111(metal, SLAB_SIZE, a=LATTICE) for metal in METALS)
    height = float(np.ptp(first.positions[:, 2])) + GAP
    second.positions[:, 2] += height
    for slab in (first, second):
        slab.info.clear()
        slab.positions += rng.normal(0.0, RATTLE, slab.positions.shape)
        slab.cell[2] = [0.0, 0.0, 2.0 * height]
        slab.pbc = True
    return Frames.from_atoms([_joined(first, second), first, second])


def _joined(first: Atoms, second: Atoms) -> Atoms:
    return Atoms(
        numbers=[*first.numbers, *second.numbers],
        positions=np.concatenate([first.positions, second.positions]),
        cell=first.cell,
        pbc=True,
    )


def jacobian(forces: Float, step: float) -> Float:
    """(3N, 3N) ∂F/∂r [eV/Å²] from the forces (6N, N, 3) after each coordinate moved forth and back by `step`."""
    pairs = forces.reshape(len(forces) // 2, 2, -1)
    return np.asarray((pairs[:, 0] - pairs[:, 1]).T / (2.0 * step))


def antisymmetry(matrix: Float) -> float:
    """λ of a Jacobian; NaN if it is zero."""
    norm = float(np.linalg.norm(matrix))
    return float(np.linalg.norm((matrix - matrix.T) / 2.0)) / norm if norm > 0.0 else np.nan


def by_structure(forces: Float, n_atoms: Sequence[int]) -> Iterator[Float]:
    """(6N, N, 3) the forces of each moved structure of N atoms, from those of all, one after another."""
    start = 0
    for n in n_atoms:
        end = start + 6 * n * n
        yield forces[start:end].reshape(6 * n, n, 3)
        start = end


class EnergyRuns(NamedTuple):
    """Dynamics of k structures at t time steps.

    Args:
        energy: (t, k, samples) total energies [eV] after each step; NaN beyond the end of a run.
        failure: (k,) codes of `Cause`, the largest of the runs.
    """

    energy: Float
    failure: NDArray[np.int8]


def energy_runs(frames: Frames, momenta: Float, laws: FurtherLaws, model: BatchCalculator) -> EnergyRuns:
    """Velocity Verlet at each time step from the same start, with momenta (N, 3) [ASE units]."""
    energy = np.full((len(laws.time_steps_fs), len(frames), max(laws.n_steps) + 1), np.nan)
    failure = np.zeros(len(frames), np.int8)
    for of_run, step_fs, n_steps in zip(energy, laws.time_steps_fs, laws.n_steps, strict=True):
        run = LockstepRun(frames, momenta, step_fs, model, BOUNDS)
        of_run[run.alive, 0] = run.start[run.alive]
        for step in range(1, n_steps + 1):
            if run.alive.size:
                run.step()
                of_run[run.alive, step] = run.potential[run.alive] + run.kinetic[run.alive]
        failure = np.maximum(failure, run.failure)
    return EnergyRuns(energy, failure)


def unanswered_runs(n: int, laws: FurtherLaws) -> EnergyRuns:
    """Of n structures that are not asked about."""
    shape = (len(laws.time_steps_fs), n, max(laws.n_steps) + 1)
    return EnergyRuns(np.full(shape, np.nan), np.full(n, Cause.MISSING, np.int8))


def momenta_of(frames: Frames, laws: FurtherLaws, seed: int) -> Float:
    """(N, 3) thermal momenta [ASE units]."""
    return thermal_momenta(frames, laws.temperature_k, seed)


def fluctuations(energy: Float, n_steps: Sequence[int]) -> Float:
    """(t, k) standard deviations [eV] of total energies (t, k, samples) over the steps of each run."""
    return np.array([of_run[:, : n + 1].std(axis=1) for of_run, n in zip(energy, n_steps, strict=True)])


def exponents(fluctuation: Float, time_steps: Sequence[float]) -> Float:
    """(k,) slopes of log fluctuation (t, k) over log time step; NaN where a fluctuation is zero or unknown."""
    x = np.log(time_steps) - np.log(time_steps).mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.asarray(x @ np.log(fluctuation) / (x @ x))
    return np.where(np.isfinite(slope), slope, np.nan)


def is_single_precision(values: Float) -> bool:
    """Whether every number but zeros is one in single precision; false if all are zero."""
    numbers = values[values != 0.0]
    with np.errstate(over="ignore"):
        return bool(numbers.size and (numbers == numbers.astype(np.float32)).all())
