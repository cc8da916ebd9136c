"""Metrics of items that share structures: the errors of the structures are redrawn, not the items.

The error of a reaction is e = Cε: coefficients times errors of its structures. If a structure is in many reactions (the
monomer of all clusters, the conformer that all others are compared with), its one error is in all of them. Resampled
items do not show how far the metric would move with another error of that structure. So each structure gets the error
of a structure drawn at random, and the items are computed again. One draw serves all models: differences stay paired.

ε is estimated as the smallest errors of structures that give the errors of the items. Only the shape of their
distribution enters: the draws are turned about the metric of the test set, on a logarithmic scale.

Failed items have no error. Their share is resampled as that of independent items, save that one structure which fails
makes all of its items fail: failed items are one unit if a structure that no other item has is in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from scoring.tree import Float

Index = NDArray[np.int64]


class Loss(StrEnum):
    """What is averaged over items."""

    ABSOLUTE = "absolute"
    SQUARE = "square"


@dataclass(frozen=True, eq=False)
class Terms:
    """The sums of structures that items are; (t,) each, one entry a summand.

    Args:
        item: index of the item.
        structure: index of the structure.
    """

    item: Index
    structure: Index
    coefficient: Float

    def matrix(self, n_items: int) -> Float:
        """(n_items, S) coefficients of the S structures that occur, in the order of their indices."""
        structures, column = np.unique(self.structure, return_inverse=True)
        matrix = np.zeros((n_items, len(structures)))
        np.add.at(matrix, (self.item, column), self.coefficient)
        return matrix


def independent_items(matrix: Float) -> float:
    """The number of independent items whose mean square would be as uncertain as that of items (k, S) that share.

    For normal errors of the structures, all of one size: covariances of squares are squares of the items' covariances.
    """
    covariance = matrix @ matrix.T
    together = (covariance**2).sum()
    own = (np.diag(covariance) ** 2).sum()
    return float(len(matrix) * own / together) if together > 0 else float(len(matrix))


@dataclass(frozen=True, eq=False)
class SharedErrors:
    """The errors of items that share structures, all of one weight.

    Args:
        matrix: (k, S) coefficients.
        errors: (k,) with their signs, in the unit of `limit` or its root; NaN where an item failed.
        loss: what is averaged.
        limit: the largest loss of an item, which is that of a failed one.
    """

    matrix: Float
    errors: Float
    loss: Loss
    limit: float

    @property
    def n_independent(self) -> float:
        """See `independent_items`."""
        return independent_items(self.matrix)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """(k,) the items without an error."""
        return np.isnan(self.errors)

    @property
    def mean(self) -> float:
        """The mean loss of the items that did not fail; NaN if all did."""
        return float(self._losses(self.errors[~self.failed]).mean()) if not self.failed.all() else np.nan

    def unit_sizes(self) -> Float:
        """(k,) the number of items that fail or succeed together, at the first of them; 0 at the others."""
        from scipy.sparse.csgraph import connected_components  # long to import, and rarely needed

        sizes, failed = np.ones(len(self.errors)), np.flatnonzero(self.failed)
        occurs = self.matrix != 0
        rows = occurs[failed][:, ~occurs[~self.failed].any(axis=0)].astype(np.float64)
        _, unit = connected_components(rows @ rows.T)
        _, first, counts = np.unique(unit, return_index=True, return_counts=True)
        sizes[failed] = 0.0
        sizes[failed[first]] = counts
        return sizes

    def redrawn(self, picks: Index) -> Float:
        """(B,) the mean loss of the items that did not fail, after the structures got the errors of those drawn.

        Args:
            picks: (S, B) the structure that each one gets its error from.
        """
        rows = self.matrix[~self.failed]
        used = np.flatnonzero((rows != 0).any(axis=0))
        if not used.size:
            return np.full(picks.shape[1], self.mean)
        errors = np.zeros(self.matrix.shape[1])
        errors[used] = np.linalg.pinv(rows[:, used]) @ self.errors[~self.failed]
        # A structure of failed items alone has no error: the next one that has lends its own.
        donor = used[np.searchsorted(used, np.arange(len(errors))) % len(used)]
        drawn = errors[donor[picks]]
        total = np.zeros(picks.shape[1])
        for row in rows:
            total += self._losses(_combined(row, drawn))
        return total / len(rows)

    def _losses(self, errors: Float) -> Float:
        match self.loss:
            case Loss.ABSOLUTE:
                return np.minimum(np.abs(errors), self.limit)
            case Loss.SQUARE:
                return np.minimum(errors**2, self.limit)


def about(mean: float, redrawn: Float, limit: float) -> Float:
    """(B,) the draws turned about the mean of the test set, on the scale of `scoring.studentised`."""
    centre = redrawn.mean()
    if not 0 < mean < limit or not centre > 0:
        return np.full(len(redrawn), mean)
    least = 1e-3 * centre
    if np.isinf(limit):
        return np.asarray(mean * centre / np.maximum(redrawn, least))
    held = np.clip(redrawn, least, limit - 1e-3 * max(limit - centre, 1e-12 * limit))
    odds = mean / (limit - mean) * (centre / (limit - centre)) * (limit - held) / held
    return np.asarray(limit * (odds / (1.0 + odds)))


def _combined(row: Float, drawn: Float) -> Float:
    """(B,) Σ coefficient × error of one item, over its few structures."""
    columns = np.flatnonzero(row)
    total: Float = row[columns[0]] * drawn[columns[0]]
    for column in columns[1:]:
        total += row[column] * drawn[column]
    return total
