"""The tasks and errors of each model in LAMBench's published tables.

The layout is that of LAMBench's `results.json`: by model the sections `generalizability_force_field_results` (energies
in meV), `generalizability_domain_specific_results`, `applicability_results` and `model`.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.errors import ScoringError
from scoring.lambench.answers import Answers, AskedTask, MeasuredError
from scoring.lambench.release import LABEL_TYPES, Release
from scoring.lambench.rules import Missing, PropertyRule
from scoring.lambench.shares_off import NOTE, none_off
from scoring.tree import RawMetric

FORCE_FIELD = "generalizability_force_field_results"
PROPERTIES = "generalizability_domain_specific_results"
APPLICABILITY = "applicability_results"
EFFICIENCY, DYNAMICS = "inference_efficiency", "nve_md"
_UNITS = {"energy": "eV/atom", "force": "eV/Å", "virial": "eV/atom"}
_SUMMARIES = {"Weighted"}  # rows that are not tasks
# The columns of a table that has no rows for single systems.
_OVER_ALL = {
    EFFICIENCY: {"average_time", "standard_deviation", "std_time", "success_rate"},
    DYNAMICS: {"slope", "steps", "momenta_diff", "simulation_time", "success_rate"},
}

Table = Mapping[str, object]


@dataclass(frozen=True)
class PublishedModel:
    """The tasks and numbers of one model's table."""

    name: str
    label_set: str
    ff_tasks: Sequence[AskedTask]
    ff_errors: Answers
    property_tasks: Sequence[AskedTask]
    property_errors: Answers
    times: Mapping[str, float | None]
    dynamics: Table
    runs: Mapping[str, Table | None]
    notes: tuple[str, ...]


Systems = Mapping[str, Sequence[str]]
"""By task, the systems for which any model of a table has a row."""


def read_model(release: Release, name: str, table: Table, systems: Systems) -> PublishedModel:
    """The tasks and numbers of one model's table.

    Args:
        systems: of all models: if another model has a system that this one leaves out, it is missing.

    Raises:
        ScoringError: naming the model, the task and the field.
    """
    where = f"model {name}"
    about = _section(table, "model", where)
    omol = about.get("supports_omol", False)
    if not isinstance(omol, bool | None):
        raise ScoringError(f"{where}: model.supports_omol: {omol!r} is neither true nor false")
    label_set = release.published.label_sets[0 if omol else 1]
    applied = _section(table, APPLICABILITY, where)
    ff_tasks, ff_errors = _force_field(release, _section(table, FORCE_FIELD, where), label_set, where)
    property_tasks, property_errors, rate_notes = _properties(release, _section(table, PROPERTIES, where), where)
    times, time_notes = _times(release, _section(applied, EFFICIENCY, where), systems[EFFICIENCY], where)
    dynamics = _section(applied, DYNAMICS, where)
    runs = _rows(DYNAMICS, dynamics, systems[DYNAMICS], where)
    notes = [
        *_unknown_tasks(release, table),
        *_label_set_assumed(release, about, label_set),
        *_missing_errors(FORCE_FIELD, ff_tasks, ff_errors, release.force_field.missing),
        *_missing_errors(PROPERTIES, property_tasks, property_errors, release.property_error.missing),
        *rate_notes,
        *time_notes,
        *_missing_runs(release, dynamics, runs),
    ]
    return PublishedModel(
        name,
        label_set,
        ff_tasks,
        ff_errors,
        property_tasks,
        property_errors,
        times,
        dynamics,
        runs,
        tuple(notes),
    )


def _force_field(release: Release, section: Table, label_set: str, where: str) -> tuple[list[AskedTask], Answers]:
    """The release's force-field tasks for a model of that label set, and the model's errors in eV."""
    tasks: list[AskedTask] = []
    answers: dict[str, dict[str, MeasuredError]] = {}
    unit = release.published.force_field_unit_ev
    for task, facts in release.force_field_tasks.items():
        baselines = {label: facts.baseline(label, label_set) for label in LABEL_TYPES}
        stated = {label: baseline for label, baseline in baselines.items() if baseline is not None}
        if not stated:
            raise ScoringError(f"{where}: task {task}: no baseline for the label set {label_set}")
        tasks.append(AskedTask(task, facts.domain, tuple(stated)))
        row = _section(section, task, f"{where}: {FORCE_FIELD}")
        for label, baseline in stated.items():
            column = release.force_field.columns[label]
            value = number(row, column, f"{where}: task {task}")
            raw = RawMetric(task, column, None if value is None else value * unit, _UNITS[label])
            answers.setdefault(task, {})[label] = MeasuredError(raw, baseline)
    return tasks, answers


