"""ML-PEG's scores: good and bad thresholds, and weighted means at each of five levels, from raw metric to overall."""

from scoring.ml_peg.facts import BenchmarkFacts, MlPegFacts, Preset
from scoring.ml_peg.levels import LevelGap, Mismatch, mismatches
from scoring.ml_peg.read import Baseline, facts_from_baselines, load_facts, parse_facts
from scoring.ml_peg.score import Metrics, Scheme, ml_peg_score

__all__ = [
    "Baseline",
    "BenchmarkFacts",
    "LevelGap",
    "Metrics",
    "Mismatch",
    "MlPegFacts",
    "Preset",
    "Scheme",
    "facts_from_baselines",
    "load_facts",
    "mismatches",
    "ml_peg_score",
    "parse_facts",
]
