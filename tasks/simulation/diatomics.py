"""Homonuclear diatomics: measures of a curve of energy and force over distance, which need no reference.

Two atoms of an element have one well. So from the wall outwards the energy falls once and rises once, the force changes
sign once, and the energy is the integral of the force. The measures follow MLIP Arena 0.2.0 (Y. Chiang et al.,
arXiv:2509.20630) with two changes: its energy jump includes the physical well, and its conservation is the mean of
|dE/dr + F| in eV/Å. For energies E(r) and radial forces F(r), positive if repulsive, at increasing distances r:

    force flips     sign changes of F, leaving out |F| < 10 meV/Å; `extra_flips` is their difference from one. Zero is
                    as wrong as two: the pair collapses, or does not bind at all
    tortuosity      Σ |ΔE| / (E(first) − min E + E(last) − min E): 1 for a single well or a monotonic curve
    energy jump     Σ (|ΔE| before + |ΔE| after) over the turning points of E, leaving out |ΔE| < 1 meV and the
                    lowest minimum. A smooth wiggle, finely sampled, turns in small steps; a discontinuity does not
    conservation    mean over distances of |dE/dr + F| / max(|F|, |dE/dr|, 1 eV/Å): relative where the curve is steep,
                    so that the wall does not dominate, and in eV/Å elsewhere

The distances are MLIP Arena's, with the upper bound of LAMBench (diatomics.py at commit 4e8aab5): from 0.9 covalent
radii to 3.1 van der Waals radii (S. Alvarez, Dalton Trans. 42, 8617 (2013), doi:10.1039/c3dt50599e), at most 6 Å;
geometrically spaced, so that the wall is resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from ase.data import atomic_numbers, covalent_radii, vdw_alvarez
from numpy.typing import NDArray

from tasks.structures.frames import Float, Frames, Int

SHORTEST_IN_COVALENT_RADII, LONGEST_IN_VDW_RADII, LONGEST = 0.9, 3.1, 6.0  # Å
SMALLEST_FORCE = 1e-2  # eV/Å
SMALLEST_STEP = 1e-3  # eV
WEAK_FORCE = 1.0  # eV/Å: below it, a deviation of the force counts as it is


class CurveMeasures(NamedTuple):
    """The measures of a curve; NaN if an energy, or a force that is needed, is not finite.

    Args:
        force_flips: sign changes of the force.
        extra_flips: |force_flips − 1|.
        energy_jump: [eV].
        conservation: deviation of the force from −dE/dr, a pure number.
    """

    force_flips: float
    extra_flips: float
    tortuosity: float
    energy_jump: float
    conservation: float


class DiatomicCurve(NamedTuple):
    """The energy of a pair over its distance.

    Args:
        symbol: of the element.
        distances: (n,) [Å], increasing.
        energies: (n,) [eV] relative to the largest distance; NaN where the model failed, and everywhere if it failed
            at the largest distance.
    """

    symbol: str
    distances: Float
    energies: Float


def pair_window(
    numbers: Sequence[int],
    shortest: float = SHORTEST_IN_COVALENT_RADII,
    longest_in_vdw_radii: float = LONGEST_IN_VDW_RADII,
    longest: float = LONGEST,
) -> tuple[float, float]:
    """The smallest and the largest distance [Å] at which two atoms are judged; radii are means over both elements.

    Args:
        numbers: atomic numbers of the two.
        shortest: in covalent radii.
        longest: [Å], also where an element has no van der Waals radius.
    """
    # ASE's table ends before the heaviest elements, and holds NaN where Alvarez has none.
    vdw = [vdw_alvarez.vdw_radii[z] if z < len(vdw_alvarez.vdw_radii) else np.nan for z in numbers]
    low = shortest * np.mean([covalent_radii[z] for z in numbers])
    return float(low), float(np.fmin(longest_in_vdw_radii * np.mean(vdw), longest))


def distances(symbol: str, n: int) -> Float:
    """(n,) geometrically spaced, increasing distances [Å] of two atoms of an element."""
    return np.geomspace(*pair_window([atomic_numbers[symbol]] * 2), n)


def diatomic_frames(symbols: Sequence[str], n: int, box: float) -> Frames:
    """len(symbols) × n structures: each pair at all its distances, along x in the middle of a periodic cube `box` [Å].

    Periodic, since many models support nothing else; without effect as long as `box` is far longer than the cutoff.
    """
    half = np.concatenate([distances(symbol, n) for symbol in symbols]) / 2.0
    positions = np.full((len(half), 2, 3), box / 2.0)
    positions[:, 0, 0] -= half
    positions[:, 1, 0] += half
    return _in_boxes(np.repeat([atomic_numbers[symbol] for symbol in symbols], 2 * n), positions, box)


def pair_frames(numbers: Sequence[tuple[int, int]], r: Float, box: float) -> Frames:
    """Structures of k pairs of elements, each at its n distances `r` (k, n) [Å], in a periodic cube `box` [Å].

    The first atom is at the origin, where single precision is finest, and the second one on the axis x.
    """
    positions = np.zeros((r.size, 2, 3))
    positions[:, 1, 0] = r.ravel()
    return _in_boxes(np.repeat(np.array(numbers), r.shape[1], axis=0).ravel(), positions, box)


def _in_boxes(numbers: Int, positions: Float, box: float) -> Frames:
    n = len(positions)
    return Frames.from_arrays(
        {
            "n_atoms": np.full(n, 2),
            "numbers": numbers,
            "positions": positions.reshape(-1, 3),
            "cell": np.tile(np.eye(3) * box, (n, 1, 1)),
            "pbc": np.ones((n, 3), np.bool_),
        }
    )


def radial_force(forces: Float) -> Float:
    """(…,) [eV/Å] the force that drives two atoms along x apart, from their forces (…, 2, 3).

    Negative if attractive; NaN if any of the six components is not finite.
    """
    radial = (forces[..., 1, 0] - forces[..., 0, 0]) / 2.0
    return np.asarray(np.where(np.isfinite(forces).all(axis=(-1, -2)), radial, np.nan))


def relative_energies(energy: Float, failed: NDArray[np.bool_]) -> Float:
    """(k, n) energies [eV] of k pairs relative to their largest, the last, distance.

    NaN where `failed` (k, n) or not finite, and for the whole pair if that holds at the last distance.
    """
    known = np.where(failed, np.nan, energy)
    with np.errstate(over="ignore", invalid="ignore"):  # absurd energies become inf or NaN
        relative = known - known[:, -1:]
    return np.where(np.isfinite(relative), relative, np.nan)


def measures(r: Float, energy: Float, force: Float) -> CurveMeasures:
    """The measures of a curve (n,) of `energy` [eV] and radial `force` [eV/Å] at increasing, geometric `r` [Å].

    NaN forces (of a model without forces) leave only the measures of the energy.
    """
    flips = jump = length = deviation = np.nan
    if np.isfinite(energy).all():
        length, jump = tortuosity(energy), energy_jump(energy)
        if np.isfinite(force).all():
            flips, deviation = force_flips(force), conservation(r, energy, force)
    return CurveMeasures(flips, abs(flips - 1.0), length, jump, deviation)


def force_flips(force: Float, smallest: float = SMALLEST_FORCE) -> float:
    """The sign changes of the force (n,) [eV/Å], leaving out those below `smallest` in size."""
    sign = np.sign(force[np.abs(force) >= smallest])
    return float(np.count_nonzero(np.diff(sign)))


def tortuosity(energy: Float) -> float:
    """The way that the energy (n,) [eV] goes up and down, over the least possible way; 1 for a flat curve."""
    span = float(energy[0] - energy.min() + energy[-1] - energy.min())
    way = float(np.abs(np.diff(energy)).sum())
    return way / span if span > 0.0 else 1.0


def energy_jump(energy: Float) -> float:
    """[eV] the steps on both sides of each turning point of the energy (n,) except its lowest minimum."""
    step = np.diff(energy)
    before, after = turning_steps(step, SMALLEST_STEP)
    lowest = int(np.argmin(energy))
    # The energy may be flat between two steps that are kept, and its lowest point anywhere between them.
    well = (before < lowest) & (lowest <= after)
    return float((np.abs(step[before]) + np.abs(step[after]))[~well].sum())


def turning_steps(step: Float, smallest: float) -> tuple[Int, Int]:
    """Indices (t,) of the steps before and after each turning point, among `step` (n,) of at least `smallest` in size.

    Steps of zero are left out in any case.
    """
    kept = np.flatnonzero((np.abs(step) >= smallest) & (step != 0.0))
    before, after = kept[:-1], kept[1:]
    turns = np.sign(step[before]) != np.sign(step[after])
    return before[turns], after[turns]


def conservation(r: Float, energy: Float, force: Float) -> float:
    """Mean over the inner distances of |dE/dr + F| / max(|F|, |dE/dr|, 1 eV/Å).

    dE/dr is (E(next) − E(last)) / (r(next) − r(last)), and F its mean between them by Simpson's rule in ln r, in which
    the distances are equidistant. Its error is of fourth order, so that on 100 distances a wall of r⁻¹² adds 1e-3.
    """
    width = r[2:] - r[:-2]
    slope = (energy[2:] - energy[:-2]) / width
    weight = np.log(r[2:] / r[:-2]) / 6.0 / width
    work = force * r
    mean = weight * (work[:-2] + 4.0 * work[1:-1] + work[2:])
    scale = np.maximum(np.maximum(np.abs(mean), np.abs(slope)), WEAK_FORCE)
    return float(np.mean(np.abs(slope + mean) / scale))