def _properties(release: Release, section: Table, where: str) -> tuple[list[AskedTask], Answers, list[str]]:
    """The release's property tasks, the model's errors in published units, and notes on success rates."""
    tasks: list[AskedTask] = []
    answers: dict[str, dict[str, MeasuredError]] = {}
    notes: list[str] = []
    rule = release.property_error
    for task, facts in release.property_tasks.items():
        tasks.append(AskedTask(task, facts.domain, tuple(facts.baselines)))
        row = _section(section, task, f"{where}: {PROPERTIES}")
        rate = number(row, facts.success_rate, f"{where}: task {task}") if facts.success_rate and row else 1.0
        divisor, note = _divisor(rate, rule)
        notes += [f"{task}: success rate {'unknown' if rate is None else f'{rate:g}'}: {note}"] if note else []
        for column, baseline in facts.baselines.items():
            value = number(row, column, f"{where}: task {task}")
            if value is None and rule.missing is Missing.WORST and none_off(row, column):
                value, notes = 0.0, [*notes, f"{task}: {column}: {NOTE}"]
            # As in the published table, 0 / 0 is no value.
            kept = None if divisor is None or divisor == value == 0 else value
            errors = answers.setdefault(task, {})
            raw = RawMetric(task, column, kept)
            errors[column] = MeasuredError(raw, baseline or 1.0, 1.0 if divisor is None else divisor)
    return tasks, answers, notes


def _divisor(rate: float | None, rule: PropertyRule) -> tuple[float | None, str]:
    """The divisor of normalised errors, None if they have no value; and a note on it, or an empty text."""
    if rule.divided_by_success_rate:
        if rate is None:
            return None, ""  # `_missing_errors` has the note
        # If errors are capped at 1, the published code caps the whole table, including success rates.
        capped = rate if rule.cap is None else min(rate, 1.0)
        return capped, "" if capped == rate else "capped at 1 with the errors"
    if not rate:
        return None, "counted as worst: nothing is known to have succeeded"
    # The success rate is a share, or in percent.
    left_out = "the published errors leave failures out, so they cost nothing"
    return 1.0, "" if rate in (1.0, 100.0) else left_out


Times = dict[str, float | None]


def _times(release: Release, timed: Table, systems: Sequence[str], where: str) -> tuple[Times, list[str]]:
    """Mean times [µs/atom], over all frames or for each system, and a note on missing times."""
    rows = {} if "average_time" in timed else _rows(EFFICIENCY, timed, systems, where)
    if not rows:
        time = number(timed, "average_time", f"{where}: task {EFFICIENCY}")
        return {EFFICIENCY: time}, [] if time is not None else [f"{EFFICIENCY}: average_time: missing: no efficiency"]
    times = {
        f"{EFFICIENCY}: {name}": number(row or {}, "average_time", f"{where}: task {EFFICIENCY}: {name}")
        for name, row in rows.items()
    }
    missing = [name for name in rows if times[f"{EFFICIENCY}: {name}"] is None]
    consequence = release.efficiency.missing.in_words
    return times, [f"{EFFICIENCY}: average_time: missing, {consequence}: {', '.join(missing)}"] if missing else []


def _rows(task: str, table: Table, systems: Sequence[str], where: str) -> dict[str, Table | None]:
    """By system, the row of a table, None if only other models have one; empty if the table has no such rows."""
    if not any(name not in _OVER_ALL[task] and name in systems for name in table):
        return {}
    return {name: _section(table, name, f"{where}: {task}") or None for name in systems}


def systems_of(tables: Mapping[str, Table]) -> Systems:
    """By task, the systems for which any model has a row, in alphabetical order."""
    systems: dict[str, set[str]] = {EFFICIENCY: set(), DYNAMICS: set()}
    for model, table in tables.items():
        applied = _section(table, APPLICABILITY, f"model {model}")
        for task, names in systems.items():
            rows = _section(applied, task, f"model {model}: {APPLICABILITY}")
            if any(isinstance(row, Mapping) for row in rows.values()):
                names |= {name for name, row in rows.items() if row is None or isinstance(row, Mapping)}
                names -= _OVER_ALL[task]
    return {task: sorted(names) for task, names in systems.items()}


