"""The score of a single tree, for tests."""

from __future__ import annotations

import numpy as np

from scoring import Node
from scoring.evaluation import NOTHING_DRAWN, Draw, Metrics, scores
from scoring.tree import Float


def score(tree: Node, draw: Draw = NOTHING_DRAWN, metrics: Metrics | None = None) -> Float:
    """(B,) the score under each alternative; () if there is one. NaN: no score."""
    values = scores({"": tree}, draw, {"": metrics or {}})[""]
    return values if draw.units or draw.weights or metrics else np.asarray(values[0])
