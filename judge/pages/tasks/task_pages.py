"""A page for each task: what is measured, the data set, failure costs, and all models."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from judge.figures.elements import elements_figure
from judge.pages.tasks.hidden_public_gap import Gap, gaps
from judge.pages.tasks.kind_text import kind_text
from judge.pages.tasks.learning_section import learning_section, trained_alone
from judge.pages.tasks.run_figures import run_figures
from judge.pages.tasks.task_card import data_set, known_labels, overlap, task_parameters
from judge.pages.tasks.task_inputs import inputs_of, shared_inputs
from judge.pages.tasks.task_ranking import Shares, ranking
from judge.pages.tasks.task_rows import ranking_rows
from judge.pages.tasks.worst_structures import worst_structures
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.references import COMPOSITION_ONLY
from judge.view import formatting
from judge.view.columns import Column
from judge.view.earlier_pages import Drawn, contents
from judge.view.leaderboard_export import task_page
from judge.view.page_context import Frame
from judge.view.score_display import OTHERS
from judge.view.score_shares import Counted, TaskScore, held_against, other_counts, scores_by_task, task_scores
from scoring import names
from scoring.lambench.release import Release
from tasks.kind import ScoreFamily
from tasks.metrics.metric import EQUAL_REFERENCES
from tasks.suites.suite import Task

_DRIFT = "slope_geomean"  # a run is scored by its slope; the result has the geometric mean over runs


class MetricSummary(NamedTuple):
    """A metric of a task over all models.

    Args:
        scored: whether a score is computed from it.
        costs: smallest and largest cost of a failed item; empty if there is none.
        baselines: smallest and largest baseline over label sets; empty if there is none.
        uncertainties: smallest and largest uncertainty of the references over label sets; empty if none is known.
        values: smallest, median and largest value of the models, failures penalised; empty if there is none.
    """

    name: str
    unit: str
    scored: bool
    n_items: int
    costs: tuple[float, ...]
    baselines: tuple[float, ...]
    uncertainties: tuple[float, ...]
    values: tuple[float, ...]


class ScoreLine(NamedTuple):
    """A metric of the task in a score.

    Args:
        share: its share of the whole score, 0 to 1.
        divisor: the numbers of its scale, in words.
        worst: what it counts if the task fails.
    """

    score: str
    metric: str
    share: float
    rule: str
    divisor: str
    worst: str


def pages(frame: Frame) -> dict[str, bytes]:
    """`tasks/NAME.html` of every task of the suite, and the files of runs and structures that these link to."""
    parts = _Parts.of(frame)
    return contents(
        frame.earlier,
        {task_page(task.name): _drawn(parts, index) for index, task in enumerate(frame.board.suite.tasks)},
    )


class _Parts(NamedTuple):
    """What the pages of all tasks are made from.

    Args:
        frame: with the rows of the board by submission: the pages do not depend on the ranking of all tasks.
        leader: the first of that ranking; None if no model is ranked. Only shares of the scores are shown of it.
        inputs: see `shared_inputs`.
    """

    frame: Frame
    shares: Shares
    leader: Row | None
    inputs: str

    @classmethod
    def of(cls, frame: Frame) -> _Parts:
        rows = tuple(sorted(frame.board.rows, key=lambda row: row.submission.id))
        shares = {row.submission.id: task_scores(frame.board, row) for row in rows}
        by_id = replace(frame, board=replace(frame.board, rows=rows))
        inputs = shared_inputs(by_id) if frame.earlier is not None else ""
        return cls(by_id, shares, next(iter(frame.board.ranked), None), inputs)


def _drawn(parts: _Parts, index: int) -> Drawn:
    frame, task = parts.frame, parts.frame.board.suite.tasks[index]
    key = next((scores[task.name].key for scores in parts.shares.values() if task.name in scores), None)
    column = next((column for column in frame.columns if column.key == key), None)
    scored = _scored(task, parts.shares)
    references = _references(frame, task, key)
    between = gaps(frame.board, task, parts.shares, frame.sources)
    lines = _score_lines(frame.board, task, parts.leader, parts.shares)
    draw = partial(_files, parts, index, column, scored, references, between, lines)
    if frame.earlier is None:
        return Drawn(draw(), "")
    of_models = inputs_of(frame, index, parts.shares, scored)
    leader = parts.leader and (parts.leader.page, parts.leader.submission.card.name)
    stated = [(gap.hidden.name, gap.public.name, gap[2:]) for gap in between]
    about = column and column._replace(best={})
    inputs = (parts.inputs, of_models, about, references, stated, lines, leader)
    return frame.earlier.page(task_page(task.name), inputs, draw)


def _files(
    parts: _Parts,
    index: int,
    column: Column | None,
    names: Sequence[str],
    references: Sequence[Reference],
    between: Sequence[Gap],
    lines: Sequence[ScoreLine],
) -> dict[str, bytes]:
    """The page of a task, and the files of its runs.

    Args:
        column: of the score that the task is part of; None if it is part of none.
        names: of the metrics that scores are computed from, as in results.
    """
    frame, board, tasks = parts.frame, parts.frame.board, parts.frame.board.suite.tasks
    task, dataset = tasks[index], data_set(tasks[index], frame.sources)
    metrics = _metrics(board, index, names)
    ranked = ranking(board, index, parts.shares, names, lower=column is None or column.lower_is_better)
    groups = trained_alone(ranked)
    runs = run_figures(frame, task, groups)
    worst = worst_structures(frame, task, groups, names)
    page = frame.draw(
        "task.html",
        task_page(task.name),
        task=task,
        dataset=dataset,
        kind_text=kind_text(frame, task, hidden=dataset.card is None or dataset.card.hidden),
        parameters=task_parameters(task, hidden=not dataset.is_public),
        column=column,
        scored=tuple(metric for metric in metrics if metric.scored),
        groups=groups,
        n_ok=sum(row.tasks[index].ok for row in board.rows),
        learning=learning_section(frame, task, ranked),
        label_sets=known_labels(board.rows, index) if task.traits.labelled else (),
        metrics=metrics,
        n_items=max((row.tasks[index].n_items for row in board.rows), default=0),
        equals=_equal_references(board, index),
        elements=elements_figure(frame, task.name),
        runs=runs,
        worst=worst,
        score_lines=lines,
        leader=parts.leader,
        references=references,
        overlap=overlap(board, task, dataset),
        gaps=between,
        before=tasks[index - 1] if index else None,
        after=tasks[index + 1] if index + 1 < len(tasks) else None,
        task_page=task_page,
        ranking_rows=ranking_rows,
    )
    return {task_page(task.name): page, **runs.trajectories.files, **runs.ramachandran.files, **worst.files}


def _scored(task: Task, shares: Shares) -> tuple[str, ...]:
    """The names of the metrics that scores are computed from, as in results."""
    parts = [part for scores in shares.values() if task.name in scores for part in scores[task.name].parts]
    if parts and task.traits.score is ScoreFamily.INSTABILITY:
        return (_DRIFT,)
    return tuple(dict.fromkeys(part.metric for part in parts))


def _metrics(board: Leaderboard, index: int, scored: Sequence[str]) -> tuple[MetricSummary, ...]:
    results = [result for row in board.rows if (result := row.tasks[index].result) is not None]
    names = dict.fromkeys(scored) | dict.fromkeys(name for result in results for name in result.metrics)
    summaries = []
    for name in names:
        records = [result.metrics[name] for result in results if name in result.metrics]
        values = [v for r in records if (v := r.value if r.charged is None else r.charged) is not None]
        summaries.append(
            MetricSummary(
                name,
                records[0].unit if records else "",
                name in scored,
                max((record.n_items for record in records), default=0),
                _ends(record.failure_cost for record in records),
                _ends(record.baseline for record in records),
                _ends(record.reference_uncertainty for record in records),
                (min(values), statistics.median(values), max(values)) if values else (),
            )
        )
    return tuple(summaries)


def _equal_references(board: Leaderboard, index: int) -> str:
    """The names of the references of equal standing; empty if there is one reference alone."""
    results = [result for row in board.rows if (result := row.tasks[index].result) is not None]
    return next((name for result in results if (name := result.notes.get(EQUAL_REFERENCES, ""))), "")


def _ends(values: Iterable[float | None]) -> tuple[float, ...]:
    known = [value for value in values if value is not None]
    return tuple(dict.fromkeys((min(known), max(known)))) if known else ()


def _score_lines(board: Leaderboard, task: Task, row: Row | None, shares: Shares) -> tuple[ScoreLine, ...]:
    """The metrics of the task in each score of a model; none without a model."""
    if row is None:
        return ()
    entries: list[tuple[str, Counted, str]] = []
    task_score = shares[row.submission.id].get(task.name)
    if task_score is not None:
        parts = _mean_of_runs(task_score) if task.traits.score is ScoreFamily.INSTABILITY else task_score.parts
        worst = _worst(task_score.key, board.release)
        entries += [(names.SCORES[task_score.key].label, part, worst) for part in parts]
    for key, label in OTHERS.items():
        if key in row.scores:
            label += "" if key == names.ML_PEG else _shared(board, task)
            counted = other_counts(row.scores[key], {task.name, *task.mlipaudit})
            entries += [(label, part, "0") for part in counted]
    return tuple(
        ScoreLine(score, part.metric, part.share, part.term.rule, held_against(part.term), worst)
        for score, part, worst in entries
    )


def _mean_of_runs(score: TaskScore) -> tuple[Counted, ...]:
    """The runs of a task of dynamics as one metric: all have the same rule."""
    run = next((part for part in score.parts if part.term.value is not None), score.parts[0])
    return (run._replace(metric=_DRIFT, share=score.share),)


def _shared(board: Leaderboard, task: Task) -> str:
    """The other tasks of the same benchmark of MLIPAudit, in words; empty if there are none."""
    others = [
        other.label for other in board.suite.tasks if other is not task and {*other.mlipaudit} & {*task.mlipaudit}
    ]
    return f", together with {', '.join(others)}" if task.mlipaudit and others else ""


def _worst(key: str, release: Release) -> str:
    """What a failed task counts in a score."""
    worst = {
        names.FORCE_FIELD: release.force_field.absent,
        names.PROPERTY_ERROR: release.property_error.absent,
        names.EFFICIENCY: release.efficiency.absent,
        names.INSTABILITY: release.instability.worst_decades,
    }
    return formatting.number(worst[key])


class Reference(NamedTuple):
    """A row for comparison that is not a submission.

    Args:
        value: on the scale of the score.
        raw: the metric [its unit]; None if the row has no single metric.
        trivial: whether it is the trivial model, whose errors are the divisors.
    """

    name: str
    about: str
    value: float
    raw: float | None = None
    trivial: bool = False


def _references(frame: Frame, task: Task, key: str | None) -> tuple[Reference, ...]:
    """The reference of this task, and results that others published."""
    release = frame.board.release
    match key:
        case names.FORCE_FIELD | names.PROPERTY_ERROR:
            base = task.traits.baseline
            about = f"{base.about} It is not a submission; its error is 1 by definition."
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
        score = scores_by_task(frame.board, reference.scores).get(task.name)
        if score is not None and score.value is not None:
            yield Reference(reference.name, f"{reference.about} Source: {reference.source}.", score.value)
