"""The law of failure costs, over all kinds: replacing any prediction by a failure never improves a metric."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.kinds.registry import KINDS
from tasks.structures.predictions import Cause
from tests.tasks.kind_examples import EXAMPLES, observed

COUNTS = ("n_barriers_off",)
MANY_QUESTIONS = ("elasticity", "phonons", "physicality", "relaxed_structures", "thermal_conductivity")


def test_there_is_a_world_for_every_kind() -> None:
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in MANY_QUESTIONS else ()) for name in EXAMPLES]
)
def test_replacing_any_prediction_by_a_failure_never_improves_a_metric(name: str) -> None:
    example = EXAMPLES[name]()
    whole, n_asked = observed(example, {})
    assert not whole.items.failures() or name == "physicality", whole.items.failures()
    first, _ = observed(example, {0: Cause.ERROR})
    rng = np.random.default_rng(7)
    for cause in (Cause.ERROR, Cause.NON_FINITE, Cause.OUT_OF_MEMORY):
        fails = frozenset({int(rng.integers(n_asked))})
        better, _ = observed(example, dict.fromkeys(fails, cause))
        # Further failures come later: one before would change which structure each later question is about.
        later = {int(k) for k in rng.integers(min(fails), n_asked, size=3)}
        worse, _ = observed(example, dict.fromkeys(fails | later, cause))
        for metric, record in whole.metrics.items():
            if record.charged is None:
                continue
            charges = [m.metrics[metric].charged for m in (whole, better, worse)]
            assert charges == sorted(charges), (metric, charges)
            assert record.charged <= (first.metrics[metric].charged or 0.0), (metric, "the first call")


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_a_model_that_fails_at_everything_has_no_value_and_every_item_counted(name: str) -> None:
    example = EXAMPLES[name]()
    _, n_asked = observed(example, {})
    nothing, _ = observed(example, dict.fromkeys(range(2 * n_asked), Cause.ERROR))
    assert sum(nothing.items.failures().values()) == len(nothing.items)
    for metric, record in nothing.metrics.items():
        if record.charged is None:
            continue
        assert record.value is None, metric
        assert record.n_failed == record.n_items, metric
        worst = record.failure_cost * (record.n_items if metric in COUNTS else 1)
        assert record.charged == pytest.approx(worst), metric
