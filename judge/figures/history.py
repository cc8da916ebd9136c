"""Scores over time: of each model at its submission, and of the best models at each publication."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from judge.figures.figure import Cell, Figure, Heading, Trace, axis
from judge.figures.names import model_names
from judge.ranking.leaderboard import Row
from judge.view.columns import Column
from judge.view.page_context import Frame
from judge.view.score_display import ranked_by

N_FOLLOWED = 5
"""The figure follows so many of the best models over publications."""


class SubmittedModel(NamedTuple):
    """A model at its submission.

    Args:
        best: the best score until then, of the models that are ranked now.
    """

    name: str
    submitted: datetime
    score: float
    best: float


class PublishedScoreHistory(NamedTuple):
    """The scores of a model, with the time of each publication."""

    name: str
    points: tuple[tuple[datetime, float], ...]


def history_figure(frame: Frame) -> Figure | None:
    """The score that the ranking is by, over time; None if no model is ranked."""
    column = _column(frame)
    models = [] if column is None else _models(frame.board.ranked, column)
    if column is None or not models:
        return None
    histories = _histories(frame, column)
    about = (
        f"{column.label} of each ranked model by the date of its submission, as it is scored now; "
        f"{'lower' if column.lower_is_better else 'higher'} is better. The line is the best score until then, of the "
        "models that are ranked now."
        + (" Lines with marks are the published scores of the best models." if histories else "")
    )
    headings = ("Model", "Event", "Date", column.label, "Best until then of those ranked now")
    rows: list[Sequence[Cell]] = [(m.name, "submitted", _day(m.submitted), m.score, m.best) for m in models]
    rows += [(model.name, "published", _day(when), score, None) for model in histories for when, score in model.points]
    layout = {"xaxis": axis("date", type="date"), "yaxis": axis(f"{column.label} {column.arrow}")}
    title = f"{column.label} over time"
    return Figure("history", title, about, tuple(map(Heading, headings)), rows, _traces(models, histories), layout)


def _column(frame: Frame) -> Column | None:
    """The score that the ranking is by, or the first score."""
    key = ranked_by(frame.keys)
    return next((column for column in frame.columns if key in (None, column.key)), None)


def _models(rows: Sequence[Row], column: Column) -> list[SubmittedModel]:
    scored = [(row, value) for row in rows if (value := column.term(row).value) is not None]
    names = model_names(rows)
    models: list[SubmittedModel] = []
    for row, value in sorted(scored, key=lambda pair: (pair[0].submission.created, pair[0].submission.id)):
        so_far = [models[-1].best, value] if models else [value]
        best = min(so_far) if column.lower_is_better else max(so_far)
        models.append(SubmittedModel(names[row.submission.id], row.submission.created, value, best))
    return models


def _histories(frame: Frame, column: Column) -> list[PublishedScoreHistory]:
    """The histories of those of the best models that were published more than once."""
    histories = []
    names = model_names(frame.board.ranked)
    for row in frame.board.ranked[:N_FOLLOWED]:
        points = []
        for manifest in frame.sources.manifests:
            published = manifest.scores.get(row.submission.id)
            score = getattr(published, column.key) if published else None
            if score is not None:
                points.append((manifest.published, score))
        if len(points) > 1:
            histories.append(PublishedScoreHistory(names[row.submission.id], tuple(points)))
    return histories


def _traces(models: Sequence[SubmittedModel], histories: Sequence[PublishedScoreHistory]) -> list[Trace]:
    dates = [_minute(model.submitted) for model in models]
    best: Trace = {
        "name": "best until then",
        "mode": "lines",
        "x": dates,
        "y": [model.best for model in models],
        "line": {"shape": "hv"},
        "meta": {"colour": 0},
    }
    scores: Trace = {
        "name": "a model",
        "mode": "markers",
        "x": dates,
        "y": [model.score for model in models],
        "text": [model.name for model in models],
        "meta": {"colour": "rest"},
    }
    followed: list[Trace] = [
        {
            "name": model.name,
            "mode": "lines+markers",
            "x": [_minute(moment) for moment, _ in model.points],
            "y": [score for _, score in model.points],
            "meta": {"colour": series},
        }
        for series, model in enumerate(histories, 1)
    ]
    return [{"type": "scatter", **trace} for trace in (best, *followed, scores)]


def _day(moment: datetime) -> str:
    """2025-03-04."""
    return moment.astimezone(UTC).date().isoformat()


def _minute(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
