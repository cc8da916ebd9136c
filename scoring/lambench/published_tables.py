"""LAMBench's published tables, read: what a release asks of each model, and what the model answered.

The layout is that of LAMBench's `results.json`: by model the sections `generalizability_force_field_results` (energies
in meV), `generalizability_domain_specific_results`, `applicability_results` and `model`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.lambench.answers import Answers, Asked, Error
from scoring.lambench.release import LABEL_TYPES, Release

FORCE_FIELD = "generalizability_force_field_results"
PROPERTIES = "generalizability_domain_specific_results"
APPLICABILITY = "applicability_results"
EFFICIENCY, DYNAMICS = "inference_efficiency", "nve_md"
_UNITS = {"energy": "eV/atom", "force": "eV/Å", "virial": "eV/atom"}
_SUMMARIES = {"Weighted"}  # rows that are no task

Table = Mapping[str, object]


@dataclass(frozen=True)
class PublishedModel:
    """One model's table, read."""

    name: str
    label_set: str
    asked_ff: Sequence[Asked]
    answers_ff: Answers
    asked_pc: Sequence[Asked]
    answers_pc: Answers
    times: Mapping[str, float | None]
    dynamics: Table | None
    notes: tuple[str, ...]


def read_model(release: Release, name: str, table: Table) -> PublishedModel:
    where = f"model {name}"
    about = _section(table, "model", where)
    omol = about.get("supports_omol", False)
    if not isinstance(omol, bool | None):
        raise ScoringError(f"{where}: model.supports_omol: {omol!r} is neither true nor false")
    label_set = release.published.label_sets[0 if omol else 1]
    applied = _section(table, APPLICABILITY, where)
    asked_ff, answers_ff = _force_field(release, _section(table, FORCE_FIELD, where), label_set, where)
    asked_pc, answers_pc, divided = _properties(release, _section(table, PROPERTIES, where), where)
    timed = _section(applied, EFFICIENCY, where)
    dynamics = _section(applied, DYNAMICS, where)
    notes = [
        *_unknown_tasks(release, table),
        *_lacking(FORCE_FIELD, asked_ff, answers_ff),
        *_lacking(PROPERTIES, asked_pc, answers_pc),
        *divided,
    ]
    return PublishedModel(
        name,
        label_set,
        asked_ff,
        answers_ff,
        asked_pc,
        answers_pc,
        _times(timed, where),
        dynamics or None,
        tuple(notes),
    )


def _force_field(release: Release, section: Table, label_set: str, where: str) -> tuple[list[Asked], Answers]:
    """What the release asks of a model of that label set, and its errors in eV."""
    asked: list[Asked] = []
    answers: dict[str, dict[str, Error]] = {}
    unit = release.published.force_field_unit_ev
    for task, facts in release.force_field_tasks.items():
        baselines = {label: facts.baseline(label, label_set) for label in LABEL_TYPES}
        stated = {label: baseline for label, baseline in baselines.items() if baseline is not None}
        if not stated:
            raise ScoringError(f"{where}: task {task}: no baseline for the label set {label_set}")
        asked.append(Asked(task, facts.domain, tuple(stated)))
        row = _section(section, task, f"{where}: {FORCE_FIELD}")
        for label, baseline in stated.items():
            column = release.force_field.columns[label]
            value = number(row, column, f"{where}: task {task}")
            charged = None if value is None else value * unit
            answers.setdefault(task, {})[label] = Error(charged, baseline, metric=column, unit=_UNITS[label])
    return asked, answers


