"""`judge score suite`: scores of the judged submissions by every scheme, with intervals and ranks."""

from __future__ import annotations

import math

from rich.markup import escape

from judge.cli.output import finite, print_scores_json
from judge.cli.scores.explain import board_for_command, scores_of, value_text
from judge.ranking.leaderboard import Leaderboard, Row
from judge.view.score_display import uncertainty_of
from judge.workspace import open_workspace
from scoring import Term
from scoring.intervals import Interval, Uncertainty
from scoring.names import ERRORS, LAMBENCH, SCHEMES, SCORES
from submissions.tables import number_text, plain_table, table_console

DIGITS = 3
_SCORES = {score.option: score for score in SCORES.values()}


def run_suite(suite: str | None, as_published: bool, as_json: bool) -> None:
    """Prints scores of the judged submissions by every scheme: 95 % intervals, ranks, and how far ranks would move."""
    workspace = open_workspace()
    board = board_for_command(workspace, suite)
    if as_json:
        release = board.published if as_published else board.release
        models = {row.submission.id: _as_data(board, row, as_published) for row in board.rows}
        summary = {"suite": board.suite.name, "release": release.name, "variant": release.variant, "models": models}
        print_scores_json(summary)
        return
    if not board.rows:
        print(f"No submission in {workspace.settings.store} yet: lambench-submit IMAGE")
        return
    _print_scores(board, as_published)
    for row in board.unranked:
        why = "; ".join(f"{status} at {', '.join(names)}" for status, names in row.shortfalls.items())
        print(f"Not ranked: {row.submission.card.name}: {why}")
    if not as_published:
        _print_robustness(board)


def _as_data(board: Leaderboard, row: Row, as_published: bool) -> dict[str, object]:
    key = row.submission.id
    scores: dict[str, object] = {}
    for name, term in scores_of(row, as_published).items():
        fields: dict[str, object] = {"value": finite(term.value), "covered": term.covered, "total": term.total}
        for bound, value in (("at_worst", term.at_worst), ("at_best", term.at_best)):
            if value is not None:
                fields[bound] = finite(value)
        spread = None if as_published else uncertainty_of(board, _key(name), row)
        if spread is not None:
            fields |= {"interval": _pair(spread.score), "rank": spread.rank}
            fields |= {"rank_interval": _pair(spread.rank_interval)}
            fields |= {"tied_group": spread.group, "not_resampled": spread.score.n_held}
        scores[name] = fields | ({} if as_published else _moves(board, name, key))
    return {"name": row.submission.card.name, "rank": row.rank, "scores": scores}


def _moves(board: Leaderboard, name: str, key: str) -> dict[str, object]:
    """The rank under random weights, and without single tasks."""
    score, fields = _key(name), dict[str, object]()
    under = board.robustness.weights.get(score, {}).get(key)
    if under is not None:
        fields["rank_under_random_weights"] = {
            "5%": under.low,
            "95%": under.high,
            "best": under.best,
            "worst": under.worst,
        }
    without = board.robustness.without.get(score, {}).get(key)
    if without is not None:
        fields["rank_without"] = dict(without.without)
    return fields


def _key(name: str) -> str:
    """The key of the score that --score takes as `name`; empty for the instability at another tolerance."""
    return _SCORES[name].key if name in _SCORES else ""


def _print_scores(board: Leaderboard, as_published: bool) -> None:
    """Prints a table for each scheme."""
    scores = {row.submission.id: scores_of(row, as_published) for row in board.rows}
    names = list(dict.fromkeys(name for terms in scores.values() for name in terms))
    release = board.published if as_published else board.release
    variant = "as published" if as_published else "corrected"
    titles = {scheme: f"{label}, {variant} ↑" for scheme, label in SCHEMES.items()}
    titles[LAMBENCH] = f"{release.title} ↓ (efficiency ↑)"
    tables = {
        title: [name for name in names if (_SCORES[name].scheme if name in _SCORES else LAMBENCH) == scheme]
        for scheme, title in titles.items()
    }
    for title, columns in tables.items():
        table = plain_table("rank", "model", *columns, numbers=("rank", *columns), title=title, folded=True)
        for row in board.rows:
            key, rank = row.submission.id, "–" if row.rank is None else str(row.rank)
            shown = [
                _cell(scores[key].get(name), None if as_published else uncertainty_of(board, _key(name), row))
                for name in columns
            ]
            table.add_row(rank, escape(row.submission.card.name), *shown)
        if columns:
            table_console().print(table)


def _cell(term: Term | None, spread: Uncertainty | None) -> str:
    if term is None:
        return ""
    text = value_text(term, DIGITS)
    if spread is not None and spread.score.known:
        # Below the value: beside it, the table would not fit into a terminal.
        text += f"\n{number_text(spread.score.low, DIGITS)} – {number_text(spread.score.high, DIGITS)}"
    return text


def _print_robustness(board: Leaderboard) -> None:
    """Prints how ranks move, for the first score that has ranks."""
    score = next((key for key in ERRORS if board.robustness.weights.get(key)), None)
    if score is None:
        return
    columns = ("rank", "95 % interval", "tied group", "random weights (5–95 %)", "without one task")
    scored = SCORES[score]
    title = f"{SCHEMES[scored.scheme]}: robustness of the ranking by {scored.label.lower()}"
    table = plain_table("model", *columns, numbers=columns, folded=True, title=title)
    for row in board.ranked:
        key = row.submission.id
        spread, under = board.robustness.intervals[score][key], board.robustness.weights[score][key]
        ranks = board.robustness.without[score][key].without.values()
        table.add_row(
            escape(row.submission.card.name),
            str(spread.rank),
            _range(spread.rank_interval.low, spread.rank_interval.high),
            "–" if spread.group is None else str(spread.group),
            _range(under.low, under.high),
            _range(min(ranks, default=math.nan), max(ranks, default=math.nan)),
        )
    table_console().print(table)


def _range(low: float, high: float) -> str:
    if math.isnan(low):
        return "–"
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def _pair(interval: Interval) -> list[float] | None:
    return [interval.low, interval.high] if math.isfinite(interval.low) and math.isfinite(interval.high) else None
