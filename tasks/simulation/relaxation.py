"""Relaxation of structures, one or many at once, by an unmodified ASE optimiser over a `BatchCalculator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from ase import Atoms
from ase.filters import FrechetCellFilter
from ase.units import GPa
from numpy.typing import NDArray
from pydantic import PositiveFloat, PositiveInt

from tasks.kind import Parameters, Watch
from tasks.model.calculator import AseCalculator, BatchCalculator, ItemFailed
from tasks.simulation.lockstep_batches import Done, Job, run_concurrently
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import ALL_PROPERTIES, Cause

# A cell that is stretched beyond these shares of its first length in any direction has fallen apart or collapsed; a
# collapsed cell would make a model build endless neighbour lists.
SHORTEST_SHARE, LONGEST_SHARE = 1 / 3, 3.0
SYMPREC = 1e-3  # Å
MAX_DENSE_ATOMS = 1000  # of a structure whose optimiser may keep a square matrix of all coordinates


class Relaxation(Parameters):
    """How structures are relaxed.

    Args:
        optimizer: of ASE; for more than 1000 atoms L-BFGS in place of BFGS.
        fmax: converged if no force is larger [eV/Å]; of a cell, also no component of the generalised force of ASE's
            `FrechetCellFilter`.
        max_steps: a structure that takes more has not converged.
    """

    optimizer: Literal["BFGS", "FIRE", "LBFGS"] = "FIRE"
    fmax: PositiveFloat = 0.001
    max_steps: PositiveInt = 500


class Freedom(NamedTuple):
    """The degrees of freedom of a relaxation.

    Args:
        cell: `hydrostatic` changes the volume alone, and keeps the shape.
        strains: with a full cell, the strains that may change, in the order xx, yy, zz, yz, xz, xy; None: all.
        fixed: indices of atoms that do not move.
        keep_symmetry: whether forces and stress are symmetrised in the space group of the start.
    """

    cell: Literal["fixed", "full", "hydrostatic"] = "full"
    strains: tuple[bool, bool, bool, bool, bool, bool] | None = None
    fixed: Sequence[int] = ()
    keep_symmetry: bool = False


class LastIterate(NamedTuple):
    """The end of a relaxation, converged or not: the last structure, not the best or the first one.

    Args:
        atoms: without calculator and constraints.
        energy: potential energy [eV].
        largest_force: on an atom that may move [eV/Å].
        steps: of the optimiser.
    """

    atoms: Atoms
    energy: float
    largest_force: float
    steps: int
    converged: bool


def relaxed(
    atoms: Atoms,
    model: BatchCalculator,
    settings: Relaxation,
    *,
    cell: bool = True,
    keep_symmetry: bool = False,
    pressure_gpa: float = 0.0,
) -> Atoms:
    """`atoms` relaxed to zero forces, and with `cell` to the stress of `pressure_gpa`, without a calculator.

    Raises:
        ItemFailed: the model failed on a structure on the way; NOT_CONVERGED within the steps; EXPLODED: the cell left
            its bounds.
    """
    freedom = Freedom("full" if cell else "fixed", keep_symmetry=keep_symmetry)
    end = last_iterate(atoms, model, settings, freedom, pressure_gpa)
    if not end.converged:
        raise ItemFailed(Cause.NOT_CONVERGED)
    return end.atoms


def last_iterate(
    atoms: Atoms, model: BatchCalculator, settings: Relaxation, freedom: Freedom, pressure_gpa: float = 0.0
) -> LastIterate:
    """The end of the relaxation of `atoms`.

    Raises:
        ValueError: `fixed` names no atom.
        ItemFailed: the model failed on a structure on the way; EXPLODED: the cell left its bounds.
    """
    from ase import constraints  # these take long to import, and most commands relax nothing

    if len(freedom.fixed) and not 0 <= min(freedom.fixed) <= max(freedom.fixed) < len(atoms):
        raise ValueError(f"relaxation: fixed: {max(freedom.fixed)}: the structure has the atoms 0 to {len(atoms) - 1}")
    mobile: Atoms = atoms.copy()
    has_cell = freedom.cell != "fixed"
    mobile.calc = AseCalculator(model, ("energy", "forces", "stress") if has_cell else ("energy", "forces"))
    limits: list[Any] = [constraints.FixSymmetry(mobile, symprec=SYMPREC)] if freedom.keep_symmetry else []
    if freedom.fixed:
        limits.append(constraints.FixAtoms(list(freedom.fixed)))
    mobile.set_constraint(limits)
    optimizer = _optimizer(mobile, settings, freedom, pressure_gpa)
    converged = bool(optimizer.run(fmax=settings.fmax, steps=settings.max_steps))
    forces, energy = mobile.get_forces(), float(mobile.get_potential_energy())
    largest = float(np.sqrt((forces**2).sum(axis=1).max()))
    mobile.calc = None
    mobile.set_constraint()
    return LastIterate(mobile, energy, largest, int(optimizer.nsteps), converged)


def _optimizer(mobile: Atoms, settings: Relaxation, freedom: Freedom, pressure_gpa: float) -> Any:
    from ase import optimize

    name = settings.optimizer
    if name == "BFGS" and len(mobile) > MAX_DENSE_ATOMS:
        name = "LBFGS"
    if freedom.cell == "fixed":
        return getattr(optimize, name)(mobile, logfile=None)
    target = FrechetCellFilter(
        mobile,
        mask=freedom.strains,
        hydrostatic_strain=freedom.cell == "hydrostatic",
        scalar_pressure=pressure_gpa * GPa,
    )
    optimizer = getattr(optimize, name)(target, logfile=None)
    back = np.linalg.inv(mobile.cell.array)

    def check() -> None:
        stretches = np.linalg.svd(back @ mobile.cell.array, compute_uv=False)
        if not (stretches.min() > SHORTEST_SHARE and stretches.max() < LONGEST_SHARE):
            raise ItemFailed(Cause.EXPLODED)

    optimizer.attach(check)
    return optimizer


def relax_cells(
    frames: Frames, model: BatchCalculator, settings: Relaxation, watch: Watch, pressure_gpa: Float | None = None
) -> list[Done[Atoms]]:
    """Each of `frames` relaxed with its cell, all concurrently; without stress a model is not asked: UNSUPPORTED.

    Args:
        pressure_gpa: (n,) of each structure; None: zero.
    """
    if not set(ALL_PROPERTIES) <= set(model.properties):
        return [Done(None, Cause.UNSUPPORTED)] * len(frames)
    pressures = np.zeros(len(frames)) if pressure_gpa is None else pressure_gpa
    jobs = [_cell_job(frames.atoms(i), settings, float(p)) for i, p in enumerate(pressures)]
    return run_concurrently(jobs, model, watch, "relaxations")


def _cell_job(atoms: Atoms, settings: Relaxation, pressure_gpa: float) -> Job[Atoms]:
    def run(model: BatchCalculator) -> Atoms:
        return relaxed(atoms, model, settings, pressure_gpa=pressure_gpa)

    return Job(len(atoms), run)


def relaxed_arrays(frames: Frames, ends: Sequence[Done[Atoms]]) -> dict[str, NDArray[Any]]:
    """The arrays of an observation: cell (n, 3, 3) and positions (N, 3) [Å], NaN where failed; failure (n,)."""
    cell, positions = np.full((len(frames), 3, 3), np.nan), np.full((len(frames.numbers), 3), np.nan)
    for index, end in enumerate(ends):
        if end.value is not None:
            cell[index] = end.value.cell.array
            positions[frames.atom_slice(index)] = end.value.positions
    return {"cell": cell, "positions": positions, "failure": np.array([end.cause for end in ends], np.int8)}


def require_periodic(name: str, frames: Frames) -> None:
    """Every structure has a cell that can be relaxed.

    Raises:
        ValueError: one is not periodic in all directions; the line names the dataset and the structure.
    """
    if not frames.periodic.all():
        index = int(np.flatnonzero(~frames.periodic)[0])
        raise ValueError(f"{name}/frames.safetensors: pbc: structure {index} is no crystal; leave it out")
