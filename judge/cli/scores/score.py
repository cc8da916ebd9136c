"""`judge score`: computes scores of judged submissions, and of published tables for comparison."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.markup import escape

from judge.cli.json_input import read_json
from judge.cli.output import finite, print_scores_json
from judge.config import UsageError
from scoring import Release, Term, load_release, packaged_releases
from scoring.lambench.published import TableModel, rounded, score_published
from scoring.lambench.published_config import Read, release_from_config
from scoring.names import EFFICIENCY, FORCE_FIELD, INSTABILITY, LAMBENCH, PROPERTY_ERROR, SCORES, Variant, of_scheme
from submissions.tables import plain_table, table_console


def run_lambench(raw: Path, config: Path | None, release: str | None, corrected: bool, as_json: bool) -> None:
    """Computes scores from LAMBench's published metrics, by the rules of a release, or corrected."""
    if (config is None) == (release is None):
        known = ", ".join(name for name in packaged_releases() if name != "corrected")
        raise UsageError(f"give one formula: either --config CONFIG.JSON, or --release with one of {known}")
    read = release_from_config(read_json(config), config.name) if config else Read(load_release(release or ""), ())
    rules = read.release.corrected() if corrected else read.release
    scores = score_published(rules, read_json(raw))
    if as_json:
        models = {name: _as_data(rules, model) for name, model in scores.items()}
        summary = {"release": rules.name, "variant": rules.variant, "models": models, "notes": list(read.notes)}
        print_scores_json(summary)
        return
    _print_table(rules, scores)
    for name, model in scores.items():
        for note in model.notes:
            print(f"{name}: {note}", file=sys.stderr)
    for note in read.notes:
        print(note, file=sys.stderr)


def _as_data(release: Release, model: TableModel) -> dict[str, object]:
    """One model's scores. Those that follow from full-precision metrics are rounded as the release prints them.

    Force-field errors are not rounded: their metrics are published to 0.1 meV only, so that the last printed digit does
    not follow from them.
    """
    scores = model.scores
    data: dict[str, object] = {
        "ff_error": finite(scores[FORCE_FIELD].value),
        "pc_error": _shown(release, scores[PROPERTY_ERROR].value),
        "efficiency": _shown(release, scores[EFFICIENCY].value),
        "instability": _shown(release, scores[INSTABILITY].value),
        "instability_is_lower_bound": model.is_lower_bound,
        "ff_domains": _domains(scores[FORCE_FIELD]),
        "pc_domains": _domains(scores[PROPERTY_ERROR]),
    }
    if len(model.instability) > 1:
        unit = release.instability.unit
        data["instability_by_tolerance"] = {f"{t:g} {unit}": finite(s.value) for t, s in model.instability.items()}
    return data | {"notes": list(model.notes)}


def _domains(term: Term) -> Mapping[str, float | None]:
    return {part.name: finite(part.value) for part in term.parts}


def _shown(release: Release, value: float | None) -> float | None:
    if release.variant is Variant.AS_PUBLISHED:
        return rounded(value, release.published.ranking_decimals)
    return finite(value)


def _print_table(release: Release, models: Mapping[str, TableModel]) -> None:
    keys = of_scheme(LAMBENCH)
    labels = [SCORES[key].label.lower() for key in keys]
    table = plain_table("model", *labels, numbers=labels, title=release.title)
    for name, model in models.items():
        cells = [_text(model.scores[key].value) for key in keys]
        if model.is_lower_bound and model.scores[INSTABILITY].value is not None:
            cells[keys.index(INSTABILITY)] = f"≥ {cells[keys.index(INSTABILITY)]}"
        table.add_row(escape(name), *cells)
    table_console().print(table)


def _text(value: float | None) -> str:
    return "–" if value is None or not math.isfinite(value) else f"{value:.3f}"
