"""A page a task: what is measured, on what, what a failure costs, and who did how."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from judge.figures.elements import elements_figure
from judge.pages.tasks.hidden_public_gap import gaps
from judge.pages.tasks.kind_text import kind_text
from judge.pages.tasks.task_card import data_set, known_labels, overlap, task_parameters
from judge.pages.tasks.task_ranking import Shares, ranking
from judge.pages.tasks.task_rows import ranking_rows
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.references import COMPOSITION_ONLY
from judge.view import formatting
from judge.view.leaderboard_export import task_page
from judge.view.page_context import Frame
from judge.view.score_display import OTHERS
from judge.view.score_shares import Counted, TaskScore, held_against, other_counts, scores_by_task, task_scores
from scoring import names
from scoring.lambench.release import Release
from tasks.kind import ScoreFamily
from tasks.suites.suite import Task

_DRIFT = "slope_geomean"  # each run is scored by its slope; a record has their geometric mean


class MetricSummary(NamedTuple):
    """A metric of a task over all models.

    Args:
        scored: whether a score is made of it.
        costs: least and most that one failed item was charged; empty where nothing is.
        baselines: least and largest of what its errors are divided by, by label set; empty where there is none.
        values: least, median and largest value of the models, failures charged; empty where none has one.
    """

    name: str
    unit: str
    scored: bool
    n_items: int
    costs: tuple[float, ...]
    baselines: tuple[float, ...]
    values: tuple[float, ...]


class ScoreLine(NamedTuple):
    """What a metric of the task counts in a score.

    Args:
        share: of the whole score, 0 to 1.
        held: what it is held against, in words.
        worst: what it counts where a model has no answer.
    """

    score: str
    metric: str
    share: float
    rule: str
    held: str
    worst: str


def pages(frame: Frame) -> dict[str, bytes]:
    """`tasks/NAME.html` of every task of the suite."""
    shares = {row.submission.id: task_scores(frame.board, row) for row in frame.board.rows}
    tasks = frame.board.suite.tasks
    return {task_page(task.name): _page(frame, index, shares) for index, task in enumerate(tasks)}


def _page(frame: Frame, index: int, shares: Shares) -> bytes:
    board, tasks = frame.board, frame.board.suite.tasks
    task, dataset = tasks[index], data_set(tasks[index], frame.sources)
    key = next((own[task.name].key for own in shares.values() if task.name in own), None)
    names = _scored(task, shares)
    metrics = _metrics(board, index, names)
    column = next((column for column in frame.columns if column.key == key), None)
    return frame.draw(
        "task.html",
        task_page(task.name),
        task=task,
        dataset=dataset,
        kind_text=kind_text(frame, task, hidden=dataset.card is None or dataset.card.hidden),
        parameters=task_parameters(task, hidden=not dataset.is_public),
        column=column,
        scored=tuple(metric for metric in metrics if metric.scored),
        groups=ranking(board, index, shares, names, lower=column is None or column.lower_is_better),
        label_sets=known_labels(board.rows, index),
        metrics=metrics,
        elements=elements_figure(frame, task.name),
        score_lines=_score_lines(board, task, shares),
        leader=_leader(board),
        references=_references(frame, task, key),
        overlap=overlap(board, task, dataset),
        gaps=gaps(board, task, shares, frame.sources),
        before=tasks[index - 1] if index else None,
        after=tasks[index + 1] if index + 1 < len(tasks) else None,
        task_page=task_page,
        ranking_rows=ranking_rows,
    )


def _scored(task: Task, shares: Shares) -> tuple[str, ...]:
    """The metrics that scores are made of, by their names in the records."""
    parts = [part for own in shares.values() if task.name in own for part in own[task.name].parts]
    if parts and task.traits.score is ScoreFamily.INSTABILITY:
        return (_DRIFT,)
    return tuple(dict.fromkeys(part.metric for part in parts))


def _metrics(board: Leaderboard, index: int, scored: Sequence[str]) -> tuple[MetricSummary, ...]:
    results = [result for row in board.rows if (result := row.tasks[index].result) is not None]
    names = dict.fromkeys(scored) | dict.fromkeys(name for result in results for name in result.metrics)
    found = []
    for name in names:
        records = [result.metrics[name] for result in results if name in result.metrics]
        values = [v for r in records if (v := r.value if r.charged is None else r.charged) is not None]
        found.append(
            MetricSummary(
                name,
                records[0].unit if records else "",
                name in scored,
                max((record.n_items for record in records), default=0),
                _ends(record.failure_cost for record in records),
                _ends(record.baseline for record in records),
                (min(values), statistics.median(values), max(values)) if values else (),
            )
        )
    return tuple(found)


def _ends(values: Iterable[float | None]) -> tuple[float, ...]:
    known = [value for value in values if value is not None]
    return tuple(dict.fromkeys((min(known), max(known)))) if known else ()


def _leader(board: Leaderboard) -> Row | None:
    """The first of the ranking; None where nobody is ranked."""
    return next(iter(board.ranked), None)


def _score_lines(board: Leaderboard, task: Task, shares: Shares) -> tuple[ScoreLine, ...]:
    """What the task counts for the first of the ranking, in every score that has it."""
    row = _leader(board)
    if row is None:
        return ()
    found: list[tuple[str, Counted, str]] = []
    own = shares[row.submission.id].get(task.name)
    if own is not None:
        parts = _as_one(own) if task.traits.score is ScoreFamily.INSTABILITY else own.parts
        found += [(names.SCORES[own.key].label, part, _worst(own.key, board.release)) for part in parts]
    for key, label in OTHERS.items():
        if key in row.scores:
            label += "" if key == names.ML_PEG else _shared(board, task)
            counted = other_counts(row.scores[key], {task.name, task.mlipaudit} - {""})
            found += [(label, part, "0") for part in counted]
    return tuple(
        ScoreLine(score, part.metric, part.share, part.term.rule, held_against(part.term), worst)
        for score, part, worst in found
    )


def _as_one(own: TaskScore) -> tuple[Counted, ...]:
    """The runs of a task of dynamics as one metric: all are counted alike."""
    told = next((part for part in own.parts if part.term.value is not None), own.parts[0])
    return (told._replace(metric=_DRIFT, share=own.share),)


def _shared(board: Leaderboard, task: Task) -> str:
    """That a benchmark of MLIPAudit is made of several tasks, where it is."""
    others = [other.name for other in board.suite.tasks if other is not task and other.mlipaudit == task.mlipaudit]
    return f", together with {', '.join(others)}" if task.mlipaudit and others else ""


def _worst(key: str, release: Release) -> str:
    """What a task without an answer counts."""
    worst = {
        names.FORCE_FIELD: release.force_field.absent,
        names.PROPERTY_ERROR: release.property_error.absent,
        names.EFFICIENCY: release.efficiency.absent,
        names.INSTABILITY: release.instability.worst_decades,
    }
    return formatting.number(worst[key])


class Reference(NamedTuple):
    """A row to compare with, that nobody submitted.

    Args:
        value: on the scale of the score.
        raw: [unit of the metric] where one number is behind it.
        trivial: whether it is what all errors are divided by.
    """

    name: str
    about: str
    value: float
    raw: float | None = None
    trivial: bool = False


def _references(frame: Frame, task: Task, key: str | None) -> tuple[Reference, ...]:
    """What every model is held against in this task, and what others published of it."""
    release = frame.board.release
    match key:
        case names.FORCE_FIELD | names.PROPERTY_ERROR:
            base = task.traits.baseline
            about = f"{base.about} Nobody submitted it; it is 1 by definition."
            return (Reference(base.name, about, 1.0, trivial=True), *_stated(frame, task))
        case names.EFFICIENCY:
            speed = release.efficiency.reference_us_per_atom
            return (Reference("Reference speed", "The time per atom that scores 1.", 1.0, speed),)
        case names.INSTABILITY:
            drift = release.instability.tolerances[0]
            return (Reference("Drift at the tolerance", "The drift up to which a run counts as stable.", 0.0, drift),)
        case _:
            return ()


def _stated(frame: Frame, task: Task) -> Iterable[Reference]:
    for reference in frame.references:
        if reference.page or reference.id == COMPOSITION_ONLY:
            continue
        own = scores_by_task(frame.board, reference.scores).get(task.name)
        if own is not None and own.value is not None:
            yield Reference(reference.name, f"{reference.about} Source: {reference.source}.", own.value)
