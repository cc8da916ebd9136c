"""A small release of two categories, three benchmarks and five metrics, and a model of it."""

from __future__ import annotations

from scoring import RawMetric
from scoring.ml_peg import MlPegFacts, ml_peg_score, parse_facts
from scoring.term import Term

SMALL = """
name = "small"
title = "Small"
source = "worked by hand"

[category_weights]
A = 2.0

[presets.only-A]
others = 0.0
categories = { A = 5.0 }

[presets.mine]
benchmarks = { a2 = 3.0 }
metrics = { a1 = { r = 0.0 } }

[benchmarks.a1]
category = "A"
weight = 3.0
source = "a1.yml"
[benchmarks.a1.metrics]
e = { good = 1.0, bad = 5.0, unit = "kcal/mol", level_of_theory = "CCSD(T)/CBS" }
r = { good = 1.0, bad = -1.0, unit = "-", weight = 3.0 }

[benchmarks.a2]
category = "A"
[benchmarks.a2.metrics]
f = { good = 0.0, bad = 10.0, unit = "GPa", level_of_theory = "PBE" }

[benchmarks.b1]
category = "B"
[benchmarks.b1.metrics]
m = { good = 0.01, bad = 1.0, unit = "eV", normaliser = "logarithmic", level_of_theory = "Experimental" }
z = { good = 0.0, bad = 1.0, unit = "eV", weight = 0.0, level_of_theory = "PBE" }
"""
UNITS = {("a1", "e"): "kcal/mol", ("a1", "r"): "-", ("a2", "f"): "GPa", ("b1", "m"): "eV", ("b1", "z"): "eV"}
VALUES: dict[tuple[str, str], float | None] = {
    ("a1", "e"): 3.0,  # 0.5
    ("a1", "r"): 0.5,  # 0.75
    ("a2", "f"): 2.5,  # 0.75
    ("b1", "m"): 0.1,  # 0.5
    ("b1", "z"): 0.25,  # 0.75, of no weight
}
A1 = (0.5 + 3 * 0.75) / 4
A = (3 * A1 + 0.75) / 4
OVERALL = (2 * A + 0.5) / 3


def small() -> MlPegFacts:
    return parse_facts(SMALL, "small")


def measured(values: dict[tuple[str, str], float | None]) -> dict[str, dict[str, RawMetric]]:
    by_benchmark: dict[str, dict[str, RawMetric]] = {}
    for (benchmark, metric), value in values.items():
        by_benchmark.setdefault(benchmark, {})[metric] = RawMetric(
            benchmark, metric, value, UNITS[benchmark, metric], n_items=10
        )
    return by_benchmark


def scored(changes: dict[tuple[str, str], float | None], variant: str = "corrected", preset: str = "") -> Term:
    return ml_peg_score(measured(VALUES | changes), small(), variant, preset)


def without(*keys: tuple[str, str], variant: str = "corrected") -> Term:
    kept = {key: value for key, value in VALUES.items() if key not in keys}
    return ml_peg_score(measured(kept), small(), variant)


def at(term: Term, *path: str) -> Term:
    for name in path:
        part = term.part(name)
        assert part is not None, name
        term = part
    return term
