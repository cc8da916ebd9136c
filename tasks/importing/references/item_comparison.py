"""References of energy differences and scans against a model, by `tasks.importing.references.reference_comparison`.

The sum Σ c·E of the model is compared with the reference of each difference, and the energies of each scan after their
mean is subtracted: every energy that cancels in the measured quantity cancels here as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.card import Difference, Scan, Table
from tasks.importing.checks.set_faults import imbalance
from tasks.importing.references.reference_comparison import LabelComparison, about_zero
from tasks.kinds.energy_differences import summed
from tasks.structures.frames import Float, Frames, Int
from tasks.structures.predictions import Predictions

UNBALANCED = "sums in which atoms appear or vanish depend on each model's own zeros"
NOT_COMPARED = {
    "curves": "equations of state hold volumes and moduli, which take relaxed cells: evaluate their task",
    "crystals": "properties of crystals take relaxations and displacements: evaluate their task",
    "systems": "simulated systems take whole trajectories: evaluate their task",
    "pairs": "curves of pairs reach far up the wall, where models differ: evaluate their task",
    "conductivities": "thermal conductivities take relaxations and displacements: evaluate their task",
    "paths": "barriers take a search of the path: evaluate their task",
}


def compared_items(table: Table, frames: Frames, n_structures: int, seed: int) -> Table:
    """`table` with only those differences and scans that can be compared, of at most `n_structures` in all.

    At least one item is kept of each sort that has any; the choice is seeded.
    """
    balanced = [item for item in table.differences if imbalance(item, frames) is None]
    rng = np.random.default_rng(seed)
    differences = _part([_structures(item) for item in balanced], n_structures, rng)
    scans = _part([item.structures for item in table.scans], n_structures, rng)
    return table.model_copy(
        update={
            "differences": tuple(balanced[i] for i in differences),
            "scans": tuple(table.scans[i] for i in scans),
        }
    )


def _part(structures: Sequence[Sequence[int]], n_structures: int, rng: np.random.Generator) -> list[int]:
    """The indices of a random choice of items, sorted."""
    taken: list[int] = []
    used: set[int] = set()
    for i in rng.permutation(len(structures)):
        together = used | set(structures[i])
        if taken and len(together) > n_structures:
            continue
        taken, used = [*taken, int(i)], together
    return sorted(taken)


def _structures(item: Difference) -> list[int]:
    return [structure for term in item.terms for structure in (term.structure, *term.alternatives)]


def structures_of(table: Table) -> NDArray[np.int64]:
    """(k,) the structures of all differences and scans, each once, in order."""
    used = {structure for item in table.differences for structure in _structures(item)}
    used |= {structure for item in table.scans for structure in item.structures}
    return np.array(sorted(used), np.int64)


def compare_items(table: Table, label_set: str, energy: Float, n_atoms: Int) -> list[LabelComparison]:
    """Correlation, slope and the mistakes that they show, of differences and of scans, if there are any.

    Args:
        table: as from `compared_items`.
        energy: (n,) of the model [eV], by structure of the whole data set; NaN where there is none.
        n_atoms: (n,) of each structure.
    """
    comparisons = []
    if table.differences:
        reference = [np.array([item.reference[label_set]]) for item in table.differences]
        answer = Predictions(energy, None, None, np.zeros(len(energy), np.int8))
        sums, _ = summed(table.differences, answer, 1.0, n_atoms)
        comparisons.append(_compare("differences", table.differences, reference, list(sums[:, None])))
    if table.scans:
        pairs = [(np.array(item.reference[label_set]), energy[list(item.structures)]) for item in table.scans]
        answered = [np.isfinite(predicted) for _, predicted in pairs]
        reference, predicted = (
            [_centred(pair[side][chosen]) for pair, chosen in zip(pairs, answered, strict=True)] for side in (0, 1)
        )
        comparisons.append(_compare("scans", table.scans, reference, predicted))
    return comparisons


def _centred(energies: Float) -> Float:
    return energies - energies.mean() if len(energies) else energies


def _compare(
    name: str, items: Sequence[Difference | Scan], reference: Sequence[Float], predicted: Sequence[Float]
) -> LabelComparison:
    """The comparison of items of one sort; items without any answer take no part."""
    answered = [i for i, values in enumerate(predicted) if len(values) and np.isfinite(values).all()]
    sort = name if items[0].area is None else f"{name} per area"
    counted = LabelComparison(sort, len(answered), len(items), math.nan, math.nan, math.nan, ())
    if not answered:
        return counted._replace(findings=("the model answered none of these items",))
    return about_zero(
        counted, np.concatenate([reference[i] for i in answered]), np.concatenate([predicted[i] for i in answered])
    )
