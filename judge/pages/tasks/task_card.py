"""What is known of a task's data set: its card, where it comes from, and who says that a model was trained on it."""

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
    """The data set of a task as anybody may know it.

    Args:
        card: None where none can be read here.
        public_since: as the card states it; empty where the data set is hidden.
        source: where it can be had, in a line; empty where that is not stated, or not to be told.
    """

    name: str
    card: Card | None
    public_since: str
    source: str

    @property
    def is_public(self) -> bool:
        return bool(self.public_since)


def data_set(task: Task, sources: Sources) -> DataSet:
    """What may be said of a task's data set. Of a hidden one, the source only if it came with the judge anyway: that of
    a maintainer's own suite may say where the structures lie.
    """
    card = sources.cards.get(task.dataset)
    public = card is not None and task.dataset in sources.public
    told = public or task.source in packaged_sources()
    return DataSet(task.dataset, card, card.public_since if card and public else "", task.source if told else "")


@cache
def packaged_sources() -> frozenset[str]:
    """The sources that the suites that come with the judge state."""
    return frozenset(task.source for name in packaged_suites() for task in load_suite(name).tasks)


class Declared(NamedTuple):
    """A model whose card says that it was trained on a data set of this name."""

    row: Row
    training: TrainingSet


class Overlap(NamedTuple):
    """What the cards say of training on a data set.

    Args:
        declared: by models that name it.
        n_silent: of models that declare no training data at all.
        n_others: of models that declare other data.
    """

    declared: tuple[Declared, ...]
    n_silent: int
    n_others: int


def overlap(board: Leaderboard, task: Task, of: DataSet) -> Overlap:
    """The models that declare to have been trained on the data set, by its exact name but for case and punctuation.

    Compared with what the page itself shows: else a card with many names would find out what is not told.
    """
    names = {plain for name in _names(task, of) if (plain := plain_name(name))}
    declared, n_silent, n_others = [], 0, 0
    for row in board.rows:
        trained = row.submission.card.training
        found = [Declared(row, one) for one in trained if plain_name(one.name) in names]
        declared += found[:1]
        n_silent += not trained
        n_others += bool(trained) and not found
    return Overlap(tuple(declared), n_silent, n_others)


def plain_name(name: str) -> str:
    """The letters and digits of a name, in lower case: `MD-22` and `md 22` are one."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name).casefold())


def _names(task: Task, of: DataSet) -> Iterator[str]:
    yield of.name
    yield of.name.partition("@")[0]
    yield task.release_name
    yield of.source
    yield from of.source.split(";")
    if of.card is not None:
        yield of.card.title


class Setting(NamedTuple):
    """A parameter of a task, by its name in the suite; `value` as text."""

    name: str
    value: str


def settings(task: Task, *, hidden: bool) -> tuple[Setting, ...]:
    """The parameters of a task; of a hidden one without seeds, by which what is drawn could be drawn again."""
    given: Any = task.parameters
    stated = given.model_dump() if isinstance(given, BaseModel) else dict(given)
    return tuple(one for one in _flat(stated, "") if not (hidden and one.name.split(", ")[-1] == "seed"))


def _flat(stated: dict[str, Any], before: str) -> Iterator[Setting]:
    for name, value in stated.items():
        own = f"{before}{name}"
        if isinstance(value, dict):
            yield from _flat(value, f"{own}, ")
        elif value not in (None, ""):
            yield Setting(own, _text(value))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def known_labels(rows: Iterable[Row], index: int) -> tuple[str, ...]:
    """The label sets that models are held against in the task of that index, in alphabetical order."""
    results = (row.tasks[index].result for row in rows)
    return tuple(sorted({result.label_set for result in results if result is not None and result.label_set}))
