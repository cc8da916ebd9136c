"""The tasks of a model as its page shows them: a line each that opens to metrics, facts, parts and provenance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeVar

from markupsafe import Markup

from judge.disclosure.public_curves import is_hidden
from judge.disclosure.redaction import cut
from judge.pages.breakdowns import Breakdown, breakdowns_of
from judge.ranking.leaderboard import Row, TaskLine
from judge.ranking.score_inputs import is_usable
from judge.records.records import Result
from judge.view import formatting
from judge.view.escaping import number, words
from judge.view.leaderboard_export import task_page
from judge.view.table_cells import lean_row, number_cells, shown, word_cell
from scoring import Term
from scoring.names import FORCE_FIELD, PROPERTY_ERROR
from tasks.metrics.metric import Metric

RAW = ("time_mean", "slope_geomean")
"""Metrics that tell most of a task without errors beside a trivial model's."""

SHORT = 16
"""Digits of hashes that the result's own record has in full; there it can be found by its key, which is whole."""


Of = TypeVar("Of")


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


Facts = dict[str, Markup]
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
    for domain in row.scores[FORCE_FIELD].parts:
        for label in domain.parts:
            _add_errors(found, names, label.parts, label.name)
    for domain in row.scores[PROPERTY_ERROR].parts:
        _add_errors(found, names, domain.parts, "error")
    return found


def _add_errors(found: dict[str, list[Told]], names: Collection[str], terms: Iterable[Term], label: str) -> None:
    for term in terms:
        if term.name in names:
            value = term.value if term.counted is None else term.counted
            counts = "" if term.counted is None else "counts "
            found.setdefault(term.name, []).append(Told(label, Markup(counts + formatting.decimals(value))))


def _raw(line: TaskLine) -> tuple[Told, ...]:
    """A raw metric, where a task is part of no error."""
    metrics = {} if line.result is None else line.result.metrics
    name = next((name for name in RAW if name in metrics), None)
    if name is None:
        return ()
    metric, label = metrics[name], formatting.metric_label(name).partition(",")[0].lower()
    return (Told(label, _shown(metric.value, metric.unit, formatting.shown_unit(metric.unit))),)


def _failed(result: Result | None) -> str:
    if result is None or not result.n_items:
        return ""
    n_failed = sum(result.failures.values())
    return f"{formatting.thousands(n_failed) if n_failed else 'none'} of {formatting.thousands(result.n_items)}"


def _metrics(line: TaskLine) -> MetricTable:
    metrics = {} if line.result is None else line.result.metrics
    charged = any(metric.charged is not None and metric.charged != metric.value for metric in metrics.values())
    compared = any(metric.baseline is not None for metric in metrics.values())
    rows = "".join(_metric_row(name, metric, charged, compared) for name, metric in metrics.items())
    return MetricTable(Markup(rows), charged, compared)


def _metric_row(name: str, metric: Metric, charged: bool, compared: bool) -> str:
    before = [_shown(metric.value, metric.unit)]
    if charged:
        before.append(_shown(metric.charged, metric.unit))
    if compared:
        before.append(_shown(metric.baseline, metric.unit))
    after = [formatting.decimals(_normalised(metric))] if compared else []
    after += [formatting.thousands(metric.n_items), str(metric.n_failed)]
    cells = number_cells(before) + word_cell(formatting.shown_unit(metric.unit)) + number_cells(after)
    return lean_row(words(formatting.metric_label(name)), cells)


def _normalised(metric: Metric) -> float | None:
    """The metric with failures penalised, divided by that of the trivial model."""
    if metric.charged is None or metric.baseline is None or not is_usable(metric.baseline):
        return None
    return cut(metric.charged / metric.baseline)


def _shown(value: float | None, stored: str, unit: str = "") -> Markup:
    told = shown(formatting.shown_value(value, stored))
    return Markup(f"{told} {words(unit)}" if unit else told)


def provenance_of(row: Row) -> tuple[Facts, dict[str, Facts]]:
    """Where the numbers of a model come from: what is the same in all its tasks, and by task the rest."""
    results = {line.task.name: line.result for line in row.tasks if line.result is not None}
    told = {task: _provenance(result) for task, result in results.items()}
    limits = {task: result.provenance.limits for task, result in results.items()}
    shared, shared_limits = ({}, {}) if len(told) < 2 else (_same(told.values()), _same(limits.values()))
    by_task = {
        task: _without(facts, shared) | _limits(_without(limits[task], shared_limits)) for task, facts in told.items()
    }
    return shared | _limits(shared_limits), by_task


def _same(found: Collection[Mapping[str, Of]]) -> dict[str, Of]:
    """What all have alike."""
    first = next(iter(found))
    return {name: of for name, of in first.items() if all(other.get(name) == of for other in found)}


def _without(facts: Mapping[str, Of], shared: Mapping[str, Of]) -> dict[str, Of]:
    return {name: of for name, of in facts.items() if name not in shared}


def _limits(limits: Mapping[str, float]) -> Facts:
    told = ", ".join(f"{name.replace('_', ' ')} {number(of, 4)}" for name, of in sorted(limits.items()))
    return {"Limits": words(told)} if told else {}


def _provenance(result: Result) -> Facts:
    made, origin = result.provenance, result.provenance.origin
    commit = f" {origin.judge_commit}" if origin.judge_commit else ""
    where = "in a locked container" if origin.driver == "docker" else "as a local process, not isolated"
    stated = {
        "Measured": words(formatting.moment(result.measured)),
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
        "Judge": words(f"{origin.judge_version}{commit}, contract {made.contract}"),
        "Versions": words(f"observe {made.observe_version}, measure {made.measure_version}"),
    }
    return {name: text for name, text in stated.items() if text}


def _code(digest: str) -> Markup:
    return Markup(f"<code>{words(digest)}</code>") if digest else Markup()
