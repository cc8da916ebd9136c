"""The items table in the store, with and without the structures that items share."""

from __future__ import annotations

import numpy as np
import pytest

from judge.records.items_file import pack_items, unpack_items
from judge.records.observation_file import pack, unpack
from tasks.metrics.measurement import Items, ItemTerms

TERMS = ItemTerms(np.array([0, 0, 1, 1]), np.array([3, 0, 5, 0]), np.array([1.0, -1.0, 1.0, -2.0]))


def items(terms: ItemTerms | None) -> Items:
    names = ["a", "b"]
    return Items(names, names, names, np.zeros(2, np.int8), {"error": np.array([1.0, 2.0])}, terms)


def test_terms_are_kept_and_a_table_without_them_is_as_before() -> None:
    again = unpack_items(pack_items(items(TERMS))).terms
    assert again is not None
    assert all(np.array_equal(one, other) for one, other in zip(again, TERMS, strict=True))
    assert unpack_items(pack_items(items(None))).terms is None
    assert not any(name.startswith("terms") for name in unpack(pack_items(items(None)))[0])


@pytest.mark.parametrize("broken", [{"item": None}, {"item": np.array([0, 0, 1, 2])}, {"structure": np.zeros(4)}])
def test_terms_of_other_items_are_refused(broken: dict[str, np.ndarray | None]) -> None:
    arrays, text = unpack(pack_items(items(TERMS)))
    for name, array in broken.items():
        if array is None:
            del arrays[f"terms.{name}"]
        else:
            arrays[f"terms.{name}"] = array
    with pytest.raises(ValueError, match="terms"):
        unpack_items(pack(arrays, text))


def test_structures_are_shared_across_clusters_alone() -> None:
    assert TERMS.shared(["a", "b"])
    assert not TERMS.shared(["a", "a"])
    assert not TERMS._replace(structure=np.array([3, 0, 5, 1])).shared(["a", "b"])
