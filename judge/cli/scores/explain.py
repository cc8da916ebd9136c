"""`judge explain`: the scores of a submission, and how each was computed, down to raw metrics."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace

from rich.console import Console
from rich.markup import escape

from judge.cli.output import print_lines, print_scores_json
from judge.config import UsageError
from judge.evaluation.current_results import current_results
from judge.evaluation.request import choose_submissions
from judge.ranking.leaderboard import Leaderboard, Row
from judge.ranking.load import read_board
from judge.records.results import read_submissions
from judge.records.suite_record import load_unchanged
from judge.workspace import Workspace, open_workspace
from sandbox.events import plain
from scoring import RawMetric, Term, as_data
from scoring.names import LAMBENCH, SCHEMES, SCORES
from submissions.tables import number_text, plain_table, table_console
from tasks.metrics.published_questions import published_note
from tasks.suites.names import did_you_mean, known_name

ALL_LEVELS = 99
MAX_SCORES = 6  # in a summary of ten lines
_BY_OPTION = {score.option: score for score in SCORES.values()}


def run_explain(
    id: str, suite: str | None, score: str | None, depth: int | None, details: bool, as_published: bool, as_json: bool
) -> None:
    """Shows the scores of a submission. With --details, --score or --depth also how they were computed."""
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
    if score is not None:
        if not (known_score := known_name(score, terms)):
            raise UsageError(f"--score: there is no {score!r}, but {', '.join(terms)}{did_you_mean(score, terms)}")
        score = known_score
    shown = {name: term for name, term in terms.items() if score in (None, name)}
    levels = ALL_LEVELS if depth is None else depth
    if as_json:
        _print_json(board, row, {name: cut(term, levels) for name, term in shown.items()}, as_published)
        return
    console = table_console()
    print_lines(console, summary_of(board, row, terms, as_published))
    if details or score is not None or depth is not None:
        print_lines(console, [f"{task}: {note}" for task, note in published_questions(row).items()])
        for name, term in shown.items():
            console.print()
            print_tree(term, console, levels, title_of(name))


def board_for_command(workspace: Workspace, suite: str | None) -> Leaderboard:
    """The leaderboard of a suite, from the store. What is left out is printed to standard error.

    Args:
        suite: name or path; None for that of the settings.
    """
    settings = workspace.settings
    chosen = load_unchanged(workspace.store, suite or settings.suite)

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
        "published_questions": published_questions(row),
    }
    print_scores_json(explanation)


def summary_of(board: Leaderboard, row: Row, terms: Mapping[str, Term], as_published: bool) -> list[str]:
    """At most ten lines: the model, its rank, its scores by scheme, and the command that shows how they came about."""
    release, submission = board.published if as_published else board.release, row.submission
    name = plain(f"{submission.card.name} {submission.card.version}".strip())
    rank = f"rank {row.rank} of {len(board.ranked)}" if row.rank is not None else "not ranked"
    lines = [
        f"{name}  {submission.id}",
        f"Suite {board.suite.name}, {rank}; {release.title}; after {release.source}",
    ]
    width = max((len(title_of(each)) for each in terms), default=0)
    for each, term in list(terms.items())[:MAX_SCORES]:
        lines.append(f"  {title_of(each):{width}}  {value_text(term)}  ({term.covered} of {term.total} measured)")
    if published := published_questions(row):
        lines.append(f"  asked as stored or published, so that questions tell of the answers: {', '.join(published)}")
    n_more = len(terms) - MAX_SCORES
    more = f"{n_more} more score{'s' if n_more > 1 else ''}, and how" if n_more > 0 else "How"
    options = " --as-published" * as_published
    command = f"judge explain {submission.id}{options}"
    if not any(line.is_judged for line in row.tasks):
        lines.append(f"No task of {board.suite.name} was judged: name the suite that it was judged by with --suite")
    elif terms:
        lines.append(f"{more} each was computed: {command} --details; one of them: --score {next(iter(terms))}")
    return lines


def published_questions(row: Row) -> dict[str, str]:
    """By label of a task that keeps published questions or stored starts, what they give away."""
    notes = {line.task.label: published_note(line.result.notes) for line in row.tasks if line.result is not None}
    return {label: note for label, note in notes.items() if note}


def title_of(option: str) -> str:
    """The scheme and the label of the score that --score takes as `option`."""
    score = _BY_OPTION.get(option)
    if score is None:  # the instability at another tolerance
        return f"{SCHEMES[LAMBENCH]}: {option}"
    scheme = SCHEMES[score.scheme]
    return scheme if score.label == scheme else f"{scheme}: {score.label.removeprefix(f'{scheme}, ').lower()}"


def print_tree(term: Term, console: Console, depth: int, title: str) -> None:
    """Prints a score as a tree under `title`: a row for each term, indented below the term that it is part of."""
    numbers = ("value", "share", "measured")
    table = plain_table("what", "value", "share", "measured", "how", numbers=numbers, title=escape(title))
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
