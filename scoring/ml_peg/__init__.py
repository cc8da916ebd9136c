"""ML-PEG's scores: good and bad thresholds, and weighted means at each of five levels, from raw metric to overall."""

from scoring.ml_peg.facts import BenchmarkFacts, MetricFacts, MlPegFacts, Preset
from scoring.ml_peg.levels import LevelGap, Mismatch, mismatches
from scoring.ml_peg.normalisers import NORMALISERS, Normaliser
from scoring.ml_peg.read import Baseline, facts_from_baselines, load_facts, parse_facts
from scoring.ml_peg.score import Metrics, Scheme, explained_with_best, ml_peg_score

__all__ = [
    "NORMALISERS",
    "Baseline",
    "BenchmarkFacts",
    "LevelGap",
    "MetricFacts",
    "Metrics",
    "Mismatch",
    "MlPegFacts",
    "Normaliser",
    "Preset",
    "Scheme",
    "explained_with_best",
    "facts_from_baselines",
    "load_facts",
    "mismatches",
    "ml_peg_score",
    "parse_facts",
]
