"""Is a model held against reference values of its own level of theory?

Source: ML-PEG, github.com/ddmms/ml-peg, docs/source/developer_guide/levels_of_theory.rst at commit 05e8ce6: names are
compared letter by letter; a metric without a level is not compared; a model that states none differs from every level.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from scoring.errors import ScoringError
from scoring.ml_peg.facts import MlPegFacts


class LevelGap(StrEnum):
    """What the model's level of theory is set beside."""

    FUNCTIONAL = "another density functional"
    HIGH_LEVEL = "a higher level of theory"
    EXPERIMENT = "an experiment"


class Mismatch(NamedTuple):
    """A metric whose reference values are of another level of theory than the model; `model_level` may be empty."""

    benchmark: str
    metric: str
    metric_level: str
    model_level: str
    gap: LevelGap


_HIGH_LEVEL = ("ccsd", "mp2", "dmc", "afqmc", "qmc")


def mismatches(facts: MlPegFacts, levels: Mapping[str, str]) -> list[Mismatch]:
    """Where the levels of theory of metric and model differ, by benchmark and metric in alphabetical order.

    Args:
        levels: the model's, by benchmark or by category; that of the benchmark goes first.

    Raises:
        ScoringError: a level for something that is neither a benchmark nor a category.
    """
    for name in levels:
        if name not in facts.benchmarks and name not in facts.categories:
            raise ScoringError(f"release {facts.name}: level of theory: {name} is neither a benchmark nor a category")
    flags = []
    for name, benchmark in sorted(facts.benchmarks.items()):
        own = levels.get(name, levels.get(benchmark.category, ""))
        flags += [
            Mismatch(name, metric, of.level_of_theory, own, gap(of.level_of_theory))
            for metric, of in sorted(benchmark.metrics.items())
            if of.level_of_theory and of.level_of_theory != own
        ]
    return flags


def gap(level: str) -> LevelGap:
    """What kind of reference a level of theory is."""
    lowered = level.lower()
    if "experiment" in lowered:
        return LevelGap.EXPERIMENT
    return LevelGap.HIGH_LEVEL if any(method in lowered for method in _HIGH_LEVEL) else LevelGap.FUNCTIONAL
