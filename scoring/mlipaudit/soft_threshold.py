"""The soft threshold: a score of 1 up to the threshold, an exponential decay beyond."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from scoring.errors import ScoringError

Float = NDArray[np.float64]
ALPHA = 3.0
HILL_EXPONENT = 1.5  # of the speed score of MLIPAudit 0.1.8


class Rule(StrEnum):
    """How a value becomes a score in 0..1."""

    SOFT_THRESHOLD = "soft threshold"
    """1 up to the threshold t, exp(-alpha (x - t)/t) beyond."""
    DECAY = "decay"
    """exp(-alpha x/t): perfect only at 0."""
    HILL = "Hill"
    """1/(1 + (x/t)^1.5): a half at t."""
    STEP = "step"
    """1 below t, else 0."""
    SCORE = "score"
    """The value is a score already."""


class Direction(StrEnum):
    """Which values are good."""

    SMALLER_IS_BETTER = "smaller is better"
    LARGER_IS_BETTER = "larger is better"


def item_scores(
    values: Sequence[float | None] | Float,
    threshold: float,
    alpha: float = ALPHA,
    direction: Direction = Direction.SMALLER_IS_BETTER,
    rule: Rule = Rule.SOFT_THRESHOLD,
) -> Float:
    """(n,) the score of each value, in 0..1; 0 if it is None, NaN or infinite.

    If larger is better, the threshold is mirrored: 1 from t on, exp(-alpha (t - x)/t) below.

    Args:
        values: (n,), in the unit of the threshold, none negative.
        threshold: t > 0; ignored if the value is a score already.
        alpha: how steeply scores fall beyond the threshold, positive.

    Raises:
        ScoringError: threshold or alpha is not positive and finite, or a value is negative.

    Source: MLIPAudit, https://instadeepai.github.io/mlipaudit/scores; this judge adds the mirrored form.
    """
    _require_positive("threshold", threshold)
    _require_positive("alpha", alpha)
    x = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
    if (x < 0).any():
        raise ScoringError(f"values: {x[x < 0][0]:g} is negative; give errors as magnitudes")
    finite = np.isfinite(x)
    # The threshold stands in for other values: any finite number would do, since their scores are not used.
    scores = _scores(np.where(finite, x, threshold), threshold, alpha, direction, rule)
    return np.where(finite, scores, 0.0)


def _scores(x: Float, t: float, alpha: float, direction: Direction, rule: Rule) -> Float:
    with np.errstate(over="ignore", under="ignore"):
        match rule:
            case Rule.SOFT_THRESHOLD:
                beyond = x - t if direction is Direction.SMALLER_IS_BETTER else t - x
                return np.asarray(np.exp(-alpha * np.maximum(beyond, 0.0) / t))
            case Rule.DECAY:
                return np.asarray(np.exp(-alpha * x / t))
            case Rule.HILL:
                return np.asarray(1.0 / (1.0 + (x / t) ** HILL_EXPONENT))
            case Rule.STEP:
                return np.asarray(np.where(x < t, 1.0, 0.0))
            case Rule.SCORE:
                return x


def _require_positive(name: str, value: float) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ScoringError(f"{name} {value:g} is not a positive number")
