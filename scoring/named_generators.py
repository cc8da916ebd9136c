"""Generators of random numbers that depend only on a seed and a name, not on other draws."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np


def seed_of(rng: np.random.Generator) -> list[int]:
    """The seed that the generators of `named_generator` share."""
    return [int(word) for word in rng.integers(0, 2**32, 4)]


def named_generator(seed: Sequence[int], *name: str) -> np.random.Generator:
    """A generator that depends only on the seed and the name."""
    digest = hashlib.sha256("\0".join(name).encode()).digest()
    return np.random.default_rng([*seed, *np.frombuffer(digest, "<u4").tolist()])
