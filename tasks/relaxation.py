"""Relaxation of a structure by an unmodified ASE optimiser over a `BatchCalculator`."""

from __future__ import annotations

from typing import Any, Literal

from ase import Atoms
from ase.constraints import FixSymmetry
from ase.filters import FrechetCellFilter
from ase.optimize import BFGS, FIRE, LBFGS
from ase.optimize.optimize import Optimizer
from ase.units import GPa
from pydantic import PositiveFloat, PositiveInt

from tasks.calculator import AseCalculator, BatchCalculator, ItemFailed
from tasks.kind import Parameters
from tasks.predictions import Cause

OPTIMIZERS: dict[str, type[Optimizer]] = {"BFGS": BFGS, "FIRE": FIRE, "LBFGS": LBFGS}
# A cell whose volume leaves these bounds, as shares of its first one, has fallen apart or in on itself; the latter
# would have a model build neighbour lists without end.
SMALLEST_SHARE, LARGEST_SHARE = 0.1, 10.0
SYMPREC = 1e-3  # Å


class Relaxation(Parameters):
    """How structures are relaxed.

    Args:
        fmax: converged where no force is larger [eV/Å]; of a cell, no component of the generalised force of
            ASE's `FrechetCellFilter` either.
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
    """`atoms` where `model` has no force on it, and with `cell`, no stress but `pressure_gpa`. No calculator attached.

    Raises:
        ItemFailed: the model failed on a structure on the way; NOT_CONVERGED within the steps; EXPLODED, the volume
            left its bounds.
    """
    mobile: Atoms = atoms.copy()
    mobile.calc = AseCalculator(model, ("energy", "forces", "stress") if cell else ("energy", "forces"))
    if keep_symmetry:
        mobile.set_constraint(FixSymmetry(mobile, symprec=SYMPREC))
    target: Any = FrechetCellFilter(mobile, scalar_pressure=pressure_gpa * GPa) if cell else mobile
    optimizer = OPTIMIZERS[settings.optimizer](target, logfile=None)
    if cell:
        first = mobile.get_volume()

        def check() -> None:
            if not SMALLEST_SHARE < mobile.get_volume() / first < LARGEST_SHARE:
                raise ItemFailed(Cause.EXPLODED)

        optimizer.attach(check)
    if not optimizer.run(fmax=settings.fmax, steps=settings.max_steps):
        raise ItemFailed(Cause.NOT_CONVERGED)
    mobile.calc = None
    mobile.set_constraint()
    return mobile
