"""Slopes of straight lines through many series at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Float


class Slopes(NamedTuple):
    """(n,) each: slopes of straight lines and their standard errors, in y per x."""

    slope: Float
    stderr: Float


def fit_slopes(x: Float, y: Float) -> Slopes:
    """Least-squares slopes of the rows of `y` (n, k) over `x` (k,); NaN for rows with NaN, or with k < 3."""
    if len(x) < 3:
        return Slopes(np.full(len(y), np.nan), np.full(len(y), np.nan))
    centred = x - x.mean()
    spread = float(centred @ centred)
    # Rows relative to their first value: the slope is tiny beside the energy itself.
    relative = y - y[:, :1]
    slope = relative @ centred / spread
    residual = relative - relative.mean(axis=1, keepdims=True) - slope[:, None] * centred
    variance = np.einsum("ij,ij->i", residual, residual) / (len(x) - 2)
    return Slopes(slope, np.sqrt(variance / spread))
