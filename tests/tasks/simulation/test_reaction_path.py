"""Nudged elastic bands on the Müller–Brown potential, and beside ASE's own on a metal surface."""

from __future__ import annotations

import time

import numpy as np
import pytest
from ase import Atoms
from ase.build import add_adsorbate, fcc100
from ase.calculators.emt import EMT
from ase.constraints import FixAtoms
from ase.mep import NEB
from ase.mep.neb import interpolate
from ase.optimize import BFGS

from tasks.kind import Watch
from tasks.model.calculator import InProcessCalculator, ItemFailed
from tasks.simulation.reaction_path import BandSettings, Ends, answer_images, reaction_path, reaction_paths
from tasks.structures.frames import Float, Frames
from tasks.structures.predictions import Cause, FrameError, Predictions, Properties

# K. Müller and L. D. Brown, Theor. Chim. Acta 53, 75 (1979), doi:10.1007/BF00547608
HEIGHT, A, B, C = (-2, -1, -1.7, 0.15), (-1, -1, -6.5, 0.7), (0, 0, 11, 0.6), (-10, -10, -6.5, 0.7)
X0, Y0 = (1, 0, -0.5, -1), (0, 0.5, 1.5, 1)
MINIMA = ((-0.558, 1.442), (-0.050, 0.467), (0.623, 0.028))
ENERGIES, SADDLES = (-1.4670, -0.8077, -1.0817), (-0.4066, -0.7225)  # at a hundredth of the published height


def muller_brown(x: Float, y: Float) -> tuple[Float, Float, Float]:
    """Energies and their derivatives, (n,) each."""
    energy = dx = dy = np.zeros_like(x)
    for height, a, b, c, x0, y0 in zip(HEIGHT, A, B, C, X0, Y0, strict=True):
        term = height * np.exp(a * (x - x0) ** 2 + b * (x - x0) * (y - y0) + c * (y - y0) ** 2)
        energy = energy + term
        dx = dx + term * (2 * a * (x - x0) + b * (y - y0))
        dy = dy + term * (b * (x - x0) + 2 * c * (y - y0))
    return energy, dx, dy


class Landscape:
    """Atoms on the Müller–Brown potential; counts questions, and fails right of `wall`."""

    properties: Properties = ("energy", "forces")
    max_atoms_per_batch = 1000

    def __init__(self, wall: float = np.inf) -> None:
        self.wall, self.sizes = wall, list[int]()

    def compute(self, frames: Frames, properties: Properties) -> Predictions:
        self.sizes.append(len(frames))
        x, y = frames.positions[:, 0], frames.positions[:, 1]
        energy, dx, dy = muller_brown(x, y)
        errors = {int(i): FrameError(Cause.ERROR, "ValueError", "wall") for i in np.flatnonzero(x > self.wall)}
        return Predictions.checked(frames, energy, -np.stack([dx, dy, 0 * x], axis=1), None, errors)


def reaction(first: int, last: int) -> Ends:
    start, end = (Atoms("H", positions=[(*MINIMA[i], 0.0)]) for i in (first, last))
    return Ends(start, end)


SETTINGS = BandSettings(n_images=9, interpolation="linear", spring=1.0, climbing_fmax=0.01, end_fmax=0.001)


def test_the_saddles_of_muller_and_brown_are_found() -> None:
    for first, last, saddle in ((0, 1, SADDLES[0]), (1, 2, SADDLES[1])):
        path = reaction_path(reaction(first, last), Landscape(), SETTINGS)
        assert path.converged
        assert path.residual < SETTINGS.climbing_fmax
        assert path.energies[0] == pytest.approx(ENERGIES[first], abs=1e-4)
        assert path.energies[-1] == pytest.approx(ENERGIES[last], abs=1e-4)
        assert path.energies.max() == pytest.approx(saddle, abs=1e-4)


def test_all_images_of_all_reactions_go_in_one_batch() -> None:
    together, alone = Landscape(), Landscape()
    reactions = [reaction(0, 1), reaction(1, 2)]
    paths = reaction_paths(reactions, together, SETTINGS, Watch(time.monotonic))
    for one, end in zip(reactions, paths, strict=True):
        path = reaction_path(one, alone, SETTINGS)
        assert end.value is not None
        np.testing.assert_array_equal(end.value.positions, path.positions)
    assert max(together.sizes) >= 2 * (SETTINGS.n_images - 2)
    assert len(together.sizes) < 0.8 * len(alone.sizes)


