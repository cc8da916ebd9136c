"""Trial builds: what a task builds from a structure before it asks a model, and what is wrong with it in one line.

A data set from which these cannot be built fails in the same way for every model, so its import refuses it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np
from ase import Atoms
from numpy.typing import ArrayLike
from spglib import SpglibError

from tasks.simulation.relaxation import SYMPREC
from tasks.structures.frames import Int

# Atoms of all supercells of a data set that are built with their symmetry, which takes 5 ms an atom; the other
# supercells are built without it, in a hundredth of the time.
MAX_ATOMS_WITH_SYMMETRY = 500
MAX_SUPERCELL_ATOMS = 20_000  # phonopy takes minutes to build more
NO_VOLUME = 1e-6  # Å³
_ERRORS = (ValueError, RuntimeError, ArithmeticError, LookupError, TypeError, AttributeError, SpglibError)


def build_fault(build: Callable[[], object]) -> str:
    """Calls `build`; what it raises, in one line, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            build()
    except _ERRORS as error:
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def handedness_fault(name: str, matrix: ArrayLike) -> str:
    """A line about a `matrix` (3, 3) whose vectors are left-handed; empty if they are not."""
    determinant = float(np.linalg.det(np.asarray(matrix, np.float64)))
    if determinant > 0:
        return ""
    return f"{name}: has the determinant {determinant:.3g}, which must be positive: exchange two of its vectors"


def size_fault(name: str, n_atoms: int) -> str:
    """A line about a supercell that is too large to be built; empty if it is not."""
    if n_atoms <= MAX_SUPERCELL_ATOMS:
        return ""
    return (
        f"{name}: makes {n_atoms} atoms of the cell, at most {MAX_SUPERCELL_ATOMS} can be judged: state a smaller one"
    )


def cell_fault(atoms: Atoms) -> str:
    """A line about a cell that cannot be relaxed or strained; empty if it can."""
    volume = abs(float(np.linalg.det(atoms.cell.array)))
    return "" if volume > NO_VOLUME else "cell: has no volume: its vectors lie in a plane"


def symmetry_fault(atoms: Atoms) -> str:
    """A line about a crystal whose symmetry a relaxation cannot keep; empty if it can."""
    from ase.constraints import FixSymmetry  # it takes long to import, and most commands relax nothing

    fault = build_fault(lambda: FixSymmetry(atoms.copy(), symprec=SYMPREC))
    return f"cell and positions: have no symmetry that a relaxation could keep: {fault}" if fault else ""


def built_with_symmetry(sizes: Int) -> Iterator[bool]:
    """By supercell of `sizes` (n,) atoms, whether it is among the first that are built with their symmetry."""
    return iter((np.cumsum(sizes) <= MAX_ATOMS_WITH_SYMMETRY).tolist())
