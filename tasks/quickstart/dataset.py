"""Datasets from lists of named structures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ase import Atoms
from numpy.typing import NDArray

from tasks.datasets.card import Card, Crystal, Curve, Difference, Domain, Scan, Table
from tasks.datasets.dataset import Dataset
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels

ASE_LICENCE = "LGPL-2.1-or-later (ASE)"
PUBLIC_SINCE = "2026"  # the year in which this file published these procedural structures


class Named(NamedTuple):
    """A structure with its name and its group."""

    id: str
    group: str
    atoms: Atoms


class Entries(NamedTuple):
    """The items of a table."""

    differences: Sequence[Difference] = ()
    curves: Sequence[Curve] = ()
    scans: Sequence[Scan] = ()
    crystals: Sequence[Crystal] = ()


def dataset_of(
    card: Card,
    structures: Sequence[Named],
    items: Entries | None = None,
    *,
    clusters: Sequence[str] | None = None,
    labels: Mapping[str, Labels] | None = None,
    conditions: Mapping[str, NDArray[Any]] | None = None,
) -> Dataset:
    """The dataset of `structures`, each its own cluster unless `clusters` says otherwise."""
    held = items or Entries()
    table = Table(
        id=tuple(entry.id for entry in structures),
        group=tuple(entry.group for entry in structures),
        cluster=tuple(clusters) if clusters else tuple(entry.id for entry in structures),
        differences=tuple(held.differences),
        curves=tuple(held.curves),
        scans=tuple(held.scans),
        crystals=tuple(held.crystals),
    )
    frames = Frames.from_atoms([entry.atoms for entry in structures])
    return Dataset(card, frames, table, labels or {}, conditions or {})


def unlabelled(name: str, title: str, domain: Domain, structures: Sequence[Named]) -> Dataset:
    """A dataset of structures alone."""
    periodic = bool(structures[0].atoms.pbc.all())
    card = Card(
        name=name,
        version="1",
        title=title,
        domain=domain,
        periodic=periodic,
        licence=ASE_LICENCE,
        public_since=PUBLIC_SINCE,
    )
    return dataset_of(card, structures)
