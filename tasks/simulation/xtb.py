"""GFN2-xTB by tblite, which only those who make trajectories need: it is imported when it is used.

Method: C. Bannwarth, S. Ehlert and S. Grimme, J. Chem. Theory Comput. 15, 1652 (2019), doi:10.1021/acs.jctc.8b01176.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from ase.units import Bohr, Hartree
from threadpoolctl import threadpool_limits

from tasks.structures.frames import Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

METHOD = "GFN2-xTB"
# Of the self-consistent charges, in tblite's measure: ten times as strict as its default.
ACCURACY = 0.1
INSTALL = "pip install 'lambench-judge[trajectories]'"


def xtb_version() -> str:
    """The version of tblite.

    Raises:
        ValueError: it is not installed, or cannot be loaded; the line names the extra.
    """
    try:
        from tblite.library import get_version
    except ModuleNotFoundError:
        raise ValueError(f"{METHOD} needs tblite, which is not installed: {INSTALL}") from None
    except (ImportError, OSError) as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{METHOD} needs tblite, which cannot be loaded: {text}: install libgomp1, too") from None
    return ".".join(map(str, get_version()))


@contextmanager
def one_thread() -> Iterator[None]:
    """Computes on one thread inside: sums in another order change the last digit, and then the trajectory."""
    xtb_version()  # the limit holds for libraries that are loaded
    with threadpool_limits(1):
        yield


class XTBCalculator:
    """GFN2-xTB as a model. Each answer depends on its structure alone: charges start from those of atoms.

    Structures have no periodic direction; 2S+1 counts as 1 where it is not stated.

    Raises:
        ValueError: tblite is not installed.
    """

    def __init__(self) -> None:
        xtb_version()

    @property
    def properties(self) -> Properties:
        return ("energy", "forces")

    @property
    def max_atoms_per_batch(self) -> int:
        return 1

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """Energies [eV] and forces [eV/Å]; a structure whose charges do not converge fails as `NOT_CONVERGED`."""
        energy, forces = np.full(len(frames), np.nan), np.full((len(frames.numbers), 3), np.nan)
        errors: dict[int, FrameError] = {}
        for index in range(len(frames)):
            atoms = frames.atom_slice(index)
            try:
                energy[index], forces[atoms] = self._single_point(frames, index)
            except (RuntimeError, TypeError, ValueError) as error:  # of tblite, whose own are RuntimeErrors
                errors[index] = FrameError(_cause(error), type(error).__name__, " ".join(str(error).split()))
        return Predictions.checked(frames, energy, forces, None, errors)

    def _single_point(self, frames: Frames, index: int) -> tuple[float, Any]:
        from tblite.interface import Calculator

        if frames.pbc[index].any():
            raise ValueError(f"{METHOD} is for molecules here, and the structure is periodic")
        atoms = frames.atom_slice(index)
        unpaired = max(int(frames.multiplicity[index]) - 1, 0)
        numbers, positions = frames.numbers[atoms], frames.positions[atoms] / Bohr
        calculator = Calculator(METHOD, numbers, positions, float(frames.charge[index]), unpaired)
        calculator.set("verbosity", 0)
        calculator.set("accuracy", ACCURACY)
        result = calculator.singlepoint()
        return float(result.get("energy")) * Hartree, -np.asarray(result.get("gradient")) * (Hartree / Bohr)


def _cause(error: Exception) -> Cause:
    return Cause.NOT_CONVERGED if "converge" in str(error).lower() else Cause.ERROR
