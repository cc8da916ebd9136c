"""The normalised error of every model in every task, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence

from judge.disclosure.redaction import SCORE_DIGITS, rounded
from judge.figures.figure import Figure, Heading, Trace
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import NOT_JUDGED, Leaderboard, Row
from judge.view.formatting import count, verdict_words
from judge.view.page_context import Frame
from judge.view.score_shares import scores_by_task
from sandbox.verdict import Verdict
from scoring.names import ERRORS
from tasks.suites.suite import Task

NO_VALUE = "no value"
_SYMBOLS = {NO_VALUE: "line-ew-open", verdict_words(NOT_JUDGED): "line-ew-open"}
_ROW_HEIGHT, _PER_CHARACTER, _DOMAIN_ROOM = 15, 6.4, 70  # CSS pixels; the second of a task's name
_LONGEST_NAME = 40  # characters


def heat_map(frame: Frame) -> Figure | None:
    """The heat map; None if there is no model, or no task with a normalised error."""
    board = frame.board
    errors = [task_errors(board, row) for row in board.rows]
    scored = {name for by_task in errors for name in by_task}
    tasks = sorted((task for task in board.suite.tasks if task.name in scored), key=lambda task: task.domain)
    if not tasks:
        return None
    called = model_names(board.rows)
    names = [
        f"{row.rank}. {called[row.submission.id]}" if row.rank else called[row.submission.id] for row in board.rows
    ]
    cells = [
        [_cell(row, task, by_task.get(task.name)) for task in tasks]
        for row, by_task in zip(board.rows, errors, strict=True)
    ]
    labels = short_names((task.label for task in tasks), _LONGEST_NAME)
    return Figure(
        "heat-map",
        "Normalised error of each model in each task",
        _about(len(board.suite.tasks) - len(tasks)),
        (Heading("Model"), *(Heading(task.label) for task in tasks)),
        [(name, *row) for name, row in zip(names, cells, strict=True)],
        _traces(names, tasks, labels, cells),
        _layout(names),
        height=round(_DOMAIN_ROOM + _PER_CHARACTER * max(map(len, labels))) + _ROW_HEIGHT * len(names),
    )


def task_errors(board: Leaderboard, row: Row) -> dict[str, float | None]:
    """The normalised error of a model by task, 0 to 1, as on the task's page; None if it has no value."""
    scores = scores_by_task(board, {key: row.scores[key] for key in ERRORS})
    return {task: score.value for task, score in scores.items()}


def _cell(row: Row, task: Task, error: float | None) -> float | str:
    """The error, or the reason why there is none."""
    if error is not None:
        return rounded(error, SCORE_DIGITS)
    status = next(line.status for line in row.tasks if line.task.name == task.name)
    return NO_VALUE if status == Verdict.OK else verdict_words(status)


def _about(n_others: int) -> str:
    about = (
        "Error of each model in each task, as a share of the task's baseline: the error of the trivial model or, for "
        "equations of state, the error of PBE against experiment. Models by rank, tasks by domain. A cross is a "
        "verdict other than OK; a dash is a task that was not judged or has no value."
    )
    return f"{about} {count(n_others, 'task')} without a normalised error left out." if n_others else about


def _traces(
    names: Sequence[str], tasks: Sequence[Task], labels: Sequence[str], cells: Sequence[Sequence[float | str]]
) -> list[Trace]:
    """A row of bars for each model, coloured by the error, and a mark for each cell without a value.

    plotly's heat map trace is an image made by a script, which the Content-Security-Policy of the pages refuses.
    """
    columns = [[task.domain for task in tasks], labels]
    bars = [_bars(name, number, columns, row) for number, (name, row) in enumerate(zip(names, cells, strict=True))]
    marks = [
        (task.domain, label, number, f"{name}\n{task.label}: {cell}", _SYMBOLS.get(cell, "x-thin-open"))
        for number, (name, row) in enumerate(zip(names, cells, strict=True))
        for task, label, cell in zip(tasks, labels, row, strict=True)
        if isinstance(cell, str)
    ]
    if not marks:
        return bars
    domains, marked, y, text, symbols = zip(*marks, strict=True)
    without_value = {
        "type": "scatter",
        "mode": "markers",
        "x": [domains, marked],
        "y": y,
        "text": text,
        "marker": {"size": 7, "symbol": symbols},
        "hovertemplate": "%{text}<extra></extra>",
        "showlegend": False,
        "meta": {"colour": "soft"},
    }
    return [*bars, without_value]


def _bars(name: str, number: int, columns: Sequence[Sequence[str]], row: Sequence[float | str]) -> Trace:
    """The cells of a model: bars of one height, each above the place of its task and coloured by the error."""
    return {
        "type": "bar",
        "name": name,
        "x": columns,
        "y": [0.92 if isinstance(cell, float) else None for cell in row],
        "base": number - 0.46,
        "width": 0.94,
        "marker": {
            "color": [round(cell, 3) if isinstance(cell, float) else 0.0 for cell in row],
            "coloraxis": "coloraxis",
        },
        "textposition": "none",
        "hovertemplate": "%{fullData.name}<br>%{x}: %{marker.color:.3f}<extra></extra>",
        "showlegend": False,
    }


def _layout(names: Sequence[str]) -> Trace:
    return {
        "barmode": "overlay",
        "hovermode": "closest",
        "coloraxis": {"cmin": 0, "cmax": 1, "colorbar": {"tickvals": [0, 0.5, 1]}},
        "xaxis": {
            "type": "multicategory",
            "side": "top",
            "tickangle": -90,
            "showgrid": False,
        },
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": short_names(names, 24),
            "range": [len(names) - 0.5, -0.5],
            "showgrid": False,
            "zeroline": False,
        },
    }
