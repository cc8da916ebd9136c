"""References that are all zero are doubted, since they give no baseline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasks.datasets.dataset import Dataset
from tasks.importing.checks.zero_references import REMEDY, zero_references
from tasks.structures.composition import composition
from tasks.structures.predictions import Labels
from tests.tasks.kind_examples import EXAMPLES


@pytest.mark.parametrize("kind", EXAMPLES)
def test_other_references_are_not_doubted(kind: str) -> None:
    assert zero_references(EXAMPLES[kind]().dataset) == []


def test_labels() -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    (label_set, labels) = next(iter(dataset.label_arrays.items()))
    energies = composition(dataset.frames).sum(axis=1) * -3.0
    zero = Labels(energies, np.zeros_like(labels.forces), labels.stress)
    assert zero_references(replace(dataset, label_arrays={label_set: zero})) == [
        f"{label_set}: energy: labels differ in composition alone, {REMEDY}",
        f"{label_set}: forces: labels are 0 in every frame, {REMEDY}",
    ]


def test_items() -> None:
    dataset: Dataset = EXAMPLES["reaction_paths"]().dataset
    rows = []
    for row in dataset.table.paths:
        reference = {name: value.model_copy(update={"reaction_energy": 0.0}) for name, value in row.reference.items()}
        rows.append(row.model_copy(update={"reference": reference}))
    changed = replace(dataset, table=dataset.table.model_copy(update={"paths": tuple(rows)}))
    assert zero_references(changed) == [f"paths: PBE reaction_energy: is 0 in every item, {REMEDY}"]
