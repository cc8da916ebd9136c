"""The tasks of a model as its page shows them: a line each that opens to metrics, facts, parts and provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from markupsafe import Markup

from judge import present
from judge.board import MetricLine, Row, TaskLine
from judge.public_curves import is_hidden
from judge.records import MetricRecord, Result
from judge.web.explore import task_page
from judge.web.task_parts import Breakdown, breakdowns_of
from judge.web.words import number, words
from scoring import Term

RAW = ("time_mean", "slope_geomean")
"""Metrics that tell most of a task without errors beside a trivial model's."""

SHORT = 16
"""Digits of hashes that the result's own record has in full; there it can be found by its key, which is whole."""


class Told(NamedTuple):
    """A number that a task's line shows: how it is called, and the number with its unit."""

    name: str
    number: Markup


class MetricTable(NamedTuple):
    """The metrics of a task.

    Args:
        body: its rows as HTML, drawn here: a page has hundreds; empty where there are none.
        charged: whether failures change any of them.
        compared: whether any is held against a trivial model's.
    """

    body: Markup
    charged: bool
    compared: bool


Facts = Mapping[str, Markup]
"""Texts by what they are of."""


class TaskSection(NamedTuple):
    """One task.

    Args:
        number: of the task in its suite, from 1.
        page: of the task, in the site.
        told: what its line shows.
        failed: of how many items, how many failed.
        provenance: where it is otherwise than in the model's other tasks.
        hidden: whether less may be shown of its data set.
    """

    line: TaskLine
    number: int
    page: str
    told: tuple[Told, ...]
    failed: str
    metrics: MetricTable
    breakdowns: tuple[Breakdown, ...]
    provenance: Facts
    hidden: bool


class DomainTasks(NamedTuple):
    """The tasks of one domain, in the order of the suite, and how many came to OK."""

    domain: str
    tasks: tuple[TaskSection, ...]
    n_ok: int


def domains_of(row: Row, provenance: Mapping[str, Facts], public: Collection[str]) -> tuple[DomainTasks, ...]:
    """All tasks of the suite, by domain.

    Args:
        provenance: by task, see `provenance_of`.
        public: names of the data sets that are public.
    """
    errors = _errors(row)
    by_domain: dict[str, list[TaskSection]] = {}
    for place, line in enumerate(row.tasks, 1):
        own = provenance.get(line.task.name, {})
        hidden = is_hidden(line, public)
        section = TaskSection(
            line,
            place,
            task_page(line.task.name),
            tuple(errors.get(line.task.name, ())) or _raw(line),
            _failed(line.result),
            _metrics(line),
            breakdowns_of(line.result),
            own,
            hidden,
        )
        by_domain.setdefault(line.task.domain, []).append(section)
    return tuple(
        DomainTasks(domain, tuple(tasks), sum(section.line.ok for section in tasks))
        for domain, tasks in by_domain.items()
    )


def _errors(row: Row) -> dict[str, list[Told]]:
    """By task, what it adds to the error scores: of labelled frames an error for each label type, of others one."""
    found: dict[str, list[Told]] = {}
    names = {line.task.name for line in row.tasks}
    for domain in row.scores.force_field.parts:
        for label in domain.parts:
            _add_errors(found, names, label.parts, label.name)
    for domain in row.scores.property_error.parts:
        _add_errors(found, names, domain.parts, "error")
    return found


def _add_errors(found: dict[str, list[Told]], names: Collection[str], terms: Iterable[Term], label: str) -> None:
    for term in terms:
        if term.name in names:
            value = term.value if term.counted is None else term.counted
            counts = "" if term.counted is None else "counts "
            found.setdefault(term.name, []).append(Told(label, Markup(counts + present.decimals(value))))


def _raw(line: TaskLine) -> tuple[Told, ...]:
    """A raw metric, where a task is part of no error."""
    records = {metric.name: metric for metric in line.metrics}
    chosen = next((records[name] for name in RAW if name in records), None)
    if chosen is None or line.result is None:
        return ()
    record = _record(line.result, chosen)
    unit = present.shown_unit(record.unit)
    return (Told(present.metric_label(chosen.name).partition(",")[0].lower(), _shown(record.value, record.unit, unit)),)


