"""The trivial model of thermal conductivities by hand: the best constant, evenly over all modes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.card import ConductivityReference
from tasks.kinds.conductivity_items import conductivity_errors, trivial_columns
from tasks.simulation.heat_transport import ModeConductivity

WEIGHTS = (1, 3)


def reference(kappa: float, shares: tuple[float, float] = (0.5, 0.5)) -> ConductivityReference:
    """Two wave vectors with two modes, whose conductivities have these shares at each wave vector."""
    modes = tuple(tuple(kappa * weight * share for share in shares) for weight in WEIGHTS)
    return ConductivityReference(kappa=kappa, weights=WEIGHTS, modes=modes)


def test_fewer_than_four_crystals_have_the_error_of_zero() -> None:
    columns = trivial_columns([reference(1.0), reference(9.0), ConductivityReference(kappa=4.0)])
    assert columns["sre_baseline"].tolist() == [2.0, 2.0, 2.0]
    np.testing.assert_equal(columns["srme_baseline"], [2.0, 2.0, np.nan])


def test_the_best_constant_is_that_of_the_smallest_mean_error() -> None:
    """Of 2 (c - 1) / (c + 1) and 2 (9 - c) / (9 + c) the mean is 0.8 at both ends, and 1 at 3 W/m/K."""
    columns = trivial_columns([reference(1.0), reference(1.0), reference(9.0), reference(9.0)])
    assert columns["sre_baseline"].mean() == pytest.approx(0.8, abs=0.03)
    np.testing.assert_allclose(columns["srme_baseline"], columns["sre_baseline"])
    uneven = trivial_columns([reference(kappa, (1.0, 0.0)) for kappa in (1.0, 1.0, 9.0, 9.0)])
    # Half of 2 W/m/K is in the wrong mode: errors of 1 / 1.5, and (1 + 8) / 5.5.
    assert uneven["srme_baseline"].mean() == pytest.approx((1 / 1.5 + 9 / 5.5) / 2, abs=0.02)


@given(st.lists(st.floats(0.1, 1000.0), min_size=4, max_size=12), st.floats(0.05, 5000.0))
def test_no_even_conductivity_is_better_than_the_baseline(kappas: list[float], constant: float) -> None:
    """Up to the steps of the constants, 10 %, by which an error changes by no more than 0.05."""
    references = [reference(kappa, (0.8, 0.2)) for kappa in kappas]
    columns = trivial_columns(references)
    even = ModeConductivity(constant, np.array(WEIGHTS), np.array([[constant * w / 2] * 2 for w in WEIGHTS]))
    errors = [conductivity_errors(even, each) for each in references]
    for name in ("sre", "srme"):
        assert np.mean([each[name] for each in errors]) >= columns[f"{name}_baseline"].mean() - 0.05
