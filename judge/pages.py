"""Leaderboard to pages: what each template is given, and the text that comes out. Pure but for reading templates."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import PurePosixPath
from typing import NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined

from judge import page_scores, present
from judge.board import Leaderboard, Row
from judge.card_lines import card_lines
from judge.page_scores import LABELS, score_of
from judge.public import LEAST_ITEMS
from judge.public_board import public_board
from judge.uncertainty import N_RESAMPLES
from scoring import Term
from tasks.suite import Task

ASSETS = ("icon.svg", "site.js", "style.css")

_ABOUT = {
    "force_field": "Energy, force and virial RMSE beside those of a composition-only model: logarithmic mean over "
    "tasks, weighted over label types, mean over domains. 0 is perfect, 1 is no better than the trivial model.",
    "property_error": "Barriers, binding, crystals’ volumes, moduli and vibrations and the like, beside a trivial "
    "model: mean over metrics, then over domains. 0 is perfect, 1 is no better.",
    "efficiency": "100 µs per atom over the mean time of a single structure, on the judge’s clock. A "
    "structure that failed counts one second per atom; a task without any time, as infinitely slow.",
    "instability": "Decades by which the energy drift of constant-energy dynamics exceeds {tolerance} eV/atom/ps, mean "
    "over runs. A run that blows up counts 5; one that ran out of time is left out.",
}


class Column(NamedTuple):
    """One score as a column: how it is called, which way is better, and how long its bar may get."""

    key: str
    label: str
    lower_is_better: bool
    noun: str
    about: str
    full: float
    best: float | None

    @property
    def arrow(self) -> str:
        return "↓" if self.lower_is_better else "↑"

    def term(self, row: Row) -> Term:
        """The score of a row."""
        return score_of(row.scores, self.key)

    def order(self, row: Row) -> float | None:
        """What the column is sorted by: what was left out counts as worst."""
        return _order(self.term(row))

    def share(self, row: Row) -> float:
        """The length of the bar, 0 to 1."""
        return (self.term(row).value or 0.0) / self.full

    def others(self, row: Row) -> Mapping[float, Term]:
        """The same score at tolerances other than the default."""
        if self.key != "instability":
            return {}
        default = row.scores.stability
        return {tolerance: term for tolerance, term in row.scores.instability.items() if term is not default}


def _order(term: Term) -> float | None:
    return term.value if term.at_worst is None else term.at_worst


def columns_of(board: Leaderboard) -> tuple[Column, ...]:
    """The scores that the suite has tasks for."""
    tolerance = board.release.instability.tolerances[0]
    worst = board.release.instability.worst_decades
    heads = (
        ("force_field", True, "task", 1.0),
        ("property_error", True, "task", 1.0),
        ("efficiency", False, "task", None),
        ("instability", True, "run", worst),
    )
    columns = []
    for key, lower, noun, full in heads:
        if board.rows and not score_of(board.rows[0].scores, key).total:
            continue
        about = _ABOUT[key].format(tolerance=present.number(tolerance, 2))
        values = [v for row in board.ranked if (v := _order(score_of(row.scores, key))) is not None]
        everyone = [v for row in board.rows if (v := score_of(row.scores, key).value) is not None]
        best = (min if lower else max)(values, default=None)
        columns.append(Column(key, LABELS[key], lower, noun, about, full or max([*everyone, 1e-9]), best))
    return tuple(columns)


class DomainLine(NamedTuple):
    row: Row
    terms: tuple[Term, ...]


class DomainTable(NamedTuple):
    """One error score by domain; worth a table where there is more than one domain."""

    title: str
    domains: tuple[str, ...]
    lines: tuple[DomainLine, ...]


def domain_tables(board: Leaderboard) -> tuple[DomainTable, ...]:
    """Force-field and property error by domain."""
    tables = []
    for key in ("force_field", "property_error"):
        trees = [(row, score_of(row.scores, key)) for row in board.rows]
        domains = tuple(part.name for part in trees[0][1].parts) if trees else ()
        if len(domains) > 1:
            tables.append(DomainTable(LABELS[key], domains, tuple(DomainLine(row, tree.parts) for row, tree in trees)))
    return tuple(tables)


@dataclass(frozen=True)
class TaskSummary:
    """One task of the suite over all submissions."""

    task: Task
    n_items: int
    n_ok: int


class TaskGroup(NamedTuple):
    """The tasks of one kind."""

    words: present.Words
    tasks: tuple[TaskSummary, ...]


def task_groups(board: Leaderboard) -> tuple[TaskGroup, ...]:
    """The tasks of the suite by kind, both in the order of the suite."""
    groups: dict[str, list[TaskSummary]] = {}
    for summary in _task_summaries(board):
        groups.setdefault(summary.task.kind, []).append(summary)
    return tuple(TaskGroup(present.kind_words(kind), tuple(tasks)) for kind, tasks in groups.items())


def _task_summaries(board: Leaderboard) -> tuple[TaskSummary, ...]:
    """The tasks of the suite, in its order."""
    lines = [[row.tasks[index] for row in board.rows] for index in range(len(board.suite.tasks))]
    return tuple(
        TaskSummary(
            task,
            max((line.result.n_items for line in column if line.result is not None), default=0),
            sum(line.ok for line in column),
        )
        for task, column in zip(board.suite.tasks, lines, strict=True)
    )


def render(
    leaderboard: Leaderboard, public_sets: Collection[str] = (), logs: Mapping[str, str] | None = None
) -> dict[str, bytes]:
    """Every file of the site by its path in it; assets carry the hash of their content in their name.

    Args:
        public_sets: names of the data sets that are public; of what was judged on any other, less is shown.
        logs: by submission, what its container said in the preflight.
    """
    board = public_board(leaderboard, public_sets)  # whatever follows knows nothing else
    contents = {name: _template(name).encode() for name in ASSETS}
    assets = {name: _hashed(name, content) for name, content in contents.items()}
    environment = _environment()
    columns = columns_of(board)
    files = {assets[name]: content for name, content in contents.items()}
    keys = [column.key for column in columns]
    standings = page_scores.standings(board, keys)
    shared = {
        "assets": assets,
        "board": board,
        "columns": columns,
        "interval_of": page_scores.score_interval,
        "published_words": page_scores.published_words(board.published),
    }
    page = environment.get_template("submission.html")
    for row in board.rows:
        text = page.render(
            shared,
            root="../",
            row=row,
            card_lines=card_lines(row.submission.card, row.submission.preflight),
            standing=standings.get(row.submission.id, page_scores.Standing()),
            why=page_scores.why(board, row, keys),
            why_as_published=page_scores.why(board, row, keys, as_published=True),
            public_sets=public_sets,
            least_items=LEAST_ITEMS,
            log=(logs or {}).get(row.submission.id, ""),
        )
        files[row.page] = text.encode()
    files["index.html"] = _index(environment, board, keys, shared).encode()
    return files


def _index(environment: Environment, board: Leaderboard, keys: list[str], shared: Mapping[str, object]) -> str:
    return environment.get_template("index.html").render(
        shared,
        root="",
        standings=page_scores.standings(board, keys),
        ranked_by=LABELS.get(page_scores.ranked_by(keys) or ""),
        firm_tables=page_scores.firm_tables(board, keys),
        published_lines=page_scores.published_lines(board, keys),
        others=page_scores.other_table(board),
        domain_tables=domain_tables(board),
        task_groups=task_groups(board),
        n_resamples=N_RESAMPLES,
    )


def _hashed(name: str, content: bytes) -> str:
    path = PurePosixPath(name)
    return f"assets/{path.stem}-{hashlib.sha256(content).hexdigest()[:12]}{path.suffix}"


def _template(name: str) -> str:
    return (resources.files("templates") / name).read_text(encoding="utf-8")


def _environment() -> Environment:
    """Jinja2 with every text escaped, and every name cleared of marks that would turn the page around."""
    environment = Environment(
        loader=FunctionLoader(_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: present.plain(value) if type(value) is str else value,
    )
    environment.filters.update(
        count=present.count,
        decimals=present.decimals,
        duration=present.duration,
        is_web_address=present.is_web_address,
        kind=present.kind_words,
        metric=present.metric_label,
        moment=present.moment,
        number=present.number,
        percent=present.percent,
        rank_span=lambda ends: present.rank_span(ends[0], ends[1]),
        sentence=lambda text: text[:1].upper() + text[1:],
        shortened=lambda text, length: text if len(text) <= length else f"{text[: length - 1]}…",
        shown=lambda value, unit: present.number(present.shown_value(value, unit)),
        signed=present.signed,
        size=present.size,
        span=lambda interval: present.span(interval.low, interval.high),
        spaced=lambda text: text.replace("_", " "),
        thousands=present.thousands,
        unit=present.shown_unit,
        verdict=present.verdict_words,
    )
    return environment
