"""`judge score matbench`: the combined scores of Matbench Discovery of metrics in a file (docs/scoring-files.md)."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.markup import escape

from judge.cli.json_input import read_text
from judge.cli.output import print_scores_json
from judge.cli.scores.explain import ALL_LEVELS, print_tree
from judge.cli.scores.score_files_input import MatbenchFile, MatbenchModel, read_table
from judge.config import UsageError
from scoring import RawMetric, ScoringError, Term, as_data
from scoring.matbench import combined_score, discovery, hull_distances, load_matbench
from scoring.names import Variant
from submissions.tables import number_text, plain_table, table_console

ID, REFERENCE, PREDICTED = "material_id", "reference_hull_distance", "hull_distance"
FORMATION, REFERENCE_FORMATION = "formation_energy", "reference_formation_energy"
UNIQUE, RMSD = "unique_prototype", "rmsd"
WORDS = {"true": True, "1": True, "false": False, "0": False}


def run_matbench(metrics: Path, as_published: bool, as_json: bool, explain: str | None) -> None:
    """Computes CPS, CDS and CMDS of metrics in a file. A missing metric counts 0, or leaves no score as published."""
    facts = load_matbench()
    variant = Variant.AS_PUBLISHED if as_published else Variant.CORRECTED
    models = read_table(MatbenchFile, metrics).models
    if explain is not None and explain not in models:
        raise UsageError(f"--explain: {metrics} has no model {explain!r}, but {', '.join(sorted(models))}")
    rows: dict[str, dict[str, Term]] = {}
    for name, model in models.items():
        if explain in (None, name):
            try:
                stated = _stated(model, metrics.parent)
                unknown = sorted(stated.keys() - facts.scores.keys())
                if unknown:
                    raise ScoringError(f"score {unknown[0]}: unknown: the facts know {', '.join(facts.scores)}")
                rows[name] = {
                    score: combined_score(
                        stated.get(score, {}),
                        facts,
                        score,
                        variant,
                        model.excluded_elements if of_score.elements is not None else 0,
                    )
                    for score, of_score in facts.scores.items()
                }
            except ScoringError as error:
                raise UsageError(f"{metrics}: model {name}: {error}") from None
    if as_json:
        data = {name: {score: as_data(term) for score, term in row.items()} for name, row in rows.items()}
        about = {"scheme": "matbench", "release": facts.name, "variant": variant}
        print_scores_json({**about, "models": data, "notes": []})
    elif explain is not None:
        for name, term in rows[explain].items():
            print_tree(term, table_console(), ALL_LEVELS, f"{facts.title}: {name.upper()}")
    else:
        _print_table(f"{facts.title}, {variant.replace('_', ' ')}", rows)


def _print_table(title: str, rows: Mapping[str, Mapping[str, Term]]) -> None:
    """Best model first, by the first score; those without one are last."""
    names = list(next(iter(rows.values())))
    table = plain_table("model", *(name.upper() for name in names), numbers=[n.upper() for n in names], title=title)
    for name, row in sorted(rows.items(), key=lambda item: (*(-(item[1][n].value or 0.0) for n in names), item[0])):
        table.add_row(escape(name), *(_cell(term) for term in row.values()))
    table_console().print(table)


def _cell(term: Term) -> str:
    if term.value is None or not term.covered:
        return "–"
    return number_text(term.value) + (f" (up to {number_text(term.at_best)})" if term.at_best is not None else "")


def _stated(model: MatbenchModel, folder: Path) -> dict[str, dict[str, RawMetric]]:
    """By score and metric, what the file states, and F1 and RMSD of the model's predictions if it names their file."""
    stated = {
        score: {name: RawMetric(score, name, **dict(read)) for name, read in of_score.items()}
        for score, of_score in model.metrics.items()
    }
    if not model.predictions:
        return stated
    path = folder / model.predictions
    twice = sorted({"f1", "rmsd"} & stated.get("cps", {}).keys())
    if twice:
        raise ScoringError(f"predictions: {twice[0]} is stated as well: leave one out")
    found = discovery(*_read_predictions(path))
    if math.isnan(found.f1):
        raise ScoringError(f"{path}: no crystal is stable, nor predicted to be: there is no F1")
    of_cps = {name: RawMetric("cps", name, value, "-") for name, value in found._asdict().items()}
    return {**stated, "cps": {**stated.get("cps", {}), **of_cps}}


def _read_predictions(
    path: Path,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The columns that `discovery` takes.

    Raises:
        ScoringError: one line that names file, row and column.
    """
    rows = list(csv.DictReader(read_text(path).splitlines()))
    if not rows:
        raise ScoringError(f"{path}: has no rows: a header and one row a crystal are needed")
    direct = PREDICTED in rows[0]
    needed = (ID, REFERENCE, UNIQUE, RMSD, *([PREDICTED] if direct else [FORMATION, REFERENCE_FORMATION]))
    missing = [name for name in needed if name not in rows[0]]
    if missing:
        raise ScoringError(f"{path}: {missing[0]}: is missing: the header must have {', '.join(needed)}")
    seen: set[str] = set()
    for row in rows:
        if row[ID] in seen:
            raise ScoringError(f"{path}: {row[ID]}: is there twice")
        seen.add(row[ID])
    unique = [WORDS.get((row[UNIQUE] or "").lower()) for row in rows]
    if None in unique:
        raise ScoringError(f"{path}: {rows[unique.index(None)][ID]}: {UNIQUE}: must be true or false")
    reference = _numbers(path, rows, REFERENCE, may_miss=False)
    if direct:
        predicted = _numbers(path, rows, PREDICTED)
    else:
        right = _numbers(path, rows, REFERENCE_FORMATION, may_miss=False)
        predicted = hull_distances(reference, _numbers(path, rows, FORMATION), right)
    return reference, predicted, np.array(unique, np.bool_), _numbers(path, rows, RMSD)


def _numbers(path: Path, rows: list[dict[str, str]], column: str, may_miss: bool = True) -> np.ndarray:
    """(n,) the numbers of a column, NaN where there is none."""
    values = np.full(len(rows), np.nan)
    for i, row in enumerate(rows):
        text = (row[column] or "").strip()
        if text.lower() in ("", "nan") and may_miss:
            continue
        try:
            values[i] = float(text)
        except ValueError:
            raise ScoringError(f"{path}: {row[ID]}: {column}: {text!r} is not a number") from None
        if not math.isfinite(values[i]):
            raise ScoringError(f"{path}: {row[ID]}: {column}: {text!r} is not finite")
    return values
