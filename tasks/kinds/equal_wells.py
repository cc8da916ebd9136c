"""Pairs of atoms with the same well for all elements, of a model without chemistry: Morse curves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from tasks.kinds.diatomic_curves import DistanceCurve
from tasks.structures.frames import Float


class EqualWell(NamedTuple):
    """A Morse curve, E = D ((1 - exp(-s (r / r0 - 1)))² - 1).

    Args:
        place: of r0 on a logarithmic axis, from 0 at the shortest distance that is asked to 1 at the longest one.
        depth: D [eV].
        steepness: s.
    """

    place: float
    depth: float
    steepness: float

    def curve(self, r: Float) -> DistanceCurve:
        """The curve at the distances that are asked of a pair (n,) [Å]."""
        return morse(r, r.min() ** (1.0 - self.place) * r.max() ** self.place, self.depth, self.steepness)


def morse(r: Float, bond: float, depth: float, steepness: float) -> DistanceCurve:
    """A Morse curve as of `EqualWell` at the distances r (n,), with its minimum at `bond` [Å]."""
    decay = np.exp(-steepness * (r / bond - 1.0))
    energy = depth * ((1.0 - decay) ** 2 - 1.0)
    return DistanceCurve(r, energy, -2.0 * depth * steepness / bond * (1.0 - decay) * decay)


def typical_bond(r: Float, covalent_radius: float) -> DistanceCurve:
    """A well that is fitted to no reference: two covalent radii, which the windows are stated in, 2.5 eV deep."""
    return morse(r, 2.0 * covalent_radius, 2.5, 2.0)


def take_if_better(column: Float, judged: Sequence[int], errors: Float) -> None:
    """Puts the errors of the pairs `judged` in place of those in `column` (k,), if their mean is smaller."""
    counted = np.isfinite(column[judged])
    errors = np.where(np.isfinite(errors), errors, column[judged])
    if counted.any() and errors[counted].mean() < column[judged][counted].mean():
        column[judged] = np.where(counted, errors, np.nan)


WELLS = [EqualWell(*well) for well in product(np.linspace(0.2, 0.9, 29).tolist(), (1.0, 2.5, 5.0), (4.0,))]
