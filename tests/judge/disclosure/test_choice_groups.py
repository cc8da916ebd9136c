"""No sum of a group of hidden items, nor any combination with other published sums, concerns fewer than five items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from judge.disclosure.choice_groups import (
    MOST_GROUPS,
    MOST_HIDDEN_GROUPS,
    OTHER,
    ChoiceGroups,
    _revealing,
    choice_groups,
)
from judge.disclosure.redaction import public_parts
from judge.ranking.item_makeup import Makeup, StructureClass
from judge.records.few_items import LEAST_ITEMS
from tasks.metrics.metric import Metric, MetricPart

CRYSTAL, SURFACE = StructureClass.CRYSTAL, StructureClass.SURFACE
SYMBOLS = ("Ag", "Au", "Cu", "Ni", "O")


def drawn(rng: np.random.Generator, n: int) -> tuple[list[Makeup], list[str]]:
    makeups = []
    for _ in range(n):
        elements = tuple(sorted(rng.choice(SYMBOLS, rng.integers(1, 4), replace=False).tolist()))
        makeups.append(Makeup(elements, CRYSTAL if rng.random() < 0.7 else SURFACE))
    return makeups, [f"group {k}" for k in rng.integers(0, 3, n)]


def published(makeups: Sequence[Makeup], table_groups: Sequence[str]) -> list[MetricPart]:
    """The parts by element and group that are shown."""
    elements = Counter(symbol for makeup in makeups for symbol in makeup.elements)
    parts = [MetricPart("element", name, "mae", 0.1, "eV", n) for name, n in sorted(elements.items())]
    parts += [MetricPart("group", name, "mae", 0.1, "eV", n) for name, n in sorted(Counter(table_groups).items())]
    whole = Metric(0.1, "eV", len(makeups), 0, 0.1)
    return list(public_parts(parts, {"mae": whole}, hidden=True))


def vectors(makeups: Sequence[Makeup], table_groups: Sequence[str], parts: Sequence[MetricPart]) -> np.ndarray:
    """(k, 1 + p) whether an item is in the whole and in each part."""
    columns = [[True] * len(makeups)]
    for part in parts:
        of_group = [group == part.name for group in table_groups]
        columns.append(of_group if part.by == "group" else [part.name in makeup.elements for makeup in makeups])
    return np.array(columns, np.float64).T


def vanishing(sums: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """(v,) for each of v sets of items, the dimension of the combinations of `sums` (k, c) that are 0 outside of it.

    Args:
        outside: (v, m) the items that are not in the set.
    """
    return np.linalg.matrix_rank(sums) - np.linalg.matrix_rank(sums[outside])


@pytest.mark.parametrize("seed", range(24))
def test_no_linear_combination_concerns_fewer_than_five_items(seed: int) -> None:
    """For each set of four items: what vanishes outside of it is a combination of the sums that are public anyway.

    A combination that concerns one to three items vanishes outside of some four items, too.
    """
    rng = np.random.default_rng(seed)
    makeups, table_groups = drawn(rng, int(rng.integers(16, 27)))
    parts = published(makeups, table_groups)[: 3 * (seed % 4)]
    labels = choice_groups(makeups, table_groups, np.ones(len(makeups), np.bool_), parts, hidden=True).labels
    others = vectors(makeups, table_groups, parts)
    everything = np.concatenate([others, np.eye(labels.max() + 1)[labels]], axis=1)
    items = set(range(len(makeups)))
    outside = np.array([sorted(items.difference(four)) for four in combinations(items, LEAST_ITEMS - 1)])
    assert (vanishing(everything, outside) == vanishing(others, outside)).all()


@pytest.mark.parametrize("seed", range(20))
def test_names_are_those_of_five_items(seed: int) -> None:
    rng = np.random.default_rng(seed)
    makeups, table_groups = drawn(rng, int(rng.integers(20, 300)))
    parts = published(makeups, table_groups)
    grouped = choice_groups(makeups, table_groups, np.ones(len(makeups), np.bool_), parts, hidden=True)
    assert min(np.bincount(grouped.labels)) >= LEAST_ITEMS
    for number, group in enumerate(grouped.groups):
        members = [makeup for makeup, label in zip(makeups, grouped.labels.tolist(), strict=True) if label == number]
        for symbol in set(group.elements) - {OTHER}:
            assert sum(symbol in makeup.elements for makeup in members) >= LEAST_ITEMS
        for structure in set(group.classes) - {OTHER}:
            assert sum(makeup.structure == structure for makeup in members) >= LEAST_ITEMS


def test_large_sets_keep_many_groups() -> None:
    """With parts by element and group, and elements that occur together in any way."""
    makeups, table_groups = drawn(np.random.default_rng(1), 1000)
    parts = published(makeups, table_groups)
    assert len(parts) == 8
    grouped = choice_groups(makeups, table_groups, np.ones(1000, np.bool_), parts, hidden=True)
    assert len(grouped.groups) == MOST_HIDDEN_GROUPS


def test_the_condition_sees_what_three_parts_and_a_group_reveal() -> None:
    """Of one group, less the items with A, B and C, is left the only item with D: no two parts reveal it."""
    sizes = {"A": 7, "B": 8, "C": 9, "D": 1, "E": 30}
    makeups = [Makeup((symbol,), CRYSTAL) for symbol, n in sizes.items() for _ in range(n)]
    everything, names = np.ones(len(makeups), np.bool_), [""] * len(makeups)
    parts = [MetricPart("element", symbol, "mae", 0.1, "eV", sizes[symbol]) for symbol in "ABC"]
    labels = np.array([symbol == "E" for symbol, n in sizes.items() for _ in range(n)]).astype(np.int64)
    assert _revealing(labels, vectors(makeups, names, parts) > 0) == 0
    assert _revealing(labels, vectors(makeups, names, parts[:2]) > 0) is None
    grouped = choice_groups(makeups, names, everything, parts, hidden=True)
    assert _revealing(grouped.labels, vectors(makeups, names, parts) > 0) is None


def test_data_sets_with_common_items_have_one_group_and_so_have_unknown_parts() -> None:
    makeups, table_groups = drawn(np.random.default_rng(1), 200)
    everything = np.ones(200, np.bool_)
    unknown = [MetricPart("element", "Cu", "mae", 0.1, "eV", 6), MetricPart("window", "2020", "mae", 0.1, "eV", 200)]
    known = [MetricPart("element", "Cu", "mae", 0.1, "eV", sum("Cu" in makeup.elements for makeup in makeups))]
    sizes = [
        len(choice_groups(makeups, table_groups, everything, parts, hidden=True, shared=shared).groups)
        for parts, shared in (((), False), (known, False), ((), True), (unknown[:1], False), (unknown[1:], False))
    ]
    assert sizes == [MOST_HIDDEN_GROUPS, MOST_HIDDEN_GROUPS, 1, 1, 1]


NACL, NAF, KCL, RBBR = ("Cl", "Na"), ("F", "Na"), ("Cl", "K"), ("Br", "Rb")


def salts(shown: str, *counts: tuple[tuple[str, ...], int]) -> list[tuple[tuple[str, ...], int]]:
    """Elements and sizes of the groups of a hidden data set with so many items of these elements.

    Args:
        shown: symbols whose parts are public; empty: those that are shown if there is a breakdown by element.
    """
    makeups = [Makeup(elements, CRYSTAL) for elements, n in counts for _ in range(n)]
    everything, names = np.ones(len(makeups), np.bool_), ["salts"] * len(makeups)
    parts = [part for part in published(makeups, names) if part.by == "element"]
    parts = [part for part in parts if not shown or part.name in shown.split()]
    grouped = choice_groups(makeups, names, everything, parts, hidden=True)
    return [(group.elements, group.n_items) for group in grouped.groups]


def test_overlaps_with_other_breakdowns_are_seen() -> None:
    """The sum over Cl less the group {Cl, K} would be the two items of {Cl, Na}, if these were in another group."""
    four = (NACL, 2), (NAF, 6), (KCL, 9), (RBBR, 9)
    apart = [(RBBR, 9), (KCL, 9), (("F", "Na", OTHER), 8)]
    assert salts("Rb", *four) == apart
    assert salts("Cl", *four) == [(RBBR, 9), (("Cl", "F", "K", "Na"), 17)]
    assert salts("", *four) == apart  # the sums over Na and F reveal the two items, and the groups tell nothing new
    assert salts("", (NACL, 2), (NAF, 6), (RBBR, 9)) == [(RBBR, 9), (("F", "Na", OTHER), 8)]  # no breakdown is public
    alloyed = salts("", (("Cl", "Na", "Tm"), 1), (NACL, 6), (RBBR, 9))
    assert alloyed == [(RBBR, 9), (("Cl", "Na", OTHER), 7)]  # Tm is not shown
    assert salts("", (NACL, 5), (NAF, 6), (KCL, 9), (RBBR, 9)) == [(RBBR, 9), (KCL, 9), (NACL, 5), (NAF, 6)]


def test_groups_do_not_depend_on_the_order_of_items() -> None:
    makeups, table_groups = drawn(np.random.default_rng(5), 80)
    order = np.random.default_rng(6).permutation(80)
    everything = np.ones(80, np.bool_)
    shuffled = choice_groups([makeups[i] for i in order], [table_groups[i] for i in order], everything, hidden=True)
    assert shuffled.groups == choice_groups(makeups, table_groups, everything, hidden=True).groups


def test_public_groups_may_be_small_but_not_too_many() -> None:
    makeups = [Makeup((f"E{k:03d}",), CRYSTAL) for k in range(100)]
    public = choice_groups(makeups, [""] * 100, np.ones(100, np.bool_), hidden=False)
    hidden = choice_groups([*makeups] * 6, [""] * 600, np.ones(600, np.bool_), hidden=True)
    assert (len(public.groups), len(hidden.groups)) == (MOST_GROUPS, MOST_HIDDEN_GROUPS)
    few = choice_groups(makeups[:3], [""] * 3, np.ones(3, np.bool_), hidden=False)
    assert [group.n_items for group in few.groups] == [1, 1, 1]


def test_four_hidden_items_have_no_group() -> None:
    makeups, everything = [Makeup(("Cu",), CRYSTAL)] * 9, np.ones(9, np.bool_)
    assert choice_groups(makeups, [""] * 9, everything, hidden=True).groups
    four: ChoiceGroups = choice_groups(makeups, [""] * 9, np.arange(9) < 4, hidden=True)
    assert four.groups == ()
    assert (four.labels == -1).all()
