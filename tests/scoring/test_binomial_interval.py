"""The interval of a probability, by hand where it has a closed form."""

from __future__ import annotations

import pytest

from scoring.studentised import binomial_interval


@pytest.mark.parametrize("n", [1.0, 2.5, 10.0, 400.0])
def test_none_or_all_failed(n: float) -> None:
    """The probability p at which no failure has the probability 2.5 %: (1 − p)ⁿ = 0.025."""
    assert binomial_interval(0.0, n) == pytest.approx((0.0, 1 - 0.025 ** (1 / n)))
    assert binomial_interval(1.0, n) == pytest.approx((0.025 ** (1 / n), 1.0))


def test_one_of_two_failed() -> None:
    """At the lower end one failure or two have 2.5 %: 1 − (1 − p)²; at the upper one none or one: 1 − p²."""
    low, high = binomial_interval(0.5, 2.0)
    assert 1 - (1 - low) ** 2 == pytest.approx(0.025)
    assert high**2 == pytest.approx(0.975)


def test_five_of_ten_failed() -> None:
    """Clopper and Pearson's 0.187 to 0.813."""
    assert binomial_interval(0.5, 10.0) == pytest.approx((0.18709, 0.81291), abs=1e-5)
