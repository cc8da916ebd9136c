"""Groups of items whose error sums are public, so that a reader can choose elements and classes of structure.

The items of a task are divided by their elements and class. No item is in two groups, so a reader may add the sums of
any groups. Of a hidden data set, each group has `LEAST_ITEMS` items or more: smaller ones are merged with the group
whose elements differ least.

Other sums of the same errors are public too: over all items, and over those of an element or a group of the table
(`redaction.public_parts`). A reader may combine any of these with any sums of groups. So groups are merged until this
holds. The items are dealt to `LEAST_ITEMS` hands, and on each hand, every combination of all sums that vanishes there
is one of the other sums alone.

Then no combination concerns fewer than `LEAST_ITEMS` items because of the groups. For such a combination misses at
least one hand, since no item is in two hands. It vanishes on that hand, so a reader can compute it from the other sums
alone. One group of all items always satisfies the condition: its sum is the metric, which is public.

Nothing more is published than that one group

- if a public part cannot be found among the items;
- if another data set has an item in common with this one (`shared_items`): its sums may be over the same errors.

Everything here follows from the data set and the names of its parts. So the groups of all models are the same, and they
do not change when a model is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from judge.disclosure.redaction import public_parts
from judge.ranking.item_makeup import Makeup, StructureClass
from judge.records.few_items import LEAST_ITEMS
from judge.records.records import Result
from tasks.metrics.metric import MetricPart
from tasks.structures.frames import Bool, Float, Int

MOST_GROUPS, MOST_HIDDEN_GROUPS = 60, 20
"""More groups would make the file large; a model could encode data in many sums over hidden items."""

ZERO = 1e-7
"""Of values that rounding leaves in place of zeros; the matrices have entries 0 and 1."""

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
    makeups: Sequence[Makeup],
    table_groups: Sequence[str],
    takes_part: Bool,
    parts: Sequence[MetricPart] = (),
    *,
    hidden: bool,
    shared: bool = False,
) -> ChoiceGroups:
    """The groups of k items; none if a hidden data set has fewer than `LEAST_ITEMS` items that take part.

    Args:
        makeups: (k,) of the items.
        table_groups: (k,) under which the items are reported elsewhere.
        takes_part: (k,) whether an item has the error that is summed.
        parts: of the metric that are public elsewhere; read of a hidden data set alone.
        shared: whether sums of another data set may be over the same items.
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
        others = _public_elsewhere([makeups[i] for i in chosen], [table_groups[i] for i in chosen], parts)
        if shared or others is None:
            merging.until(LEAST_ITEMS, 1)
        else:
            while (revealing := _revealing(merging.numbers[index], others)) is not None:
                merging.merge(revealing)
    labels[chosen] = merging.numbers[index]
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

    @property
    def numbers(self) -> Int:
        """(c,) the number of the group of each cell."""
        numbers = np.zeros(len(self._cells), np.int64)
        for number, group in enumerate(self.members):
            numbers[group] = number
        return numbers

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


def parts_of_metric(result: Result, metric: str) -> tuple[MetricPart, ...]:
    """The public parts of a metric of a hidden data set, and the metrics `<metric>:<group>`, which are over a group."""
    own = [part for part in result.parts if part.metric == metric]
    of_groups = [
        MetricPart("group", name.removeprefix(f"{metric}:"), metric, each.value, each.unit, each.n_items)
        for name, each in sorted(result.metrics.items())
        if name.startswith(f"{metric}:")
    ]
    return (*public_parts(own, result.metrics, hidden=True), *of_groups)


def _public_elsewhere(
    makeups: Sequence[Makeup], table_groups: Sequence[str], parts: Sequence[MetricPart]
) -> Bool | None:
    """(k, 1 + p) whether an item is in each sum that is public elsewhere: over all k items, and over p parts.

    None if a part is not over the items that its name tells.
    """
    columns = [np.ones(len(makeups), np.bool_)]
    for part in parts:
        if part.by == "group":
            members = [group == part.name for group in table_groups]
        else:
            members = [part.by == "element" and part.name in makeup.elements for makeup in makeups]
        if sum(members) != part.n_items:
            return None
        columns.append(np.array(members))
    return np.stack(columns, axis=1)


def _revealing(labels: Int, others: Bool) -> int | None:
    """The number of a group that has to be merged, by the condition at the top; None if it holds.

    Items of one group and the same other sums are alike in all combinations, and stand in one row of the matrices.

    Args:
        labels: (k,) the group of each item.
        others: (k, q) as of `_public_elsewhere`.
    """
    _, signature = np.unique(np.packbits(others, axis=1), axis=0, return_inverse=True)
    code = labels * (signature.max() + 1) + signature.ravel()
    _, first, n_items = np.unique(code, return_index=True, return_counts=True)
    group, elsewhere = labels[first], others[first].astype(np.float64)
    everything = np.concatenate([elsewhere, np.eye(labels.max() + 1)[group]], axis=1)
    starts = np.cumsum(n_items) - n_items
    for hand in range(LEAST_ITEMS):
        dealt = (hand - starts) % LEAST_ITEMS < n_items
        vanishing = _vanishing(everything, dealt)
        if np.linalg.matrix_rank(vanishing, ZERO) > np.linalg.matrix_rank(_vanishing(elsewhere, dealt), ZERO):
            left = np.unique(group[np.abs(vanishing).max(axis=1) > ZERO])
            sizes = np.bincount(labels)
            return int(left[sizes[left].argmin()])
    return None


def _vanishing(sums: Float, dealt: Bool) -> Float:
    """(r, z) combinations of the columns of `sums` (r, c) that are 0 in the rows that are `dealt`, and span all these.

    Args:
        dealt: (r,)
    """
    triangle = np.linalg.qr(sums[dealt], mode="r")
    _, values, directions = np.linalg.svd(triangle)
    spanning: Float = sums @ directions[int((values > ZERO).sum()) :].T
    return spanning if spanning.shape[1] else np.zeros((len(sums), 1))
