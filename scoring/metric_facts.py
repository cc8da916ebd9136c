"""What a score with thresholds states of a metric: unit, good and bad value, weight."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from scoring.normalisers import NORMALISERS
from scoring.release_files import ReleasePart

# The bound keeps sums of weights finite.
Weight = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]


class MetricFacts(ReleasePart):
    """The thresholds, unit and weight of a metric.

    Args:
        good: the value at which, and beyond which, the normalised metric is 1 [unit]; above `bad` if higher is better.
        bad: the value at which, and beyond which, it is 0 [unit].
        unit: of the metric and both thresholds; "-" for a pure number.
        weight: in its benchmark.
        level_of_theory: of the reference values; empty if the metric has none, such as a count of minima.
        normaliser: a name in `NORMALISERS`.
    """

    good: FiniteFloat
    bad: FiniteFloat
    unit: Name
    weight: Weight = 1.0
    level_of_theory: str = ""
    normaliser: str = "linear"

    @model_validator(mode="after")
    def _can_normalise(self) -> MetricFacts:
        if self.good == self.bad:
            raise ValueError(f"good: {self.good} is also bad: state two thresholds that differ")
        if self.normaliser not in NORMALISERS:
            raise ValueError(f"normaliser: {self.normaliser!r} is unknown: take one of {', '.join(NORMALISERS)}")
        if NORMALISERS[self.normaliser].positive and min(self.good, self.bad) <= 0:
            raise ValueError(f"normaliser: {self.normaliser}: good and bad must lie above zero: take linear")
        function = NORMALISERS[self.normaliser].function
        ends = function(np.array([self.good, self.bad]), self.good, self.bad)
        if ends.tolist() != [1.0, 0.0]:  # as when good − bad overflows
            raise ValueError(f"good: {self.good} and bad {self.bad} are too far apart or too close for arithmetic")
        return self

    @property
    def may_be_negative(self) -> bool:
        """False for an error: lower is better, and neither threshold is below zero."""
        return self.good > self.bad or self.good < 0
