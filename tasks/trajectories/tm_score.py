"""TM-scores of chains whose residues correspond by their index.

    TM = max over superpositions of 1/L · Σ_i 1 / (1 + (d_i/d₀)²),   d₀ = 1.24 · (L − 15)^⅓ − 1.8 Å

L is the length of the reference, d_i the distance of residue i from its reference; for L ≤ 21, d₀ is 0.5 Å.
Definition: Y. Zhang and J. Skolnick, Proteins 57, 702 (2004), doi:10.1002/prot.20264.

**Search.** 1/(1 + u/d₀²) is convex in u = d², so its tangent at the present distances lies below it. A superposition
with the weights 1/(1 + d²/d₀²)² maximises the tangent, hence never lowers the score. It is repeated until nothing
changes, from the superpositions of fragments of n residues, of 0.7 n, 0.49 n … 3; the best score counts.
"""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Float
from tasks.trajectories.superposition import check_against_reference, superposed

SHORTEST_FRAGMENT = 3
MAX_FRAGMENTS_OF_A_LENGTH = 100
MAX_ITERATIONS = 200
SMALLEST_GAIN = 1e-7


def distance_scale(length: int) -> float:
    """d₀ [Å] of a reference of `length` residues."""
    return float(1.24 * np.cbrt(length - 15) - 1.8) if length > 21 else 0.5


def tm_scores(positions: Float, reference: Float, reference_length: int | None = None) -> Float:
    """(f,) TM-scores, 0 to 1, of chains `positions` (f, n, 3) [Å] against `reference` (n, 3) [Å]; 0 where one has NaN.

    Positions are those of Cα, each beside its own reference, in Å: in nm all scores would be near 1.

    Args:
        reference_length: residues of the whole reference chain; None if all n of them are given.

    Raises:
        ValueError: fewer than 3 residues, another number of residues, or a reference shorter than what is given.
    """
    check_against_reference(positions, reference, 3)
    length = len(reference) if reference_length is None else reference_length
    if length < len(reference):
        raise ValueError(f"reference_length: {length} residues, but {len(reference)} are given: state all")
    weights = _fragments(len(reference))
    square = distance_scale(length) ** 2
    scores = np.zeros(len(positions))
    for index, frame in enumerate(positions):
        if np.isfinite(frame).all():
            scores[index] = _best_sum(frame, reference, weights, square) / length
    return scores


def _best_sum(frame: Float, reference: Float, weights: Float, square: float) -> float:
    """The largest Σ 1/(1 + d²/d₀²) that is reached from the superpositions with `weights` (b, n)."""
    highest, before = 0.0, np.zeros(len(weights))
    for _ in range(MAX_ITERATIONS):
        difference = superposed(np.broadcast_to(frame, (len(weights), *frame.shape)), reference, weights) - reference
        terms = 1 / (1 + np.einsum("bnk,bnk->bn", difference, difference) / square)
        sums = terms.sum(axis=1)
        highest = max(highest, float(sums.max()))
        gaining = sums - before > SMALLEST_GAIN * len(reference)
        if not gaining.any():
            break
        before, weights = sums[gaining], terms[gaining] ** 2
    return highest


def _fragments(n: int) -> Float:
    """(b, n) weights 1 inside and 0 outside of consecutive residues, of all lengths of the search."""
    lengths, index, rows = [n], np.arange(n), []
    while lengths[-1] > SHORTEST_FRAGMENT:
        lengths.append(max(SHORTEST_FRAGMENT, int(0.7 * lengths[-1])))
    for length in lengths:
        n_starts = min(n - length + 1, MAX_FRAGMENTS_OF_A_LENGTH)
        starts = np.unique(np.linspace(0, n - length, n_starts).astype(np.int64))[:, None]
        rows.append((index >= starts) & (index < starts + length))
    return np.concatenate(rows).astype(np.float64)
