"""Scores of the models in LAMBench's published tables, by the rules of their release or corrected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scoring.errors import ScoringError
from scoring.lambench.efficiency import efficiency_tree
from scoring.lambench.force_field import force_field_tree
from scoring.lambench.instability import LAMBENCH_TIME_UNIT_PS, Run, RunOutcome, instability_tree, least_instability
from scoring.lambench.property_error import dropped_domains, property_tree
from scoring.lambench.published_tables import (
    DYNAMICS,
    PROPERTIES,
    PublishedModel,
    Table,
    as_table,
    check_columns,
    number,
    read_model,
    systems_of,
)
from scoring.lambench.release import Release
from scoring.names import EFFICIENCY, FORCE_FIELD, INSTABILITY, PROPERTY_ERROR
from scoring.term import Term, explain


@dataclass(frozen=True)
class TableModel:
    """The scores of one model of a published table.

    Args:
        scores: by key (`scoring.names`); their `value` is None if the release gives none.
        instability: by tolerance, the default first.
        is_lower_bound: whether the instability is a lower bound, because the table has only a mean over runs.
        notes: one line for each number that is left out, dropped or unknown.
    """

    scores: Mapping[str, Term]
    instability: Mapping[float, Term]
    is_lower_bound: bool
    notes: tuple[str, ...]


def score_published(release: Release, raw: object) -> dict[str, TableModel]:
    """The scores of each model of a published table, by name in the table's order.

    Args:
        release: with its tasks.
        raw: the table, as parsed from JSON.

    Raises:
        ScoringError: naming the release, the model, the task and the field.
    """
    if not release.force_field_tasks and not release.property_tasks:
        raise ScoringError(f"release {release.name}: it names no published tasks")
    try:
        tables = {name: as_table(table, f"model {name}") for name, table in as_table(raw, "the file").items()}
        if not tables:
            raise ScoringError("the file has no model")
        check_columns(release, tables)
        systems = systems_of(tables)
        models = [read_model(release, name, table, systems) for name, table in tables.items()]
        dropped: dict[str, str] = {}
        if release.property_error.missing_domain == "drop_domain_for_all_models":
            dropped = dropped_domains(
                {m.name: m.property_tasks for m in models}, {m.name: m.property_errors for m in models}
            )
        return {model.name: _scores(release, model, dropped) for model in models}
    except ScoringError as error:
        raise ScoringError(f"release {release.name}: {error}") from None


def rounded(value: float | None, decimals: int | None) -> float | None:
    """The value as a release prints it; None if there is no finite value."""
    if value is None or not math.isfinite(value):
        return None
    return value if decimals is None else float(np.round(value, decimals))


def _scores(release: Release, model: PublishedModel, dropped: Mapping[str, str]) -> TableModel:
    try:
        bounds = {t: _instability(release, model, t) for t in release.instability.tolerances}
        by_tolerance = {tolerance: term for tolerance, (term, _) in bounds.items()}
        trees = {
            FORCE_FIELD: force_field_tree(model.ff_tasks, model.ff_errors, release.force_field),
            PROPERTY_ERROR: property_tree(model.property_tasks, model.property_errors, release.property_error, dropped),
            EFFICIENCY: efficiency_tree(model.times, release.efficiency, "average_time"),
        }
        scores = {key: explain(tree) for key, tree in trees.items()}
        scores[INSTABILITY] = by_tolerance[release.instability.tolerances[0]]
        notes = [*model.notes]
        notes += [f"{domain}: dropped for all models: {name} has none of it" for domain, name in dropped.items()]
        if scores[PROPERTY_ERROR].value == math.inf:
            notes.append(f"{PROPERTIES}: infinite: divided by a success rate of 0")
        is_lower_bound = any(is_bound for _, is_bound in bounds.values())
        return TableModel(scores, by_tolerance, is_lower_bound, tuple(notes))
    except ScoringError as error:
        raise ScoringError(f"model {model.name}: {error}") from None


def _instability(release: Release, model: PublishedModel, tolerance: float) -> tuple[Term, bool]:
    """The instability at a tolerance, and whether it is only a lower bound."""
    rule = release.instability
    if not model.dynamics:
        return explain(instability_tree([], rule, tolerance)), False
    if model.runs:
        runs = [_run(name, row, release.published.n_steps) for name, row in model.runs.items()]
        short = release.published.n_runs - len(runs) if release.missing_is_worst else 0
        runs += [Run(f"not in the table ({i})", RunOutcome.MISSING) for i in range(1, short + 1)]
        return explain(instability_tree(runs, rule, tolerance)), False
    slope = number(model.dynamics, "slope", DYNAMICS)
    rate = number(model.dynamics, "success_rate", DYNAMICS)
    if release.missing_is_worst and None in (slope, rate):
        rate = 0.0  # what is missing counts as failed
    succeeded = 1.0 if rate is None else rate
    drift = None if slope is None else slope / LAMBENCH_TIME_UNIT_PS
    return explain(least_instability(drift, succeeded, release.published.n_runs, rule, tolerance)), True


def _run(name: str, row: Table | None, n_steps: int) -> Run:
    if row is None:
        return Run(name, RunOutcome.FAILED)
    slope, steps = number(row, "slope", f"{DYNAMICS}: {name}"), number(row, "steps", f"{DYNAMICS}: {name}")
    if slope is None or steps != n_steps:
        return Run(name, RunOutcome.FAILED)
    return Run(name, RunOutcome.COMPLETED, slope / LAMBENCH_TIME_UNIT_PS)
