"""The tasks of models side by side: verdicts, and each number as it counts in a score and raw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from judge.pages.compare.comparison_intervals import NO_INTERVALS, ModelIntervals
from judge.pages.compare.comparison_lines import (
    Cell,
    CompareLine,
    Group,
    ScoresById,
    differences,
    line,
    number_cell,
    one_class,
    span_text,
)
from judge.view import formatting
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, TaskFile
from scoring import Term, explain
from scoring.names import ERRORS, INSTABILITY, LAMBENCH, SCORES, of_scheme
from scoring.tree import Path

RUNS = "instability, mean over runs"
MOST_DIFFERENT = 5
"""Tasks in which models differ most, that are shown first."""
NumberKey = tuple[str, str]
"""A score and the name of a number within a task."""


class TaskNumber(NamedTuple):
    """A model's value of one number of a task: as it counts in the score, and raw, of the metric of that name."""

    value: float | None
    raw: float | None = None
    unit: str = ""
    metric: str = ""


class _Apart(NamedTuple):
    """How far models are apart in one number of a task, in normalised units."""

    apart: float
    task: TaskFile
    name: str
    numbers: tuple[TaskNumber | None, ...]


def task_groups(file: LeaderboardFile, scores: ScoresById, models: Sequence[ModelFile]) -> Iterator[Group]:
    """The rows of all tasks, by domain."""
    names = [task.name for task in file.tasks]
    numbers = [_numbers(scores[model.id], names) for model in models]
    by_domain: dict[str, list[CompareLine]] = {}
    for index, task in enumerate(file.tasks):
        lines = by_domain.setdefault(task.domain, [])
        outcomes = tuple(_outcome(model, index) for model in models)
        lines.append(CompareLine(task.title, outcomes, page=task.page))
        of_task = [of_model.get(task.name, {}) for of_model in numbers]
        for key in dict.fromkeys(key for of_model in of_task for key in of_model):
            lines.append(_task_line(key, [of_model.get(key) for of_model in of_task], models))
    for domain, lines in by_domain.items():
        yield Group(f"Tasks: {domain}", tuple(lines))


def most_different(
    file: LeaderboardFile,
    scores: ScoresById,
    models: Sequence[ModelFile],
    intervals: Mapping[str, ModelIntervals],
) -> tuple[CompareLine, ...]:
    """The tasks in which the normalised errors of these models differ most, each with its number that differs most.

    Raw errors with their unit and interval, and below them the differences.
    """
    names = [task.name for task in file.tasks]
    numbers = [_numbers(scores[model.id], names) for model in models]
    found: list[_Apart] = []
    for task in file.tasks:
        of_task = [of_model.get(task.name, {}) for of_model in numbers]
        keys = dict.fromkeys(key for of_model in of_task for key in of_model if key[0] in ERRORS)
        of_keys = [_apart(task, key, [of_model.get(key) for of_model in of_task]) for key in keys]
        found += sorted(of_keys, key=lambda each: -each.apart)[:1]
    first = sorted((each for each in found if each.apart > 0), key=lambda each: -each.apart)[:MOST_DIFFERENT]
    return tuple(line for each in first for line in _difference_lines(each, models, intervals))


def _apart(task: TaskFile, key: NumberKey, numbers: Sequence[TaskNumber | None]) -> _Apart:
    known = [each.value for each in numbers if each is not None and each.value is not None and each.raw is not None]
    # Rounded, so that the script finds the same order in spite of the last digits.
    return _Apart(round(max(known) - min(known), 9) if known else 0.0, task, key[1], tuple(numbers))


def _difference_lines(
    each: _Apart, models: Sequence[ModelFile], intervals: Mapping[str, ModelIntervals]
) -> tuple[CompareLine, ...]:
    unit = next((number.unit for number in each.numbers if number is not None and number.unit), "")

    def number_of(value: float) -> str:
        return formatting.number(formatting.shown_value(value, unit))

    def shown(value: float) -> str:
        return f"{number_of(value)} {formatting.shown_unit(unit)}".strip()

    cells = []
    for model, number in zip(models, each.numbers, strict=True):
        if number is None or number.value is None or number.raw is None:
            cells.append(Cell(formatting.NONE))
            continue
        interval = intervals.get(model.id, NO_INTERVALS).metrics.get((each.task.name, number.metric))
        span = "" if interval is None else f"{span_text(interval, number_of)}; "
        note = f"{span}normalised {formatting.decimals(number.value)}"
        cells.append(Cell(shown(number.raw), note, number.raw, interval))
    values = line(f"{each.task.title}: {each.name} ↓", cells, lower=True)._replace(page=each.task.page)
    return values, *differences(values, shown, number_of)


def _outcome(model: ModelFile, index: int) -> Cell:
    outcome = model.outcomes[index]
    if not outcome.verdict:
        return Cell(formatting.NONE if model.submitted is None else "not judged")
    failed = f"{outcome.n_failed or 'none'} of {outcome.n_items} failed" if outcome.n_items else ""
    fault = "" if outcome.verdict == "OK" else formatting.verdict_words(outcome.verdict)
    return Cell("" if fault else "OK", failed, fault=fault)


def _task_line(key: NumberKey, numbers: Sequence[TaskNumber | None], models: Sequence[ModelFile]) -> CompareLine:
    score, name = key
    cells = [Cell(formatting.NONE) if number is None else _cell(score, number) for number in numbers]
    comparable = not SCORES[score].from_times or one_class(models)
    return line(f"{name} ↓", cells, lower=True if comparable else None, below=True)


def _cell(score: str, number: TaskNumber) -> Cell:
    raw = ""
    if number.raw is not None:
        shown = formatting.number(formatting.shown_value(number.raw, number.unit))
        raw = f"{shown} {formatting.shown_unit(number.unit)}".strip()
    if SCORES[score].from_times:
        return Cell(raw or formatting.NONE, "", number.raw)
    return number_cell(number.value, raw)


def _numbers(scores: Mapping[str, Term], tasks: Sequence[str]) -> dict[str, dict[NumberKey, TaskNumber]]:
    """By task, the numbers of a model; the runs of a task of dynamics as their mean."""
    by_task: dict[str, dict[NumberKey, TaskNumber]] = {}
    runs: dict[str, list[float]] = {}
    for key in of_scheme(LAMBENCH):
        for path, term in _leaves(explain(scores[key].node), ()) if key in scores else ():
            task, metric, raw, unit, *_ = term.node.leaf.raw if term.node.leaf else ("", "", None, "")
            if key == INSTABILITY:
                task = task if task in tasks else task.partition(": ")[0]
                runs.setdefault(task, []).extend([] if term.value is None else [term.value])
                continue
            name = path[-2] if SCORES[key].by_label_type else lowered(formatting.metric_label(metric))
            by_task.setdefault(task, {})[key, name] = TaskNumber(term.value, raw, unit, metric)
    for task, values in runs.items():
        mean = sum(values) / len(values) if values else None
        by_task.setdefault(task, {})[INSTABILITY, RUNS] = TaskNumber(mean)
    return by_task


def lowered(label: str) -> str:
    """The label within a sentence: its first word begins with a small letter, unless it is an abbreviation."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def _leaves(term: Term, above: Path) -> Iterator[tuple[Path, Term]]:
    path = (*above, term.name)
    if term.node.leaf is not None:
        yield path, term
    for part in term.parts:
        yield from _leaves(part, path)
