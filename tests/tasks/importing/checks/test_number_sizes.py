"""Numbers with which nothing can be computed are refused, whatever ranges are trusted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tasks.importing.checks.number_sizes import extreme_numbers
from tests.tasks.kind_examples import EXAMPLES


@pytest.mark.parametrize("kind", EXAMPLES)
def test_data_sets_that_can_be_judged_have_none(kind: str) -> None:
    assert extreme_numbers(EXAMPLES[kind]().dataset) == []


@pytest.mark.parametrize(
    ("field", "index", "value", "line"),
    [
        ("positions", (5, 1), 1e7, "s1: positions: 1e+07 is more than 1e+06"),
        ("cell", (2, 0, 0), -1e12, "s2: cell: 1e+12 is more than 1e+06"),
        ("cell", (2, slice(1, 3)), [1.0, 2.0, 3.0], "s2: cell: has no volume: its vectors lie in a plane"),
        ("cell", (3, 0), [1e-3, 0.0, 0.0], "s3: cell: two of its faces are 0.001 Å apart, at least 0.1 Å are needed"),
    ],
)
def test_structures(field: str, index: Any, value: Any, line: str) -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    changed = np.array(getattr(dataset.frames, field))
    changed[index] = value
    lines = extreme_numbers(replace(dataset, frames=replace(dataset.frames, **{field: changed})))
    assert len(lines) == 1
    assert lines[0].startswith(line)


def test_a_surface_whose_periodic_vectors_are_parallel() -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    cell, pbc = np.array(dataset.frames.cell), np.array(dataset.frames.pbc)
    pbc[0], cell[0] = (True, True, False), [[3.0, 0.0, 0.0], [3.0, 0.01, 0.0], [0.0, 0.0, 0.0]]
    label_set, labels = next(iter(dataset.label_arrays.items()))
    alone = replace(
        dataset,
        card=dataset.card.model_copy(update={"periodic": False}),
        frames=replace(dataset.frames, cell=cell, pbc=pbc),
        label_arrays={label_set: replace(labels, stress=None)},
    )
    assert [line.partition(" Å")[0] for line in extreme_numbers(alone)] == ["s0: cell: two of its faces are 0.0071"]


def test_labels_and_references() -> None:
    dataset = EXAMPLES["labelled_frames"]().dataset
    label_set, labels = next(iter(dataset.label_arrays.items()))
    forces = np.array(labels.forces)
    forces[4] = [0.0, -1e60, 0.0]
    wrong = replace(dataset, label_arrays={label_set: replace(labels, forces=forces)})
    assert extreme_numbers(wrong) == [f"s1: {label_set}: forces: 1e+60 is more than 1e+50, which no such number is"]
    differences = EXAMPLES["energy_differences"]().dataset
    rows = list(differences.table.differences)
    rows[3] = rows[3].model_copy(update={"reference": {"PBE": -1e300}})
    table = differences.table.model_copy(update={"differences": tuple(rows)})
    line = "differences: d3: 1e+300 is more than 1e+50, which no reference is"
    assert extreme_numbers(replace(differences, table=table)) == [line]
