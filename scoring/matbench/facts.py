"""The facts of Matbench Discovery's combined scores: parts, metrics, their thresholds and weights."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PositiveInt

from scoring.metric_facts import MetricFacts
from scoring.release_files import ReleasePart, load, packaged

MATBENCH = "matbench-discovery"
PositiveWeight = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]


class CombinedPart(ReleasePart):
    """A part of a score: its weight there, and its metrics by name."""

    weight: PositiveWeight
    metrics: dict[str, MetricFacts] = Field(min_length=1)


class CombinedScore(ReleasePart):
    """A combined score.

    Args:
        elements: their number. A model may leave some out; the score is multiplied by the share of the others. None:
            the score has no such factor.
    """

    title: str
    parts: dict[str, CombinedPart] = Field(min_length=1)
    elements: PositiveInt | None = None

    @property
    def metrics(self) -> dict[str, MetricFacts]:
        """The metrics of all parts by name."""
        return {name: facts for part in self.parts.values() for name, facts in part.metrics.items()}


class MatbenchFacts(ReleasePart):
    """The combined scores by name."""

    name: str
    title: str
    source: str
    scores: dict[str, CombinedScore] = Field(min_length=1)


def load_matbench() -> MatbenchFacts:
    """The packaged facts."""
    return load(MatbenchFacts, MATBENCH, packaged(MATBENCH))
