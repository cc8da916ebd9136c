"""Normalised metrics: 0 at the *bad* threshold and beyond, 1 at the *good* threshold and beyond.

ML-PEG lets the author of a benchmark pass any function of value, good and bad. Here a metric names an entry of
`NORMALISERS`, so that facts contain no code.

Source: ML-PEG, github.com/ddmms/ml-peg, docs/source/developer_guide/scoring_and_normalisation.rst at commit 01ef0cb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.tree import Float, Scale


class Normaliser(NamedTuple):
    """A way to normalise.

    Args:
        function: of values (...), good and bad; 1 at good, 0 at bad, capped, monotonic between them.
        words: its form between bad and good.
        positive: True if both thresholds must be above zero.
    """

    function: Callable[[Float, float, float], Float]
    words: str
    positive: bool = False


def linear(values: Float, good: float, bad: float) -> Float:
    """(values − bad) / (good − bad), capped at 0 and 1; good may be the larger or the smaller of the two."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _capped((np.asarray(values) - bad) / (good - bad))


def logarithmic(values: Float, good: float, bad: float) -> Float:
    """log(values / bad) / log(good / bad), capped at 0 and 1: for errors that span orders of magnitude."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return _capped((np.log(np.maximum(values, 0.0)) - np.log(bad)) / (np.log(good) - np.log(bad)))


NORMALISERS: Mapping[str, Normaliser] = {
    "linear": Normaliser(linear, "linear"),
    "logarithmic": Normaliser(logarithmic, "linear in the logarithm", positive=True),
}


@dataclass(frozen=True)
class BetweenThresholds(Scale):
    """The values normalised by the entry `normaliser` of `NORMALISERS`.

    Args:
        finite_only: an infinite value counts 0, even beyond good.
    """

    name = "between thresholds"
    normaliser: str
    good: float
    bad: float
    finite_only: bool

    def __call__(self, values: Float) -> Float:
        result = NORMALISERS[self.normaliser].function(values, self.good, self.bad)
        return np.where(np.isfinite(values), result, 0.0) if self.finite_only else result

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0


def _capped(t: Float) -> Float:
    # Written so that NaN counts 0.
    return np.where(t > 0.0, np.minimum(t, 1.0), 0.0)
