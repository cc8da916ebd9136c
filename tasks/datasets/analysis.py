"""What an analysis of a trajectory is, and the curves that are references of some."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import Field, FiniteFloat, model_validator

from tasks.datasets.card_parts import CardPart, Index

Atoms = Annotated[tuple[Index, ...], Field(min_length=1)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Point = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class Analysis(CardPart):
    """A quantity of a trajectory.

    Args:
        name: of the item beside that of its system; empty: the measure.
    """

    name: str = ""

    @property
    def atoms_used(self) -> Sequence[int]:
        """The atoms that it names."""
        return ()

    @property
    def references(self) -> dict[str, Any] | None:
        """By label set; None where the reference is no label."""
        return getattr(self, "reference", None)


class CurveLabel(CardPart):
    """A curve: y at increasing x."""

    x: tuple[FiniteFloat, ...] = Field(min_length=2)
    y: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _is_curve(self) -> Self:
        if len(self.y) != len(self.x):
            raise ValueError(f"y has {len(self.y)} entries for {len(self.x)} of x")
        if any(b <= a for a, b in pairwise(self.x)):
            raise ValueError("x must increase from each point to the next")
        return self


class DistributionLabel(CurveLabel):
    """A distribution on any scale: it is compared with area 1."""

    @model_validator(mode="after")
    def _is_distribution(self) -> Self:
        if min(self.y) < 0 or max(self.y) == 0:
            raise ValueError("y must not be negative, and not zero everywhere")
        return self
