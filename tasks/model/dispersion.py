"""DFT-D3 dispersion, added to a model without dispersion if the labels contain it.

Two-body D3 (Grimme et al., J. Chem. Phys. 132, 154104 (2010), doi:10.1063/1.3382344) with zero damping as there or
Becke–Johnson damping (Grimme, Ehrlich, Goerigk, J. Comput. Chem. 32, 1456 (2011), doi:10.1002/jcc.21759), without the
three-body term, as by default in the ASE calculator of dftd3 1.7.0. Computed by simple-dftd3.

**Failures.** If D3 has no parameters for an element, the data set states an impossible correction: an error of the
judge's side is raised, and no frame fails. If a structure is so collapsed that no sum over its neighbours is possible,
the frame fails with an error: only the model's own forces lead there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any, Literal, NamedTuple

import numpy as np
from ase.data import chemical_symbols
from ase.units import Bohr, Hartree
from dftd3.interface import DispersionModel, RationalDampingParam, ZeroDampingParam

from tasks.model.calculator import BatchCalculator
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

Damping = Literal["bj", "zero"]
# Increases when the same parameters would give another number.
DISPERSION_VERSION = 1
LAST_ELEMENT = 103  # the library answers zero beyond lawrencium, or ends the process
PAIR_CUTOFF = 60.0 * Bohr  # [Å]; the library's own
COORDINATION_CUTOFF = 40.0 * Bohr
MAX_IMAGES = 3_000_000  # of a cell within the cutoff: more take gigabytes, and no crystal has them
_DAMPINGS: Mapping[str, Any] = {"bj": RationalDampingParam, "zero": ZeroDampingParam}
# Row-major places of xx, yy, zz, yz, xz, xy in a 3×3 matrix.
_VOIGT = [0, 4, 8, 5, 2, 1]


class Dispersion(NamedTuple):
    """Of one structure: energy [eV]; forces (n, 3) [eV/Å] and stress (6,) [eV/Å³], None where not asked for."""

    energy: float
    forces: Float | None
    stress: Float | None


class _Impossible(Exception):
    """The sum over the neighbours of a structure is impossible."""


class DispersionCorrected:
    """A `BatchCalculator`: `model` with DFT-D3 added to every frame that it answered.

    Args:
        functional: whose parameters, as simple-dftd3 names it (`pbe`).

    Raises:
        ValueError: there are no parameters for that functional and damping.
    """

    def __init__(self, model: BatchCalculator, functional: str, damping: Damping = "bj") -> None:
        self._model = model
        self._parameters = d3_parameters(functional, damping)

    @property
    def properties(self) -> Properties:
        return self._model.properties

    @property
    def max_atoms_per_batch(self) -> int:
        return self._model.max_atoms_per_batch

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        """As `BatchCalculator.compute`.

        Raises:
            ValueError: an element that D3 has no parameters for.
        """
        check_elements(frames)
        answer = self._model.compute(frames, properties)
        energy = answer.energy.copy()
        forces = None if answer.forces is None else answer.forces.copy()
        stress = None if answer.stress is None else answer.stress.copy()
        errors = dict(answer.errors)
        for index in np.flatnonzero(answer.ok):
            try:
                added = self._of_frame(frames, int(index), forces is not None or stress is not None)
            except _Impossible as impossible:
                errors[int(index)] = FrameError(Cause.ERROR, "dispersion", str(impossible))
                continue
            energy[index] += added.energy
            if forces is not None and added.forces is not None:
                forces[frames.atom_slice(int(index))] += added.forces
            if stress is not None and added.stress is not None:
                stress[index] += added.stress
        summed = Predictions.checked(frames, energy, forces, stress, errors)
        # A failure of the model without a text stays the model's failure.
        return replace(summed, failure=np.where(answer.ok, summed.failure, answer.failure))

    def _of_frame(self, frames: Frames, index: int, gradient: bool) -> Dispersion:
        where = frames.atom_slice(index)
        return d3(
            frames.numbers[where],
            frames.positions[where],
            frames.cell[index],
            frames.pbc[index],
            self._parameters,
            gradient,
        )


def d3_parameters(functional: str, damping: Damping) -> Any:
    """The library's parameters of two-body D3 for `functional`.

    Raises:
        ValueError: it has none.
    """
    try:
        return _DAMPINGS[damping](method=functional, atm=False)
    except (RuntimeError, KeyError):
        raise ValueError(
            f"d3: simple-dftd3 has no parameters for functional {functional!r} with damping {damping!r}: "
            "state a functional as it names them (pbe, r2scan, b3lyp), or no d3"
        ) from None


def check_elements(frames: Frames) -> None:
    """Checks that D3 has parameters for all elements.

    Raises:
        ValueError: it lacks some; the line names the first such element.
    """
    last = int(frames.numbers.max(initial=0))
    if last > LAST_ELEMENT:
        raise ValueError(f"d3: there are no parameters for {chemical_symbols[last]}: state no d3 for these labels")


def d3(numbers: Any, positions: Float, cell: Float, pbc: Any, parameters: Any, gradient: bool = True) -> Dispersion:
    """The dispersion of one structure; stress where it is periodic in all directions.

    Args:
        numbers: (n,) at most `LAST_ELEMENT`.
        positions: (n, 3) [Å].
        cell: (3, 3) [Å].
        pbc: (3,) periodic directions.
        parameters: of `d3_parameters`.
    """
    lattice = _lattice(positions, cell, np.asarray(pbc, bool))
    try:
        if lattice is None:
            model = DispersionModel(numbers, positions / Bohr)
        else:
            model = DispersionModel(numbers, positions / Bohr, lattice / Bohr, np.ones(3, bool))
        model.set_realspace_cutoff(PAIR_CUTOFF / Bohr, COORDINATION_CUTOFF / Bohr, COORDINATION_CUTOFF / Bohr)
        results: Mapping[str, Any] = model.get_dispersion(parameters, grad=gradient)
    except RuntimeError as error:
        raise _Impossible(str(error)) from None
    energy = float(results["energy"]) * Hartree
    if not gradient:
        return Dispersion(energy, None, None)
    forces = np.asarray(results["gradient"]) * (-Hartree / Bohr)
    stress = None
    if lattice is not None and np.all(pbc):
        # The library's "virial" is dE/dε, so this is positive in tension, as ours.
        stress = np.asarray(results["virial"]).flat[_VOIGT] * (Hartree / abs(np.linalg.det(lattice)))
    return Dispersion(energy, forces, stress)


def _lattice(positions: Float, cell: Float, pbc: Any) -> Float | None:
    """(3, 3) [Å] a lattice for all three directions, None for a molecule.

    The library's own sum over fewer than three directions leaves images out (1.7.0: a chain of water molecules gets
    half its energy), so a direction that is not periodic gets a vector so long that its images are beyond the cutoff.
    """
    if not pbc.any():
        return None
    lattice = np.where(pbc[:, None], cell, 0.0)
    for direction in np.flatnonzero(~pbc):
        # Perpendicular to all the others, those already filled in among them.
        others = lattice[np.abs(lattice).sum(axis=1) > 0]
        normal = np.linalg.svd(others)[2][-1]
        heights = positions @ normal
        lattice[direction] = normal * (np.ptp(heights) + PAIR_CUTOFF + 1.0)
    volume = abs(np.linalg.det(lattice))
    areas = np.linalg.norm(np.cross(lattice[[1, 2, 0]], lattice[[2, 0, 1]]), axis=1)
    images = np.prod(2.0 * PAIR_CUTOFF * areas / max(volume, 1e-300) + 1.0)
    if not images <= MAX_IMAGES:
        raise _Impossible("the cell has collapsed")
    return np.asarray(lattice)


def d3_in_words(functional: str, damping: Damping) -> str:
    """The correction and the program that computes it, in words."""
    return f"DFT-D3({functional}, {damping}), two-body, of dftd3 {metadata.version('dftd3')}"
