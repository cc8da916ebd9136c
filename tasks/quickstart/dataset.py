"""Datasets from lists of named structures, with their cards in `cards.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from ase import Atoms
from numpy.typing import NDArray

from tasks.datasets.card import Card, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

ASE_LICENCE = "LGPL-2.1-or-later (ASE)"
VERSIONS: Mapping[str, str] = {"relaxed-metals": "2", "wien2k-frames": "2"}  # of data sets that changed; else 1


class Named(NamedTuple):
    """A structure with its name and its group; an empty cluster stands for its name."""

    id: str
    group: str
    atoms: Atoms
    cluster: str = ""


def stated_card(name: str) -> Card:
    """The card that `cards.toml` states under that name."""
    text = resources.files("tasks.quickstart").joinpath("cards.toml").read_text(encoding="utf-8")
    return Card(name=name, version=VERSIONS.get(name, "1"), licence=ASE_LICENCE, **tomllib.loads(text)[name])


def dataset_of(
    card: Card,
    structures: Sequence[Named],
    *,
    labels: Mapping[str, Labels] | None = None,
    conditions: Mapping[str, NDArray[Any]] | None = None,
    geometries: Mapping[str, Geometries] | None = None,
    **items: Any,
) -> Dataset:
    """The dataset of `structures`.

    Args:
        items: by field of `Table`, such as `scans`.
    """
    table = Table(
        id=tuple(entry.id for entry in structures),
        group=tuple(entry.group for entry in structures),
        cluster=tuple(entry.cluster or entry.id for entry in structures),
        **items,
    )
    frames = Frames.from_atoms([entry.atoms for entry in structures])
    return Dataset(card, frames, table, labels or {}, conditions or {}, geometries or {})
