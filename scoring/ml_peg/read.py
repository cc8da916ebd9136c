"""Facts from TOML, or from the errors of trivial models."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import ValidationError

from scoring.errors import ScoringError
from scoring.ml_peg.facts import MlPegFacts
from scoring.names import ML_PEG
from scoring.release_files import first_fault, load, packaged, parse


class Baseline(NamedTuple):
    """The error of the trivial model in one metric, in `unit`, against references of `level_of_theory`."""

    benchmark: str
    category: str
    metric: str
    unit: str
    error: float
    level_of_theory: str = ""


def parse_facts(text: str, name: str) -> MlPegFacts:
    """The facts in a TOML text.

    Raises:
        ScoringError: naming the release and the field.
    """
    return parse(MlPegFacts, text, name)


def load_facts(name: str = ML_PEG) -> MlPegFacts:
    """Facts from `scoring/releases`.

    Raises:
        ScoringError: the name is unknown, or the file cannot be read.
    """
    return load(MlPegFacts, name, packaged(ML_PEG))


def facts_from_baselines(baselines: Iterable[Baseline], name: str, title: str = "") -> MlPegFacts:
    """Facts for a suite that states no thresholds: good is 0, bad the trivial model's error, a domain is a category.

    So a normalised metric is 1 minus the model's error relative to the trivial model's.

    Raises:
        ScoringError: naming benchmark, metric and field.
    """
    benchmarks: dict[str, dict[str, object]] = {}
    metrics: dict[str, dict[str, object]] = {}
    for row in baselines:
        where = f"release {name}: benchmark {row.benchmark}"
        stated = benchmarks.setdefault(
            row.benchmark,
            {"category": row.category, "metrics": metrics.setdefault(row.benchmark, {}), "source": "trivial model"},
        )
        if stated["category"] != row.category:
            raise ScoringError(f"{where}: category: {stated['category']} and {row.category}: it has exactly one")
        if row.metric in metrics[row.benchmark]:
            raise ScoringError(f"{where}: metric {row.metric}: stated twice: leave one out")
        if not 0 < row.error < math.inf:
            raise ScoringError(f"{where}: metric {row.metric}: baseline {row.error}: state a positive number")
        metrics[row.benchmark][row.metric] = {
            "good": 0.0,
            "bad": row.error,
            "unit": row.unit,
            "level_of_theory": row.level_of_theory,
        }
    source = "no published thresholds: good is an error of 0, bad is the error of the trivial model of each test set"
    stated = {"name": name, "title": title or name, "source": source, "benchmarks": benchmarks}
    try:
        return MlPegFacts.model_validate(stated)
    except ValidationError as error:
        raise ScoringError(f"release {name}: {first_fault(error)}") from None
