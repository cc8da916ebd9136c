"""Two to five models side by side; without a script, the first of the ranking."""

from __future__ import annotations

from collections.abc import Sequence

from judge.figures.radar import radar
from judge.pages.compare.comparison import MOST, MOST_DIFFERENT, comparison
from judge.pages.compare.comparison_intervals import intervals_file, model_intervals
from judge.view.assets import hashed
from judge.view.leaderboard_schema import ModelFile
from judge.view.page_context import Frame
from tasks.kinds.registry import KINDS

FIRST = (MOST_DIFFERENT, "Ranking")
"""The groups of rows that stand before the figure."""


def pages(frame: Frame) -> dict[str, bytes]:
    """`compare.html`, and the file of intervals that its script loads."""
    models = first_models(frame)
    intervals = model_intervals(frame)
    packed = intervals_file(intervals)
    intervals_path = hashed("intervals.json", packed)
    groups = comparison(frame, models, intervals)
    first = tuple(group for group in groups if group.title in FIRST)
    page = frame.draw(
        "compare.html",
        "compare.html",
        data_path=frame.data_path,
        models=models,
        all_models=frame.file.models,
        intervals_path=intervals_path,
        first=first,
        groups=groups[len(first) :],
        title=names_of(models),
        radar=radar(frame),
        most=MOST,
        metrics=KINDS.labels,
    )
    return {"compare.html": page, intervals_path: packed}


def names_of(models: Sequence[ModelFile]) -> str:
    """The names of the models in a row, as the heading of their comparison."""
    *others, last = [f"{model.name} {model.version}".strip() for model in models] or [""]
    return f"{', '.join(others)} and {last}" if others else last


def first_models(frame: Frame) -> tuple[ModelFile, ...]:
    """The best of the ranking; the first models if fewer than two are ranked."""
    ranked = tuple(model for model in frame.file.models if model.rank is not None and not model.reference)
    return (ranked if len(ranked) > 1 else frame.file.models)[:MOST]
