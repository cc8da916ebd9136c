"""The data set of a task: its card, its source, and the models that declare to be trained on it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel

from judge.ranking.leaderboard import Leaderboard, Row
from judge.view.sources import Sources
from submissions.records import TrainingSet
from tasks.datasets.card import Card
from tasks.suites.suite import Task, load_suite, packaged_suites


class DataSet(NamedTuple):
    """The public facts about the data set of a task.

    Args:
        card: None if the card cannot be read.
        public_since: as the card states it; empty if the data set is hidden.
        source: the origin of the data set, in a line; empty if it is not stated or not public.
    """

    name: str
    card: Card | None
    public_since: str
    source: str

    @property
    def is_public(self) -> bool:
        return bool(self.public_since)


def data_set(task: Task, sources: Sources) -> DataSet:
    """The data set of a task.

    The source of a hidden data set is public only if the judge itself ships it: a source in a maintainer's own suite
    may name the place of the structures.
    """
    card = sources.cards.get(task.dataset)
    public = card is not None and task.dataset in sources.public
    source = task.source if public or task.source in packaged_sources() else ""
    return DataSet(task.dataset, card, card.public_since if card and public else "", source)


@cache
def packaged_sources() -> frozenset[str]:
    """The sources in the suites of this package."""
    return frozenset(task.source for name in packaged_suites() for task in load_suite(name).tasks)


class Declared(NamedTuple):
    """A model whose card names this data set as training data."""

    row: Row
    training: TrainingSet


class Overlap(NamedTuple):
    """How the training data of all models relates to a data set.

    Args:
        declared: the models that name it.
        n_silent: how many models declare no training data.
        n_others: how many models declare other data only.
    """

    declared: tuple[Declared, ...]
    n_silent: int
    n_others: int


def overlap(board: Leaderboard, task: Task, dataset: DataSet) -> Overlap:
    """The models that declare to be trained on the data set, by its name without case and punctuation.

    Only names on the page count: otherwise a card with many names could find out a name that is not public.
    """
    names = {plain for name in _names(task, dataset) if (plain := plain_name(name))}
    declared, n_silent, n_others = [], 0, 0
    for row in board.rows:
        trained = row.submission.card.training
        named = [Declared(row, training) for training in trained if plain_name(training.name) in names]
        declared += named[:1]
        n_silent += not trained
        n_others += bool(trained) and not named
    return Overlap(tuple(declared), n_silent, n_others)


def plain_name(name: str) -> str:
    """The letters and digits of a name, in lower case: `MD-22` and `md 22` are equal."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def _names(task: Task, dataset: DataSet) -> Iterator[str]:
    yield dataset.name
    yield dataset.name.partition("@")[0]
    yield task.release_name
    yield dataset.source
    yield from dataset.source.split(";")
    if dataset.card is not None:
        yield dataset.card.title


_UNITS = {
    "ev_per_atom": "eV/atom",
    "per_ps": "ps⁻¹",
    "fmax": "eV/Å",
    "bar": "bar",
    "fs": "fs",
    "k": "K",
    "s": "s",
    "thz": "THz",
}
"""By the end of a parameter's name."""


class TaskParameter(NamedTuple):
    """A parameter of a task, by its name in the suite; `value` as text, with its unit if the name has one."""

    name: str
    value: str


def task_parameters(task: Task, *, hidden: bool) -> tuple[TaskParameter, ...]:
    """The parameters of a task; without seeds if it is hidden, since a seed repeats what was drawn with it."""
    given: Any = task.parameters
    stated = given.model_dump() if isinstance(given, BaseModel) else dict(given)
    return tuple(each for each in _flat(stated, "") if not (hidden and each.name.split(", ")[-1] == "seed"))


def _flat(stated: dict[str, Any], before: str) -> Iterator[TaskParameter]:
    for name, value in stated.items():
        path = f"{before}{name}"
        if isinstance(value, dict):
            yield from _flat(value, f"{path}, ")
        elif value not in (None, ""):
            unit = next((unit for end, unit in _UNITS.items() if name == end or name.endswith(f"_{end}")), "")
            yield TaskParameter(path, f"{_text(value)} {unit}".rstrip())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def known_labels(rows: Iterable[Row], index: int) -> tuple[str, ...]:
    """The label sets of the results in the task of that index, in alphabetical order."""
    results = (row.tasks[index].result for row in rows)
    return tuple(sorted({result.label_set for result in results if result is not None and result.label_set}))
