"""The law of failure costs, over all kinds: replacing any prediction by a failure never improves a metric."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest

from tasks.kinds.registry import KINDS
from tasks.metrics.kind_metric import Better
from tasks.metrics.run_progress import SURVIVAL
from tasks.structures.predictions import Cause
from tests.tasks.further_examples import ADDED, FURTHER
from tests.tasks.kind_examples import EXAMPLES, KindExample, observed

COUNTS = ("n_barriers_off",)
MANY_QUESTIONS = (
    *("elasticity", "phonons", "physicality", "relaxed_structures", "thermal_conductivity"),
    *("tensors", "spectra", "cells_and_space_groups"),
)
ALL = {**EXAMPLES, **FURTHER}


def cost(example: KindExample, metric: str, value: float | None) -> float:
    """The value of a metric such that less is better, whichever way the metric goes."""
    assert value is not None, metric
    for stated in example.kind.traits.metrics:
        if fnmatchcase(metric, stated.name):
            return -value if stated.better is Better.HIGHER else value
    return value  # of a part of the items


def test_there_is_a_world_for_every_kind() -> None:
    assert set(EXAMPLES) == set(KINDS)


def test_what_is_measured_on_request_is_among_them() -> None:
    assert ADDED.keys() == FURTHER.keys()
    for name, make in FURTHER.items():
        example = make()
        plain, _ = observed(EXAMPLES[example.kind.name](), {})
        whole, _ = observed(example, {})
        assert ADDED[name] <= whole.metrics.keys() - plain.metrics.keys(), name
        for metric in ADDED[name]:
            assert any(fnmatchcase(metric, stated.name) for stated in example.kind.traits.metrics), metric


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in MANY_QUESTIONS else ()) for name in ALL]
)
def test_replacing_any_prediction_by_a_failure_never_improves_a_metric(name: str) -> None:
    example = ALL[name]()
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
            charges = [cost(example, metric, m.metrics[metric].charged) for m in (whole, better, worse)]
            assert charges == sorted(charges), (metric, charges)
            assert charges[0] <= cost(example, metric, first.metrics[metric].charged), (metric, "the first call")


@pytest.mark.parametrize("name", list(ALL))
def test_a_model_that_fails_at_everything_has_no_value_and_every_item_counted(name: str) -> None:
    example = ALL[name]()
    whole, n_asked = observed(example, {})
    nothing, _ = observed(example, dict.fromkeys(range(2 * n_asked), Cause.ERROR))
    assert sum(nothing.items.failures().values()) == len(nothing.items)
    for metric, record in nothing.metrics.items():
        if record.charged is None:
            continue
        assert record.n_failed == record.n_items, metric
        if metric == SURVIVAL:  # none survives at all
            assert record.value == record.charged == 0.0
            continue
        assert record.value is None, metric
        if record.failure_cost is None:
            before = whole.metrics[metric].charged
            assert cost(example, metric, before) <= cost(example, metric, record.charged), metric
        else:
            worst = record.failure_cost * (record.n_items if metric in COUNTS else 1)
            assert record.charged == pytest.approx(worst), metric
