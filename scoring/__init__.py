"""Metrics to scores. Pure functions that import no other room."""

from scoring.efficiency import efficiency
from scoring.errors import Answers, Asked, Error
from scoring.force_field import force_field_error
from scoring.instability import Fate, Run, instability
from scoring.property_error import property_error
from scoring.ranking import Entry, Placed, ranking
from scoring.release import Release, ScoringError, load_release, parse_release
from scoring.term import Term

__all__ = [
    "Answers",
    "Asked",
    "Entry",
    "Error",
    "Fate",
    "Placed",
    "Release",
    "Run",
    "ScoringError",
    "Term",
    "efficiency",
    "force_field_error",
    "instability",
    "load_release",
    "parse_release",
    "property_error",
    "ranking",
]
