"""The trivial model of sums of energies: each atom has an energy, which depends on its element or group alone.

A balanced sum, in which every atom of a product is one of an educt, is then zero: formation, adsorption and lattice
energies keep the model that answers zero. A total energy has a trivial model with a much smaller error than zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.constant_baseline import FEWEST_REFERENCES, best_of
from tasks.structures.composition import RCOND
from tasks.structures.frames import Float

# Atoms below this share of all that a sum counts come from rounding.
BALANCED = 1e-6


def net_atoms(counts: Float, item: NDArray[np.int64], structure: NDArray[np.int64], coefficient: Float) -> Float:
    """(k, e) the atoms of each element that appear in each of k sums, over its area if there is one; 0 if balanced.

    Args:
        counts: (n, e) atoms of each element in n structures, as from `tasks.structures.composition`.
        item, structure, coefficient: (t,) each, of the terms: the sum, the structure and its coefficient.
    """
    n_items = int(item.max()) + 1
    net, all_atoms = np.zeros((n_items, counts.shape[1])), np.zeros(n_items)
    np.add.at(net, item, coefficient[:, None] * counts[structure])
    np.add.at(all_atoms, item, np.abs(coefficient) * counts[structure].sum(axis=1))
    return np.asarray(np.where(np.abs(net) > BALANCED * all_atoms[:, None], net, 0.0))


def sums_of_atoms(atoms: Float, groups: NDArray[np.str_], references: Float) -> Float:
    """(k,) the answers of the best model that knows the atoms of each sum alone; zero for a balanced sum.

    The candidates are zero, the median energy of an atom, and least squares with an energy of each element, of each
    group, or of both. One with more parameters than a quarter of the unbalanced sums does not count: it would have
    learnt the references.

    Args:
        atoms: (k, e) as from `net_atoms`.
        groups: (k,) names.
        references: (k,), in any unit.
    """
    models, unbalanced, n_atoms = [np.zeros(len(references))], atoms.any(axis=1), atoms.sum(axis=1)
    n_unbalanced = int(unbalanced.sum())
    if n_unbalanced < FEWEST_REFERENCES:
        return models[0]
    if np.count_nonzero(counted := n_atoms != 0) >= FEWEST_REFERENCES:
        models.append(n_atoms * np.median(references[counted] / n_atoms[counted]))
    of_groups = n_atoms[:, None] * (groups[:, None] == np.unique(groups))
    for design in (of_groups, atoms, np.concatenate([atoms, of_groups], axis=1)):
        energies, _, rank, _ = np.linalg.lstsq(design[unbalanced], references[unbalanced], rcond=RCOND)
        if 0 < FEWEST_REFERENCES * rank <= n_unbalanced:
            models.append(design @ energies)
    return best_of(np.array(models), references)
