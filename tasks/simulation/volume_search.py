"""The search for the minimum of an energy over the volume, and the volumes of an equation of state around it.

Where the search begins is drawn, and all that it asks follows from there and from the answers, so that the volumes tell
nothing of a reference. It has three parts:

1. Four volumes about the drawn centre, then further ones downhill, until the lowest energy lies between two others.
2. Four volumes about the estimate of that minimum, again until it lies between them.
3. The volumes of the equation of state, as shares of the minimum. If the fit finds the minimum elsewhere, they are
   asked again about that one.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from tasks.simulation.birch_murnaghan import fit
from tasks.structures.frames import Float

# Shares of a volume, in its logarithm. A centre is this far from the middle of the volumes of the data set, on either
# side: who takes the centre for the minimum is 8 % off in the mean, and at least 5 %.
NEAREST, FARTHEST = 0.05, 0.11
SPACINGS = (0.05, 0.07)  # of the first volumes
GROWTH = 1.5  # of the spacing, with each step downhill
LIMIT = 0.5  # of a search, from its centre
ROUNDING = 1e-9
N_FIRST, N_REFINED = 4, 4
REFINED = 0.04  # half the span of the second part
SETTLED = 2e-4  # between the centre of the last volumes and the minimum of their fit
MOST_REFINEMENTS, MOST_CURVES = 4, 3
# The volumes that a search usually asks in its first two parts, for estimates of time.
USUAL_STEPS = 9.0

Search = Generator[Float, Float, Float | None]
"""It yields volumes, gets their energies, and returns the volumes of the equation of state; None: no minimum.

They are those that it asked last.
"""


class SearchStart(NamedTuple):
    """What is drawn of a search.

    Args:
        centre: volume, in the unit of the search.
        spacing: of the first volumes, in their logarithm.
    """

    centre: float
    spacing: float


def draw_start(middle: float, rng: np.random.Generator) -> SearchStart:
    """The start of a search from the `middle` of the volumes of the data set."""
    away = rng.choice([-1.0, 1.0]) * rng.uniform(NEAREST, FARTHEST)
    return SearchStart(middle * float(np.exp(away)), float(rng.uniform(*SPACINGS)))


def search_volumes(start: SearchStart, shares: Float) -> Search:
    """The volumes of the equation of state: `shares` (k,) of the minimum that the energies have.

    None if the energies have no minimum within `LIMIT` of the centre.
    """
    bracket = yield from _bracket(start)
    if bracket is None:
        return None
    lowest = _minimum(*bracket)
    for _ in range(MOST_REFINEMENTS):
        before, volumes = lowest, lowest * np.exp(np.linspace(-REFINED, REFINED, N_REFINED))
        lowest = _minimum(volumes, (yield volumes))
        if not _within_limit(lowest, start):
            return None
        if abs(np.log(lowest / before)) < REFINED / 2:
            break
    for _ in range(MOST_CURVES):
        volumes = lowest * shares
        eos = fit(volumes, (yield volumes))
        if eos is None or abs(np.log(eos.v0 / lowest)) < SETTLED or not _within_limit(eos.v0, start):
            break
        lowest = eos.v0
    return volumes


def _bracket(start: SearchStart) -> Generator[Float, Float, tuple[Float, Float] | None]:
    """Volumes and energies whose lowest one lies between two others, of which at most two on each side are kept."""
    volumes = start.centre * np.exp(start.spacing * (np.arange(N_FIRST) - (N_FIRST - 1) / 2))
    energies, step = (yield volumes), start.spacing
    while (lowest := int(np.argmin(energies))) in (0, len(volumes) - 1):
        step *= GROWTH
        down = lowest == 0
        reached = np.log(volumes[lowest] / start.centre)
        if abs(reached) >= LIMIT - ROUNDING:
            return None
        new = start.centre * np.exp([max(reached - step, -LIMIT) if down else min(reached + step, LIMIT)])
        at = 0 if down else len(volumes)
        volumes, energies = np.insert(volumes, at, new), np.insert(energies, at, (yield new))
    near = slice(max(lowest - 2, 0), lowest + 3)
    return volumes[near], energies[near]


def _within_limit(volume: float, start: SearchStart) -> bool:
    return bool(abs(np.log(volume / start.centre)) <= LIMIT)


def _minimum(volumes: Float, energies: Float) -> float:
    """The volume of the minimum near the lowest of the energies (k,), at ascending `volumes`.

    It is that of their equation of state, else of the parabola through the lowest and its neighbours; at an end it is
    the volume there.
    """
    lowest = int(np.argmin(energies))
    if lowest in (0, len(volumes) - 1):
        return float(volumes[lowest])
    near = slice(lowest - 1, lowest + 2)
    eos = fit(volumes, energies)
    if eos is not None and volumes[near][0] < eos.v0 < volumes[near][-1]:
        return eos.v0
    x, y = np.log(volumes[near] / volumes[lowest]), energies[near] - energies[lowest]
    slopes = y[[0, 2]] / x[[0, 2]]
    curvature = (slopes[1] - slopes[0]) / (x[2] - x[0])
    if not curvature > 0:
        return float(volumes[lowest])
    return float(volumes[lowest] * np.exp(-(slopes[0] - curvature * x[0]) / (2 * curvature)))
