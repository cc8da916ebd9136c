"""The metrics whose reference values have another level of theory than the model.

Source: ML-PEG, github.com/ddmms/ml-peg, docs/source/developer_guide/levels_of_theory.rst at commit 05e8ce6: names are
compared as text; a metric without a level is not compared; a model that states none differs from every level.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from scoring.errors import ScoringError
from scoring.ml_peg.facts import MlPegFacts


class LevelGap(StrEnum):
    """The kind of reference that a model is compared with, if its level of theory differs."""

    FUNCTIONAL = "another density functional"
    HIGH_LEVEL = "a higher level of theory"
    EXPERIMENT = "an experiment"


class Mismatch(NamedTuple):
    """A metric whose reference values have another level of theory than the model; `model_level` may be empty."""

    benchmark: str
    metric: str
    metric_level: str
    model_level: str
    gap: LevelGap


_HIGH_LEVEL = ("ccsd", "mp2", "dmc", "afqmc", "qmc")


def mismatches(facts: MlPegFacts, levels: Mapping[str, str]) -> list[Mismatch]:
    """Where the levels of theory of metric and model differ, by benchmark and metric in alphabetical order.

    Args:
        levels: the model's, by benchmark or by category; the benchmark's takes precedence.

    Raises:
        ScoringError: a name is neither a benchmark nor a category.
    """
    for name in levels:
        if name not in facts.benchmarks and name not in facts.categories:
            raise ScoringError(f"release {facts.name}: level of theory: {name} is neither a benchmark nor a category")
    flags = []
    for name, benchmark in sorted(facts.benchmarks.items()):
        model_level = levels.get(name, levels.get(benchmark.category, ""))
        for metric, metric_facts in sorted(benchmark.metrics.items()):
            level = metric_facts.level_of_theory
            if level and level != model_level:
                flags.append(Mismatch(name, metric, level, model_level, gap(level)))
    return flags


def gap(level: str) -> LevelGap:
    """The kind of reference that a level of theory is."""
    lowered = level.lower()
    if "experiment" in lowered:
        return LevelGap.EXPERIMENT
    return LevelGap.HIGH_LEVEL if any(method in lowered for method in _HIGH_LEVEL) else LevelGap.FUNCTIONAL
