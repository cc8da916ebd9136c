"""The baselines of equations of state: no constant has a lower error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.datasets.card import CurveReference
from tasks.datasets.dataset import load_dataset
from tasks.kinds.equation_of_state import EquationOfStateKind
from tasks.metrics.curve_baselines import (
    BASELINES,
    constant_errors,
    curve_baselines,
    stated_baseline_faults,
    weighted_median,
)


def references(b0: list[float], b0_prime: list[float]) -> list[CurveReference]:
    pairs = zip(b0, b0_prime, strict=True)
    return [CurveReference(v0_per_atom=20.0, b0_gpa=b, b0_prime=p) for b, p in pairs]


FIVE = references([50.0, 100.0, 100.0, 125.0, 200.0], [4.0, 4.2, 4.5, 4.6, 5.2])


def test_by_hand() -> None:
    # Of B0′ the median is 4.5: off by 0.5, 0.3, 0, 0.1 and 0.7. Of B0, weighted, it is 100: off by 100, 0, 0, 20, 50 %.
    errors = constant_errors(FIVE)
    assert errors == pytest.approx({"b0_mae_percent": 170 / 5, "b0_prime_mae": 1.6 / 5})
    scale = {name: value for name, (_, value) in BASELINES.items()}
    assert curve_baselines(FIVE) == pytest.approx({**scale, "b0_prime_mae": 0.32})
    # Few curves, constants that are worse than PBE, and references without any spread keep the scale.
    assert curve_baselines(FIVE[:4]) == scale
    assert curve_baselines(references([100.0] * 5, [2.0, 3.0, 4.0, 6.0, 9.0])) == scale
    assert curve_baselines(references([100.0] * 5, [4.5] * 5)) == scale


@given(
    b0=st.lists(st.floats(1.0, 500.0), min_size=5, max_size=12),
    constant=st.floats(1.0, 500.0),
    slope=st.floats(0.1, 9.0),
    data=st.data(),
)
def test_no_constant_is_better(b0: list[float], constant: float, slope: float, data: st.DataObject) -> None:
    b0_prime = data.draw(st.lists(st.floats(0.1, 9.0), min_size=len(b0), max_size=len(b0)))
    errors = constant_errors(references(b0, b0_prime))
    assert errors["b0_mae_percent"] <= 100 * np.mean(np.abs(constant / np.array(b0) - 1)) * (1 + 1e-9) + 1e-9
    assert errors["b0_prime_mae"] <= np.mean(np.abs(slope - np.array(b0_prime))) * (1 + 1e-9) + 1e-9


def test_the_weighted_median_is_one_of_the_values() -> None:
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])) == 2.0
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([4.0, 1.0, 1.0])) == 3.0


def test_a_stated_baseline_that_a_constant_reaches_is_named(quickstart: Path) -> None:
    dataset = load_dataset(quickstart / "wien2k-eos@1")
    error = constant_errors([curve.reference["PBE"] for curve in dataset.table.curves])["b0_prime_mae"]
    assert error == pytest.approx(0.492, abs=1e-3)
    for stated, faults in ((error, 0), (0.638, 1)):
        card = dataset.card.model_copy(update={"baselines": {"PBE": {"b0_prime_mae": stated, "v0_mae_percent": 99.0}}})
        lines = stated_baseline_faults(replace(dataset, card=card))
        assert len(lines) == faults
        assert EquationOfStateKind().build_faults(replace(dataset, card=card)) == lines
    assert lines == [
        "baselines.PBE.b0_prime_mae: 0.638 is larger than the error of one constant for all crystals, 0.492, "
        "which would pass for a model: leave it out, or state at most this"
    ]
