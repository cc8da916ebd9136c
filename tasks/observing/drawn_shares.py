"""Shares of the stored volumes at which relaxations and runs begin, above 1 or below."""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Structures
from tasks.observing.question_order import generator_for
from tasks.structures.frames import Float


def drawn_shares(
    structures: Structures, observe_version: int, secret: bytes, away: tuple[float, float], *, balanced: bool
) -> Float:
    """(n,) shares of the volumes of n structures, drawn from `secret`; equal structures have equal ones.

    Args:
        away: least and largest distance from 1, in the logarithm.
        balanced: half of the different structures lie above 1 and half below, of an odd number either side has one
            more; False: each on its own, so that who guesses the side of one does not know that of another.
    """
    hashes = [structures.frames.take([index]).sha256() for index in range(len(structures.frames))]
    _, number = np.unique(hashes, return_inverse=True)
    n = int(number.max()) + 1
    rng = generator_for(structures.frames_sha256, observe_version, secret, "start")
    sides = rng.permutation(np.arange(n) % 2 * 2 - 1) * rng.choice([-1, 1]) if balanced else rng.choice([-1, 1], n)
    return np.asarray(np.exp(sides * rng.uniform(*away, n))[number])
