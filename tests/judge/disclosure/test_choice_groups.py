"""No sum of a group of hidden items, nor any combination with other published sums, concerns fewer than five items."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest

from judge.disclosure.choice_groups import MOST_GROUPS, MOST_HIDDEN_GROUPS, OTHER, ChoiceGroups, choice_groups
from judge.disclosure.redaction import LEAST_ITEMS
from judge.ranking.item_makeup import Makeup, StructureClass

CRYSTAL, SURFACE = StructureClass.CRYSTAL, StructureClass.SURFACE
SYMBOLS = ("Ag", "Au", "Cu", "Ni", "O")


def drawn(rng: np.random.Generator, n: int) -> tuple[list[Makeup], list[str]]:
    makeups = []
    for _ in range(n):
        elements = tuple(sorted(rng.choice(SYMBOLS, rng.integers(1, 4), replace=False).tolist()))
        makeups.append(Makeup(elements, CRYSTAL if rng.random() < 0.7 else SURFACE))
    return makeups, [f"group {k}" for k in rng.integers(0, 3, n)]


def published(makeups: Sequence[Makeup], table_groups: Sequence[str]) -> list[np.ndarray]:
    """By part of the other breakdowns, of elements and groups, whether each item is in it; the parts that are shown."""
    by_element = [np.array([symbol in makeup.elements for makeup in makeups]) for symbol in SYMBOLS]
    by_group = [np.array([group == name for group in table_groups]) for name in sorted(set(table_groups))]
    return [part.astype(int) for part in (*by_element, *by_group) if part.sum() >= LEAST_ITEMS]


def fewest(vector: np.ndarray, labels: np.ndarray) -> int:
    """The fewest items that a reader is left with who subtracts multiples of the sums of groups from `vector` (k,).

    Groups are disjoint, so the best multiple of each is found by itself: all values are tried.
    """
    groups = [vector[labels == group].tolist() for group in range(labels.max() + 1)]
    return sum(min(sum(value != each for each in group) for value in set(group)) for group in groups)


@pytest.mark.parametrize("seed", range(40))
def test_no_combination_concerns_fewer_than_five_items(seed: int) -> None:
    """Differences of one or two parts of other breakdowns with sums of any groups; of the whole, any groups suffice."""
    rng = np.random.default_rng(seed)
    makeups, table_groups = drawn(rng, int(rng.integers(20, 120)))
    grouped = choice_groups(makeups, table_groups, np.ones(len(makeups), np.bool_), hidden=True)
    labels = grouped.labels
    assert min(np.bincount(labels)) >= LEAST_ITEMS
    for number, group in enumerate(grouped.groups):
        members = [makeup for makeup, label in zip(makeups, labels.tolist(), strict=True) if label == number]
        for symbol in set(group.elements) - {OTHER}:
            assert sum(symbol in makeup.elements for makeup in members) >= LEAST_ITEMS
        for structure in set(group.classes) - {OTHER}:
            assert sum(makeup.structure == structure for makeup in members) >= LEAST_ITEMS
    parts = published(makeups, table_groups)
    pairs = [f(a, b) for a, b in combinations(parts, 2) for f in (np.subtract, np.add)]
    for vector in (*parts, *pairs):
        known = len(vector) - max(np.unique(vector, return_counts=True)[1])  # without any group
        left = fewest(vector, labels)
        assert left == 0 or left >= LEAST_ITEMS or known < LEAST_ITEMS


def salts(*counts: tuple[tuple[str, ...], int]) -> list[tuple[tuple[str, ...], int]]:
    """Elements and sizes of the groups of a hidden data set with so many items of these elements."""
    makeups = [Makeup(elements, CRYSTAL) for elements, n in counts for _ in range(n)]
    everything = np.ones(len(makeups), np.bool_)
    grouped = choice_groups(makeups, ["salts"] * len(makeups), everything, hidden=True)
    return [(group.elements, group.n_items) for group in grouped.groups]


def test_overlaps_with_other_breakdowns_are_seen() -> None:
    """The sum over the items with Na less the group {F, Na} would be the two items of {Cl, Na}.

    The sum over Na plus that over Cl less a group of the first three would be these two as well.
    """
    nacl, naf, kcl, rbbr = ("Cl", "Na"), ("F", "Na"), ("Cl", "K"), ("Br", "Rb")
    assert salts((nacl, 2), (naf, 6), (rbbr, 9)) == [(("Br", "F", "Na", "Rb", OTHER), 17)]
    assert salts((nacl, 2), (naf, 6), (kcl, 9), (rbbr, 9)) == [(("Br", "Cl", "F", "K", "Na", "Rb"), 26)]
    assert salts((("Cl", "Na", "Tm"), 1), (nacl, 6), (rbbr, 9)) == [
        (rbbr, 9),
        (("Cl", "Na", OTHER), 7),
    ]  # Tm is not shown
    assert salts((nacl, 5), (naf, 6), (kcl, 9), (rbbr, 9)) == [(rbbr, 9), (kcl, 9), (nacl, 5), (naf, 6)]


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
