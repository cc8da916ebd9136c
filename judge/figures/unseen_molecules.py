"""Learning across molecules: the error on each unseen molecule, for each set of molecules that was learned from."""

from __future__ import annotations

from collections.abc import Sequence

from judge.disclosure.public_curves import PUBLIC_DIGITS
from judge.disclosure.public_learning import PublicTraining, elements_in, seedless
from judge.figures.figure import Cell, Figure, Heading
from judge.figures.learning import ALL_ATOMS, LearnedModel, any_hidden, digits_of, error_of, learned_by, milli, numbers
from judge.figures.learning_curves import SEEDS
from judge.figures.names import shortened
from judge.figures.number_cells import AROUND, CELL, cells_plot, colour_range
from judge.figures.small_plots import MOST_PLOTS, SmallPlot, grid_of
from judge.ranking.leaderboard import Row
from judge.view.page_context import Frame
from tasks.kinds.cross_molecule import CrossMolecule, CrossMoleculeParameters
from tasks.kinds.learned_models import FORCE, UNITS

KIND = CrossMolecule.name
_GAP = 0.4  # at most, of the height of a plot
_ABOUT = (
    "The mean absolute error of forces [meV/Å] on molecules that a model did not learn from. A row is a set of "
    "molecules that it learned from, a column an unseen molecule. A cell is empty if the molecule is in the set, or "
    "has an element that the set lacks. Each number is the mean over the seeds that left a model."
)


def molecule_figures(frame: Frame, models: Sequence[LearnedModel]) -> list[Figure]:
    """A figure for each of these models in one task."""
    models = [model for model in models if model.line.task.kind == KIND]
    return [_figure(frame, [model], f"molecules-{k}", model.name, "Model") for k, model in enumerate(models)]


def molecules_of_model(frame: Frame, row: Row) -> Figure | None:
    """All tasks of this kind of one model; None if there are none."""
    tasks = learned_by(frame, row, KIND)
    return _figure(frame, tasks, "molecules", "", "Task") if tasks else None


def short_names_of(model: LearnedModel) -> dict[str, str]:
    """By group of the data set, the short name of the molecule."""
    parameters = model.line.task.parameters
    if not isinstance(parameters, CrossMoleculeParameters):
        return {}
    return {molecule.group: short for short, molecule in parameters.molecules.items()}


def members_of(training: PublicTraining) -> str:
    """The short names of the molecules that were learned from, such as `abd`."""
    return seedless(training.training).partition("-")[0]


def _figure(frame: Frame, models: Sequence[LearnedModel], key: str, title: str, heading: str) -> Figure:
    plots: list[SmallPlot] = []
    for model in models:
        before = f"{model.name}: " if len(models) > 1 else ""
        plots += [
            _cells(model, symbol, before, digits_of(frame, model)) for symbol in ("", *elements_in(model.trainings))
        ]
    drawn = plots[:MOST_PLOTS]
    values = [
        milli(error.mean)
        for model in models
        for each in model.trainings
        for symbol in ("", *each.of_element)
        if (error := error_of(each, FORCE, symbol)) is not None
    ]
    n_sets = max(len({members_of(each) for each in model.trainings}) for model in models)
    row_height = AROUND + CELL * n_sets
    grid = grid_of(drawn, 2, row_height)
    gaps = {**grid.layout["grid"], "ygap": min(_GAP, AROUND / row_height)}
    names = dict(item for model in models for item in short_names_of(model).items())
    what = "Errors on unseen molecules"
    words = ", ".join(f"{short} {group}" for group, short in names.items())
    return Figure(
        key,
        f"{what}: {shortened(title, 60)}" if title else what,
        f"{_ABOUT} The molecules: {words}.{any_hidden(frame, models)}",
        (
            *(Heading(heading), Heading("Learned from"), Heading("Unseen molecule"), Heading("Atoms")),
            *(Heading("Force MAE", UNITS[FORCE]), Heading("Its standard error", UNITS[FORCE]), *SEEDS),
        ),
        [row for model in models for row in _rows(model)],
        grid.traces,
        {**grid.layout, "grid": gaps, **colour_range(values)},
        height=grid.height,
        digits=PUBLIC_DIGITS,
        narrow_height=grid.narrow_height,
    )


def _cells(model: LearnedModel, symbol: str, before: str, digits: int) -> SmallPlot:
    names = short_names_of(model)
    sets = list(dict.fromkeys(members_of(each) for each in model.trainings))
    asked = {each.molecule for each in model.trainings}
    unseen = [group for group in names if group in asked]
    errors = {
        (members_of(each), each.molecule): milli(error.mean)
        for each in model.trainings
        if (error := error_of(each, FORCE, symbol)) is not None
    }
    values = [[errors.get((members, group)) for group in unseen] for members in sets]
    title = f"{before}force on {symbol}" if symbol else f"{before}{ALL_ATOMS}"
    columns = [names[group] for group in unseen]
    return cells_plot(title, ("learned from", "unseen molecule"), sets, columns, values, digits)


def _rows(model: LearnedModel) -> list[tuple[Cell, ...]]:
    return [
        (model.name, members_of(each), each.molecule, symbol or ALL_ATOMS, *numbers(error_of(each, FORCE, symbol)))
        for each in model.trainings
        for symbol in ("", *each.of_element)
    ]
