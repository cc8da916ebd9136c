"""The measures of one curve of energy and force over the distance of two atoms, alone and against a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from ase.data import atomic_masses
from ase.units import _amu, _c, _e

from tasks.datasets.diatomic_pairs import DiatomicReference
from tasks.simulation.diatomics import force_flips, tortuosity, turning_steps
from tasks.structures.frames import Bool, Float

# Of distances [Å]: files round them to six digits, and the first one may be the end of a window.
ROUNDING = 1e-9
N_EVEN = 200
WELL_POINTS = 5


class DistanceCurve(NamedTuple):
    """A curve at n increasing distances.

    Args:
        r: (n,) [Å].
        energy: (n,) [eV] from any zero; NaN where the model failed.
        force: (n,) that drives the atoms apart [eV/Å]; NaN where there is none.
    """

    r: Float
    energy: Float
    force: Float

    def inside(self, window: tuple[float, float]) -> Bool:
        """(n,) whether the distance is in a window (low, high) [Å]."""
        low, high = window
        return np.asarray((self.r >= low - ROUNDING) & (self.r <= high + ROUNDING))

    def between(self, window: tuple[float, float]) -> DistanceCurve:
        """The part in a window."""
        chosen = self.inside(window)
        return DistanceCurve(self.r[chosen], self.energy[chosen], self.force[chosen])

    @property
    def depth(self) -> float:
        """The last energy above the lowest [eV]."""
        return float(self.energy[-1] - self.energy.min())


class Turns(NamedTuple):
    """The turning points of a curve: their number, and the sum of the steps before and after each."""

    number: int
    jump: float


def reference_curve(reference: DiatomicReference) -> DistanceCurve:
    """The curve of a reference, with NaN for forces that it does not have."""
    r = np.array(reference.distances)
    force = np.array(reference.forces) if reference.forces else np.full(len(r), np.nan)
    return DistanceCurve(r, np.array(reference.energies), force)


class Well(NamedTuple):
    """The lowest place of a curve.

    Args:
        r: [Å].
        curvature: [eV/Å²]; NaN where it is not positive.
    """

    r: float
    curvature: float

    def wavenumber(self, numbers: Sequence[int]) -> float:
        """Of the harmonic vibration of two atoms of these elements [cm⁻¹]; NaN without a positive curvature."""
        first, second = (float(atomic_masses[z]) for z in numbers)
        reduced = first * second / (first + second) * _amu
        stiffness = self.curvature * _e * 1e20  # N/m
        return float(np.sqrt(stiffness / reduced) / (2.0 * np.pi * _c * 100.0))


def well_of(curve: DistanceCurve) -> Well:
    """The vertex of the parabola through the points about the lowest one, or that point if it lies outside of them."""
    lowest = int(np.argmin(curve.energy))
    start = min(max(0, lowest - WELL_POINTS // 2), len(curve.r) - WELL_POINTS)
    r, energy = curve.r[start : start + WELL_POINTS], curve.energy[start : start + WELL_POINTS]
    square, linear, _ = np.polyfit(r, energy - curve.energy[lowest], 2)
    if not square > 0.0:
        return Well(float(curve.r[lowest]), np.nan)
    vertex = -linear / (2.0 * square)
    inside = r[0] <= vertex <= r[-1]
    return Well(float(vertex if inside else curve.r[lowest]), float(2.0 * square))


def wall_radii(curve: DistanceCurve, heights: Sequence[float]) -> Float:
    """(len(heights),) distances [Å] at which the energy, going inwards, first exceeds its minimum by each height [eV].

    NaN for a height that it does not reach.
    """
    lowest = int(np.argmin(curve.energy))
    inwards = np.maximum.accumulate(curve.energy[lowest::-1] - curve.energy[lowest])
    rises, places = np.unique(inwards, return_index=True)
    radii = np.interp(heights, rises, curve.r[lowest::-1][places])
    return np.where(np.asarray(heights) <= rises[-1], radii, np.nan)


def wall_error(curve: DistanceCurve, reference: DistanceCurve, heights: Sequence[float]) -> float:
    """Mean difference [Å] of the radii at those heights that the reference reaches; NaN if it reaches none.

    A height that the curve does not reach counts with the whole radius of the reference.
    """
    if not np.isfinite(curve.energy).all():
        return np.nan
    right = wall_radii(reference, heights)
    reached = np.isfinite(right)
    errors = np.abs(wall_radii(curve, heights) - right)[reached]
    return float(np.where(np.isfinite(errors), errors, right[reached]).mean()) if reached.any() else np.nan


def turns_of(values: Float, smallest: float) -> Turns:
    """The turning points of `values` (n,), leaving out steps below `smallest` in size."""
    step = np.diff(values)
    before, after = turning_steps(step, smallest)
    return Turns(len(before), float((np.abs(step[before]) + np.abs(step[after])).sum()))


def is_jumpy(reference: DistanceCurve, smallest_step: float, most: Turns) -> bool:
    """Whether the energy of a reference turns as often as `most`, and also with as large a jump."""
    turns = turns_of(reference.energy, smallest_step)
    return turns.number >= most.number and turns.jump >= most.jump


def own_measures(curve: DistanceCurve, smallest_step: float, smallest_force: float) -> dict[str, float]:
    """The six measures that need no reference; those of the force are NaN without forces.

    The tortuosity of a flat curve is not defined, and NaN.
    """
    energy = turns_of(curve.energy, smallest_step)
    measures = {
        "tortuosity": tortuosity(curve.energy) if np.ptp(curve.energy) > 0.0 else np.nan,
        "energy_flips": float(energy.number),
        "energy_jump": energy.jump,
    }
    if not np.isfinite(curve.force).all():
        return measures | dict.fromkeys(("force_flips", "force_variation", "force_jump"), np.nan)
    return measures | {
        "force_flips": force_flips(curve.force, smallest_force),
        "force_variation": float(np.abs(np.diff(curve.force)).sum()),
        "force_jump": turns_of(curve.force, 0.0).jump,
    }


def curve_errors(curve: DistanceCurve, reference: DistanceCurve) -> dict[str, float]:
    """Mean absolute errors of energy and force over even distances in the common range, linearly interpolated.

    Each energy counts from the last of these distances. The error of the force is over all six components.
    """
    r = np.linspace(max(curve.r[0], reference.r[0]), min(curve.r[-1], reference.r[-1]), N_EVEN)
    energy, right = (np.interp(r, each.r, each.energy) for each in (curve, reference))
    force = np.interp(r, curve.r, curve.force) - np.interp(r, reference.r, reference.force)
    return {
        "curve_energy_mae": float(np.abs(energy - energy[-1] - right + right[-1]).mean()),
        "curve_force_mae": float(np.abs(force).mean()) / 3.0,
    }


def well_errors(
    curve: DistanceCurve, reference: DistanceCurve, numbers: Sequence[int], least_depth: float
) -> Mapping[str, float]:
    """Errors of bond length, depth and wavenumber; NaN if the reference is not bound by `least_depth` [eV].

    The error of the wavenumber is NaN if either curve has none.
    """
    names = ("pair_bond_length_mae", "well_depth_mae", "wavenumber_mae")
    if reference.depth < least_depth:
        return dict.fromkeys(names, np.nan)
    well, right = well_of(curve), well_of(reference)
    off = (well.r - right.r, curve.depth - reference.depth, well.wavenumber(numbers) - right.wavenumber(numbers))
    return {name: abs(float(value)) for name, value in zip(names, off, strict=True)}
