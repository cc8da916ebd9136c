"""Matbench Discovery's combined scores, and the metrics of its discovery task."""

from scoring.matbench.combined import combined_score
from scoring.matbench.discovery import Discovery, discovery, hull_distances
from scoring.matbench.facts import CombinedScore, MatbenchFacts, load_matbench

__all__ = [
    "CombinedScore",
    "Discovery",
    "MatbenchFacts",
    "combined_score",
    "discovery",
    "hull_distances",
    "load_matbench",
]