def adatom() -> Ends:
    """Gold that hops from one hollow of an aluminium surface to the next, from ASE's documentation."""
    slab = fcc100("Al", size=(2, 2, 3))  # type: ignore[no-untyped-call]
    add_adsorbate(slab, "Au", 1.7, "hollow")  # type: ignore[no-untyped-call]
    slab.center(axis=2, vacuum=4.0)
    slab.set_constraint(FixAtoms(mask=[atom.tag > 1 for atom in slab]))
    moved = slab.copy()
    moved[-1].x += moved.get_cell()[0, 0] / 2
    return Ends(slab, moved)


def test_the_band_is_the_one_that_ase_finds() -> None:
    ends = adatom()
    settings = BandSettings(n_images=5, interpolation="linear", climbing_fmax=0.05)
    path = reaction_path(ends, InProcessCalculator(EMT()), settings)  # type: ignore[no-untyped-call]
    images = []
    for atoms in (ends.start, ends.end):
        end = atoms.copy()
        end.calc = EMT()  # type: ignore[no-untyped-call]
        BFGS(end, logfile=None).run(fmax=settings.end_fmax, steps=settings.end_steps)
        images.append(end)
    images[1:1] = [images[0].copy() for _ in range(3)]
    interpolate(images, mic=True, apply_constraint=False)
    for image in images[1:-1]:
        image.calc = EMT()  # type: ignore[no-untyped-call]
    for climb, fmax, steps in ((False, settings.fmax, 500), (True, settings.climbing_fmax, 500)):
        band = NEB(images, k=settings.spring, climb=climb, method="improvedtangent")
        BFGS(band, logfile=None, maxstep=settings.max_step).run(fmax=fmax, steps=steps)
    assert path.converged
    np.testing.assert_allclose(path.positions, [image.positions for image in images], atol=1e-6)
    barrier = max(image.get_potential_energy() for image in images) - images[0].get_potential_energy()
    assert path.energies.max() - path.energies[0] == pytest.approx(barrier, abs=1e-8)
    assert barrier == pytest.approx(0.37, abs=0.01)


def test_the_band_goes_through_the_transition_state_that_is_given() -> None:
    start, end = Atoms("H2", [(0, 0, 0), (1.0, 0, 0)]), Atoms("H2", [(0, 0, 0), (3.0, 0, 0)])
    middle = Atoms("H2", [(0, 0, 0), (1.5, 1.0, 0)])
    seen: list[Float] = []

    class Flat(Landscape):
        def compute(self, frames: Frames, properties: Properties) -> Predictions:
            seen.append(frames.positions.reshape(len(frames), -1, 3))
            return Predictions.checked(frames, np.zeros(len(frames)), 0 * frames.positions, None, {})

    path = reaction_path(Ends(start, end, middle), Flat(), BandSettings())
    assert path.positions.shape == (10, 2, 3)
    np.testing.assert_allclose(path.positions[5], middle.positions, atol=1e-12)


def test_a_model_that_fails_on_the_way_fails_the_reaction_alone() -> None:
    ends = reaction_paths([reaction(0, 1), reaction(1, 2)], Landscape(0.4), SETTINGS, Watch(time.monotonic))
    assert [end.cause for end in ends] == [Cause.NONE, Cause.ERROR]
    with pytest.raises(ItemFailed):
        answer_images([Atoms("H", [(1.0, 0, 0)])], Landscape(0.4))


def test_a_band_that_does_not_converge_says_so() -> None:
    settings = SETTINGS.model_copy(update={"steps": 1, "climbing_steps": 1})
    path = reaction_path(reaction(0, 2), Landscape(), settings)
    assert not path.converged
    assert path.residual > SETTINGS.climbing_fmax
    assert path.steps == 2


def test_bad_input_is_named() -> None:
    ends = reaction(0, 1)
    with pytest.raises(ValueError, match="the end has other atoms than the start: give the same order of atoms"):
        reaction_path(ends._replace(end=Atoms("He")), Landscape(), SETTINGS)
    with pytest.raises(ValueError, match="the middle has another cell than the start: give all of them one cell"):
        reaction_path(ends._replace(middle=Atoms("H", cell=[3, 3, 3], pbc=True)), Landscape(), SETTINGS)
