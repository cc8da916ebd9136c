"""A search for the constants per element with the least Σ min(|y − X s|, W)^p (see `tasks.metrics.charged_shift`).

A truncated regression has many local minima. From each start, the frames within W of the fit are fitted again until
they stay the same; then the frame comes in or leaves whose change lowers the sum most. The starts are the
least-squares fit, the fit of least absolute errors, the fit without the frames that distort it most, and fits to
random subsets (P. J. Rousseeuw and K. Van Driessen, Data Min. Knowl. Discov. 12, 29 (2006),
doi:10.1007/s10618-005-0024-4). The subsets are the same for every model, and a subset with a failed frame is no start:
a model that fails gets no better ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tasks.structures.frames import Bool, Float, Int

N_BEST = 10  # of the random subsets
N_ELIMINATED = 30
N_STEPS = 50
N_NEAR, N_FEW = 20, 100  # frames nearest to W, that are put on its other side: all, if there are few
N_ROUNDS = 5
RCOND = 1e-12  # of the normal equations
LARGE = 3e5  # frames times constants²: a larger problem gets the first starts only
UNIQUE = 1 - 1e-9  # a frame with this leverage alone determines a constant


class Problem(NamedTuple):
    """Shares X (n, k), differences y (n,) [eV/atom], the failure cost W [eV/atom] and the power p."""

    x: Float
    y: Float
    cost: float
    power: int

    def errors(self, s: Float) -> Float:
        """(n,) |y − X s|."""
        return np.abs(self.y - self.x @ s)

    def value(self, s: Float) -> float:
        """Σ min(|y − X s|, W)^p."""
        return float((np.minimum(self.errors(s), self.cost) ** self.power).sum())

    @property
    def is_large(self) -> bool:
        return bool(len(self.x) * self.x.shape[1] ** 2 > LARGE)


def candidates(shares: Float, differences: Float, answered: Bool, failure_cost: float, power: int) -> Iterator[Float]:
    """(k,) constants [eV/atom] of local minima; arguments as of `penalised_errors`, `differences` after a first fit."""
    problem = Problem(shares[answered], differences[answered], failure_cost, power)
    best, lowest = np.zeros(shares.shape[1]), np.inf
    for start in _starts(problem, answered):
        for s in _descents(problem, start, problem.errors(start) < failure_cost):
            yield s
            if (value := problem.value(s)) < lowest:
                best, lowest = s, value
    for _ in range(0 if problem.is_large else N_ROUNDS):
        before = lowest
        for s in _neighbours(problem, best):
            yield s
            if (value := problem.value(s)) < lowest:
                best, lowest = s, value
        if not lowest < before * (1 - 1e-12):
            break
    if power == 1 and not problem.is_large:
        yield _along_edges(problem, best)


def _starts(problem: Problem, answered: Bool) -> Iterator[Float]:
    everything = np.ones(len(problem.y), np.bool_)
    zero = np.zeros(problem.x.shape[1])
    yield zero
    yield _fit(problem, zero, everything)
    yield _least_absolute(problem, zero, everything)
    if not problem.is_large:
        yield _without_the_worst(problem)
        yield from _from_subsets(problem, answered)


def _from_subsets(problem: Problem, answered: Bool) -> list[Float]:
    """The best fits to random subsets of frames, all of which answered."""
    rng, k = np.random.default_rng(0), problem.x.shape[1]
    n, position = len(answered), np.cumsum(answered) - 1
    half = (len(problem.y) + k + 1) // 2
    fits = []
    for size in np.minimum(rng.integers(max(1, k // 2), k + 1, np.clip(60_000 // n, 100, 1500)), n - 1):
        chosen = rng.choice(n, size, replace=False)
        if size == 0 or not answered[chosen].all():
            continue
        rows = position[chosen]
        s = np.linalg.lstsq(problem.x[rows], problem.y[rows], rcond=1e-10)[0]
        nearest = np.argpartition(problem.errors(s), half - 1)[:half] if half < len(problem.y) else rows
        fits.append(np.linalg.lstsq(problem.x[nearest], problem.y[nearest], rcond=1e-10)[0])
        fits.append(s)
    return sorted(fits, key=problem.value)[:N_BEST]


def _without_the_worst(problem: Problem) -> Float:
    """The best of the least-squares fits after the frames that distort it most have left, one after the other."""
    inside = np.ones(len(problem.y), np.bool_)
    best = s = np.zeros(problem.x.shape[1])
    lowest = np.inf
    for _ in range(min(len(inside) - 1, N_ELIMINATED)):
        s = _fit(problem, s, inside)
        if (value := problem.value(s)) < lowest:
            best, lowest = s, value
        leverage = _leverage(problem.x, inside)
        removable = inside & (leverage < UNIQUE)
        if not removable.any():
            break
        inside[np.where(removable, problem.errors(s) ** 2 / (1 - np.minimum(leverage, UNIQUE)), -1.0).argmax()] = False
    return best


def _descent(problem: Problem, s: Float, inside: Bool) -> Iterator[Float]:
    """Fits to the frames `inside` (n,), which change until no change lowers the sum."""
    for _ in range(N_STEPS):
        if not inside.any():
            return
        s = _completed(problem, _fit(problem, s, inside), inside)
        yield s
        after = _changed(problem, s, inside)
        if after is None:
            return
        inside = after


def _absolute_descent(problem: Problem, s: Float, inside: Bool) -> Iterator[Float]:
    """Fits of least absolute errors to the frames `inside` (n,), which change until they stay the same."""
    for _ in range(N_ROUNDS):
        if not inside.any():
            return
        s = _least_absolute(problem, s, inside)
        yield s
        after = problem.errors(s) < problem.cost
        if (after == inside).all():
            return
        inside = after


def _descents(problem: Problem, s: Float, inside: Bool) -> Iterator[Float]:
    """Those of squares, of absolute errors from where they end, and of squares again."""
    for descent in (_descent, _absolute_descent, _descent):
        for fit in descent(problem, s, inside):
            yield fit
            s = fit
        inside = problem.errors(s) < problem.cost


def _completed(problem: Problem, s: Float, inside: Bool) -> Float:
    """`s` with the best constant for each element that no frame inside contains."""
    for element in np.flatnonzero(~problem.x[inside].any(axis=0)):
        share = problem.x[:, element]
        s = s.copy()
        s[element] += _best_step(problem.y - problem.x @ s, share, problem.cost)
    return s


def _changed(problem: Problem, s: Float, inside: Bool) -> Bool | None:
    """(n,) the frames for the next fit; None if no change of one frame lowers the sum of squares."""
    errors, cost = problem.errors(s), problem.cost
    within = errors < cost
    present = (errors[inside] ** 2).sum() + (~inside).sum() * cost**2
    if (np.minimum(errors, cost) ** 2).sum() < present - 1e-9 * cost**2:
        return within
    if problem.is_large:
        return None
    leverage = _leverage(problem.x, inside)
    leaves = errors**2 / (1 - np.minimum(leverage, UNIQUE)) - cost**2
    gain = np.where(inside, np.where(leverage < UNIQUE, leaves, -1.0), cost**2 - errors**2 / (1 + leverage))
    if not gain.max() > 1e-9 * cost**2:
        return None
    after = inside.copy()
    after[gain.argmax()] ^= True
    return after


def _neighbours(problem: Problem, s: Float) -> Iterator[Float]:
    """The descents that begin with one of the frames nearest to W on the other side."""
    errors = problem.errors(s)
    nearest = np.argsort(np.abs(errors - problem.cost), kind="stable")
    for i in nearest[: None if len(nearest) <= N_FEW else N_NEAR]:
        inside = errors < problem.cost
        inside[i] ^= True
        yield from (_descent if problem.power == 2 else _descents)(problem, s, inside)


def _fit(problem: Problem, s: Float, used: Bool, weights: Float | None = None) -> Float:
    """(k,) the least-squares fit to the frames that are used, as a correction of `s`, so that no digits are lost."""
    x, y = problem.x[used], problem.y[used]
    weighted = x if weights is None else x * weights[:, None]
    inverse = np.linalg.pinv(weighted.T @ x, rcond=RCOND, hermitian=True)
    for _ in range(2):
        s = s + inverse @ (weighted.T @ (y - x @ s))
    return s


def _least_absolute(problem: Problem, s: Float, used: Bool) -> Float:
    """(k,) the fit of least absolute errors to the frames that are used, by reweighted least squares."""
    lowest, precision = np.inf, 1e-3 if problem.is_large else 1e-12
    for _ in range(N_STEPS):
        errors = problem.errors(s)[used]
        before, lowest = lowest, float(errors.sum())
        if not lowest < before * (1 - precision):
            break
        s = _fit(problem, s, used, 1.0 / np.maximum(errors, 1e-6 * np.median(errors) + 1e-15))
    return s


def _leverage(x: Float, inside: Bool) -> Float:
    """(n,) xᵢ (XᵀX)⁻¹ xᵢ with X of the frames inside."""
    inverse = np.linalg.pinv(x[inside].T @ x[inside], rcond=RCOND, hermitian=True)
    return np.asarray(np.einsum("ij,ij->i", x @ inverse, x))


def _along_edges(problem: Problem, s: Float) -> Float:
    """(k,) a minimum of the truncated absolute errors: k frames are met exactly, and leaving one of them is worse."""
    lowest, rank = problem.value(s), int(np.linalg.matrix_rank(problem.x, tol=1e-8))
    for _ in range(N_STEPS):
        before = lowest
        rows = _independent(problem.x, np.argsort(problem.errors(s), kind="stable"), rank)
        inverse = np.linalg.pinv(problem.x[rows], rcond=1e-10)
        corner = s + inverse @ (problem.y[rows] - problem.x[rows] @ s)
        residual = problem.y - problem.x @ corner
        moves = [corner + _best_step(residual, problem.x @ edge, problem.cost) * edge for edge in inverse.T]
        for move in (corner, *moves):
            if (value := problem.value(move)) < lowest:
                s, lowest = move, value
        if not lowest < before * (1 - 1e-13):
            break
    return s


def _independent(x: Float, order: Int, rank: int) -> list[int]:
    """The first `rank` rows of `x` (n, k) in that order that are linearly independent."""
    rows: list[int] = []
    basis = np.zeros((0, x.shape[1]))
    for i in order:
        rest = x[i]
        for _ in range(2):
            rest = rest - basis.T @ (basis @ rest)
        if (length := np.linalg.norm(rest)) > 1e-8 * np.linalg.norm(x[i]):
            rows.append(int(i))
            basis = np.vstack([basis, rest / length])
        if len(rows) == rank:
            break
    return rows


def _best_step(residual: Float, slope: Float, cost: float) -> float:
    """The t with the least Σ min(|residual − t · slope|, cost)."""
    used = np.abs(slope) > 1e-12
    if not used.any():
        return 0.0
    r, a = residual[used] * np.sign(slope[used]), np.abs(slope[used])
    t = np.concatenate([(r - cost) / a, r / a, (r + cost) / a])
    order = np.argsort(t, kind="stable")
    t = t[order]
    rise = np.cumsum(np.concatenate([-a, 2 * a, -a])[order])
    return float(t[np.concatenate([[0.0], np.cumsum(rise[:-1] * np.diff(t))]).argmin()])
