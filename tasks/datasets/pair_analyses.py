"""Quantities of pairs of atoms: g(r) and its first peak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tasks.datasets.analysis import Analysis, Atoms, CurveLabel, NotNegative
from tasks.datasets.card_parts import Positive, later

CurveName = Annotated[str, Field(pattern=r"^[\w./() +-]{1,40}$")]


class PairAnalysis(Analysis):
    """A quantity of g(r).

    Args:
        first, second: two sets of atoms without a common one; None: the pairs within `first`.
        bin_width: [Å].
        centred: whether bins lie around the multiples of their width, not between them.
    """

    first: Atoms
    second: Atoms | None = None
    bin_width: Positive = 0.05
    centred: bool = later(False)

    @property
    def atoms_used(self) -> Sequence[int]:
        return (*self.first, *(self.second or ()))


class RadialDistributionAnalysis(PairAnalysis):
    """g(r) up to `r_max` [Å], against a curve, between whose points lines are drawn.

    Args:
        also: further curves by name, such as g(r) of a force field; they are drawn, and enter no error.
    """

    measure: Literal["rdf"]
    r_max: Positive
    reference: dict[str, CurveLabel]
    also: dict[CurveName, CurveLabel] = later({})


class RadialDistributionRmseAnalysis(PairAnalysis):
    """The root mean square deviation of g(r) from the points of a curve in `above` < r < `up_to` [Å].

    Lines are drawn between the values of the run.

    Args:
        also: as of `RadialDistributionAnalysis`.
    """

    measure: Literal["rdf_rmse"]
    above: NotNegative
    up_to: Positive
    reference: dict[str, CurveLabel]
    also: dict[CurveName, CurveLabel] = later({})

    @property
    def r_max(self) -> float:
        return self.up_to + 2 * self.bin_width

    @model_validator(mode="after")
    def _has_points(self) -> Self:
        for name, curve in self.reference.items():
            if not any(self.above < x < self.up_to for x in curve.x):
                raise ValueError(f"reference.{name}: has no point between above and up_to")
        return self


DrawnAnalysis = RadialDistributionAnalysis | RadialDistributionRmseAnalysis
"""Those with a curve to draw."""


class FirstPeakAnalysis(PairAnalysis):
    """The r [Å] of the highest g(r) in `above` < r ≤ `up_to` [Å]."""

    measure: Literal["first_peak"]
    above: NotNegative = 0.0
    up_to: Positive
    reference: dict[str, Positive]

    @property
    def r_max(self) -> float:
        return self.up_to

    @model_validator(mode="after")
    def _increases(self) -> Self:
        if self.up_to <= self.above:
            raise ValueError("up_to: must be greater than above")
        return self
