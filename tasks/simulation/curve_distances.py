"""How far two equations of state lie apart: ε, ν and Δ; and the shape of an energy over the volume.

    ε = √(⟨(a − b)²⟩ / √(⟨(a − ⟨a⟩)²⟩ ⟨(b − ⟨b⟩)²⟩))
    ν = 100 √(δV² + (δB / 20)² + (δB′ / 400)²),   δx = 2 (x_a − x_b) / (x_a + x_b)
    Δ = √⟨(a − b)²⟩

a and b are the energies above the minimum of each, and ⟨⟩ the mean over volumes of 0.94 to 1.06 times the mean of the
two V0. Sources: ε and ν: E. Bosoni et al., Nat. Rev. Phys. 6, 45 (2024), doi:10.1038/s42254-023-00655-3, whose code has
⟨a⟩ in both factors, which changes ε by less than 0.02; Δ: K. Lejaeghere et al., Crit. Rev. Solid State Mater. Sci. 39,
1 (2014), doi:10.1080/10408436.2013.772503.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.metrics.group_statistics import spearman
from tasks.simulation.birch_murnaghan import EquationOfState, energy
from tasks.structures.frames import Float

LOWEST, HIGHEST = 0.94, 1.06
BULK_MODULUS_WEIGHT, DERIVATIVE_WEIGHT = 1 / 20, 1 / 400
# Exact for polynomials of degree 63: the curves are smooth in so narrow a range.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)


class CurveDistance(NamedTuple):
    """The distance of two equations of state.

    Args:
        epsilon: 0 for the same curve, 1 for curves that differ as much as they vary.
        nu: of the three parameters.
        delta: [eV], of whatever the volumes are of.
    """

    epsilon: float
    nu: float
    delta: float


def curve_distance(a: EquationOfState, b: EquationOfState) -> CurveDistance:
    """ε, ν and Δ; a bulk modulus or derivative may be negative, and then ν may be infinite."""
    middle = (a.v0 + b.v0) / 2
    volumes = middle * (1 + (HIGHEST - LOWEST) / 2 * _NODES)
    weights = _WEIGHTS / 2
    first, second = (energy(volumes, eos._replace(e0=0.0)) for eos in (a, b))
    squared = float(weights @ (first - second) ** 2)
    spreads = [float(weights @ (curve - weights @ curve) ** 2) for curve in (first, second)]
    with np.errstate(divide="ignore", invalid="ignore"):
        parameters = np.array([a.v0, a.b0_gpa, a.b0_prime]), np.array([b.v0, b.b0_gpa, b.b0_prime])
        relative = 2 * (parameters[0] - parameters[1]) / (parameters[0] + parameters[1])
    weighted = np.nan_to_num(relative) * (1.0, BULK_MODULUS_WEIGHT, DERIVATIVE_WEIGHT)
    return CurveDistance(
        float(np.sqrt(squared / np.sqrt(spreads[0] * spreads[1]))),
        float(100 * np.sqrt(weighted @ weighted)),
        float(np.sqrt(squared)),
    )


class ScanShape(NamedTuple):
    """The shape of energies over volumes, which is that of a single well at 1, 1, −1, 1 and 1.

    Args:
        flips: how often the energy turns.
        tortuosity: the way that the energy goes up and down, over that of a single well with its lowest point in the
            middle.
        compression: rank correlation of volume and energy below the middle.
        stiffening: of the volume and the steps of the energy between points, below the middle. At equal steps of the
            cell's lengths those of the volume differ, and a steep well may have a smaller one.
        tension: of volume and energy above the middle.
    """

    flips: float
    tortuosity: float
    compression: float
    stiffening: float
    tension: float


def scan_shape(volumes: Float, energies: Float) -> ScanShape:
    """The shape of energies (k,) [eV] at different volumes (k,) [Å³] in any order, k ≥ 5.

    The middle is that of the points, not the minimum. Source: MLIP Arena (github.com/atomind-ai/mlip-arena at 6239aea).
    """
    order = np.argsort(volumes)
    volume, value = volumes[order], energies[order]
    middle = len(value) // 2
    steps = np.diff(value)
    moving = np.sign(steps)[steps != 0.0]
    least = abs(value[0] - value[middle]) + abs(value[-1] - value[middle])
    way = float(np.abs(steps).sum())
    between = (volume[1:] + volume[:-1]) / 2
    return ScanShape(
        float(np.count_nonzero(np.diff(moving))),
        way / float(least) if least > 0 else (1.0 if way == 0.0 else np.inf),
        _correlation(volume[:middle], value[:middle]),
        _correlation(between[:middle], steps[:middle]),
        _correlation(volume[middle:], value[middle:]),
    )


def _correlation(volume: Float, values: Float) -> float:
    """Spearman's ρ with the volume; 0 for values that are all equal."""
    return spearman(values, volume) or 0.0
