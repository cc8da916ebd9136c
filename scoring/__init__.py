"""Scores from metrics: pure functions that import no other room."""

from scoring.errors import ScoringError
from scoring.lambench.answers import Answers, AskedTask, MeasuredError
from scoring.lambench.efficiency import efficiency_tree
from scoring.lambench.force_field import force_field_tree
from scoring.lambench.instability import Run, RunOutcome, instability_tree
from scoring.lambench.property_error import dropped_domains, property_tree
from scoring.lambench.release import Release, load_release, packaged_releases, parse_release
from scoring.ranking import Placed, RankingEntry, ranking
from scoring.term import Term, as_data, explain, explain_all
from scoring.tree import Node, RawMetric

__all__ = [
    "Answers",
    "AskedTask",
    "MeasuredError",
    "Node",
    "Placed",
    "RankingEntry",
    "RawMetric",
    "Release",
    "Run",
    "RunOutcome",
    "ScoringError",
    "Term",
    "as_data",
    "dropped_domains",
    "efficiency_tree",
    "explain",
    "explain_all",
    "force_field_tree",
    "instability_tree",
    "load_release",
    "packaged_releases",
    "parse_release",
    "property_tree",
    "ranking",
]
