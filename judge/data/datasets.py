"""The data sets of a suite's tasks: those of the judge are built on first use, missing ones are named with a remedy.

A task whose kind does not fit its data set is an error before any container starts. For this the judge reads the table,
which no observing task ever gets.
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
QUICKSTART: Mapping[str, Callable[[], Dataset]] = {f"{name}@1": build for name, build in BUILDERS.items()}

ITEM_PARTS = sorted(part for part in DatasetPart if part.is_in_table)


class MissingData(UsageError):
    """Data sets are missing: which, where they can be had, and how each is imported."""


class Prepared(NamedTuple):
    """The tasks that can be judged.

    Args:
        testsets: by data set.
        skipped: names of the tasks that are left out because their data sets are missing.
    """

    tasks: list[Task]
    testsets: dict[str, TestSet]
    skipped: tuple[str, ...]


def prepare(data: Path, suite: Suite, tasks: Sequence[Task], reporter: Reporter, skip_missing: bool) -> Prepared:
    """The tasks whose data sets exist, after those of the judge are built.

    Raises:
        MissingData: some are missing and `skip_missing` is not set; or all are.
        UsageError: a data set does not fit its task.
        DatasetError: one line that names file and field.
    """
    build_quickstart(data, tasks, reporter)
    present = [task for task in tasks if is_there(data, task.dataset)]
    missing = [task for task in tasks if not is_there(data, task.dataset)]
    if missing and (not skip_missing or not present):
        raise MissingData("\n".join(missing_lines(data, suite, missing, len({task.dataset for task in tasks}))))
    if missing:
        names = ", ".join(task.name for task in missing)
        reporter.say(f"Left out, since their data sets are missing: {names}")
    for task in present:
        check_domain(suite, task, read_card(data / task.dataset))
    testsets = {name: read_testset(data, name) for name in dict.fromkeys(task.dataset for task in present)}
    return Prepared(present, testsets, tuple(task.name for task in missing))


def is_there(data: Path, dataset: str) -> bool:
    """Whether there is such a data set."""
    return (data / dataset / CARD).exists()


def build_quickstart(data: Path, tasks: Sequence[Task], reporter: Reporter) -> None:
    """Builds those data sets of `tasks` that come with the judge and do not exist yet."""
    wanted = dict.fromkeys(task.dataset for task in tasks)
    missing = [name for name in wanted if name in QUICKSTART and not is_there(data, name)]
    if missing:
        reporter.say(f"Building {', '.join(missing)} in {data} …")
    for name in missing:
        save_dataset(QUICKSTART[name](), data)


def missing_lines(data: Path, suite: Suite, missing: Sequence[Task], n_asked: int) -> list[str]:
    """The missing data sets, each with its tasks and its remedy."""
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
    """The commands that import the data set of `task`: those of the suite, else one from the traits of its kind."""
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
    """Checks that the domain that models are told is that of the data set."""
    if card.domain != task.model_domain:
        mapped = "" if task.domain == task.model_domain else f" (the suite's {task.domain})"
        raise UsageError(
            f"suite {suite.name}: task {task.name}: domain: is {task.model_domain}{mapped}, "
            f"the data set's is {card.domain}"
        )


def check_kind(data: Path, suite: Suite, task: Task) -> None:
    """Checks that the data set has the part that the task's kind measures, by card, table and a rehearsal.

    Raises:
        UsageError: it has not; the line names what it has.
    """
    folder = data / task.dataset
    card = read_card(folder)
    where = f"suite {suite.name}: task {task.name}: kind: {task.kind}"
    needed = KINDS.traits(task.kind).measures
    if needed is DatasetPart.LABELS and LABELS not in card.sha256:
        raise UsageError(f"{where} needs labels, and {task.dataset} has none")
    counts = count_items(folder / TABLE)
    if not needed.is_in_table or counts is None:
        return
    if not counts.get(needed):
        has = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no items at all"
        raise UsageError(f"{where} needs {needed}, and {task.dataset}/{TABLE} has {has}")
    try:
        rehearse(KINDS[task.kind], load_dataset(folder), task.parameters)
    except DatasetError:
        raise
    except ValueError as error:
        raise UsageError(f"{where}: does not fit {task.dataset}: {error}") from None


def count_items(path: Path) -> dict[str, int] | None:
    """The number of items of each sort in a table; None if it cannot be read, which is an error when measuring."""
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return {part: len(table.get(part, ())) for part in ITEM_PARTS} if isinstance(table, dict) else None
