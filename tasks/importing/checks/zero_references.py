"""References that are all zero: a trivial model has no error in them, so that a task has no baseline to divide by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tasks.datasets.dataset import Dataset
from tasks.datasets.simulated_systems import SimulatedSystem
from tasks.importing.checks.number_sizes import numbers_in
from tasks.importing.import_checks import energy_spread
from tasks.metrics.failure_cost import SMALLEST_BASELINE

REMEDY = "so a task has no baseline: correct them, or state one under [baselines] in card.toml"


def zero_references(dataset: Dataset) -> list[str]:
    """A line for each label, and for each quantity of the items, that is zero wherever there is one."""
    lines = []
    for name, labels in dataset.label_arrays.items():
        for field, array in labels.arrays.items():
            values = energy_spread(dataset.frames, array) if field == "energy" else array
            if np.nanmax(np.abs(values), initial=0.0) < SMALLEST_BASELINE:
                what = "differ in composition alone" if field == "energy" else "are 0 in every frame"
                lines.append(f"{name}: {field}: labels {what}, {REMEDY}")
    for table, items in dataset.table.items.items():
        largest: dict[str, float] = defaultdict(float)
        for item in items:
            if not isinstance(item, SimulatedSystem):
                for quantity, size in _sizes(item.model_dump().get("reference", {}), ""):
                    largest[quantity] = max(largest[quantity], size)
        lines += [
            f"{table}:{name}: is 0 in every item, {REMEDY}"
            for name, size in largest.items()
            if size < SMALLEST_BASELINE
        ]
    return lines


def _sizes(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """The quantities in a nested reference, by label set and name, each with its largest size."""
    if isinstance(value, Mapping):
        for key in value:
            yield from _sizes(value[key], f"{name} {key}")
    elif numbers := list(numbers_in(value)):
        yield name, max(map(abs, numbers))
