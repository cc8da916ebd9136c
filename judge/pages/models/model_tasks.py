"""The tasks on the page of a model: each is a line that opens to metrics, parts and provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.public_learning import FailedTrainings, failed_trainings, without_trainings
from judge.disclosure.redaction import cut
from judge.pages.breakdowns import Breakdown, breakdowns_of
from judge.ranking.leaderboard import Row, TaskLine
from judge.ranking.score_inputs import is_usable
from judge.records.records import Result
from judge.view import formatting
from judge.view.escaping import words
from judge.view.leaderboard_export import task_page
from judge.view.limit_text import limits_text
from judge.view.table_cells import lean_row, number_cells, shown, word_cell
from scoring import Term
from scoring.names import FORCE_FIELD, PROPERTY_ERROR
from tasks.metrics.metric import Metric

RAW = ("time_mean", "slope_geomean")
"""Metrics for the line of a task that has no normalised error; the first that the task has is shown."""

SHORT = 16
"""Shown digits of a hash. The stored result has the whole hash, and the page shows the whole key of that result."""

Value = TypeVar("Value")


class LineNumber(NamedTuple):
    """A number in the line of a task, with its unit."""

    name: str
    number: Markup


class MetricTable(NamedTuple):
    """The metrics of a task.

    Args:
        body: the rows as HTML, written by Python since a page has hundreds; empty if there are none.
        penalised: whether failures change any metric.
        compared: whether any metric has an error of the trivial model.
    """

    body: Markup
    penalised: bool
    compared: bool


Facts = dict[str, Markup]
"""Texts by the names of the facts."""


class TaskSection(NamedTuple):
    """One task.

    Args:
        number: position of the task in its suite, from 1.
        page: path in the site of the page about the task.
        numbers: what its line shows.
        failed: the number of failed items and of all items, as text.
        provenance: the facts that differ from those of the model's other tasks.
        hidden: whether the data set is hidden.
        notes: but those about failed trainings.
    """

    line: TaskLine
    number: int
    page: str
    numbers: tuple[LineNumber, ...]
    failed: str
    metrics: MetricTable
    breakdowns: tuple[Breakdown, ...]
    provenance: Facts
    hidden: bool
    notes: Mapping[str, str]
    failed_trainings: tuple[FailedTrainings, ...]


class DomainTasks(NamedTuple):
    """The tasks of one domain, in the order of the suite, and how many have the verdict OK."""

    domain: str
    tasks: tuple[TaskSection, ...]
    n_ok: int


def domains_of(row: Row, provenance: Mapping[str, Facts], public: Collection[str]) -> tuple[DomainTasks, ...]:
    """All tasks of the suite, by domain.

    Args:
        provenance: facts by task, from `provenance_of`.
        public: names of the data sets that are public.
    """
    errors = _errors(row)
    by_domain: dict[str, list[TaskSection]] = {}
    for place, line in enumerate(row.tasks, 1):
        section = TaskSection(
            line,
            place,
            task_page(line.task.name),
            tuple(errors.get(line.task.name, ())) or _raw(line),
            _failed(line.result),
            _metrics(line),
            breakdowns_of(line.result),
            provenance.get(line.task.name, {}),
            is_hidden(line, public),
            without_trainings(notes := line.result.notes if line.result is not None else {}),
            failed_trainings(notes),
        )
        by_domain.setdefault(line.task.domain, []).append(section)
    return tuple(
        DomainTasks(domain, tuple(tasks), sum(section.line.ok for section in tasks))
        for domain, tasks in by_domain.items()
    )


def _errors(row: Row) -> dict[str, list[LineNumber]]:
    """By task, its normalised errors: one for each label type if it has labelled frames, else one."""
    errors: dict[str, list[LineNumber]] = {}
    names = {line.task.name for line in row.tasks}
    for domain in row.scores[FORCE_FIELD].parts:
        for label in domain.parts:
            _add_errors(errors, names, label.parts, label.name)
    for domain in row.scores[PROPERTY_ERROR].parts:
        _add_errors(errors, names, domain.parts, "error")
    return errors


def _add_errors(errors: dict[str, list[LineNumber]], names: Collection[str], terms: Iterable[Term], label: str) -> None:
    for term in terms:
        if term.name in names:
            value = term.value if term.counted is None else term.counted
            counts = "" if term.counted is None else "counts "
            errors.setdefault(term.name, []).append(LineNumber(label, Markup(counts + formatting.decimals(value))))


def _raw(line: TaskLine) -> tuple[LineNumber, ...]:
    """The raw metric in the line of a task that is part of no error score."""
    metrics = {} if line.result is None else line.result.metrics
    name = next((name for name in RAW if name in metrics), None)
    if name is None:
        return ()
    metric, label = metrics[name], formatting.metric_label(name).partition(",")[0].lower()
    return (LineNumber(label, _shown(metric.value, metric.unit, formatting.shown_unit(metric.unit))),)


def _failed(result: Result | None) -> str:
    if result is None or not result.n_items:
        return ""
    n_failed = sum(result.failures.values())
    return f"{formatting.thousands(n_failed) if n_failed else 'none'} of {formatting.thousands(result.n_items)}"


def _metrics(line: TaskLine) -> MetricTable:
    metrics = {} if line.result is None else line.result.metrics
    penalised = any(metric.charged is not None and metric.charged != metric.value for metric in metrics.values())
    compared = any(metric.baseline is not None for metric in metrics.values())
    rows = "".join(_metric_row(name, metric, penalised, compared) for name, metric in metrics.items())
    return MetricTable(Markup(rows), penalised, compared)


def _metric_row(name: str, metric: Metric, penalised: bool, compared: bool) -> str:
    before = [_shown(metric.value, metric.unit)]
    if penalised:
        before.append(_shown(metric.charged, metric.unit))
    if compared:
        before.append(_shown(metric.baseline, metric.unit))
    after = [formatting.decimals(_normalised(metric))] if compared else []
    after += [formatting.thousands(metric.n_items), str(metric.n_failed)]
    cells = number_cells(before) + word_cell(formatting.shown_unit(metric.unit)) + number_cells(after)
    return lean_row(words(formatting.metric_label(name)), cells)


def _normalised(metric: Metric) -> float | None:
    """The metric as it is counted, divided by that of the trivial model."""
    if metric.counted is None or metric.baseline is None or not is_usable(metric.baseline):
        return None
    return cut(metric.counted / metric.baseline)


def _shown(value: float | None, stored: str, unit: str = "") -> Markup:
    text = shown(formatting.shown_value(value, stored))
    return Markup(f"{text} {words(unit)}" if unit else text)


def provenance_of(row: Row) -> tuple[Facts, dict[str, Facts]]:
    """Where the numbers of a model come from: the facts that all its tasks share, and the other facts by task."""
    results = {line.task.name: line.result for line in row.tasks if line.result is not None}
    facts_by_task = {task: _provenance(result) for task, result in results.items()}
    limits = {task: result.provenance.limits for task, result in results.items()}
    shared, shared_limits = ({}, {}) if len(results) < 2 else (_same(facts_by_task.values()), _same(limits.values()))
    by_task = {
        task: _without(facts, shared) | _limits(_without(limits[task], shared_limits))
        for task, facts in facts_by_task.items()
    }
    return shared | _limits(shared_limits), by_task


def _same(mappings: Collection[Mapping[str, Value]]) -> dict[str, Value]:
    """The items that all have."""
    first = next(iter(mappings))
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in mappings)}


def _without(facts: Mapping[str, Value], shared: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in facts.items() if name not in shared}


def _limits(limits: Mapping[str, float]) -> Facts:
    text = limits_text(limits)
    return {"Limits": words(text)} if text else {}


def _provenance(result: Result) -> Facts:
    made, origin = result.provenance, result.provenance.origin
    commit = f" {origin.judge_commit}" if origin.judge_commit else ""
    where = "in a locked container" if origin.driver == "docker" else "as a local process, not isolated"
    stated = {
        "Measured": words(formatting.moment(result.measured)),
        "Round": words(f"{result.round}, judged again") if result.round else Markup(),
        "Ran": words(f"{where}, on {origin.device or 'an unnamed device'}"),
        "Resumed": words("after an interruption, from the state that was kept" if made.resumed else ""),
        "Hardware": words(origin.hardware),
        "Dispersion": words(made.dispersion),
        "Image": _code(made.image_id),
        "Data set": words(made.dataset),
        "Structures": _code(made.frames_sha256[:SHORT]),
        "Labels": _code(made.labels_sha256[:SHORT]),
        "Observation": _code((made.observation or "")[:SHORT] if made.frames_sha256 else ""),  # of public sets
        "Result": _code(result.result_key),
        "Judge": words(f"{origin.judge_version}{commit}, contract {made.contract}"),
        "Versions": words(f"observe {made.observe_version}, measure {made.measure_version}"),
    }
    return {name: text for name, text in stated.items() if text}


def _code(digest: str) -> Markup:
    return Markup(f"<code>{words(digest)}</code>") if digest else Markup()
