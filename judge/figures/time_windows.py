"""Extrapolation in time: the error of models that learned from a stretch of a trajectory, over its start and length."""

from __future__ import annotations

from collections.abc import Sequence

from judge.disclosure.public_curves import PUBLIC_DIGITS
from judge.figures.figure import Cell, Figure, Heading, axis
from judge.figures.learning import LearnedModel, any_hidden, digits_of, error_of, learned_by, milli, numbers, sizes_of
from judge.figures.learning_curves import SEEDS
from judge.figures.names import shortened
from judge.figures.number_cells import cells_plot, colour_range
from judge.figures.small_plots import MOST_PLOTS, SmallPlot, grid_of
from judge.ranking.leaderboard import Row
from judge.view.formatting import count
from judge.view.page_context import Frame
from tasks.kinds.learned_models import ENERGY, FORCE, UNITS
from tasks.kinds.time_extrapolation import SIMILARITY, TimeExtrapolation
from tasks.learning.training import Training
from tasks.learning.windows import PERCENT, Window

KIND = TimeExtrapolation.name
_ABOUT = (
    "The mean absolute error of forces [meV/Å] on the last tenth of a trajectory, of models that learned from a "
    "stretch of it. A row is where the stretch starts, a column its length. Each number is the mean over the seeds "
    "that left a model."
)
_SIMILAR = (
    " Beside it: how similar the shortest stretches are to the last tenth, as the mean cosine of SOAP vectors. That is "
    "a property of the data, the same for all models."
)
_ROW_HEIGHT = 240


def window_of(training: Training) -> Window:
    """The stretch that a training learns from."""
    return Window(round(PERCENT * training.start), round(PERCENT * training.stop))


def window_figures(frame: Frame, models: Sequence[LearnedModel]) -> list[Figure]:
    """A figure for each of these models in one task."""
    models = [model for model in models if model.line.task.kind == KIND]
    return [_figure(frame, [model], f"windows-{k}", model.name, "Model") for k, model in enumerate(models)]


def windows_of_model(frame: Frame, row: Row) -> Figure | None:
    """All tasks of this kind of one model; None if there are none."""
    tasks = learned_by(frame, row, KIND)
    return _figure(frame, tasks, "windows", "", "Task") if tasks else None


def _figure(frame: Frame, models: Sequence[LearnedModel], key: str, title: str, heading: str) -> Figure:
    plots: list[SmallPlot] = []
    for model in models:
        before = f"{model.name}: " if len(models) > 1 else ""
        plots += [_cells(model, size, before, digits_of(frame, model)) for size in sizes_of(model.trainings)]
        plots += _similar(model, before)
    values = [milli(error.mean) for m in models for t in m.trainings if (error := error_of(t, FORCE))]
    grid = grid_of(plots[:MOST_PLOTS], row_height=_ROW_HEIGHT)
    similarity = [plot for model in models for plot in _similar(model, "")]
    what = "Errors by stretch of time"
    errors = (Heading("Force MAE", UNITS[FORCE]), Heading("Its standard error", UNITS[FORCE]))
    return Figure(
        key,
        f"{what}: {shortened(title, 60)}" if title else what,
        f"{_ABOUT}{_SIMILAR if similarity else ''}{any_hidden(frame, models)}",
        (
            *(Heading(heading), Heading("Frames learned from"), Heading("Stretch"), *errors),
            *(Heading("Energy MAE", UNITS[ENERGY]), *SEEDS, Heading("Similarity to what is asked")),
        ),
        [row for model in models for row in _rows(model)],
        grid.traces,
        {**grid.layout, **colour_range(values)},
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def errors_by_window(model: LearnedModel, size: int) -> dict[Window, float | None]:
    """The force error [eV/Å] of each stretch, learned from with `size` frames."""
    chosen = [each for each in model.trainings if each.training.n_frames == size]
    return {window_of(t.training): e.mean for t in chosen if (e := error_of(t, FORCE)) is not None}


def similarity_by_window(model: LearnedModel) -> dict[str, float]:
    """By the label of a stretch, its similarity to the frames that are asked about, in the order of time."""
    parts = model.line.result.parts if model.line.result else ()
    return {part.name: part.value for part in parts if part.metric == SIMILARITY and part.value is not None}


def _cells(model: LearnedModel, size: int, before: str, digits: int) -> SmallPlot:
    errors = errors_by_window(model, size)
    starts = sorted({window.start for window in errors})
    lengths = sorted({window.stop - window.start for window in errors})
    values = [[milli(errors.get(Window(start, start + length))) for length in lengths] for start in starts]
    rows, columns = ([f"{share} %" for share in shares] for shares in (starts, lengths))
    return cells_plot(f"{before}{count(size, 'frame')}", ("start", "length"), rows, columns, values, digits)


def _similar(model: LearnedModel, before: str) -> list[SmallPlot]:
    values = similarity_by_window(model)
    if len({*values.values()}) < 2:  # to the digits of hidden data they may all be equal
        return []
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "similarity",
        "x": list(values),
        "y": list(values.values()),
        "hovertemplate": "%{x}: %{y}<extra></extra>",
        "meta": {"colour": 0},
    }
    x = axis("stretch", type="category", categoryarray=list(values))
    return [SmallPlot(f"{before}similarity to what is asked", x, axis("", nticks=5), [trace])]


def _rows(model: LearnedModel) -> list[tuple[Cell, ...]]:
    similarity = similarity_by_window(model)
    rows: list[tuple[Cell, ...]] = []
    for each in model.trainings:
        window = window_of(each.training)
        mean, se, seeds, failed = numbers(error_of(each, FORCE))
        energy = error_of(each, ENERGY)
        alike = similarity.get(window.label)
        of_energy = energy.mean if energy else None
        size = f"{each.training.n_frames}"
        rows.append((model.name, size, window.label, mean, se, of_energy, seeds, failed, alike))
    return rows
