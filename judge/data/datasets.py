"""The data sets of a suite's tasks. The judge builds its own on first use, and names missing ones with a remedy.

If the kind of a task does not fit its data set, this is an error before any container starts. For this check the judge
reads the table, which `observe` never gets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from judge.config import UsageError
from judge.data.dataset_names import dataset_names
from judge.data.import_options import is_folder
from judge.data.testset import TestSet, read_testset
from submissions.progress import Reporter
from tasks.datasets.card import Card
from tasks.datasets.dataset import Dataset, DatasetError, load_dataset, read_card, save_dataset
from tasks.datasets.dataset_checks import CARD, LABELS, TABLE
from tasks.kind import DatasetPart
from tasks.kinds.registry import KINDS
from tasks.suites.names import did_you_mean
from tasks.suites.rehearsal import rehearse
from tasks.suites.suite import Suite, Task

ITEM_PARTS = sorted(part for part in DatasetPart if part.is_in_table)


class MissingData(UsageError):
    """Data sets are missing; the message names each with its source and the import command."""


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
    """The tasks whose data sets exist, after the judge has built its own.

    Raises:
        MissingData: data sets are missing and `skip_missing` is not set; or all are missing.
        UsageError: a data set does not fit its task.
        DatasetError: a data set cannot be read; the line names file and field.
    """
    build_quickstart(data, tasks, reporter)
    present = [task for task in tasks if is_there(data, task.dataset)]
    missing = [task for task in tasks if not is_there(data, task.dataset)]
    if missing and (not skip_missing or not present):
        raise MissingData("\n".join(missing_lines(data, suite, missing, len({task.dataset for task in tasks}))))
    if missing:
        names = ", ".join(task.name for task in missing)
        reporter.say(f"Left out because their data sets are missing: {names}")
    for task in present:
        check_domain(suite, task, read_card(data / task.dataset))
    testsets = {name: read_testset(data, name) for name in dict.fromkeys(task.dataset for task in present)}
    return Prepared(present, testsets, tuple(task.name for task in missing))


def is_there(data: Path, dataset: str) -> bool:
    """Whether the data root has that data set."""
    return (data / dataset / CARD).exists()


def build_quickstart(data: Path, tasks: Sequence[Task], reporter: Reporter) -> None:
    """Builds the judge's own data sets among those of `tasks`, if they do not exist yet. Several workers may do so."""
    absent = [name for name in dict.fromkeys(task.dataset for task in tasks) if not is_there(data, name)]
    if not absent:
        return
    builders = _builders()
    missing = [name for name in absent if name in builders]
    if missing:
        reporter.say(f"Building {', '.join(missing)} in {data} …")
    for name in missing:
        if is_there(data, name):
            continue
        try:
            save_dataset(builders[name](), data)
        except DatasetError:
            if not is_there(data, name):  # else another worker was faster
                raise


def own_datasets() -> frozenset[str]:
    """The data sets that the judge builds itself."""
    return frozenset(_builders())


def _builders() -> dict[str, Callable[[], Dataset]]:
    from tasks.quickstart.registry import builders_by_full_name  # it takes long to import

    return builders_by_full_name()


def missing_lines(data: Path, suite: Suite, missing: Sequence[Task], n_datasets: int) -> list[str]:
    """Lines that name each missing data set, with its tasks, its source and the commands that import it."""
    by_dataset: dict[str, list[Task]] = {}
    known = {*dataset_names(data), *own_datasets()}
    for task in missing:
        by_dataset.setdefault(task.dataset, []).append(task)
    lines = [f"suite {suite.name}: {len(by_dataset)} of {n_datasets} data sets are missing in {data}"]
    for dataset, tasks in by_dataset.items():
        names = ", ".join(f"{task.name} ({task.kind})" for task in tasks)
        is_stated = any(task.source or task.import_lines for task in tasks)  # then it is no misspelling
        lines.append(f"  {dataset} for {names}{'' if is_stated else did_you_mean(dataset, known)}")
        source = next((task.source for task in tasks if task.source), "")
        lines += [f"      {source}"] if source else []
        lines += [f"      {line}" for line in import_lines(tasks[0])]
    if pinned := [dataset for dataset in by_dataset if suite.source_of(dataset)]:
        lines.append(f"judge data get SUITE fetches and imports {', '.join(pinned)}.")
    lines.append("Import them, or judge the other tasks with --skip-missing.")
    return lines


def import_lines(task: Task) -> tuple[str, ...]:
    """The commands that import the data set of `task`: the suite's, else one from the traits of the kind."""
    if task.import_lines:
        return task.import_lines
    traits = KINDS.traits(task.kind)
    form = traits.import_format
    if form is None:
        return ('docs/suites.md, "What is imported", shows how: there is no file format for them',)
    name, _, version = task.dataset.partition("@")
    options = f"--name {name} --version {version} --domain '{task.model_domain}'"
    labels = " --label-set LEVEL_OF_THEORY" if traits.labelled else ""
    source = f"{form if isinstance(form, str) else form.name} {'FOLDER' if is_folder(form) else 'FILE'}"
    return (f"judge data import {source} {options}{labels}",)


def check_domain(suite: Suite, task: Task, card: Card) -> None:
    """Checks that the domain that models receive is the data set's.

    Raises:
        UsageError: the domains differ.
    """
    if card.domain != task.model_domain:
        mapped = "" if task.domain == task.model_domain else f" (the suite's {task.domain})"
        raise UsageError(
            f"suite {suite.name}: task {task.name}: domain: is {task.model_domain}{mapped}, "
            f"the data set's is {card.domain}"
        )


def check_kind(data: Path, suite: Suite, task: Task) -> None:
    """Checks by card, table and a rehearsal that the data set has the part that the task's kind measures.

    Raises:
        UsageError: the part is missing; the line names the parts that the data set has.
    """
    folder = data / task.dataset
    card = read_card(folder)
    where = f"suite {suite.name}: task {task.name}: kind: {task.kind}"
    needed = KINDS.traits(task.kind).measures
    if needed is DatasetPart.LABELS and LABELS not in card.sha256:
        raise UsageError(f"{where} needs labels, and {task.dataset} has none")
    counts = count_items(folder / TABLE)
    if not (needed.is_in_table or needed is DatasetPart.GEOMETRIES) or counts is None:
        return
    if needed.is_in_table and not counts.get(needed):
        has = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no items at all"
        raise UsageError(f"{where} needs {needed}, and {task.dataset}/{TABLE} has {has}")
    try:
        rehearse(KINDS[task.kind], load_dataset(folder), task.parameters)
    except DatasetError:
        raise
    except ValueError as error:
        raise UsageError(f"{where}: does not fit {task.dataset}: {error}") from None


def count_items(path: Path) -> dict[str, int] | None:
    """The number of items of each sort in a table; None if it cannot be read, which is an error only in `measure`."""
    try:
        table = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return {part: len(table.get(part, ())) for part in ITEM_PARTS} if isinstance(table, dict) else None
