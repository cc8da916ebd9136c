"""ML-PEG's scores: thresholds good and bad, weights at every level, five levels from raw metrics to one number."""

from scoring.ml_peg.facts import BenchmarkFacts, MetricFacts, MlPegFacts, Preset
from scoring.ml_peg.levels import LevelGap, Mismatch, mismatches
from scoring.ml_peg.normalisers import NORMALISERS, Normaliser
from scoring.ml_peg.read import Baseline, facts_from_baselines, load_facts, parse_facts
from scoring.ml_peg.score import Metrics, Scheme, explained_with_best, ml_peg_score, ml_peg_tree

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
    "ml_peg_tree",
    "parse_facts",
]
