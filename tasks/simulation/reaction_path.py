"""Minimum-energy paths of reactions: nudged elastic bands (NEB) by ASE, one batch for all images of a step.

First both ends relax. Images between them come from a straight line or from the image-dependent pair potential (IDPP;
S. Smidstrup et al., J. Chem. Phys. 140, 214106 (2014), doi:10.1063/1.4878664). Then the band relaxes with improved
tangents (G. Henkelman and H. Jónsson, J. Chem. Phys. 113, 9978 (2000), doi:10.1063/1.1323224), and again while its
highest image climbs (G. Henkelman et al., J. Chem. Phys. 113, 9901 (2000), doi:10.1063/1.1329672).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from ase import Atoms
from ase.calculators.singlepoint import SinglePointCalculator
from pydantic import Field, PositiveFloat, PositiveInt

from tasks.kind import Parameters, Watch
from tasks.model.calculator import AseCalculator, BatchCalculator, ItemFailed
from tasks.simulation.lockstep_batches import Done, Job, run_concurrently
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, Properties

PROPERTIES: Properties = ("energy", "forces")


class BandSettings(Parameters):
    """How a path is found. The defaults are MLIPAudit's (0.1.8).

    Args:
        n_images: with both ends.
        interpolation: between the ends, and the transition state that is given.
        spring: constant [eV/Å²].
        end_fmax, end_steps: both ends relax until no force is larger [eV/Å], or for that many steps.
        fmax, steps: of the band, before its highest image climbs.
        climbing_fmax, climbing_steps: of the band while it climbs: the path has converged if no force of the band is
            larger.
        max_step: of one atom [Å].
    """

    n_images: int = Field(10, ge=3)
    interpolation: Literal["linear", "idpp"] = "idpp"
    spring: PositiveFloat = 0.1
    end_fmax: PositiveFloat = 0.01
    end_steps: int = Field(50, ge=0)
    fmax: PositiveFloat = 0.5
    steps: int = Field(500, ge=0)
    climbing_fmax: PositiveFloat = 0.05
    climbing_steps: PositiveInt = 500
    max_step: PositiveFloat = 0.03


class Ends(NamedTuple):
    """A reaction.

    Args:
        start, end: the reactant and the product, with the same atoms in the same order.
        middle: a guess of the transition state, through which the first band goes; None: there is none.
    """

    start: Atoms
    end: Atoms
    middle: Atoms | None = None


class ReactionPath(NamedTuple):
    """The last band of a search, converged or not.

    Args:
        positions: (m, N, 3) [Å] of its images.
        energies: (m,) [eV].
        converged: whether the climbing band has converged.
        residual: the largest force of the band on an atom [eV/Å].
        steps: of both searches.
    """

    positions: Float
    energies: Float
    converged: bool
    residual: float
    steps: int


def reaction_path(ends: Ends, model: BatchCalculator, settings: BandSettings) -> ReactionPath:
    """The path between the relaxed ends.

    Raises:
        ValueError: the ends have other atoms, cells or boundary conditions.
        ItemFailed: the model failed on a structure on the way.
    """
    from ase.mep import NEB  # these take long to import, and most commands search no path
    from ase.optimize import BFGS

    _check(ends)
    relaxed = [_relaxed_end(atoms, model, settings) for atoms in (ends.start, ends.end)]
    images = _first_band(relaxed[0], relaxed[1], ends.middle, settings)

    class Band(NEB):
        """A band whose images are answered together."""

        def get_forces(self) -> Any:
            answer_images(images, model)
            return super().get_forces()  # type: ignore[no-untyped-call]

    steps = 0
    stages = ((False, settings.fmax, settings.steps), (True, settings.climbing_fmax, settings.climbing_steps))
    for climb, fmax, limit in stages:
        band = Band(images, k=settings.spring, climb=climb, method="improvedtangent")  # type: ignore[no-untyped-call]
        optimizer = BFGS(cast(Any, band), logfile=None, maxstep=settings.max_step)
        converged = bool(optimizer.run(fmax=fmax, steps=limit))
        steps += optimizer.nsteps
    residual = float(np.sqrt((band.get_forces() ** 2).sum(axis=1).max()))
    energies = np.array([image.get_potential_energy() for image in images])
    return ReactionPath(np.array([image.positions for image in images]), energies, converged, residual, steps)


def first_band(ends: Ends, settings: BandSettings) -> list[Atoms]:
    """The images of the first band between ends that are not relaxed.

    Raises:
        ValueError: as of `reaction_path`.
    """
    _check(ends)
    return _first_band(ends.start, ends.end, ends.middle, settings)


def reaction_paths(
    reactions: Sequence[Ends], model: BatchCalculator, settings: BandSettings, watch: Watch
) -> list[Done[ReactionPath]]:
    """The paths of all reactions, in lock-step: one question for all images of all of them."""

    def job(ends: Ends) -> Job[ReactionPath]:
        return Job(len(ends.start) * (settings.n_images - 2), lambda lane: reaction_path(ends, lane, settings))

    for ends in reactions:
        _check(ends)
    return run_concurrently([job(ends) for ends in reactions], model, watch, "reactions")


def answer_images(images: Sequence[Atoms], model: BatchCalculator) -> None:
    """Gives the images that have moved since the model last answered, and those that are new, their energy and forces.

    Raises:
        ItemFailed: the model failed on one of them.
    """
    moved = [image for image in images if image.calc is None or image.calc.check_state(image)]
    if not moved:
        return
    answer = model.compute(Frames.from_atoms(moved), PROPERTIES)
    if not answer.ok.all() or answer.forces is None:
        failed = answer.failure[answer.failure != 0]
        raise ItemFailed(Cause(int(failed[0])) if failed.size else Cause.UNSUPPORTED)
    forces = np.split(answer.forces, np.cumsum([len(image) for image in moved])[:-1])
    for image, energy, force in zip(moved, answer.energy, forces, strict=True):
        image.calc = SinglePointCalculator(image, energy=float(energy), forces=force)


def _check(ends: Ends) -> None:
    for name, other in (("the end", ends.end), ("the middle", ends.middle)):
        if other is None:
            continue
        if not np.array_equal(ends.start.numbers, other.numbers):
            raise ValueError(f"reaction path: {name} has other atoms than the start: give the same order of atoms")
        if not (np.array_equal(ends.start.pbc, other.pbc) and np.allclose(ends.start.cell, other.cell, atol=1e-8)):
            raise ValueError(f"reaction path: {name} has another cell than the start: give all of them one cell")


def _relaxed_end(atoms: Atoms, model: BatchCalculator, settings: BandSettings) -> Atoms:
    from ase.optimize import BFGS

    end: Atoms = atoms.copy()
    end.calc = AseCalculator(model, PROPERTIES)
    BFGS(end, logfile=None).run(fmax=settings.end_fmax, steps=settings.end_steps)
    end.calc = None
    return end


def _first_band(start: Atoms, end: Atoms, middle: Atoms | None, settings: BandSettings) -> list[Atoms]:
    """The images of the first band; with a middle they go through it, and one more before it than after it."""
    if middle is None:
        return _interpolated(start, end, settings.n_images, settings.interpolation)
    before = settings.n_images // 2 + 1
    first = _interpolated(start, middle, before, settings.interpolation)
    return first + _interpolated(middle, end, settings.n_images - before + 1, settings.interpolation)[1:]


def _interpolated(first: Atoms, last: Atoms, n: int, method: str) -> list[Atoms]:
    from ase.mep.neb import NEB, idpp_interpolate, interpolate

    images = [first.copy() for _ in range(n - 1)] + [last.copy()]
    periodic = bool(first.pbc.any())
    interpolate(images, mic=periodic, apply_constraint=False)
    if method == "idpp" and n > 2:
        idpp_interpolate(NEB(images, method="improvedtangent"), traj=None, log=None, mic=periodic)
    for image in images:
        image.calc = None
    return images
