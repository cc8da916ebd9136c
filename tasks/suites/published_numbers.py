"""Numbers that others published of a model, as a suite states them. The site shows them beside those of this judge.

[[published]]
model = "CHGNet"
source = "The paper of its authors, table 2"
why = "Displacements of 0.03 Å, and phono3py 4 in place of 3."
within = 0.01
units = { kappa = "W/(m K)" }

[published.metrics]
conductivity = { srme = 1.7096 }

[published.items.conductivity]
mp-22903 = { kappa = 0.4371 }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tasks.datasets.card import CardPart

WITHIN = 0.01
Number = Annotated[float, Field(allow_inf_nan=False)]
Numbers = Annotated[dict[str, Number], Field(min_length=1)]


class PublishedPart(CardPart):
    """One source's numbers of one model.

    Args:
        model: its name, and `version` its version, as in the cards of submissions; without a version any counts.
        why: why the judge's numbers may differ, in a sentence.
        within: share of a published number by which the judge's may differ and still agree.
        units: of columns, by name.
        metrics: by task and metric, in the unit that the judge measures the metric in.
        items: by task and item, numbers by column of the items table. Its data set must be public.
    """

    model: str = Field(min_length=1)
    version: str = ""
    source: str = Field(min_length=1)
    why: str = ""
    within: Annotated[float, Field(gt=0, le=1)] = WITHIN
    units: dict[str, str] = Field(default_factory=dict)
    metrics: dict[str, Numbers] = Field(default_factory=dict)
    items: dict[str, Annotated[dict[str, Numbers], Field(min_length=1)]] = Field(default_factory=dict)

    @property
    def tasks(self) -> frozenset[str]:
        """The names of its tasks."""
        return frozenset({*self.metrics, *self.items})


@dataclass(frozen=True)
class PublishedNumber:
    """A number of a model in a task.

    Args:
        item: of the data set; empty: it is a metric of the whole task.
        name: of the metric, or of the column of the items table.
        unit: of a column; empty for metrics, whose unit the judge knows.
    """

    part: PublishedPart
    task: str
    item: str
    name: str
    value: float
    unit: str = ""

    def is_of(self, model: str, version: str) -> bool:
        """Whether it is of a submission with this name and version."""
        return self.part.model == model and self.part.version in ("", version)

    def agrees(self, ours: float) -> bool:
        """Whether the judge's number is within the stated share of the published one."""
        return abs(ours - self.value) <= self.part.within * abs(self.value)


def published_numbers(parts: Sequence[PublishedPart]) -> Iterator[PublishedNumber]:
    """Every number, in the order in which the suite states them."""
    for part in parts:
        for task, metrics in part.metrics.items():
            for name, value in metrics.items():
                yield PublishedNumber(part, task, "", name, value)
        for task, items in part.items.items():
            yield from _of_items(part, task, items)


def _of_items(part: PublishedPart, task: str, items: Mapping[str, Mapping[str, float]]) -> Iterator[PublishedNumber]:
    for item, columns in items.items():
        for name, value in columns.items():
            yield PublishedNumber(part, task, item, name, value, part.units.get(name, ""))
