"""The rows of a task's ranking as HTML: drawn here, since a site has thousands of them."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from judge.pages.tasks.task_ranking import Place, RankLine, RawCell
from judge.records.records import Result
from judge.view import formatting
from judge.view.escaping import words
from scoring.intervals import Interval

_DASH = f'<td class="num" data-value="">{formatting.NONE}</td>'


def ranking_rows(lines: Iterable[RankLine], root: str, *, scored: bool, labelled: bool) -> Markup:
    """A row a model.

    Args:
        root: the way back to the site's top folder.
        scored: whether there is a column for the score over this task.
        labelled: whether there is one for the label set.
    """
    return Markup("".join(_row(line, root, scored, labelled) for line in lines))


def chip(status: str) -> str:
    """A verdict, told by mark and word, as the macro of that name draws it."""
    sort, mark = {"OK": ("ok", "✓"), "NOT JUDGED": ("open", "○")}.get(status, ("fault", "✕"))
    said = formatting.verdict_words(status)
    return f'<span class="chip {sort}"><span aria-hidden="true">{mark}</span> {said}</span>'


def _row(line: RankLine, root: str, scored: bool, labelled: bool) -> str:
    result = line.line.result
    cells = [_place(line.place), _model(line, root)]
    if scored:
        cells.append(_own(line))
    cells += map(_raw, line.raw)
    if labelled:
        cells.append(f"<td>{words(result.label_set) if result is not None else ''}</td>")
    cells += (
        _failed(line, result),
        f'<td data-value="{line.line.status}">{chip(line.line.status)}</td>',
        _time(result),
    )
    marked = ' class="for-comparison"' if line.row.reference else ""
    return f"<tr{marked}>{''.join(cells)}</tr>\n"


def _place(place: Place | None) -> str:
    if place is None:
        return f'<td class="place" data-value="">{formatting.NONE}</td>'
    return f'<td class="place" data-value="{place.first}">{formatting.rank_span(place.first, place.last)}</td>'


def _model(line: RankLine, root: str) -> str:
    card = line.row.submission.card
    version = f' <span class="aside"><bdi>{words(card.version)}</bdi></span>' if card.version else ""
    marked = ' <span class="aside">for comparison</span>' if line.row.reference else ""
    name = f'<a href="{root}{line.row.page}"><bdi>{words(card.name)}</bdi></a>'
    return f'<th scope="row" data-value="{words(card.name.lower())}">{name}{version}{marked}</th>'


def _own(line: RankLine) -> str:
    if line.value is None:
        counts = (
            "" if line.counted is None else f'<span class="range">counts {formatting.decimals(line.counted)}</span>'
        )
        return f'<td class="num own" data-value="">{formatting.NONE}{counts}</td>'
    text = f"{formatting.decimals(line.value)}{_interval(line.interval)}"
    return f'<td class="num own" data-value="{line.value}">{text}</td>'


def _interval(of: Interval | None) -> str:
    """As the macro of that name draws it."""
    if of is None:
        return ""
    said, held = f'<span class="unseen">95 % interval </span>{formatting.span(of.low, of.high)}', ""
    if of.n_held:
        held = f' title="At least so wide: {formatting.count(of.n_held, "part")} could not be resampled"'
        said += '<span aria-hidden="true"> *</span><span class="unseen">, at least so wide</span>'
    return f'<span class="range"{held}>{said}</span>'


def _raw(cell: RawCell) -> str:
    if cell.record is None:
        return _DASH
    value = cell.record.value if cell.record.charged is None else cell.record.charged
    unit, range_ = cell.record.unit, ""
    if cell.interval is not None:
        low, high = (
            formatting.number(formatting.shown_value(end, unit)) for end in (cell.interval.low, cell.interval.high)
        )
        range_ = f'<span class="range">{low}\u00a0–\u00a0{high}</span>'
    order = "" if value is None else value
    return f'<td class="num" data-value="{order}">{formatting.number(formatting.shown_value(value, unit))}{range_}</td>'


def _failed(line: RankLine, result: Result | None) -> str:
    if result is None or not result.n_items:
        return _DASH
    items = f'<span class="of"> of {formatting.thousands(result.n_items)}</span>'
    return f'<td class="num" data-value="{line.n_failed}">{formatting.thousands(line.n_failed)}{items}</td>'


def _time(result: Result | None) -> str:
    if result is None or result.peaks is None:
        return _DASH
    return f'<td class="num" data-value="{result.peaks.wall_s}">{formatting.duration(result.peaks.wall_s)}</td>'
