"""Two to five models side by side; without a script, the first of the ranking."""

from __future__ import annotations

from judge.figures.radar import radar
from judge.pages.compare.comparison import MOST, comparison
from judge.view.leaderboard_schema import ModelFile
from judge.view.page_context import Frame
from tasks.kinds.registry import KINDS


def pages(frame: Frame) -> dict[str, bytes]:
    """`compare.html`."""
    models = first_models(frame)
    page = frame.draw(
        "compare.html",
        "compare.html",
        data_path=frame.data_path,
        models=models,
        all_models=frame.file.models,
        groups=comparison(frame, models),
        radar=radar(frame),
        most=MOST,
        metrics=KINDS.labels,
    )
    return {"compare.html": page}


def first_models(frame: Frame) -> tuple[ModelFile, ...]:
    """The best of the ranking; the first models if fewer than two are ranked."""
    ranked = tuple(model for model in frame.file.models if model.rank is not None and not model.reference)
    return (ranked if len(ranked) > 1 else frame.file.models)[:MOST]
