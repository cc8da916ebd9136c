"""The tasks of models side by side: verdicts, and each number as it counts in a score and raw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from judge.pages.compare.comparison_lines import Cell, Group, Line, line, number_cell, one_class
from judge.view import formatting
from judge.view.leaderboard_schema import LeaderboardFile, ModelFile, ScoreFile
from judge.view.score_export import score_of_file
from scoring import Term, explain
from scoring.names import EFFICIENCY, FORCE_FIELD, INSTABILITY, LAMBENCH, of_scheme
from scoring.tree import Path

RUNS = "instability, mean over runs"
Key = tuple[str, str]
"""A score and the name of a number within a task."""


class TaskValue(NamedTuple):
    """What a model has in one number of a task: as it counts in the score, and raw."""

    score: str
    name: str
    value: float | None
    raw: float | None
    unit: str


def task_groups(file: LeaderboardFile, scores: dict[str, ScoreFile], models: Sequence[ModelFile]) -> Iterator[Group]:
    """The rows of all tasks, by domain."""
    names = [task.name for task in file.tasks]
    found = [_task_values(scores, model, names) for model in models]
    by_domain: dict[str, list[Line]] = {}
    for index, task in enumerate(file.tasks):
        lines = by_domain.setdefault(task.domain, [])
        lines.append(Line(task.name, tuple(_outcome(model, index) for model in models), page=task.page))
        own = [of.get(task.name, {}) for of in found]
        for key in dict.fromkeys(key for of in own for key in of):
            lines.append(_task_line(key, [of.get(key) for of in own], models))
    for domain, lines in by_domain.items():
        yield Group(f"Tasks: {domain}", tuple(lines))


def _outcome(model: ModelFile, index: int) -> Cell:
    outcome = model.outcomes[index]
    if not outcome.verdict:
        return Cell(formatting.NONE if model.submitted is None else "not judged")
    failed = f"{outcome.n_failed or 'none'} of {outcome.n_items} failed" if outcome.n_items else ""
    fault = "" if outcome.verdict == "OK" else formatting.verdict_words(outcome.verdict)
    return Cell("" if fault else "OK", failed, fault=fault)


def _task_line(key: Key, values: Sequence[TaskValue | None], models: Sequence[ModelFile]) -> Line:
    score, name = key
    if score == EFFICIENCY:
        cells = [Cell(formatting.NONE) if of is None else Cell(_raw(of), "", of.raw) for of in values]
        return line(f"{name} ↓", cells, True if one_class(models) else None, below=True)
    cells = [Cell(formatting.NONE) if of is None else number_cell(of.value, _raw(of)) for of in values]
    return line(f"{name} ↓", cells, lower=True, below=True)


def _raw(of: TaskValue) -> str:
    if of.raw is None:
        return formatting.NONE if of.score == EFFICIENCY else ""
    return f"{formatting.number(formatting.shown_value(of.raw, of.unit))} {formatting.shown_unit(of.unit)}".strip()


def _task_values(
    scores: dict[str, ScoreFile], model: ModelFile, tasks: Sequence[str]
) -> dict[str, dict[Key, TaskValue]]:
    """By task and number, what the model has there; runs of dynamics as their mean."""
    found: dict[str, dict[Key, TaskValue]] = {}
    runs: dict[str, list[float]] = {}
    for key in of_scheme(LAMBENCH):
        tree = score_of_file(scores[key], model.id) if key in scores else None
        for path, term in _terms(explain(tree), ()) if tree is not None else ():
            evidence = term.evidence
            if evidence is None:
                continue
            if key == INSTABILITY:
                task = evidence.task if evidence.task in tasks else evidence.task.partition(": ")[0]
                runs.setdefault(task, []).extend([] if term.value is None else [term.value])
                continue
            name = path[-2] if key == FORCE_FIELD else formatting.metric_label(evidence.metric).lower()
            value = TaskValue(key, name, term.value, evidence.value, evidence.unit)
            found.setdefault(evidence.task, {})[key, name] = value
    for task, values in runs.items():
        mean = sum(values) / len(values) if values else None
        found.setdefault(task, {})[INSTABILITY, RUNS] = TaskValue(INSTABILITY, RUNS, mean, None, "")
    return found


def _terms(term: Term, above: Path) -> Iterator[tuple[Path, Term]]:
    path = (*above, term.name)
    yield path, term
    for part in term.parts:
        yield from _terms(part, path)
