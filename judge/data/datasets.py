"""The data sets of a suite's tasks: ours are built on first use, missing ones are named with their command.

A kind that cannot be measured on a data set is told before anything is run: for this the judge looks into the table,
which no task that observes is ever given.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from judge.config import UsageError
from judge.data.import_options import is_folder
from judge.data.testset import TestSet, read_testset
from submissions.progress import Reporter
from tasks.datasets.card import Card
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, read_card, save_dataset
from tasks.datasets.dataset_checks import CARD, LABELS, TABLE
from tasks.kind import DatasetPart
from tasks.kinds.registry import KINDS
from tasks.quickstart.registry import BUILDERS
from tasks.suites.rehearsal import rehearse
from tasks.suites.suite import Suite, Task

# The data sets that come with the judge.
OWN: Mapping[str, Callable[[], Dataset]] = {f"{name}@1": build for name, build in BUILDERS.items()}

_IN_TABLES = sorted(part for part in DatasetPart if part.is_in_table)


class MissingData(UsageError):
    """Data sets are missing: which, where they can be had, and how each is imported."""


class Prepared(NamedTuple):
    """What can be judged.

    Args:
        testsets: by data set.
        skipped: names of the tasks that are left out for want of data.
    """

    tasks: list[Task]
    testsets: dict[str, TestSet]
    skipped: tuple[str, ...]


def prepare(data: Path, suite: Suite, tasks: Sequence[Task], reporter: Reporter, skip_missing: bool) -> Prepared:
    """The tasks whose data sets are there, those that we can build among them.

    Raises:
        MissingData: some are not there and `skip_missing` is not set; or none is.
        UsageError: a data set does not fit its task.
        DatasetError: one line that names file and field.
    """
    build_own(data, tasks, reporter)
    there = [task for task in tasks if is_there(data, task.dataset)]
    missing = [task for task in tasks if not is_there(data, task.dataset)]
    if missing and (not skip_missing or not there):
        raise MissingData("\n".join(missing_lines(data, suite, missing, len({task.dataset for task in tasks}))))
    if missing:
        names = ", ".join(task.name for task in missing)
        reporter.say(f"Left out, since their data sets are missing: {names}")
    for task in there:
        check_domain(suite, task, read_card(data / task.dataset))
    testsets = {name: read_testset(data, name) for name in dict.fromkeys(task.dataset for task in there)}
    return Prepared(there, testsets, tuple(task.name for task in missing))


def is_there(data: Path, dataset: str) -> bool:
    """Whether there is such a data set."""
    return (data / dataset / CARD).exists()


def build_own(data: Path, tasks: Sequence[Task], reporter: Reporter) -> None:
    """Builds those data sets of `tasks` that come with the judge and are not there yet."""
    wanted = dict.fromkeys(task.dataset for task in tasks)
    missing = [name for name in wanted if name in OWN and not is_there(data, name)]
    if missing:
        reporter.say(f"Building {', '.join(missing)} in {data} …")
    for name in missing:
        save_dataset(OWN[name](), data)


def missing_lines(data: Path, suite: Suite, missing: Sequence[Task], n_asked: int) -> list[str]:
    """What is missing, data set by data set, and what is to be done about it."""
    by_dataset: dict[str, list[Task]] = {}
    for task in missing:
        by_dataset.setdefault(task.dataset, []).append(task)
    lines = [f"suite {suite.name}: {len(by_dataset)} of {n_asked} data sets are missing in {data}"]
    for dataset, tasks in by_dataset.items():
        names = ", ".join(f"{task.name} ({task.kind})" for task in tasks)
        lines.append(f"  {dataset} for {names}")
        source = next((task.source for task in tasks if task.source), "")
        lines += [f"      {source}"] if source else []
        lines += [f"      {line}" for line in import_lines(tasks[0])]
    lines.append("Import them; or judge the others with --skip-missing.")
    return lines


def import_lines(task: Task) -> tuple[str, ...]:
    """The commands that import the data set of `task`: the suite's own, else what its kind needs."""
    if task.import_lines:
        return task.import_lines
    traits = KINDS.traits(task.kind)
    form = traits.import_format
    if form is None:
        return ('docs/suites.md, "What is imported", says how: there is no file format for these',)
    name, _, version = task.dataset.partition("@")
    stated = f"--name {name} --version {version} --domain '{task.model_domain}'"
    labels = " --label-set LEVEL_OF_THEORY" if traits.labelled else ""
    source = f"{form if isinstance(form, str) else form.name} {'FOLDER' if is_folder(form) else 'FILE'}"
    return (f"judge data import {source} {stated}{labels}",)


def check_domain(suite: Suite, task: Task, card: Card) -> None:
    """The model is told the domain that the data set is of."""
    if card.domain != task.model_domain:
        mapped = "" if task.domain == task.model_domain else f" (the suite's {task.domain})"
        raise UsageError(
            f"suite {suite.name}: task {task.name}: domain: is {task.model_domain}{mapped}, "
            f"the data set's is {card.domain}"
        )


def check_kind(data: Path, suite: Suite, task: Task) -> None:
    """The data set has what the task's kind measures: told by its card, its table, and a rehearsal without a model.

    Raises:
        UsageError: it has not; the line says what it has.
    """
    folder = data / task.dataset
    card = read_card(folder)
    where = f"suite {suite.name}: task {task.name}: kind: {task.kind}"
    needed = KINDS.traits(task.kind).measures
    if needed is DatasetPart.LABELS and LABELS not in card.sha256:
        raise UsageError(f"{where} needs labels, and {task.dataset} has none")
    found = count_items(folder / TABLE)
    if not needed.is_in_table or found is None:
        return
    if not found.get(needed):
        has = ", ".join(f"{count} {name}" for name, count in found.items() if count) or "no items at all"
        raise UsageError(f"{where} needs {needed}, and {task.dataset}/{TABLE} has {has}")
    try:
        rehearse(KINDS[task.kind], load_dataset(folder), task.parameters)
    except DatasetError:
        raise
    except ValueError as error:
        raise UsageError(f"{where}: does not fit {task.dataset}: {error}") from None


def count_items(path: Path) -> dict[str, int] | None:
    """How many items of each sort a table has; None where it cannot be read, which measuring will tell."""
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return {part: len(table.get(part, ())) for part in _IN_TABLES} if isinstance(table, dict) else None
