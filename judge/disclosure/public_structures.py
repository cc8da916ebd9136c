"""Public structures: of public data sets alone, those with the largest errors.

A hidden structure must not leave the judge. So for a hidden data set neither items nor structures are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from ase.data import chemical_symbols
from numpy.typing import NDArray

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.public_trajectories import FARTHEST, MOST_BYTES, MOST_FRAMES, PER_ANGSTROM
from judge.ranking.leaderboard import TaskLine
from tasks.datasets.dataset import Dataset
from tasks.datasets.item_structures import structures_of
from tasks.kinds.registry import KINDS
from tasks.metrics.item_errors import item_errors
from tasks.metrics.measurement import Items
from tasks.structures.frames import Float

MOST_ATOMS = MOST_BYTES // 40
"""Of all structures of an item together: its file has about 30 bytes an atom."""


class PublicStructure(NamedTuple):
    """A structure of a public data set.

    Args:
        symbols: (N,) of the elements.
        positions: (N, 3) [0.01 Å].
        cell: (3, 3) [0.01 Å], rows are the vectors; zero where there is none.
    """

    name: str
    symbols: tuple[str, ...]
    positions: NDArray[np.int64]
    cell: NDArray[np.int64]


def public_errors(
    line: TaskLine, metrics: Sequence[str], read: Callable[[TaskLine], Items | None], public: Collection[str]
) -> tuple[str, dict[str, float]] | None:
    """The first of `metrics` that is a mean over items, and the error of each item by id; infinite where it failed.

    None if the data set is hidden, or if no metric is such a mean.

    Args:
        read: the items of a task; not called for a hidden data set.
        public: names of the public data sets.
    """
    if line.result is None or is_hidden(line, public):
        return None
    items = read(line)
    if items is None or line.task.kind not in KINDS:
        return None
    for metric in metrics:
        errors = item_errors(KINDS[line.task.kind], items, metric)
        if errors is not None:
            known = ~np.isnan(errors)
            names = [name for name, is_known in zip(items.id, known, strict=True) if is_known]
            return metric, dict(zip(names, errors[known].tolist(), strict=True))
    return None


def public_structures(
    line: TaskLine, item: str, read: Callable[[TaskLine], Dataset | None], public: Collection[str]
) -> tuple[PublicStructure, ...]:
    """The structures of an item; empty if it is hidden or unknown, or if they have too many atoms for a page.

    Args:
        item: its id.
        read: the data set of a task's result; not called for a hidden one.
        public: names of the public data sets.
    """
    dataset = None if is_hidden(line, public) else read(line)
    if dataset is None:
        return ()
    frames = dataset.frames
    chosen = structures_of(dataset, line.task.traits.measures, item)[:MOST_FRAMES]
    if sum(int(frames.n_atoms[index]) for index in chosen) > MOST_ATOMS:
        return ()
    shown = []
    for index in chosen:
        atoms = frames.atom_slice(index)
        if np.abs(frames.positions[atoms]).max() < FARTHEST and np.abs(frames.cell[index]).max() < FARTHEST:
            symbols = tuple(chemical_symbols[number] for number in frames.numbers[atoms].tolist())
            lengths = (_hundredths(each) for each in (frames.positions[atoms], frames.cell[index]))
            shown.append(PublicStructure(dataset.table.id[index], symbols, *lengths))
    return tuple(shown)


def _hundredths(lengths: Float) -> NDArray[np.int64]:
    return np.rint(lengths * PER_ANGSTROM).astype(np.int64)
