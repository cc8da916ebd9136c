"""Numbers with which nothing can be computed: squares that overflow, neighbours beyond any memory.

They are far beyond those that `tasks.importing.import_checks` calls impossible, and cannot be trusted either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Float, Frames

LARGEST = 1e50
LARGEST_LENGTH = 1e6  # Å
THINNEST_CELL = 0.1  # Å, between the faces of a cell


def extreme_numbers(dataset: Dataset) -> list[str]:
    """A line for each array or item with an extreme number: its structure, or its table and id."""
    lines = [line for name, array in _arrays(dataset) if (line := _array_line(dataset, name, array))]
    thin = np.flatnonzero(_heights(dataset.frames) < THINNEST_CELL)
    if thin.size and not lines:
        lines.append(
            f"{dataset.table.id[int(thin[0])]}: cell: two of its faces are less than {THINNEST_CELL:g} Å apart, or its "
            "vectors lie in a plane"
        )
    for table, items in dataset.table.items.items():
        for item in items:
            worst = max((abs(number) for number in numbers_in(item.model_dump())), default=0.0)
            if worst > LARGEST:
                lines.append(f"{table}: {item.id}: {worst:.3g} is more than {LARGEST:g}, which no reference is")
    return lines


def numbers_in(value: Any) -> Iterator[float]:
    """The numbers in a nested value, in an order that items of one sort share."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from numbers_in(value[key])
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, (int, float)):
        yield float(value)


def _heights(frames: Frames) -> Float:
    """(n,) the least distance [Å] between two faces of a cell across a periodic direction; inf without one."""
    heights = np.full(len(frames), np.inf)
    a, b, c = frames.cell[frames.periodic].transpose(1, 0, 2)
    faces = [np.linalg.norm(np.cross(*pair), axis=1) for pair in ((a, b), (b, c), (c, a))]
    volumes = np.abs(np.einsum("ni,ni->n", a, np.cross(b, c)))
    heights[frames.periodic] = volumes / np.maximum(np.max(faces, axis=0), np.finfo(float).tiny)
    for index in np.flatnonzero(frames.pbc.any(axis=1) & ~frames.periodic).tolist():
        vectors = frames.cell[index][frames.pbc[index]]
        heights[index] = np.linalg.svd(vectors, compute_uv=False).min()
    return heights


def _arrays(dataset: Dataset) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "positions", dataset.frames.positions
    yield "cell", dataset.frames.cell
    yield from dataset.conditions.items()
    for sets in (dataset.label_arrays, dataset.geometries):
        for label_set, labels in sets.items():
            for name, array in labels.arrays.items():
                yield f"{label_set}: {name}", array


def _array_line(dataset: Dataset, name: str, array: NDArray[Any]) -> str:
    sizes = np.abs(array.reshape(len(array), -1).astype(np.float64)).max(axis=1, initial=0.0)
    bound = LARGEST_LENGTH if name.endswith(("positions", "cell")) else LARGEST
    beyond = np.flatnonzero(sizes > bound)
    if not beyond.size:
        return ""
    row = int(beyond[0])
    frame = int(dataset.frames.frame_index[row]) if len(array) == len(dataset.frames.numbers) else row
    return f"{dataset.table.id[frame]}: {name}: {sizes[row]:.3g} is more than {bound:g}, which no such number is"
