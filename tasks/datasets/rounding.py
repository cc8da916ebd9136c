"""Datasets with the same bytes on every processor.

numpy, BLAS and the C library choose their code by the processor. The last digits of a cube root, a matrix product or a
cosine therefore differ between processors, by some 1e-14. The grid is far coarser than that and far finer than physics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tasks.datasets.card import Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.structures.predictions import Labels

DECIMALS = 9  # of positions and cells [Å], energies [eV], forces [eV/Å], stresses [eV/Å³], references in their own unit


def rounded(dataset: Dataset) -> Dataset:
    """`dataset` with every floating-point number of its structures, labels, conditions and table on a grid of 1e-9."""
    return replace(
        dataset,
        frames=replace(dataset.frames, **_on_grid(dataset.frames.arrays())),
        table=Table.model_validate(_on_grid(dataset.table.model_dump())),
        label_arrays={name: Labels(**_on_grid(vars(labels))) for name, labels in dataset.label_arrays.items()},
        conditions=_on_grid(dataset.conditions),
        geometries={name: Geometries(**_on_grid(vars(part))) for name, part in dataset.geometries.items()},
    )


def _on_grid(value: Any) -> Any:
    """`value` with every float in it rounded, and 0 in place of −0."""
    if isinstance(value, dict):
        return {name: _on_grid(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_on_grid(part) for part in value)
    if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
        return np.round(value, DECIMALS) + 0.0
    return value
