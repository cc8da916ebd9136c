"""Metrics to scores. Pure functions that import no other room."""

from scoring.errors import ScoringError
from scoring.explanation import explained
from scoring.lambench.answers import Answers, Asked, Error
from scoring.lambench.efficiency import efficiency, efficiency_tree
from scoring.lambench.force_field import force_field_error, force_field_tree
from scoring.lambench.instability import Fate, Run, instability, instability_tree
from scoring.lambench.property_error import dropped_domains, property_error, property_tree
from scoring.lambench.release import Release, load_release, packaged_releases, parse_release
from scoring.ranking import Entry, Placed, ranking
from scoring.term import Evidence, Term, as_data
from scoring.tree import Node

__all__ = [
    "Answers",
    "Asked",
    "Entry",
    "Error",
    "Evidence",
    "Fate",
    "Node",
    "Placed",
    "Release",
    "Run",
    "ScoringError",
    "Term",
    "as_data",
    "dropped_domains",
    "efficiency",
    "efficiency_tree",
    "explained",
    "force_field_error",
    "force_field_tree",
    "instability",
    "instability_tree",
    "load_release",
    "packaged_releases",
    "parse_release",
    "property_error",
    "property_tree",
    "ranking",
]
