"""ML-PEG's scores: thresholds good and bad, weights at every level, five levels from raw metrics to one number."""

from scoring.ml_peg.facts import BenchmarkFacts, Facts, MetricFacts, Preset
from scoring.ml_peg.levels import Gap, Mismatch, mismatches
from scoring.ml_peg.normalisers import NORMALISERS, Normaliser
from scoring.ml_peg.read import Baseline, facts_from_baselines, load_facts, packaged_facts, parse_facts
from scoring.ml_peg.score import Metrics, Scheme, Variant, explained_with_best, ml_peg_score, ml_peg_tree

__all__ = [
    "NORMALISERS",
    "Baseline",
    "BenchmarkFacts",
    "Facts",
    "Gap",
    "MetricFacts",
    "Metrics",
    "Mismatch",
    "Normaliser",
    "Preset",
    "Scheme",
    "Variant",
    "explained_with_best",
    "facts_from_baselines",
    "load_facts",
    "mismatches",
    "ml_peg_score",
    "ml_peg_tree",
    "packaged_facts",
    "parse_facts",
]
