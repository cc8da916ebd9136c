"""Pairs of atoms with the same well for all elements, of a model without chemistry: Morse curves."""

from __future__ import annotations

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
        bond = r.min() ** (1.0 - self.place) * r.max() ** self.place
        decay = np.exp(-self.steepness * (r / bond - 1.0))
        energy = self.depth * ((1.0 - decay) ** 2 - 1.0)
        return DistanceCurve(r, energy, -2.0 * self.depth * self.steepness / bond * (1.0 - decay) * decay)


WELLS = [EqualWell(*well) for well in product(np.linspace(0.2, 0.9, 29).tolist(), (1.0, 2.5, 5.0), (4.0,))]
