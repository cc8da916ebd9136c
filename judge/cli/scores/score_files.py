"""`judge score ml-peg` and `judge score mlipaudit`: scores of tables in files (docs/scoring-files.md)."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.markup import escape

from judge.cli.json_input import read_text
from judge.cli.output import print_scores_json
from judge.cli.scores.explain import ALL_LEVELS, print_tree
from judge.cli.scores.score_files_input import MlipAuditFile, MlipAuditModel, MlPegFile, MlPegModel, read_table
from judge.config import UsageError
from scoring import RawMetric, ScoringError, Term, as_data
from scoring.ml_peg import Mismatch, MlPegFacts, load_facts, mismatches, ml_peg_score, parse_facts
from scoring.mlipaudit import Measured as MeasuredItems
from scoring.mlipaudit import MlipAuditFacts, load_mlipaudit, mlipaudit_score, parse_mlipaudit
from scoring.names import MLIPAUDIT, Variant
from scoring.ranking import ranks
from submissions.tables import number_text, plain_table, table_console

OVERALL, COMPATIBLE = "overall", "compatible"
MODELS_A_TABLE = 4  # side by side: more names would not fit


@dataclass(frozen=True)
class _Row:
    """A model in the table.

    Args:
        scores: by name; the overall score decides the rank.
        parts: the categories or benchmarks that are shown.
        without: by part, the text for a missing value.
        flags: metrics whose reference has another level of theory than the model; None if that was not compared.
    """

    name: str
    scores: Mapping[str, Term]
    parts: Sequence[Term]
    without: Mapping[str, str]
    flags: Sequence[Mismatch] | None = None


@dataclass(frozen=True)
class _Board:
    scheme: str
    release: str
    title: str
    variant: str
    part: str
    rows: Sequence[_Row]
    preset: str = ""
    notes: Sequence[str] = ()


def run_ml_peg(
    metrics: Path, facts: Path | None, preset: str, as_published: bool, as_json: bool, explain: str | None
) -> None:
    """Computes ML-PEG scores of metrics in a file. A missing metric counts 0; a second score counts it as 1."""
    stated = parse_facts(read_text(facts), facts.name) if facts else load_facts()
    if preset and preset not in stated.presets:
        raise UsageError(f"--preset: {stated.name} has no {preset!r}, but {', '.join(stated.presets) or 'none at all'}")
    variant = Variant.AS_PUBLISHED if as_published else Variant.CORRECTED
    models = read_table(MlPegFile, metrics).models
    rows = []
    for name, model in models.items():
        try:
            rows.append(_ml_peg_row(name, model, stated, variant, preset))
        except ScoringError as error:
            raise UsageError(f"{metrics}: model {name}: {error}") from None
    present = {name for model in models.values() for name, read in model.metrics.items() if read}
    missing = sorted(set(stated.benchmarks) - present)
    counts = "they are left out" if as_published else "they count 0, and 1 in the upper value"
    note = f"{len(missing)} of {len(stated.benchmarks)} benchmarks have no metric of any model; {counts}: "
    notes = [note + ", ".join(missing)] if missing else []
    board = _Board("ml-peg", stated.name, stated.title, variant, "category", rows, preset, notes)
    _show(board, metrics, explain, as_json)


def run_mlipaudit(
    results: Path, facts: Path | None, release: str | None, as_published: bool, as_json: bool, explain: str | None
) -> None:
    """Computes MLIPAudit scores of results in a file: over all benchmarks, and over the compatible ones."""
    stated = parse_mlipaudit(read_text(facts), facts.name) if facts else load_mlipaudit(release or MLIPAUDIT)
    variant = Variant.AS_PUBLISHED if as_published else Variant.CORRECTED
    rows = []
    for name, model in read_table(MlipAuditFile, results).models.items():
        try:
            rows.append(_mlipaudit_row(name, model, stated, variant))
        except ScoringError as error:
            raise UsageError(f"{results}: model {name}: {error}") from None
    _show(_Board("mlipaudit", stated.name, stated.title, variant, "benchmark", rows), results, explain, as_json)


def _ml_peg_row(name: str, model: MlPegModel, facts: MlPegFacts, variant: Variant, preset: str) -> _Row:
    measured = {
        benchmark: {metric: RawMetric(benchmark, metric, **dict(read)) for metric, read in metrics.items()}
        for benchmark, metrics in model.metrics.items()
    }
    overall = ml_peg_score(measured, facts, variant, preset, model.levels)
    with_value = {(b, m) for b, metrics in measured.items() for m, raw in metrics.items() if raw.value is not None}
    flags = None
    if model.levels is not None:
        flags = [flag for flag in mismatches(facts, model.levels) if (flag.benchmark, flag.metric) in with_value]
    return _Row(name, {OVERALL: overall}, overall.parts, {}, flags)


def _mlipaudit_row(name: str, model: MlipAuditModel, facts: MlipAuditFacts, variant: Variant) -> _Row:
    measured = {
        benchmark: {metric: MeasuredItems(**dict(read)) for metric, read in metrics.items()}
        for benchmark, metrics in model.results.items()
    }
    scores = mlipaudit_score(measured, facts, variant, frozenset(model.incompatible))
    benchmarks = [benchmark for category in scores.overall.parts for benchmark in category.parts]
    without = {each.name: "incompatible" if each.name in model.incompatible else "not run" for each in benchmarks}
    return _Row(name, {OVERALL: scores.overall, COMPATIBLE: scores.compatible}, benchmarks, without)


def _show(board: _Board, path: Path, explain: str | None, as_json: bool) -> None:
    """Prints the table, or one model's trees, as text or JSON."""
    names = sorted(row.name for row in board.rows)
    if explain is not None and explain not in names:
        raise UsageError(f"--explain: {path} has no model {explain!r}, but {', '.join(names)}")
    rank = _ranks(board.rows)
    shown = [row for row in board.rows if explain in (None, row.name)]
    # Models without a rank are last, and equal ones sorted by name: the order of the file does not matter.
    shown.sort(key=lambda row: (rank[row.name] or len(names) + 1, row.name))
    if as_json:
        models = {row.name: _as_data(row, rank[row.name], board.part, explain is not None) for row in shown}
        about = {"scheme": board.scheme, "release": board.release, "variant": board.variant}
        about |= {"preset": board.preset} if board.preset else {}
        summary = {**about, "models": models, "notes": board.notes}
        print_scores_json(summary)
        return
    if explain is not None:
        console = table_console()
        for name, term in shown[0].scores.items():
            print_tree(term, console, ALL_LEVELS, f"{board.title}: {name}")
    else:
        _print_scores(board, shown, rank)
        for first in range(0, len(shown), MODELS_A_TABLE):
            _print_parts(board.part, shown[first : first + MODELS_A_TABLE])
    for note in board.notes:
        print(note, file=sys.stderr)


