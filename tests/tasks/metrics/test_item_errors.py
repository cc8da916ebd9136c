"""The error of each item: clipped, their mean is the penalised value; the structures of each item can be found."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.datasets.item_structures import structures_of
from tasks.kinds.registry import KINDS
from tasks.metrics.contributions import Contributing
from tasks.metrics.item_errors import item_errors
from tasks.structures.predictions import Cause
from tests.tasks.kind_examples import EXAMPLES, observed

QUICK = ("labelled_frames", "energy_differences", "energy_profiles", "equation_of_state", "compression")


@pytest.mark.parametrize("kind", QUICK)
def test_clipped_errors_give_the_penalised_value(kind: str) -> None:
    measurement, _ = observed(EXAMPLES[kind](), {0: Cause.ERROR})
    of_kind, items, n_found = KINDS[kind], measurement.items, 0
    assert isinstance(of_kind, Contributing)
    for name, metric in measurement.metrics.items():
        errors = item_errors(of_kind, items, name)
        if errors is None or metric.charged is None or metric.failure_cost is None:
            continue
        n_found += 1
        (weights,) = (each.counts for each in of_kind.contributions(items, {name: metric}))
        power = 2 if name.endswith(("rmse", "rmse_per_atom")) else 1
        clipped = np.minimum(errors, metric.failure_cost)[weights > 0] ** power
        mean = float(np.average(clipped, weights=weights[weights > 0])) ** (1 / power)
        assert mean == pytest.approx(metric.charged)
        assert (errors[(weights > 0) & (items.cause != 0)] == np.inf).all()
        assert np.isnan(errors[weights == 0]).all()
    assert n_found


def test_a_share_has_no_error_by_item() -> None:
    measurement, _ = observed(EXAMPLES["energy_profiles"](), {})
    assert item_errors(KINDS["energy_profiles"], measurement.items, "n_barriers_off") is None
    assert item_errors(KINDS["nve"], measurement.items, "slope_geomean") is None
    assert item_errors(object(), measurement.items, "mae") is None


@pytest.mark.parametrize("kind", [name for name in EXAMPLES if KINDS[name].traits.measures.is_in_table])
def test_each_item_of_a_table_has_its_structures(kind: str) -> None:
    dataset, part = EXAMPLES[kind]().dataset, KINDS[kind].traits.measures
    rows = dataset.table.items[part]
    assert rows
    for row in rows:
        indices = structures_of(dataset, part, row.id)
        assert indices
        assert len(set(indices)) == len(indices)
        assert max(indices) < len(dataset.frames)
    assert structures_of(dataset, part, "no such item") == ()


def test_an_item_of_labelled_frames_is_one_structure() -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    assert structures_of(dataset, "labels", dataset.table.id[2]) == (2,)
