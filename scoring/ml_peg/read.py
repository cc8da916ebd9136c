"""Facts out of TOML, or out of the errors of trivial models."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import NamedTuple

from pydantic import ValidationError

from scoring.errors import ScoringError
from scoring.ml_peg.facts import Facts

_PREFIX = "ml-peg"
_KINDS = {"benchmarks": "benchmark", "metrics": "metric", "presets": "preset"}


class Baseline(NamedTuple):
    """The error of the trivial model in one metric, in `unit`, against references of `level_of_theory`."""

    benchmark: str
    category: str
    metric: str
    unit: str
    error: float
    level_of_theory: str = ""


def parse_facts(text: str, name: str) -> Facts:
    """The facts that a TOML text states.

    Args:
        name: by which errors call the release.

    Raises:
        ScoringError: naming release, benchmark, metric and field.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScoringError(f"release {name}: not TOML: {error}") from None
    return _validated(data, name)


def packaged_facts() -> tuple[str, ...]:
    """The names of the facts that come with the judge."""
    names = (entry.name for entry in resources.files("scoring.releases").iterdir())
    return tuple(sorted(n.removesuffix(".toml") for n in names if n.startswith(_PREFIX) and n.endswith(".toml")))


def load_facts(name: str = _PREFIX) -> Facts:
    """Facts packaged with the judge.

    Raises:
        ScoringError: no facts of that name.
    """
    if name not in packaged_facts():
        raise ScoringError(f"release {name}: unknown: take one of {', '.join(packaged_facts())}")
    return parse_facts(resources.files("scoring.releases").joinpath(f"{name}.toml").read_text("utf-8"), name)


def facts_from_baselines(baselines: Iterable[Baseline], name: str, title: str = "") -> Facts:
    """Facts for a suite that states no thresholds: good is 0, bad the trivial model's error, a domain is a category.

    So a normalised metric is the part of the trivial model's error that the model does without.

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
    return _validated({"name": name, "title": title or name, "source": source, "benchmarks": benchmarks}, name)


def _validated(data: Mapping[str, object], name: str) -> Facts:
    try:
        return Facts.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        fault = " ".join(first["msg"].removeprefix("Value error, ").split())
        where = _where(tuple(map(str, first["loc"])))
        raise ScoringError(f"release {name}: {where}{fault}") from None


def _where(loc: tuple[str, ...]) -> str:
    """The field in words, each followed by a colon: benchmark X23: metric MAE: good."""
    if len(loc) >= 2 and loc[0] in _KINDS:
        return f"{_KINDS[loc[0]]} {loc[1]}: {_where(loc[2:])}"
    return f"{loc[0]}: {_where(loc[1:])}" if loc else ""