def _failed(result: Result | None) -> str:
    if result is None or not result.n_items:
        return ""
    n_failed = sum(result.failures.values())
    return f"{present.thousands(n_failed) if n_failed else 'none'} of {present.thousands(result.n_items)}"


def _record(result: Result, metric: MetricLine) -> MetricRecord:
    """The metric as anybody may read it: of times, two digits."""
    return result.metrics.get(metric.name, metric.record)


def _metrics(line: TaskLine) -> MetricTable:
    result = line.result
    if result is None or not line.metrics:
        return MetricTable(Markup(), charged=False, compared=False)
    records = [_record(result, metric) for metric in line.metrics]
    charged = any(record.charged is not None and record.charged != record.value for record in records)
    compared = any(record.baseline is not None for record in records)
    rows = "".join(
        _metric_row(metric, record, charged, compared) for metric, record in zip(line.metrics, records, strict=True)
    )
    return MetricTable(Markup(rows), charged, compared)


def _metric_row(metric: MetricLine, record: MetricRecord, charged: bool, compared: bool) -> str:
    cells = [_number_cell(_shown(record.value, record.unit))]
    if charged:
        cells.append(_number_cell(_shown(record.charged, record.unit)))
    if compared:
        cells.append(_number_cell(_shown(record.baseline, record.unit)))
    cells.append(f"<td>{words(present.shown_unit(record.unit))}</td>")
    if compared:
        cells.append(_number_cell(present.decimals(metric.normalised)))
    cells += [_number_cell(present.thousands(record.n_items)), _number_cell(str(record.n_failed))]
    return f'<tr><th scope="row">{words(present.metric_label(metric.name))}</th>{"".join(cells)}</tr>\n'


def _number_cell(text: str) -> str:
    return f'<td class="num">{text}</td>'


def _shown(value: float | None, stored: str, unit: str = "") -> Markup:
    told = number(present.shown_value(value, stored))
    return Markup(f"{told} {words(unit)}" if unit else told)


def provenance_of(row: Row) -> tuple[Facts, dict[str, Facts]]:
    """Where the numbers of a model come from: what is the same in all its tasks, and by task the rest."""
    told = {line.task.name: _provenance(line.result) for line in row.tasks if line.result is not None}
    if len(told) < 2:
        return {}, told
    first = next(iter(told.values()))
    shared = {name: text for name, text in first.items() if all(facts.get(name) == text for facts in told.values())}
    return shared, {task: _without(facts, shared) for task, facts in told.items()}


def _without(facts: Facts, shared: Facts) -> Facts:
    return {name: text for name, text in facts.items() if name not in shared}


def _provenance(result: Result) -> Facts:
    made, origin = result.provenance, result.provenance.origin
    commit = f" {origin.judge_commit}" if origin.judge_commit else ""
    versions = f"observe version {made.observe_version}, measure version {made.measure_version}"
    limits = ", ".join(f"{name.replace('_', ' ')} {number(of, 4)}" for name, of in sorted(made.limits.items()))
    where = "in a locked container" if origin.driver == "docker" else "as a local process, not isolated"
    stated = {
        "Measured": words(present.moment(result.measured)),
        "Round": words(f"{result.round}, judged anew") if result.round else Markup(),
        "Ran": words(f"{where}, on {origin.device or 'an unnamed device'}"),
        "Hardware": words(origin.hardware),
        "Dispersion": words(made.dispersion),
        "Image": _code(made.image_id),
        "Data set": words(made.dataset),
        "Structures": _code(made.frames_sha256[:SHORT]),
        "Labels": _code(made.labels_sha256[:SHORT]),
        "Observation": _code((made.observation or "")[:SHORT]),
        "Result": _code(result.result_key),
        "Judge": words(f"{origin.judge_version}{commit}, {versions}, contract {made.contract}"),
        "Limits": words(limits),
    }
    return {name: text for name, text in stated.items() if text}


def _code(digest: str) -> Markup:
    return Markup(f"<code>{words(digest)}</code>") if digest else Markup()
