"""Scores of learning: errors over those of composition alone, on a logarithmic scale, and the area below a curve.

With e the error of a trained model, e₀ that of composition alone, and l = log₁₀(e / e₀), the score of several trainings
is ρ = 10^(Σ w l). The weights add up to 1 for each seed, and seeds weigh the same. So ρ is 1 for composition alone and
10, the failure cost, for a trainer that never leaves a model. For a learning curve w are those of the trapezoid rule
over log₁₀ n, divided by its width: then Σ w l × width is the area below the curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tasks.metrics.failure_cost import COST_IN_BASELINES
from tasks.structures.frames import Bool, Float

SMALLEST_RATIO = 1e-6  # a smaller error is rounding
RATIO = "{}_learning_ratio"
SPREAD = "{}_learning_ratio_se"
AREA = "{}_learning_area"


def log_ratios(errors: Float, baselines: Float, largest: float = np.inf) -> Float:
    """(k,) log₁₀(error / baseline), between those of `SMALLEST_RATIO` and `largest`; NaN where the error is NaN."""
    return np.asarray(np.log10(np.clip(errors / baselines, SMALLEST_RATIO, largest)))


def trapezoid_weights(sizes: Sequence[int]) -> Float:
    """(k,) the weights of values at `sizes` in the mean over log₁₀ n by the trapezoid rule; they add up to 1.

    Args:
        sizes: increasing, at least two.
    """
    steps = np.diff(np.log10(np.array(sizes, np.float64)))
    return np.asarray((np.append(steps, 0.0) + np.append(0.0, steps)) / (2 * steps.sum()))


def width(sizes: Sequence[int]) -> float:
    """log₁₀ of the largest over the smallest of increasing `sizes`."""
    return float(np.log10(sizes[-1] / sizes[0]))


class LearningScore(NamedTuple):
    """The score ρ of several trainings.

    Args:
        value: over the trainings with a model that answers; None if none does.
        charged: over all; each ratio is clipped at the failure cost, which stands for a training without a model.
        spread: the standard error of `value` over seeds; None for fewer than two seeds with a model.
        n_failed: trainings without a model that answers.
    """

    value: float | None
    charged: float
    spread: float | None
    n_failed: int


def learning_score(
    errors: Float, penalised: Float, baselines: Float, weights: Float, seeds: Sequence[int]
) -> LearningScore:
    """The score of k trainings, or of k items of trainings.

    Args:
        errors: (k,) over what was answered; NaN where nothing was.
        penalised: (k,) with the failure costs.
        baselines: (k,) of composition alone.
        weights: (k,) that add up to 1 for each seed.
        seeds: (k,) of the trainings.
    """
    logs, clipped = log_ratios(errors, baselines), log_ratios(penalised, baselines, COST_IN_BASELINES)
    answered, seed = np.isfinite(logs), np.array(seeds)
    distinct = np.unique(seed)
    charged = 10 ** float((weights * clipped).sum() / len(distinct))
    means = [_mean(logs, weights, answered & (seed == each)) for each in distinct.tolist()]
    ratios = np.array([10**mean for mean in means if mean is not None])
    spread = float(ratios.std(ddof=1) / np.sqrt(len(ratios))) if len(ratios) > 1 else None
    whole = _mean(logs, weights, answered)
    return LearningScore(None if whole is None else 10**whole, charged, spread, int((~answered).sum()))


def _mean(logs: Float, weights: Float, chosen: Bool) -> float | None:
    total = float(weights[chosen].sum())
    return float((weights * np.nan_to_num(logs))[chosen].sum()) / total if total else None
