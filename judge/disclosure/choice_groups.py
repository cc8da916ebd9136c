"""Groups of items whose error sums are public, so that a reader can choose elements and classes of structure.

The items of a task are divided by their elements and class. No item is in two groups, so a reader may add the sums of
any groups. Of a hidden data set, each group has `LEAST_ITEMS` items or more: smaller ones are merged with the group
whose elements differ least.

Other sums of the same errors are public too: over all items, over those with an element, and over those of a group of
the table (`redaction.public_parts`). From a sum or a difference of two of these a reader can subtract sums of any
groups. So groups are merged until what is left of it concerns no item or at least `LEAST_ITEMS`. A combination that
concerns fewer even without any group is not caused by them, and is left alone.

Everything here follows from the data set alone. So the groups of all models are the same, and they do not change when
a model is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from judge.disclosure.redaction import LEAST_ITEMS
from judge.ranking.item_makeup import Makeup, StructureClass
from tasks.structures.frames import Bool, Float, Int

MOST_GROUPS, MOST_HIDDEN_GROUPS = 60, 20
"""More groups would make the file large; a model could encode data in many sums over hidden items."""


OTHER = "other"
"""Stands for elements and classes of fewer than `LEAST_ITEMS` items of a hidden group: their names would reveal items.

It is no symbol and no class, so a reader who chooses elements or classes never chooses such a group.
"""


class ChoiceGroup(NamedTuple):
    """The elements and classes that occur in a group, and the number of its items."""

    elements: tuple[str, ...]
    classes: tuple[str, ...]
    n_items: int


class ChoiceGroups(NamedTuple):
    """The groups of the items of a task.

    Args:
        labels: (k,) by item, the index of its group; −1 for an item that takes no part.
    """

    labels: Int
    groups: tuple[ChoiceGroup, ...]


def choice_groups(
    makeups: Sequence[Makeup], table_groups: Sequence[str], takes_part: Bool, *, hidden: bool
) -> ChoiceGroups:
    """The groups of k items; none if a hidden data set has fewer than `LEAST_ITEMS` items that take part.

    Args:
        makeups: (k,) of the items.
        table_groups: (k,) under which the items are reported elsewhere.
        takes_part: (k,) whether an item has the error that is summed.
    """
    chosen = np.flatnonzero(takes_part).tolist()
    labels = np.full(len(makeups), -1, np.int64)
    if not chosen or (hidden and len(chosen) < LEAST_ITEMS):
        return ChoiceGroups(labels, ())
    cells = sorted({makeups[i] for i in chosen}, key=lambda makeup: (makeup.structure, makeup.elements))
    cell_of = {cell: number for number, cell in enumerate(cells)}
    index = np.array([cell_of[makeups[i]] for i in chosen])
    merging = _Merging(cells, np.bincount(index, minlength=len(cells)))
    merging.until(LEAST_ITEMS if hidden else 1, MOST_HIDDEN_GROUPS if hidden else MOST_GROUPS)
    if hidden:
        parts = _parts([makeups[i] for i in chosen], [table_groups[i] for i in chosen])
        while (revealing := _revealing(merging.members, index, parts)) is not None:
            merging.merge(revealing)
    number_of = np.zeros(len(cells), np.int64)
    for number, group in enumerate(merging.members):
        number_of[group] = number
    labels[chosen] = number_of[index]
    return ChoiceGroups(labels, tuple(merging.groups(LEAST_ITEMS if hidden else 1)))


class _Merging:
    """Cells that are merged to groups. Everything is in a fixed order, so that equal data give equal groups.

    Args:
        sizes: (c,) the number of items of each cell.
    """

    def __init__(self, cells: Sequence[Makeup], sizes: Int) -> None:
        elements = sorted({symbol for cell in cells for symbol in cell.elements})
        self._cells, self._cell_sizes = cells, sizes
        self._elements = np.array([[symbol in cell.elements for symbol in elements] for cell in cells])
        self._classes = np.array([[each is cell.structure for each in StructureClass] for cell in cells])
        self._sizes = sizes.copy()
        self.members: list[list[int]] = [[cell] for cell in range(len(cells))]

    def until(self, least: int, most: int) -> None:
        """Merges the smallest group until there are at most `most`, with `least` items each."""
        while len(self.members) > 1 and (self._sizes.min() < least or len(self.members) > most):
            self.merge(int(self._sizes.argmin()))

    def merge(self, group: int) -> None:
        """Merges a group with the one that differs least: in class, in elements, then the smallest."""
        others = np.delete(np.arange(len(self.members)), group)
        classes = (self._classes[others] != self._classes[group]).sum(axis=1)
        elements = (self._elements[others] != self._elements[group]).sum(axis=1)
        partner = int(others[np.lexsort((others, self._sizes[others], elements, classes))[0]])
        kept, gone = sorted((group, partner))
        for arrays in (self._elements, self._classes):
            arrays[kept] |= arrays[gone]
        self._sizes[kept] += self._sizes[gone]
        self.members[kept] += self.members.pop(gone)
        self._elements, self._classes, self._sizes = (
            np.delete(array, gone, axis=0) for array in (self._elements, self._classes, self._sizes)
        )

    def groups(self, least: int) -> Iterator[ChoiceGroup]:
        """The groups; elements and classes of fewer than `least` of their items are `OTHER`."""
        for group in self.members:
            elements: Counter[str] = Counter()
            classes: Counter[str] = Counter()
            for cell in group:
                n = int(self._cell_sizes[cell])
                elements.update(dict.fromkeys(self._cells[cell].elements, n))
                classes[self._cells[cell].structure.value] += n
            n_items = int(self._cell_sizes[group].sum())
            yield ChoiceGroup(_named(elements, least), _named(classes, least), n_items)


def _named(counts: Counter[str], least: int) -> tuple[str, ...]:
    """The names with at least `least` items, sorted; last `OTHER`, if there are others."""
    names = sorted(name for name, n in counts.items() if n >= least)
    return (*names, OTHER) if len(names) < len(counts) else tuple(names)


def _parts(makeups: Sequence[Makeup], table_groups: Sequence[str]) -> Float:
    """(k, p) 1 where an item is in a part of another breakdown that may be public, by element or group."""
    elements = sorted({symbol for makeup in makeups for symbol in makeup.elements})
    by_element = [[symbol in makeup.elements for symbol in elements] for makeup in makeups]
    by_group = [[name == group for name in sorted(set(table_groups))] for group in table_groups]
    parts = np.concatenate([np.array(by_element), np.array(by_group)], axis=1)
    return np.unique(parts[:, parts.sum(axis=0) >= LEAST_ITEMS], axis=1).astype(np.float64)


def _revealing(groups: Sequence[Sequence[int]], index: Int, parts: Float) -> int | None:
    """The number of the smallest group that has to be merged, because its sum helps to reveal few items; None: none.

    Args:
        index: (k,) the cell of each item.
    """
    if not parts.shape[1]:
        return None
    chosen = [np.isin(index, group) for group in groups]
    sizes = np.array([members.sum() for members in chosen])
    together = np.array([parts[members].T @ parts[members] for members in chosen]).reshape(
        len(chosen), *[parts.shape[1]] * 2
    )
    rest = _left_over(sizes, together)
    whole = _left_over(sizes.sum()[None], together.sum(axis=0)[None])[:, 0]
    left = rest.sum(axis=1)
    bad = np.flatnonzero((left > 0) & (left < LEAST_ITEMS) & ~((whole > 0) & (whole < LEAST_ITEMS)))
    if not bad.size:
        return None
    partial = np.flatnonzero(rest[bad[0]] > 0)
    return int(partial[sizes[partial].argmin()])


def _left_over(sizes: Int, together: Float) -> Float:
    """(v, g) of each part, and of each sum and difference of two: how many items of each group a reader cannot remove
    by subtracting a multiple of the group's sum.

    Args:
        sizes: (g,) of the groups.
        together: (g, p, p) how many items of a group are in both parts; on the diagonal, in one part.
    """
    one, two = (np.expand_dims(np.diagonal(together, axis1=1, axis2=2), axis) for axis in (2, 1))
    total = sizes[:, None, None]
    neither, either = total - one - two + together, one + two - 2 * together
    alone = np.minimum(one, total - one)[..., 0]
    summed = total - np.maximum(together, np.maximum(either, neither))
    subtracted = total - np.maximum(neither + together, np.maximum(one - together, two - together))
    n = len(sizes)
    return np.concatenate([alone, summed.reshape(n, -1), subtracted.reshape(n, -1)], axis=1).T
