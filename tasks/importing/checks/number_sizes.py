"""Numbers with which nothing can be computed: squares that overflow, neighbours beyond any memory.

They are far beyond those that `tasks.importing.import_checks` calls impossible, and cannot be trusted either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Float, Frames

LARGEST = 1e50
LARGEST_LENGTH = 1e6  # Å
THINNEST_CELL = 0.1  # Å, between the faces of a cell
FLAT = 1e-6  # Å, likewise


def extreme_numbers(dataset: Dataset) -> list[str]:
    """A line for each array or item with an extreme number: its structure, or its table and id."""
    frames, ids = dataset.frames, dataset.table.id
    lines = extreme_structures(frames, ids)
    lines += [line for name, array in _arrays(dataset) if (line := _array_line(frames, ids, name, array))]
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


def extreme_structures(frames: Frames, ids: Sequence[str]) -> list[str]:
    """A line for positions, for cells, or for the distance of a cell's faces, if they are extreme.

    Args:
        ids: by frame, its name.
    """
    arrays = {"positions": frames.positions, "cell": frames.cell}
    lines = [line for name, array in arrays.items() if (line := _array_line(frames, ids, name, array))]
    heights = _heights(frames)
    thin = np.flatnonzero(heights < THINNEST_CELL)
    if thin.size and not lines:
        first = int(thin[0])
        apart = f"two of its faces are {heights[first]:.2g} Å apart, at least {THINNEST_CELL:g} Å are needed"
        flat = "has no volume: its vectors lie in a plane"
        lines.append(f"{ids[first]}: cell: {flat if heights[first] < FLAT else apart}")
    return lines


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
    yield from dataset.conditions.items()
    for sets in (dataset.label_arrays, dataset.geometries):
        for label_set, labels in sets.items():
            for name, array in labels.arrays.items():
                yield f"{label_set}: {name}", array


def _array_line(frames: Frames, ids: Sequence[str], name: str, array: NDArray[Any]) -> str:
    sizes = np.abs(array.reshape(len(array), -1).astype(np.float64)).max(axis=1, initial=0.0)
    bound = LARGEST_LENGTH if name.endswith(("positions", "cell")) else LARGEST
    beyond = np.flatnonzero(sizes > bound)
    if not beyond.size:
        return ""
    row = int(beyond[0])
    frame = int(frames.frame_index[row]) if len(array) == len(frames.numbers) else row
    return f"{ids[frame]}: {name}: {sizes[row]:.3g} is more than {bound:g}, which no such number is"
