"""What is read of a benchmark, and the data set that becomes of it: its card is stated in `benchmarks.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple

from ase import Atoms
from numpy.typing import NDArray
from pydantic import Field

from tasks.datasets.card import Card, CardPart, LabelSet, Positive, Table
from tasks.datasets.dataset import Dataset
from tasks.datasets.geometries import Geometries
from tasks.structures.frames import Frames

RunMode = Literal["standard", "fast", "dev", "2025"]
"""The modes of MLIPAudit 0.1.8; and `2025`, the systems of its paper."""


class StatedCard(CardPart):
    """What `benchmarks.toml` states of a benchmark.

    Args:
        n_published: the items, or structures, of the published files; 0: not known.
        label_set: empty for structures alone.
    """

    title: str
    citation: str
    licence: str
    public_since: str
    n_published: int
    label_set: str = ""
    theory: str = ""
    dispersion: bool = False
    baselines: dict[str, Positive] = Field(default_factory=dict)

    def card(self, name: str, periodic: bool) -> Card:
        """The card of a data set of that name, version 1."""
        sets = [self.label_set] if self.label_set else []
        return Card(
            name=name,
            version="1",
            title=self.title,
            domain="Molecules",
            citation=self.citation,
            licence=self.licence,
            public_since=self.public_since,
            periodic=periodic,
            default_label_set=self.label_set or None,
            label_sets={each: LabelSet(theory=self.theory, dispersion=self.dispersion) for each in sets},
            baselines={each: self.baselines for each in sets if self.baselines},
        )


class PublishedStructure(NamedTuple):
    """A structure with its name and group; charge and 2S+1 are in `info`, as `Frames.from_atoms` reads them."""

    id: str
    atoms: Atoms
    group: str = ""
    cluster: str = ""


@dataclass(frozen=True, eq=False)
class BenchmarkContent:
    """The structures of a benchmark, and what is measured of them.

    Args:
        card: its name in `benchmarks.toml`.
        items: by field of `tasks.datasets.card.Table`.
        starts_are_references: whether the structures are the reference geometries, too.
    """

    card: str
    structures: Sequence[PublishedStructure]
    items: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    conditions: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    starts_are_references: bool = False

    def dataset(self, name: str) -> Dataset:
        """The data set of that name.

        Raises:
            DatasetError: its parts do not fit each other; the line names file and field.
        """
        stated = stated_cards()[self.card]
        frames = Frames.from_atoms([each.atoms for each in self.structures])
        table = Table(
            id=tuple(each.id for each in self.structures),
            group=tuple(each.group for each in self.structures),
            cluster=tuple(each.cluster or each.id for each in self.structures),
            **{name: tuple(items) for name, items in self.items.items()},
        )
        geometries = {}
        if self.starts_are_references:
            geometries[stated.label_set] = Geometries(frames.positions, frames.cell)
        card = stated.card(name, periodic=bool(frames.periodic.all()))
        return Dataset(card, frames, table, {}, dict(self.conditions), geometries)


def label_set_of(card: str) -> str:
    """The label set of the references of a benchmark."""
    return stated_cards()[card].label_set


@cache
def stated_cards() -> Mapping[str, StatedCard]:
    """The cards by benchmark."""
    text = resources.files("tasks.importing.mlipaudit").joinpath("benchmarks.toml").read_text(encoding="utf-8")
    return {name: StatedCard.model_validate(fields) for name, fields in tomllib.loads(text).items()}
