"""Which differences between two numbers count as rounding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judge.audit.tolerance import ABSOLUTE, RELATIVE, is_same


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-3, 3))
def test_rounding_is_passed_over_and_more_is_not(number: float, times: float) -> None:
    moved = number * (1 + times * RELATIVE)
    if abs(times) < 0.999:
        assert is_same(number, moved)
    if abs(times) > 1.001 and abs(number * times * RELATIVE) > 2 * ABSOLUTE and abs(moved) < 1e308:
        assert not is_same(number, moved)


def test_what_is_no_number_is_never_the_same() -> None:
    assert not is_same(float("nan"), float("nan"))
    assert not is_same(1.0, float("nan"))
    assert not is_same(None, 0.0)
    assert is_same(None, None)
