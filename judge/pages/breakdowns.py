"""Metrics by element, group or quantity as tables: a row for each part, a column for each metric."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from judge.records.records import Result
from judge.view import formatting
from judge.view.table_cells import isolated, lean_row, number_cells, shown
from tasks.metrics.metric import MetricPart


class PartColumn(NamedTuple):
    """A metric and the unit that it is shown in."""

    label: str
    unit: str


class Breakdown(NamedTuple):
    """All metrics by one criterion, such as `element`; `body` has the rows as HTML, since a page has hundreds."""

    by: str
    columns: tuple[PartColumn, ...]
    body: Markup


def breakdowns_of(result: Result | None) -> tuple[Breakdown, ...]:
    """A table for each criterion by which a result has metrics."""
    parts = sorted(result.parts if result is not None else (), key=lambda part: part.by)
    return tuple(_breakdown(by, tuple(group)) for by, group in groupby(parts, key=lambda part: part.by))


def _breakdown(by: str, parts: Sequence[MetricPart]) -> Breakdown:
    units = {part.metric: part.unit for part in parts}
    by_name: dict[str, dict[str, MetricPart]] = {}
    for part in parts:
        by_name.setdefault(part.name, {})[part.metric] = part
    columns = tuple(
        PartColumn(formatting.metric_label(name), formatting.shown_unit(unit)) for name, unit in units.items()
    )
    rows = "".join(_row(name, tuple(metrics.get(metric) for metric in units)) for name, metrics in by_name.items())
    return Breakdown(by, columns, Markup(rows))


def _row(name: str, parts: Sequence[MetricPart | None]) -> str:
    known = [part for part in parts if part is not None]
    texts = (
        *(shown(None if part is None else formatting.shown_value(part.value, part.unit)) for part in parts),
        _counts({part.n_items for part in known}),
        _counts({part.n_failed for part in known}),
    )
    return lean_row(isolated(name or "none"), number_cells(texts))


def _counts(numbers: Collection[int]) -> str:
    """One number, or the smallest and the largest if the metrics are over different items: 3–10."""
    return "–".join(formatting.thousands(n) for n in dict.fromkeys((min(numbers), max(numbers))))
