"""Trivial models that answer without chemistry: the best constant, and the best of several stated ones.

Of all constants the median of the references has the smallest mean absolute error. So an error divided by that of the
median is at least 1 for every model that answers a constant, zero among them: a typical bulk modulus is no knowledge of
a crystal.
"""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Float

# Of fewer references the median is nearly one of them: only someone who has it could answer it.
FEWEST_REFERENCES = 4
# A model with a smaller share of the references as its error differs from them by rounding, and sets no scale.
ROUNDING = 1e-6


def best_constant(references: Float) -> Float:
    """(p,) for each of p properties the constant of the smallest mean absolute error, from the references (k, p).

    References that are NaN are left out. Zero where they are fewer than four, or equal.
    """
    return np.asarray(best_trivial(np.zeros((0, *references.shape)), references)[0])


def best_trivial(candidates: Float, references: Float) -> Float:
    """(k, p) the answers of the trivial model of the smallest mean absolute error, for each of p properties.

    It is one of `candidates`, or the best constant. Zero where there are fewer than four references, or the model has
    them up to rounding.

    Args:
        candidates: (m, k, p) the answers of m models. One that is NaN where there is a reference does not count.
        references: (k, p), NaN where there is none.
    """
    best = np.zeros(references.shape)
    for column, values in enumerate(references.T):
        known = np.isfinite(values)
        if np.count_nonzero(known) < FEWEST_REFERENCES:
            continue
        constant = np.full((1, len(values)), np.median(values[known]))
        best[:, column] = best_of(np.concatenate([candidates[:, :, column], constant]), values)
    return best


def best_of(models: Float, references: Float) -> Float:
    """(k,) of the answers of m models (m, k) those with the smallest mean absolute error.

    Zero where every model has the references (k,) up to rounding, or is NaN where there is one.
    """
    known = np.isfinite(references)
    errors = np.abs(models - references)[:, known].mean(axis=1)
    errors[~(errors > ROUNDING * np.abs(references[known]).mean())] = np.inf
    return np.asarray(models[np.argmin(errors)] if np.isfinite(errors).any() else np.zeros(len(references)))


def constant_baseline(references: Float) -> Float:
    """(p,) the mean absolute error of `best_constant`; NaN where a property has no reference."""
    errors = np.abs(references - best_constant(references))
    known = np.isfinite(errors)
    n_known = known.sum(axis=0)
    sums = np.where(known, errors, 0.0).sum(axis=0)
    return np.asarray(np.divide(sums, n_known, out=np.full(len(sums), np.nan), where=n_known > 0))
