"""All models by all tasks that have an error: where a model is good, and what is hard for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from judge.disclosure.redaction import SCORE_DIGITS, rounded
from judge.figures.drawing import N_RAMP, WIDTH, clean, group, line, path, ramp, rect, short, shortened, svg, text
from judge.figures.figure import Figure, Heading
from judge.figures.names import model_names, short_names
from judge.ranking.leaderboard import NOT_JUDGED, Leaderboard, Row
from judge.ranking.references import ERRORS
from judge.view.formatting import count, verdict_words
from judge.view.page_context import Frame
from judge.view.score_display import score_of
from judge.view.score_shares import scores_by_task
from sandbox.verdict import Verdict
from tasks.suites.suite import Task

NO_VALUE = "no value"
_LEFT, _RIGHT = 190.0, WIDTH - 8.0
_NAME_ROOM = 118.0  # above the cells, for the names of tasks
_GAP = 7.0  # between domains
_TALLEST, _LEAST = 20.0, 4.5  # a row of cells


class Place(NamedTuple):
    """A column: a task, and where its cells are."""

    task: Task
    left: float
    width: float


def heat_map(frame: Frame) -> Figure | None:
    """The normalised error of every model in every task; None where there is neither."""
    board = frame.board
    errors = [task_errors(board, row) for row in board.rows]
    asked = {name for own in errors for name in own}
    tasks = sorted((task for task in board.suite.tasks if task.name in asked), key=lambda task: task.domain)
    if not tasks:
        return None
    called = model_names(board.rows)
    names = [
        f"{row.rank}. {called[row.submission.id]}" if row.rank else called[row.submission.id] for row in board.rows
    ]
    cells = [
        [_cell(row, task, own.get(task.name)) for task in tasks] for row, own in zip(board.rows, errors, strict=True)
    ]
    title, about = "Every model in every task", _about(len(board.suite.tasks) - len(tasks))
    return Figure(
        "heat-map",
        title,
        about,
        (Heading("Model"), *(Heading(task.name) for task in tasks)),
        [(name, *own) for name, own in zip(names, cells, strict=True)],
        _drawing(title, about, names, tasks, cells),
        _plot(short_names(names, 24), tasks, cells),
    )


def task_errors(board: Leaderboard, row: Row) -> dict[str, float | None]:
    """By task, the normalised error of a model, 0 to 1, as the task's page has it; None where it has no value there."""
    found = scores_by_task(board, {key: score_of(row.scores, key) for key in ERRORS})
    return {task: own.value for task, own in found.items()}


def _cell(row: Row, task: Task, error: float | None) -> float | str:
    """The error, or what there is in its stead."""
    if error is not None:
        return rounded(error, SCORE_DIGITS)
    status = next(line.status for line in row.tasks if line.task.name == task.name)
    return NO_VALUE if status == Verdict.OK else verdict_words(status)


def _about(n_others: int) -> str:
    words = (
        "Error of each model in each task, as a share of its baseline, which is the trivial model’s error, or, of "
        "equations of state, how far PBE lies from experiment: models from the first rank down, tasks by domain. A "
        "cross: a verdict other than OK; a dash: not judged, or nothing to compare."
    )
    return f"{words} {count(n_others, 'task')} without such an error left out." if n_others else words


def _drawing(
    title: str, about: str, names: Sequence[str], tasks: Sequence[Task], cells: Sequence[Sequence[float | str]]
) -> Markup:
    places = _places(tasks)
    height = min(_TALLEST, max(_LEAST, 700 / len(names)))
    bottom = _NAME_ROOM + height * len(names)
    every = math.ceil(10 / height)
    labels = [
        text((_LEFT - 6, _NAME_ROOM + height * (number + 0.5) + 3), shortened(name, 34), "small", "end")
        for number, name in enumerate(names)
        if number % every == 0
    ]
    above = [
        text((place.left + place.width / 2 + 3, _NAME_ROOM - 5), shortened(place.task.name, 20), "small", "start", -90)
        for place in places
    ]
    key = _key(bottom + 44)
    return svg(
        "heat-map",
        title,
        about,
        WIDTH,
        bottom + 66,
        *above,
        *labels,
        *_cells(places, cells, height),
        *_domains(places, bottom),
        key,
    )


def _places(tasks: Sequence[Task]) -> list[Place]:
    changes = [number for number in range(1, len(tasks)) if tasks[number].domain != tasks[number - 1].domain]
    width = min(46.0, (_RIGHT - _LEFT - _GAP * len(changes)) / len(tasks))
    return [
        Place(task, _LEFT + number * width + _GAP * sum(change <= number for change in changes), width)
        for number, task in enumerate(tasks)
    ]


