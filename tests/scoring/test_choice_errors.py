"""The error of a model over chosen groups of items and its deviation, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from scoring.choice_errors import ColumnError, column_error, difference_deviation
from scoring.choice_sums import ErrorColumn, ModelSums, ReferenceSums, SumGroup

GROUPS = (SumGroup(("Cu",), ("crystal",), 3, 2, 4.0, 10.0), SumGroup(("O",), ("crystal",), 2, 2, 0.0, 0.0))
REFERENCE = ReferenceSums(GROUPS, 0.5, 0.1, (0, 0, 1), (1.0, 3.0, 0.0), 4.0)
MODEL = ModelSums(0, (2.0, 1.0), (0.5, 0.25), (0.3, 0.0), (1, 2), (0.75, 1.25, 1.0))
INDEPENDENT = ReferenceSums((SumGroup(("Cu",), ("crystal",), 3, 2, 4.0, 10.0),))


def column(reference: ReferenceSums = REFERENCE, model: ModelSums = MODEL, root: bool = False) -> ErrorColumn:
    return ErrorColumn("mae", ("energies",), root, (reference,), {"m": model})


def error(of: ErrorColumn, *elements: str) -> ColumnError:
    return column_error(of, "m", lambda group: group.elements[0] in elements)


def test_one_group() -> None:
    """R = 2 / 4, error ½ R; Σ (s − R d)² = 0.5 over two clusters, variances four times as large."""
    found = error(column(), "Cu")
    assert (found.value, found.n_items, found.n_failed, found.reference) == (0.25, 3, 1, 0)
    assert found.deviation == pytest.approx(0.5 * 2 * math.sqrt(0.5 * 2) / 4)
    assert found.influences == pytest.approx((0.25 / 4, -0.25 / 4))


def test_the_root_of_a_mean_square() -> None:
    """Half the relative deviation."""
    found = error(column(root=True), "Cu")
    assert found.value == pytest.approx(0.5 * math.sqrt(0.5))
    assert found.deviation == pytest.approx(found.value / 2)
    assert found.influences == pytest.approx((found.value / 8, -found.value / 8))


def test_two_groups() -> None:
    """R = 3 / 4, by 0.25 above that of the first; the second has no trivial error. Of four blocks one is missing."""
    found = error(column(), "Cu", "O")
    assert (found.value, found.n_items, found.n_failed) == (0.375, 5, 3)
    assert found.deviation == pytest.approx(math.sqrt((0.5 - 0.5 * 0.3 + 0.0625 * 10 + 0.25) * 4 / 3) / 4)
    assert found.influences == ()


def test_trivial_errors_below_1_are_errors() -> None:
    """R = 0.3 / 0.75: of 0.25 and of 0.5 the errors are 0.1 and 0.2, both at R."""
    groups = tuple(replace(group, trivial=trivial) for group, trivial in zip(GROUPS, (0.25, 0.5), strict=True))
    found = error(column(ReferenceSums(groups), replace(MODEL, errors=(0.1, 0.2))), "Cu", "O")
    assert found.value == pytest.approx(0.4)
    assert found.deviation == pytest.approx(math.sqrt(0.75 * 4 / 3) / 0.75)
    (only,) = (replace(group, trivial=0.5, trivial_squares=1.0) for group in GROUPS[1:])
    found = error(column(ReferenceSums((GROUPS[0], only)), replace(MODEL, errors=(2.0, 0.125))), "Cu", "O")
    ratio = 2.125 / 4.5
    first, second = 0.5 - ratio, 0.25 - ratio
    residual = 0.75 + 2 * first * 0.3 + first**2 * 10 + second**2
    assert found.deviation == pytest.approx(math.sqrt(residual * 4 / 3) / 4.5)


def test_without_more_said_errors_are_ratios() -> None:
    found = error(column(INDEPENDENT, replace(MODEL, block_errors=())), "Cu")
    assert found.value == 0.5
    assert found.deviation == pytest.approx(math.sqrt(0.5 * 2) / 4)
    assert found.influences == ()


@pytest.mark.parametrize(
    ("errors", "elements", "value"),
    [
        ((8.0, 0.0), ("Cu",), 1.0),
        ((9.0, 0.0), ("Cu",), 1.0),
        ((0.8, 0.0), ("Cu",), 0.1),
        ((0.0, 0.0), ("Cu",), 0.1),
        ((0.0, 1.0), ("O",), 1.0),
        ((0.0, 0.0), ("O",), 0.1),
    ],
)
def test_at_an_end_nothing_moves(errors: tuple[float, ...], elements: tuple[str, ...], value: float) -> None:
    found = error(column(model=replace(MODEL, errors=errors)), *elements)
    assert (found.value, found.deviation, found.reference, found.influences) == (value, 0.0, 0, ())


def test_a_model_without_sums_and_a_choice_without_groups_count_1() -> None:
    nothing = ColumnError(1.0, 0.0, 0, 0, None, ())
    assert column_error(column(), "another", lambda _: True) == nothing
    assert error(column()) == nothing


def test_one_cluster_has_no_deviation() -> None:
    reference = replace(REFERENCE, groups=(replace(GROUPS[0], n_clusters=1), GROUPS[1]))
    found = error(column(reference), "Cu")
    assert (found.value, found.deviation, found.n_items) == (0.25, None, 3)


def test_rounding_below_zero_is_no_variance() -> None:
    assert error(column(model=replace(MODEL, spreads=(-1e-20, 0.0))), "Cu").deviation == 0.0


@pytest.mark.parametrize(("n_blocks", "n"), [(30, 30), (29, 0)])
def test_influences_of_thirty_blocks_or_of_each_cluster(n_blocks: int, n: int) -> None:
    groups = (replace(GROUPS[0], n_clusters=40),)
    reference = ReferenceSums(groups, 0.5, 0.1, (0,) * n_blocks, (1.0,) * n_blocks)
    assert len(error(column(reference, replace(MODEL, block_errors=(0.1,) * n_blocks)), "Cu").influences) == n


def test_the_deviation_of_a_difference() -> None:
    """Of two models by block √(3/2 (0.1² + 0.2²)); of other references, or without blocks, as if independent."""
    one = ColumnError(0.5, 0.3, reference=0, influences=(0.1, -0.1, 0.2))
    other = ColumnError(0.4, 0.4, reference=0, influences=(0.0, 0.1, 0.2))
    assert difference_deviation(one, other) == pytest.approx(math.sqrt(0.05 * 3 / 2))
    for apart in (replace(other, reference=1), replace(other, influences=())):
        assert difference_deviation(one, apart) == pytest.approx(0.5)
        assert difference_deviation(apart, one) == pytest.approx(0.5)
    unknown = replace(other, deviation=None)
    assert difference_deviation(one, unknown) is None
    assert difference_deviation(unknown, one) is None
