"""The score of an error by a soft threshold: 1 up to the threshold t, exp(−3 (x − t)/t) beyond.

Source: MLIPAudit, https://instadeepai.github.io/mlipaudit/scores, whose scores ML-PEG has as metrics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.metrics.group_statistics import mean_with_worst
from tasks.metrics.metric import Metric
from tasks.structures.frames import Float

ALPHA = 3.0


def soft_scores(errors: Float, threshold: float) -> Float:
    """(k,) the scores of magnitudes of errors (k,), in the unit of the threshold; NaN where an item failed."""
    return np.asarray(np.exp(-ALPHA * np.maximum(errors - threshold, 0.0) / threshold))


def soft_score(scores: Sequence[Float]) -> Metric:
    """The mean over items of the mean of their scores, each (k,).

    A failed item, NaN, counts 0 in the penalised value.
    """
    return mean_with_worst(np.mean(scores, axis=0), 0.0)