def _cells(places: Sequence[Place], cells: Sequence[Sequence[float | str]], height: float) -> list[Markup]:
    """All cells of one step of the ramp as one path, and so the marks of those without a value."""
    steps: dict[str, list[str]] = {}
    gap = 0.6 if height > 8 else 0.3
    for number, own in enumerate(cells):
        top = _NAME_ROOM + height * number
        for place, value in zip(places, own, strict=True):
            wide, high = place.width - gap, height - gap
            box = f"M{short(place.left)} {short(top)}h{short(wide)}v{short(high)}h-{short(wide)}z"
            if isinstance(value, float):
                steps.setdefault(f"cell h{ramp(value, 0.0, 1.0)}", []).append(box)
                continue
            css, drawn = _mark(value, place.left + wide / 2, top + high / 2, min(wide, high) * 0.3)
            steps.setdefault(f"cell {css}", []).append(box)
            steps.setdefault(f"sign {css}", []).append(drawn)
    return [path("".join(found), css) for css, found in sorted(steps.items())]


def _mark(words: str, x: float, y: float, size: float) -> tuple[str, str]:
    """A cross for a failure, a dash for what is not there."""
    if words in (NO_VALUE, verdict_words(NOT_JUDGED)):
        return "absent", f"M{short(x - size)} {short(y)}h{short(2 * size)}"
    cross = f"l{short(2 * size)} {short(2 * size)}m0-{short(2 * size)}l-{short(2 * size)} {short(2 * size)}"
    return "fault", f"M{short(x - size)} {short(y - size)}{cross}"


def _domains(places: Sequence[Place], bottom: float) -> list[Markup]:
    """The domains below the cells, names in two lines by turns, so that those of narrow ones have room."""
    found, low = [], 0
    for domain, own in groupby(places, key=lambda place: place.task.domain):
        columns = list(own)
        left, right = columns[0].left, columns[-1].left + columns[-1].width
        name = shortened(clean(domain), max(8, int((right - left) / 2.8)))
        # One that is wider than its columns leaves the next a line of its own.
        at = (left, bottom + 16 + 12 * low)
        low = 1 - low if len(name) * 5.6 > right - left else 0
        found += [line((left, bottom + 5), (right - 0.6, bottom + 5), "axis"), text(at, name, "small soft")]
    return found


def _key(y: float) -> Markup:
    """What colours and marks stand for."""
    steps = [rect((_LEFT + 14 * step, y), 14, 9, f"cell h{step}") for step in range(N_RAMP)]
    right = _LEFT + 14 * N_RAMP
    parts = [
        text((_LEFT - 6, y + 8), "perfect 0", "small", "end"),
        text((right + 6, y + 8), "1 as the baseline", "small"),
    ]
    for number, (words, css) in enumerate((("failed", "failed"), ("not judged", NO_VALUE))):
        left = right + 150 + 80 * number
        kind, drawn = _mark(css, left + 4.5, y + 4.5, 2.6)
        parts += [
            rect((left, y), 9, 9, f"cell {kind}"),
            path(drawn, f"sign {kind}"),
            text((left + 14, y + 8), words, "small"),
        ]
    return group(*steps, *parts)


def _plot(names: Sequence[str], tasks: Sequence[Task], cells: Sequence[Sequence[float | str]]) -> dict[str, object]:
    """The same cells, a thousandth exact, and a mark for each that has no value."""
    shown = [[round(value, 3) if isinstance(value, float) else None for value in own] for own in cells]
    heat = {
        "type": "heatmap",
        "x": [task.name for task in tasks],
        "y": names,
        "z": shown,
        "zmin": 0,
        "zmax": 1,
        "hovertemplate": "%{y}<br>%{x}: %{z:.3f}<extra></extra>",
        "meta": {"ramp": True},
    }
    failed = [
        (task.name, name, value)
        for name, own in zip(names, cells, strict=True)
        for task, value in zip(tasks, own, strict=True)
        if isinstance(value, str)
    ]
    marks = {
        "type": "scatter",
        "mode": "markers",
        "x": [x for x, _, _ in failed],
        "y": [y for _, y, _ in failed],
        "text": [words for _, _, words in failed],
        "marker": {
            "size": 7,
            "symbol": [
                "line-ew-open" if _mark(words, 0, 0, 0)[0] == "absent" else "x-thin-open" for _, _, words in failed
            ],
        },
        "hovertemplate": "%{y}<br>%{x}: %{text}<extra></extra>",
        "showlegend": False,
        "meta": {"colour": "soft"},
    }
    layout = {"xaxis": {"type": "category", "side": "top"}, "yaxis": {"type": "category", "autorange": "reversed"}}
    return {"data": [heat, marks] if failed else [heat], "layout": layout}