def check_columns(release: Release, tables: Mapping[str, Table]) -> None:
    """Checks that no column is misspelt: a column that no model has, though they have related columns.

    If no model has any column of a label type, none predicts it (stress), which is no fault. Nor is it a fault if a
    single model lacks a property.

    Raises:
        ScoringError: naming task and column.
    """
    for section, task, column, prefix, at_least in _columns(release):
        sections = {name: _section(table, section, f"model {name}") for name, table in tables.items()}
        rows = [_section(content, task, f"model {name}: {section}") for name, content in sections.items()]
        candidates = [row for row in rows if any(name.startswith(prefix) for name in row)]
        if len(candidates) >= at_least and not any(column in row for row in candidates):
            raise ScoringError(
                f"task {task}: metric {column}: no model has it; there are {', '.join(sorted(candidates[0]))}"
            )


def _columns(release: Release) -> Iterator[tuple[str, str, str, str, int]]:
    """Section, task and column; the prefix of related columns; and how many models with such columns must lack it."""
    for name, task in release.force_field_tasks.items():
        for label in LABEL_TYPES:
            if getattr(task, label) is not None:
                yield FORCE_FIELD, name, release.force_field.columns[label], f"{label}_", 1
    for name, facts in release.property_tasks.items():
        rates = [facts.success_rate] if facts.success_rate and release.property_error.divided_by_success_rate else []
        for column in [*facts.baselines, *rates]:
            yield PROPERTIES, name, column, "", 2


def _unknown_tasks(release: Release, table: Table) -> Iterator[str]:
    known = {FORCE_FIELD: set(release.force_field_tasks) | _SUMMARIES, PROPERTIES: set(release.property_tasks)}
    for section, names in known.items():
        if others := sorted(set(_section(table, section, "")) - names):
            yield f"{section}: not in the release, and not scored: {', '.join(others)}"


def _label_set_assumed(release: Release, about: Table, label_set: str) -> Iterator[str]:
    tasks = release.force_field_tasks.values()
    several = any(isinstance(getattr(task, label), dict) for task in tasks for label in LABEL_TYPES)
    if several and about.get("supports_omol") is None:
        yield f"model.supports_omol: missing: the baselines of {label_set} are used"


def _missing_errors(section: str, tasks: Sequence[AskedTask], answers: Answers, rule: Missing) -> Iterator[str]:
    """A note that lists the missing errors and their consequence."""
    missing = []
    for task in tasks:
        row = answers.get(task.name, {})
        columns = [column for column in task.columns if column not in row or row[column].raw.value is None]
        missing += [f"{task.name} ({', '.join(columns)})"] if columns else []
    if missing:
        nothing = not any(error.raw.value is not None for row in answers.values() for error in row.values())
        consequence = "so there is no score" if nothing else rule.in_words
        yield f"{section}: missing, {consequence}: {'; '.join(missing)}"


def _missing_runs(release: Release, dynamics: Table, runs: Mapping[str, Table | None]) -> Iterator[str]:
    if not dynamics:
        yield f"{DYNAMICS}: missing: no instability"
    elif not runs and (absent := [name for name in ("slope", "success_rate") if dynamics.get(name) is None]):
        effect = (
            "every run counts as failed" if release.missing_is_worst else "the least instability that fits the rest"
        )
        yield f"{DYNAMICS}: {' and '.join(absent)}: missing: {effect}"
    if missing := [name for name, row in runs.items() if row is None]:
        yield f"{DYNAMICS}: no row of {', '.join(missing)}: counted as failed"
    short = release.published.n_runs - len(runs)
    if runs and short > 0:
        effect = "counted as failed" if release.missing_is_worst else "left out"
        yield f"{DYNAMICS}: {len(runs)} runs of {release.published.n_runs}: the others are {effect}"


def _section(table: Table, name: str, where: str) -> Table:
    """A table within a table; empty if it is missing or null."""
    content = table.get(name)
    return {} if content is None else as_table(content, f"{where}: {name}")


def as_table(content: object, where: str) -> Table:
    if not isinstance(content, Mapping):
        raise ScoringError(f"{where}: must be a table of names and values, not {type(content).__name__}")
    return content


def number(row: Table, column: str, where: str) -> float | None:
    """A metric; None if it is missing, null or NaN.

    Raises:
        ScoringError: it is not a number, negative, or infinite.
    """
    value = row.get(column)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScoringError(f"{where}: {column}: {reprlib.repr(value)} is not a number")
    if value != value:  # NaN; math.isnan does not take every integer
        return None
    if not 0 <= value <= sys.float_info.max:
        raise ScoringError(f"{where}: {column}: {reprlib.repr(value)} is not a number from 0 up")
    return float(value)
