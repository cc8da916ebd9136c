"""Shares of the stored volumes at which relaxations and runs begin: half of them above 1 and half below."""

from __future__ import annotations

import numpy as np

from tasks.datasets.dataset import Structures
from tasks.observing.question_order import generator_for
from tasks.structures.frames import Float


def drawn_shares(structures: Structures, observe_version: int, secret: bytes, away: tuple[float, float]) -> Float:
    """(n,) shares of the volumes of n structures, drawn from `secret`; equal structures have equal ones.

    Of an odd number of different structures either side has one more.

    Args:
        away: least and largest distance from 1, in the logarithm.
    """
    hashes = [structures.frames.take([index]).sha256() for index in range(len(structures.frames))]
    _, number = np.unique(hashes, return_inverse=True)
    n = int(number.max()) + 1
    rng = generator_for(structures.frames_sha256, observe_version, secret, "start")
    sides = rng.permutation(np.arange(n) % 2 * 2 - 1) * rng.choice([-1, 1])
    return np.asarray(np.exp(sides * rng.uniform(*away, n))[number])
