"""Constants per element that are fitted to fixed sets of frames (see `tasks.metrics.charged_shift`).

The sets are the same for every model: they follow from the compositions alone. The constants of a set depend on the
answers to its frames alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from tasks.structures.frames import Float, Int

N_SETS, FEWEST = 256, 8  # of each size; fewer if they take more than `WORK` products
WORK = 1e7
LARGEST, LARGEST_WORK = 4096, 2e6  # frames of a set, and products: more hardly improve a fit
FEW = 6  # elements, so few that there are also sets without each pair
LEAVE_ONE_OUT_WORK = 2e8  # products up to which there is a set without each frame: 1,000 frames of 4 elements
N_AT_ONCE = 4e6  # shares of elements in memory
N_ABSOLUTE, N_WITHIN = 8, 3  # steps of the fit of least absolute errors, then of the fits to the frames within W
N_DESCENT = 50  # of the latter at most, where all frames but one take part
CONVERGED = 1e-9  # change of each error in W, below which a fit has converged
SMALLEST = 1e-3  # error in W: smaller ones get no more weight in a fit of least absolute errors
RIDGE = 1e-12  # of the normal equations, whose diagonal is 1


def frame_sets(counts: Float) -> Iterator[Int]:
    """(r, m) indices of frames: r sets of m frames at a time.

    Args:
        counts: (n, k) atoms of each element, each of which occurs.
    """
    rng, (n, k) = np.random.default_rng(0), counts.shape
    largest = max(8 * k, int(min(LARGEST, LARGEST_WORK / k**2)))
    for rows in _systematic(counts, rng):
        yield rng.permuted(rows, axis=1)[:, :largest] if rows.shape[1] > largest else rows
    if 1 < n <= largest and (n * (k + 10)) ** 2 <= LEAVE_ONE_OUT_WORK:
        others = np.arange(n - 1)
        for left_out in np.array_split(np.arange(n), int(np.ceil(n * n * k / N_AT_ONCE))):
            yield others + (others >= left_out[:, None])
    containing = [np.flatnonzero(column) for column in counts.T]
    size = min(n, 2 * largest)
    while size > k:
        size = max(size // 2, k)
        n_sets = int(np.clip(WORK / ((size + k) * k**2 + 50 * n), FEWEST, N_SETS))
        orders = (rng.permutation(n) for _ in range(-(-n_sets // (n // size))))
        rows = np.concatenate([order[: n // size * size].reshape(-1, size) for order in orders])[:n_sets]
        yield rows
        one_each = np.stack([c[rng.integers(len(c), size=len(rows))] for c in containing], axis=1)
        yield np.hstack([rows[:, k:], one_each])


def _systematic(counts: Float, rng: np.random.Generator) -> Iterator[Int]:
    """All frames; all without an element (or two), the largest, a stretch of the file, or a random sixteenth."""
    n, k = counts.shape
    yield np.arange(n)[None]
    for elements in (*combinations(range(k), 1), *(combinations(range(k), 2) if k <= FEW else ())):
        yield np.flatnonzero(~counts[:, elements].any(axis=1))[None]
    by_size = np.argsort(counts.sum(axis=1), kind="stable")
    yield from (by_size[None, : n - (n >> i)] for i in range(1, n.bit_length()))
    for order, share in ((np.arange(n), 4), (np.arange(n), 16), (rng.permutation(n), 16)):
        length = max(1, n // share)
        starts = np.unique(np.linspace(0, n - length, 2 * share, dtype=int))
        yield np.array([np.delete(order, slice(i, i + length)) for i in starts])


def fits(x: Float, y: Float, failure_cost: float, power: int, n_steps: int = N_WITHIN) -> Float:
    """(2 r, k) constants [eV/atom] for r sets of m frames: of least squares, and least Σ min(|y − x s|, W)^p nearby.

    The constant of an element that is in no frame of a set is 0.

    Args:
        x: (r, m, k) shares of the elements.
        y: (r, m) predicted minus reference [eV/atom].
        n_steps: of the fits to the frames within W.
    """
    squares = s = fit(x, y, np.zeros((len(x), x.shape[2])), np.ones_like(y))
    for _ in range(N_ABSOLUTE):
        s = fit(x, y, s, 1 / errors(x, y, s).clip(SMALLEST * failure_cost))
    return np.concatenate([squares, descent(x, y, s, failure_cost, power, n_steps)])


def descent(x: Float, y: Float, s: Float, failure_cost: float, power: int, n_steps: int) -> Float:
    """(r, k) constants on the way from `s` (r, k) to a minimum of Σ min(|y − x s|, W)^p: fits to the frames within W.

    Each set stops by its own answers alone: for power 2 at the minimum, if `n_steps` are enough.
    """
    s, moving = s.copy(), np.arange(len(s))
    for _ in range(n_steps):
        before = s[moving]
        s[moving] = after = _fit_within(x[moving], y[moving], before, failure_cost, power)
        change = errors(x[moving], np.zeros_like(y[moving]), after - before).max(axis=1, initial=0.0)
        moving = moving[change > CONVERGED * failure_cost]
        if not moving.size:
            break
    return s


def _fit_within(x: Float, y: Float, s: Float, failure_cost: float, power: int) -> Float:
    """(r, k) the fit to the frames with an error below W; for power 1 a step towards that of least absolute errors."""
    size = errors(x, y, s)
    weights = 1 / size.clip(SMALLEST * failure_cost) if power == 1 else np.ones_like(y)
    return fit(x, y, s, weights * (size < failure_cost))


def errors(x: Float, y: Float, s: Float) -> Float:
    """(r, m) |y − x s|."""
    return np.abs(y - (x @ s[:, :, None])[:, :, 0])


def fit(x: Float, y: Float, s: Float, weights: Float) -> Float:
    """(r, k) the weighted least-squares fit, as a correction of `s`, so that no digits are lost."""
    weighted = (x * weights[:, :, None]).swapaxes(1, 2)
    normal = weighted @ x
    scale = np.sqrt(np.einsum("rkk->rk", normal))
    scale[scale == 0] = 1.0
    normal = normal / (scale[:, :, None] * scale[:, None, :]) + RIDGE * np.eye(x.shape[2])
    gradient = (weighted @ (y - (x @ s[:, :, None])[:, :, 0])[:, :, None])[:, :, 0]
    return np.asarray(s + np.linalg.solve(normal, (gradient / scale)[:, :, None])[:, :, 0] / scale)
