"""The rows of a task's ranking as HTML. A site has thousands of them, so Python writes them, not a template."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from markupsafe import Markup

from judge.disclosure.redaction import TIME_DIGITS
from judge.pages.tasks.task_ranking import PlaceRange, RawCell, TaskRank
from judge.records.records import Result
from judge.view import formatting
from judge.view.columns import score_span, score_text
from judge.view.escaping import words
from scoring.intervals import Interval

_DIGITS = 3  # of raw metrics but times
_DASH = f'<td class="num" data-value="">{formatting.NONE}</td>'


def ranking_rows(lines: Iterable[TaskRank], root: str, twins: Collection[str], *, score: str, labelled: bool) -> Markup:
    """A row for each model.

    Args:
        root: the relative path to the site's top folder.
        twins: IDs of submissions whose name looks like that of another team's.
        score: the key of the score that the table has a column for, over this task alone; empty: none.
        labelled: whether it has a column for the label set.
    """
    return Markup("".join(_row(line, root, twins, score, labelled) for line in lines))


def chip(status: str, n_failed: int = 0, n_items: int = 0) -> str:
    """A verdict as a mark and a word; the template macro of that name draws the same.

    Args:
        n_failed: of `n_items`, how many failed; OK with failed items is partly failed.
    """
    css, mark = {"OK": ("ok", "✓"), "NOT JUDGED": ("open", "○")}.get(status, ("fault", "✕"))
    words = formatting.verdict_words(status)
    if css == "ok" and n_failed:
        css, mark, words = "part", "◐", f"{formatting.thousands(n_failed)} of {formatting.thousands(n_items)} failed"
    return f'<span class="chip {css}"><span aria-hidden="true">{mark}</span> {words}</span>'


def _row(line: TaskRank, root: str, twins: Collection[str], score: str, labelled: bool) -> str:
    result = line.line.result
    n_items = result.n_items if result is not None else 0
    cells = [_place(line.place), _model(line, root, twins)]
    if score:
        cells.append(_score(line, score))
    digits = TIME_DIGITS if line.line.task.traits.times else _DIGITS
    cells += [_raw(cell, digits) for cell in line.raw]
    if labelled:
        cells.append(f"<td>{words(result.label_set) if result is not None else ''}</td>")
    cells += (
        _failed(line, result),
        f'<td data-value="{line.line.status}">{chip(line.line.status, line.n_failed, n_items)}</td>',
        _time(result),
    )
    marked = ' class="for-comparison"' if line.row.reference else ""
    return f"<tr{marked}>{''.join(cells)}</tr>\n"


def _place(place: PlaceRange | None) -> str:
    if place is None:
        return f'<td class="place" data-value="">{formatting.NONE}</td>'
    return f'<td class="place" data-value="{place.first}">{formatting.rank_span(place.first, place.last)}</td>'


def _model(line: TaskRank, root: str, twins: Collection[str]) -> str:
    card, id = line.row.submission.card, line.row.submission.id
    version = f' <span class="aside"><bdi>{words(card.version)}</bdi></span>' if card.version else ""
    twin = f' <code class="twin">{id[-12:]}</code>' if id in twins else ""
    marked = ' <span class="aside">for comparison</span>' if line.row.reference else ""
    name = f'<a href="{root}{line.row.page}"><bdi>{words(card.name)}</bdi></a>'
    return f'<th scope="row" data-value="{words(card.name.lower())}">{name}{twin}{version}{marked}</th>'


def _score(line: TaskRank, key: str) -> str:
    if line.value is None:
        counts = "" if line.counted is None else f'<span class="range">counts {score_text(key, line.counted)}</span>'
        return f'<td class="num task-score" data-value="">{formatting.NONE}{counts}</td>'
    text = f"{score_text(key, line.value)}{_interval(line.interval, key)}"
    if line.as_references:
        text += '<span class="range">at the reference’s own uncertainty</span>'
    return f'<td class="num task-score" data-value="{line.value}">{text}</td>'


def _interval(interval: Interval | None, key: str) -> str:
    """An interval; the template macro of that name draws the same."""
    if interval is None:
        return ""
    text, title = f'<span class="unseen">95 % interval </span>{score_span(key, interval.low, interval.high)}', ""
    if interval.n_held:
        title = f' title="Lower bound of the width: {formatting.count(interval.n_held, "part")} could not be resampled"'
        text += '<span aria-hidden="true"> *</span><span class="unseen">, a lower bound of the width</span>'
    return f'<span class="range"{title}>{text}</span>'


def _raw(cell: RawCell, digits: int) -> str:
    if cell.record is None:
        return _DASH

    def text(value: float | None) -> str:
        return formatting.number(formatting.shown_value(value, unit), digits)

    value = cell.record.value if cell.record.charged is None else cell.record.charged
    unit, range_ = cell.record.unit, ""
    if cell.interval is not None:
        range_ = f'<span class="range">{text(cell.interval.low)}\u00a0–\u00a0{text(cell.interval.high)}</span>'
    order = "" if value is None else value
    return f'<td class="num" data-value="{order}">{text(value)}{range_}</td>'


def _failed(line: TaskRank, result: Result | None) -> str:
    if result is None or not result.n_items:
        return _DASH
    items = f'<span class="of"> of {formatting.thousands(result.n_items)}</span>'
    return f'<td class="num" data-value="{line.n_failed}">{formatting.thousands(line.n_failed)}{items}</td>'


def _time(result: Result | None) -> str:
    if result is None or result.peaks is None:
        return _DASH
    return f'<td class="num" data-value="{result.peaks.wall_s}">{formatting.duration(result.peaks.wall_s)}</td>'
