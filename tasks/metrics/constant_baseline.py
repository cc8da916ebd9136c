"""The best constant: a trivial model that answers one number to every item, and knows no chemistry.

Of all constants the median of the references has the smallest mean absolute error. So an error divided by that of the
median is at least 1 for every model that answers a constant, zero among them: a typical bulk modulus is no knowledge of
a crystal.
"""

from __future__ import annotations

import numpy as np

from tasks.structures.frames import Float

# Of fewer references the median is nearly one of them: only someone who has it could answer it.
FEWEST_REFERENCES = 4
# References that differ from their median by a smaller share of their size on average do not tell items apart.
SMALLEST_SPREAD = 0.01


def best_constant(references: Float) -> Float:
    """(p,) for each of p properties the constant of the smallest mean absolute error, from the references (k, p).

    References that are NaN are left out. Zero where they are fewer than four, or nearly equal.
    """
    constants = np.zeros(references.shape[1])
    for column, values in enumerate(references.T):
        known = values[np.isfinite(values)]
        if len(known) >= FEWEST_REFERENCES:
            median = float(np.median(known))
            if np.abs(known - median).mean() > SMALLEST_SPREAD * np.abs(known).mean():
                constants[column] = median
    return constants


def constant_baseline(references: Float) -> Float:
    """(p,) the mean absolute error of `best_constant`; NaN where a property has no reference."""
    errors = np.abs(references - best_constant(references))
    known = np.isfinite(errors)
    n_known = known.sum(axis=0)
    sums = np.where(known, errors, 0.0).sum(axis=0)
    return np.divide(sums, n_known, out=np.full(len(sums), np.nan), where=n_known > 0)
