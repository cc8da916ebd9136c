"""`judge explain`: shows how a score was computed, down to raw metrics."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from judge.cli.options import AsPublished, Json, SuiteName
from judge.cli.output import print_lines, print_scores_json
from judge.config import UsageError
from judge.evaluation.current_results import current_results
from judge.evaluation.request import choose_submissions
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.load import read_board
from judge.records.results import read_submissions
from judge.workspace import Workspace, open_workspace
from scoring import RawMetric, Term, as_data
from scoring.names import SCORES
from submissions.tables import number_text, plain_table, table_console
from tasks.suites.suite import load_suite

ALL_LEVELS = 99


def explain_command(
    id: Annotated[str, typer.Argument(help="submission")],
    suite: SuiteName = None,
    score: Annotated[str | None, typer.Option(help="only this one: force-field, property, efficiency …")] = None,
    depth: Annotated[int, typer.Option(min=0, help="number of levels shown below the score")] = ALL_LEVELS,
    as_published: AsPublished = False,
    as_json: Json = False,
) -> None:
    """Shows how the scores of a submission were computed: weights, baselines, failures, formulas and their sources."""
    workspace = open_workspace()
    submission = choose_submissions(read_submissions(workspace.store), [id])[0]
    board = board_for_command(workspace, suite)
    row = next((row for row in board.rows if row.submission.id == submission.id), None)
    if row is None and any(other.submission.id == submission.id for other in board.taken_out):
        raise UsageError(
            f"{submission.id} has no scores, since it was withdrawn or disqualified: judge show {submission.id}"
        )
    if row is None:
        raise UsageError(f"{submission.id}: its records cannot be read: judge show {submission.id}")
    terms = scores_of(row, as_published)
    if score is not None and score not in terms:
        raise UsageError(f"--score: there is no {score!r}, but {', '.join(terms)}")
    shown = {name: term for name, term in terms.items() if score in (None, name)}
    if as_json:
        _print_json(board, row, {name: cut(term, depth) for name, term in shown.items()}, as_published)
    else:
        _print_text(board, row, shown, as_published, depth)


def board_for_command(workspace: Workspace, suite: str | None) -> Leaderboard:
    """The leaderboard of a suite, from the store. What is left out is printed to standard error.

    Args:
        suite: name or path; None for that of the settings.
    """
    settings = workspace.settings
    chosen = load_suite(suite or settings.suite)

    def complain(problem: str) -> None:
        print(f"left out: {problem}", file=sys.stderr)

    current = current_results(workspace, chosen)
    return read_board(workspace.store, chosen, complain, current, references=settings.references)


def scores_of(row: Row, as_published: bool) -> dict[str, Term]:
    """The scores of a row, by the name that --score takes; those without a task in the suite are left out."""
    terms = row.as_published if as_published else row.scores
    return {SCORES[key].option if key in SCORES else key: term for key, term in terms.items() if term.total}


def cut(term: Term, depth: int) -> Term:
    """The term with at most `depth` levels below it."""
    return replace(term, parts=tuple(cut(part, depth - 1) for part in term.parts) if depth else ())


def _print_json(board: Leaderboard, row: Row, shown: dict[str, Term], as_published: bool) -> None:
    release = board.published if as_published else board.release
    explanation = {
        "submission": row.submission.id,
        "suite": board.suite.name,
        "release": release.name,
        "variant": release.variant,
        "rank": row.rank,
        "scores": {name: as_data(term) for name, term in shown.items()},
    }
    print_scores_json(explanation)


def _print_text(board: Leaderboard, row: Row, shown: dict[str, Term], as_published: bool, depth: int) -> None:
    release, card = board.published if as_published else board.release, row.submission.card
    console = table_console()
    console.print(f"[bold]{escape(card.name)}[/] {escape(card.version)}  {row.submission.id}")
    print_lines(console, [f"{release.title}, suite {board.suite.name}; after {release.source}"])
    for term in shown.values():
        print_tree(term, console, depth)


def print_tree(term: Term, console: Console, depth: int) -> None:
    """Prints a score as a tree: a row for each term, indented below the term that it is part of."""
    table = plain_table("what", "value", "share", "measured", "how", numbers=("value", "share", "measured"))
    table.columns[-1].no_wrap = False  # sentences: they give way, the numbers do not
    table.columns[-1].overflow = "fold"
    for level, below in cut(term, depth).walk():
        measured = "" if below.raw else f"{below.covered}/{below.total}"
        share = f"{below.share:.3g}" if level else ""
        how = below.rule if below.raw is None else f"{below.rule}{_because(below.raw)}"
        table.add_row("  " * level + escape(below.name), value_text(below), share, measured, escape(how))
    console.print(table)
    if term.source:
        print_lines(console, [f"source: {term.source}"])


def _because(raw: RawMetric) -> str:
    if raw.value is None:
        return ""
    shown = [f"{number_text(raw.value)} {raw.unit}".strip()]
    shown += [f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in raw.facts]
    if raw.n_failed:
        without = f", {number_text(raw.uncharged)} without them" if raw.uncharged is not None else ""
        shown.append(f"{raw.n_failed} of {raw.n_items} failed{without}")
    elif raw.n_items:
        shown.append(f"over {raw.n_items}")
        if raw.uncharged is not None and raw.uncharged != raw.value:
            shown.append(f"{number_text(raw.uncharged)} before large errors were clipped")
    return ": " + "; ".join(shown)


def value_text(term: Term, digits: int = 4) -> str:
    """The value, and in brackets the value if left-out parts were worst, or if missing parts were best."""
    if term.counted is not None:
        return f"counts {number_text(term.counted, digits)}"
    further = term.at_worst if term.at_worst is not None else term.at_best
    up_to = f" (up to {number_text(further, digits)})" if further is not None else ""
    return number_text(term.value, digits) + up_to
