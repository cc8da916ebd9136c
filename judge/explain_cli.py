"""`judge explain`: why a score is what it is, from the number down to raw metrics."""

from __future__ import annotations

import json
import math
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from judge.board import Row, Scores
from judge.config import UsageError, load_settings
from judge.evaluate import current_results
from judge.plan_cli import Json, SuiteName
from judge.results import read_submissions
from judge.stored_board import read_board
from judge.survey import choose_submissions
from scoring import Evidence, Term, as_data
from submissions.store import open_store
from submissions.tables import plain_table, table_console
from tasks.suite import load_suite

FORCE_FIELD, PROPERTY, EFFICIENCY, INSTABILITY = "force-field", "property", "efficiency", "instability"


def explain_command(
    id: Annotated[str, typer.Argument(help="submission")],
    suite: SuiteName = None,
    score: Annotated[str | None, typer.Option(help="this one alone: force-field, property, efficiency …")] = None,
    depth: Annotated[int, typer.Option(min=0, help="levels below the score that are shown")] = 99,
    as_published: Annotated[
        bool, typer.Option("--as-published", help="as LAMBench itself would add it up, in place of corrected")
    ] = False,
    as_json: Json = False,
) -> None:
    """Why a submission scores what it scores: weights, baselines, failures, formulas and their sources."""
    settings = load_settings()
    store, chosen = open_store(settings.store), load_suite(suite or settings.suite)
    submission = choose_submissions(read_submissions(store), [id])[0]
    complain = lambda problem: print(f"left out: {problem}", file=sys.stderr)  # noqa: E731
    board = read_board(store, chosen, complain, current_results(settings, chosen))
    row = next((row for row in board.rows if row.submission.id == submission.id), None)
    if row is None:
        raise UsageError(f"{submission.id}: its records cannot be read: judge show {submission.id}")
    terms = scores_of(row, as_published)
    if score is not None and score not in terms:
        raise UsageError(f"--score: there is no {score!r}, but {', '.join(terms)}")
    shown = {name: term for name, term in terms.items() if score in (None, name)}
    release = board.published if as_published else board.release
    if as_json:
        said = {
            "submission": submission.id,
            "suite": chosen.name,
            "release": release.name,
            "variant": release.variant,
            "rank": row.rank,
            "scores": {name: as_data(term) for name, term in shown.items()},
        }
        print(json.dumps(said, indent=1, ensure_ascii=False, allow_nan=False))
        return
    console = table_console()
    console.print(f"[bold]{escape(submission.card.name)}[/] {escape(submission.card.version)}  {submission.id}")
    console.print(escape(f"{release.title}, suite {chosen.name}; after {release.source}"), soft_wrap=True)
    for term in shown.values():
        print_tree(term, console, depth)


def scores_of(row: Row, as_published: bool) -> dict[str, Term]:
    """The scores of a row by the name that --score takes, those that the suite has tasks for."""
    scores: Scores = row.as_published if as_published else row.scores
    found = {FORCE_FIELD: scores.force_field, PROPERTY: scores.property_error, EFFICIENCY: scores.efficiency}
    default = scores.stability
    for tolerance, term in scores.instability.items():
        found[INSTABILITY if term is default else f"{INSTABILITY}-{tolerance:g}"] = term
    found |= row.others.as_published if as_published else row.others.corrected
    return {name: term for name, term in found.items() if term.total}


def print_tree(term: Term, console: Console, depth: int) -> None:
    """A score and what it is made of, a line a term, each a step further in than what it is a part of."""
    table = plain_table("what", "value", "share", "measured", "how", numbers=("value", "share", "measured"))
    for level, below in term.walk():
        if level > depth:
            continue
        measured = "" if below.evidence else f"{below.covered}/{below.total}"
        share = f"{below.weight:.3g}" if level else ""
        value = number_text(below.value)
        if below.at_worst is not None:
            value += f" (up to {number_text(below.at_worst)})"
        if below.at_best is not None:
            value += f" (up to {number_text(below.at_best)})"
        how = below.rule if below.evidence is None else f"{below.rule}{_because(below.evidence)}"
        table.add_row("  " * level + escape(below.name), value, share, measured, escape(how))
    console.print(table)
    if term.source:
        console.print(escape(f"source: {term.source}"), soft_wrap=True)


def _because(evidence: Evidence) -> str:
    if evidence.value is None:
        return ""
    shown = [f"{number_text(evidence.value)} {evidence.unit}".strip()]
    shown += [
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in evidence.facts
    ]
    if evidence.n_failed:
        without = f", {number_text(evidence.uncharged)} without them" if evidence.uncharged is not None else ""
        shown.append(f"{evidence.n_failed} of {evidence.n_items} failed{without}")
    elif evidence.n_items:
        shown.append(f"over {evidence.n_items}")
    return ": " + "; ".join(shown)


def number_text(value: float | None) -> str:
    """Four significant digits; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else f"{value:.4g}"