def _ranks(rows: Sequence[_Row]) -> dict[str, int | None]:
    """Each model's rank, from 1; equal scores share a rank. None without a score."""
    values = [row.scores[OVERALL].value for row in rows]
    places = ranks(np.array([math.nan if value is None else value for value in values]), lower_is_better=False)
    scored = zip(rows, values, places, strict=True)
    return {row.name: None if value is None else int(place) for row, value, place in scored}


def _as_data(row: _Row, rank: int | None, part: str, with_trees: bool) -> dict[str, object]:
    fields: dict[str, object] = {"rank": rank} | {name: _as_numbers(term) for name, term in row.scores.items()}
    plural = {"category": "categories", "benchmark": "benchmarks"}[part]
    fields[plural] = {below.name: _as_numbers(below) for below in row.parts}
    if row.flags is not None:
        fields["other_level_of_theory"] = [flag._asdict() for flag in row.flags]
    if with_trees:
        fields["trees"] = {name: as_data(term) for name, term in row.scores.items()}
    return fields


def _as_numbers(term: Term) -> dict[str, float | None]:
    numbers = {"value": term.value, "covered": term.covered, "total": term.total}
    return numbers if term.at_best is None else numbers | {"at_best": term.at_best}


def _print_scores(board: _Board, rows: Sequence[_Row], rank: Mapping[str, int | None]) -> None:
    names = tuple(rows[0].scores)
    flagged = ("other level of theory",) if board.scheme == "ml-peg" else ()
    numbers = ("rank", *names, "benchmarks", *flagged)
    title = f"{board.title}, {board.variant.replace('_', ' ')}" + (f", preset {board.preset}" if board.preset else "")
    table = plain_table("rank", "model", *names, "benchmarks", *flagged, numbers=numbers, title=escape(title))
    for row in rows:
        overall = row.scores[OVERALL]
        place = "–" if rank[row.name] is None else str(rank[row.name])
        cells = [*(_cell(term) for term in row.scores.values()), f"{overall.covered}/{overall.total}"]
        if flagged:
            cells.append("–" if row.flags is None else str(len(row.flags)))
        table.add_row(place, escape(row.name), *cells)
    table_console().print(table)


def _print_parts(part: str, rows: Sequence[_Row]) -> None:
    names = [escape(row.name) for row in rows]
    table = plain_table(part, *names, numbers=names)
    for below in zip(*(row.parts for row in rows), strict=True):
        cells = [_cell(term, row.without.get(term.name, "–")) for row, term in zip(rows, below, strict=True)]
        table.add_row(escape(below[0].name), *cells)
    table_console().print(table)


def _cell(term: Term, without: str = "–") -> str:
    if term.value is None:
        return without
    return number_text(term.value) + (f" (up to {number_text(term.at_best)})" if term.at_best is not None else "")
