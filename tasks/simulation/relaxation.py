"""Relaxation of structures, one or many at once, by an unmodified ASE optimiser over a `BatchCalculator`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

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


class Relaxation(Parameters):
    """How structures are relaxed.

    Args:
        fmax: converged if no force is larger [eV/Å]; of a cell, also no component of the generalised force of ASE's
            `FrechetCellFilter`.
        max_steps: a structure that takes more has not converged.
    """

    optimizer: Literal["BFGS", "FIRE", "LBFGS"] = "FIRE"
    fmax: PositiveFloat = 0.001
    max_steps: PositiveInt = 500


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
    from ase import constraints, optimize  # they take long to import, and most commands relax nothing

    mobile: Atoms = atoms.copy()
    mobile.calc = AseCalculator(model, ("energy", "forces", "stress") if cell else ("energy", "forces"))
    if keep_symmetry:
        mobile.set_constraint(constraints.FixSymmetry(mobile, symprec=SYMPREC))
    target: Any = FrechetCellFilter(mobile, scalar_pressure=pressure_gpa * GPa) if cell else mobile
    optimizer = getattr(optimize, settings.optimizer)(target, logfile=None)
    if cell:
        back = np.linalg.inv(mobile.cell.array)

        def check() -> None:
            stretches = np.linalg.svd(back @ mobile.cell.array, compute_uv=False)
            if not (stretches.min() > SHORTEST_SHARE and stretches.max() < LONGEST_SHARE):
                raise ItemFailed(Cause.EXPLODED)

        optimizer.attach(check)
    if not optimizer.run(fmax=settings.fmax, steps=settings.max_steps):
        raise ItemFailed(Cause.NOT_CONVERGED)
    mobile.calc = None
    mobile.set_constraint()
    return mobile


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
