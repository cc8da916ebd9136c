"""Barriers below the ends of their path, which no path has.

A path leads from its reactant through its highest point to its product: the barrier is at least zero, and at least the
reaction energy. A barrier above separate reactants may be lower, since a complex may lie between them and the barrier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tasks.datasets.card import Difference
from tasks.datasets.dataset import Dataset

# eV: the rounding of references with two decimals in kcal/mol or kJ/mol.
ROUNDING = 1e-3
BARRIER, REACTION = "barrier", "reaction"


class LowBarrier(NamedTuple):
    """A barrier that is lower than an end of its path [eV].

    Args:
        of_parts: whether reactant or product has several parts, so that a complex may be lower.
    """

    id: str
    label_set: str
    barrier: float
    end: float
    of_parts: bool

    def line(self, n: int, remedy: str) -> str:
        """One line about this one of `n`."""
        end = "of the reactant, 0" if self.end == 0 else f"of the product, {self.end:.4g}"
        more = f" ({n} such barriers in all)" if n > 1 else ""
        what = f"{self.id}: barrier of {self.label_set}: {self.barrier:.4g} eV"
        return f"{what} is below the energy {end} eV{more}: {remedy}"


def low_barriers(dataset: Dataset) -> list[str]:
    """At most one line: the first barrier that no path can have, and how many there are."""
    return _lines(dataset, False, "a path has none below max(0, reaction energy): correct the sign, unit or quantity")


def doubtful_barriers(dataset: Dataset) -> list[str]:
    """At most one line: the first barrier below separate parts, and how many there are."""
    return _lines(dataset, True, "right if a complex lies before it; else correct the sign or quantity")


def _lines(dataset: Dataset, of_parts: bool, remedy: str) -> list[str]:
    lower = [each for each in (*_of_paths(dataset), *_of_differences(dataset)) if each.of_parts is of_parts]
    return [lower[0].line(len(lower), remedy)] if lower else []


def _of_paths(dataset: Dataset) -> Iterator[LowBarrier]:
    for path in dataset.table.paths:
        for label_set, reference in path.reference.items():
            end = max(0.0, reference.reaction_energy or 0.0)
            if reference.barrier is not None and reference.barrier < end - ROUNDING:
                yield LowBarrier(path.id, label_set, reference.barrier, end, False)


def _of_differences(dataset: Dataset) -> Iterator[LowBarrier]:
    """Barriers of sums; a reaction energy of the same reactants and cluster is that of its path."""
    products = {
        (row.cluster, _side(row, -1)): row
        for row in dataset.table.differences
        if REACTION in row.quantity.casefold() and BARRIER not in row.quantity.casefold()
    }
    for row in dataset.table.differences:
        if BARRIER not in row.quantity.casefold() or row.area is not None:
            continue
        product = products.get((row.cluster, _side(row, -1)))
        for label_set, barrier in row.reference.items():
            energy = 0.0 if product is None else product.reference[label_set]
            # An end of one part comes first: no complex can explain a barrier below it.
            ends = [(0.0, _has_parts(_side(row, -1)))]
            ends += [(energy, _has_parts(_side(product, 1)))] if product is not None else []
            below = [(of_parts, end) for end, of_parts in ends if barrier < end - ROUNDING]
            if below:
                of_parts, end = min(below)
                yield LowBarrier(row.id, label_set, barrier, end, of_parts)


def _side(row: Difference, sign: int) -> frozenset[tuple[int, float]]:
    """Structures and coefficients of one side of a sum: 1 for its products, −1 for its reactants."""
    return frozenset((t.structure, t.coefficient) for t in row.terms if t.coefficient * sign > 0)


def _has_parts(side: frozenset[tuple[int, float]]) -> bool:
    """Whether a side of a sum is of several molecules: several structures, or one that counts more than once."""
    return sum(abs(coefficient) for _, coefficient in side) > 1.0
