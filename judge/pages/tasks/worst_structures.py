"""The structures of a public task with the largest errors, for the viewer of the task's page."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, islice
from typing import NamedTuple

from judge.disclosure.public_curves import PUBLIC_DIGITS
from judge.disclosure.public_structures import PublicStructure, public_errors, public_structures
from judge.disclosure.public_trajectories import PER_ANGSTROM
from judge.disclosure.redaction import rounded
from judge.figures.chosen_models import MOST_MODELS
from judge.figures.elements import FORCES
from judge.figures.names import model_names
from judge.pages.tasks.task_ranking import RankGroup
from judge.pages.tasks.trajectories import element_look
from judge.ranking.leaderboard import TaskLine
from judge.view.page_context import Frame
from tasks.suites.suite import Task

FOLDER = "structures/"
MOST_ITEMS = 6
_VERSION = 1  # part of the name of a file, so that files of an earlier form are not used again


class ModelErrors(NamedTuple):
    """The errors of a model in a task.

    Args:
        name: distinct on the page.
        errors: by item; infinite where it failed.
    """

    name: str
    line: TaskLine
    errors: Mapping[str, float]


class WorstItem(NamedTuple):
    """An item with large errors.

    Args:
        path: of the file with its structures; empty if there is none.
        errors: by model; None where the model has none of this item.
        largest: of the errors that are finite.
        why: for which of its errors it is listed.
    """

    name: str
    path: str
    errors: tuple[float | None, ...]
    largest: float
    why: str


@dataclass(frozen=True)
class WorstStructures:
    """The items of a task with the largest errors.

    Args:
        metric: whose errors these are; empty if there are none.
        models: their names.
        files: content by path.
    """

    metric: str = ""
    unit: str = ""
    models: tuple[str, ...] = ()
    items: tuple[WorstItem, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def worst_structures(frame: Frame, task: Task, groups: Sequence[RankGroup], scored: Sequence[str]) -> WorstStructures:
    """The worst items over the first models of the ranking; nothing of a hidden data set is read.

    Half of them have the largest error of any one model, so that the largest of all is there. The others have the
    largest median over the models, so that one bad model does not fill the list.

    Args:
        scored: the metrics of the task that scores count, in their order.
    """
    traits = task.traits
    if task.dataset not in frame.sources.public or not traits.labelled or traits.times or traits.first_run is not None:
        return WorstStructures()
    metrics = sorted(scored, key=lambda name: name != FORCES)  # one number of a frame says less than its forces
    models = _models(frame, task, groups, metrics)
    if not models:
        return WorstStructures()
    metric = models[0][0]
    of_metric = [model for name, model in models if name == metric]
    files: dict[str, bytes] = {}
    items = tuple(_item(frame, of_metric, name, why, files) for name, why in _chosen(of_metric))
    result = of_metric[0].line.result
    unit = result.metrics[metric].unit if result and metric in result.metrics else ""
    return WorstStructures(metric, unit, tuple(model.name for model in of_metric), items, files)


def _models(
    frame: Frame, task: Task, groups: Sequence[RankGroup], metrics: Sequence[str]
) -> list[tuple[str, ModelErrors]]:
    """The first models of the ranking with errors by item, each with the metric. Items of others are not read."""
    names = model_names(frame.board.rows)
    ranked = (each for group in groups for each in group.lines if each.line.ok)
    known = (
        (found[0], ModelErrors(names[each.row.submission.id], each.line, found[1]))
        for each in islice(ranked, MOST_MODELS)
        if (found := public_errors(each.line, metrics, frame.sources.item_table, frame.sources.public)) is not None
    )
    return list(known)


def _chosen(models: Sequence[ModelErrors]) -> list[tuple[str, str]]:
    """The names of at most `MOST_ITEMS` items, each with the reason why it is listed."""
    by_item: dict[str, list[float]] = {}
    for model in models:
        for name, error in model.errors.items():
            if math.isfinite(error):
                by_item.setdefault(name, []).append(error)
    largest = sorted(by_item, key=lambda name: (-max(by_item[name]), name))
    if len(models) == 1:
        return [(name, "largest error") for name in largest[:MOST_ITEMS]]
    median = sorted(by_item, key=lambda name: (-statistics.median(by_item[name]), name))
    first = [(name, "largest error of one model") for name in largest[: MOST_ITEMS // 2]]
    others = ((name, "largest median error") for name in median if name not in largest[: MOST_ITEMS // 2])
    return list(islice(chain(first, others), MOST_ITEMS))


def _item(frame: Frame, models: Sequence[ModelErrors], name: str, why: str, files: dict[str, bytes]) -> WorstItem:
    """An item; its file is added to `files`."""
    errors = tuple(rounded(model.errors[name], PUBLIC_DIGITS) if name in model.errors else None for model in models)
    line = next(model.line for model in models if name in model.errors)
    path = _path(line, name)
    content = (frame.earlier.read(path) if frame.earlier else None) or _file(frame, line, name)
    if content is not None:
        files[path] = content
    largest = max(error for error in errors if error is not None and math.isfinite(error))
    return WorstItem(name, path if content is not None else "", errors, largest, why)


def _path(line: TaskLine, item: str) -> str:
    """The path of the file; it changes with everything that the file is made from."""
    provenance = line.result.provenance if line.result else None
    keys = (provenance.dataset, provenance.frames_sha256, provenance.labels_sha256) if provenance else ()
    made_from = json.dumps([_VERSION, *keys, line.task.traits.measures, item])
    return f"{FOLDER}{line.task.name}/{sha256(made_from.encode()).hexdigest()[:16]}.json"


def _file(frame: Frame, line: TaskLine, item: str) -> bytes | None:
    structures = public_structures(line, item, frame.sources.dataset, frame.sources.public)
    return packed(structures) if structures else None


def packed(structures: Sequence[PublicStructure]) -> bytes:
    """The file: radius [Å] and colour of each element, and of each structure name, symbols, positions and cell."""
    symbols = sorted({symbol for structure in structures for symbol in structure.symbols})
    content = {
        "per_angstrom": PER_ANGSTROM,
        "elements": {symbol: element_look(symbol) for symbol in symbols},
        "structures": [
            {
                "name": structure.name,
                "symbols": structure.symbols,
                "cell": structure.cell.ravel().tolist(),
                "positions": structure.positions.ravel().tolist(),
            }
            for structure in structures
        ],
    }
    return json.dumps(content, separators=(",", ":")).encode()