def _properties(release: Release, section: Table, where: str) -> tuple[list[Asked], Answers, list[str]]:
    """What the release asks, the model's errors in published units, and notes on failures that nothing charges."""
    asked: list[Asked] = []
    answers: dict[str, dict[str, Error]] = {}
    notes: list[str] = []
    rule = release.property_error
    for task, facts in release.property_tasks.items():
        asked.append(Asked(task, facts.domain, tuple(facts.baselines)))
        row = _section(section, task, f"{where}: {PROPERTIES}")
        rate = number(row, facts.success_rate, f"{where}: task {task}") if facts.success_rate and row else 1.0
        divisor = 1.0
        if rule.divided_by_success_rate:
            # Where errors are capped at 1, the published code caps the whole table, success rates with it.
            divisor = math.nan if rate is None else rate if rule.cap is None else min(rate, 1.0)
        elif rate is None or rate < 1.0:
            shown = "unknown" if rate is None else f"{rate:g}"
            notes.append(f"{task}: success rate {shown}: the published errors leave failures out, so they cost nothing")
        for column, baseline in facts.baselines.items():
            value = number(row, column, f"{where}: task {task}")
            # No success rate where one divides: no value either, as in the published table.
            kept = None if math.isnan(divisor) else value
            taken = 1.0 if baseline is None else baseline
            answers.setdefault(task, {})[column] = Error(kept, taken, 1.0 if math.isnan(divisor) else divisor)
    return asked, answers, notes


def _times(timed: Table, where: str) -> dict[str, float | None]:
    """Mean time [µs/atom]: of all frames, or one for each system."""
    systems = {name: row for name, row in timed.items() if isinstance(row, Mapping)}
    if "average_time" in timed or not systems:
        return {EFFICIENCY: number(timed, "average_time", f"{where}: task {EFFICIENCY}")}
    return {
        f"{EFFICIENCY}: {name}": number(as_table(row, name), "average_time", f"{where}: task {EFFICIENCY}: {name}")
        for name, row in systems.items()
    }


def check_columns(release: Release, tables: Mapping[str, Table]) -> None:
    """A column that no model has, of a task that some have, is misspelt.

    Raises:
        ScoringError: naming task and column.
    """
    for section, task, column in _columns(release):
        rows = [_section(_section(t, section, name), task, name) for name, t in tables.items()]
        there = [row for row in rows if row]
        if there and not any(column in row for row in there):
            raise ScoringError(
                f"task {task}: metric {column}: no model has it; there are {', '.join(sorted(there[0]))}"
            )


def _columns(release: Release) -> Iterator[tuple[str, str, str]]:
    for name, task in release.force_field_tasks.items():
        for label in LABEL_TYPES:
            if getattr(task, label) is not None:
                yield FORCE_FIELD, name, release.force_field.columns[label]
    for name, facts in release.property_tasks.items():
        rates = [facts.success_rate] if facts.success_rate and release.property_error.divided_by_success_rate else []
        for column in [*facts.baselines, *rates]:
            yield PROPERTIES, name, column


def _unknown_tasks(release: Release, table: Table) -> Iterator[str]:
    known = {FORCE_FIELD: set(release.force_field_tasks) | _SUMMARIES, PROPERTIES: set(release.property_tasks)}
    for section, names in known.items():
        if others := sorted(set(_section(table, section, "")) - names):
            yield f"{section}: not in the release, and not scored: {', '.join(others)}"


def _lacking(section: str, asked: Sequence[Asked], answers: Answers) -> Iterator[str]:
    missing = []
    for task in asked:
        row = answers.get(task.name, {})
        columns = [column for column in task.columns if column not in row or row[column].charged is None]
        missing += [f"{task.name} ({', '.join(columns)})"] if columns else []
    if missing:
        yield f"{section}: missing: {'; '.join(missing)}"


def _section(table: Table, name: str, where: str) -> Table:
    """A table within a table; empty where it is missing or null."""
    content = table.get(name)
    return {} if content is None else as_table(content, f"{where}: {name}")


def as_table(content: object, where: str) -> Table:
    if not isinstance(content, Mapping):
        raise ScoringError(f"{where}: must be a table of names and values, not {type(content).__name__}")
    return content


def number(row: Table, column: str, where: str) -> float | None:
    """A metric; None where it is missing, null or NaN.

    Raises:
        ScoringError: it is no number, or below zero, or infinite.
    """
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScoringError(f"{where}: {column}: {value!r} is not a number")
    if math.isnan(value):
        return None
    if not 0 <= value < math.inf:
        raise ScoringError(f"{where}: {column}: {value} is not a number from 0 up")
    return float(value)
