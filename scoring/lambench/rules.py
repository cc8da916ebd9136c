"""The parameters of LAMBench's formulas that differ between its releases, or between them and `corrected`."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from scoring.release_files import ReleasePart

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Missing(StrEnum):
    """How a missing answer counts."""

    WORST = "worst"
    SKIPPED = "skipped"  # the others share its weight
    UNSCORED = "unscored"  # the model has no score

    @property
    def in_words(self) -> str:
        """The consequence, as text for notes and rules."""
        match self:
            case Missing.WORST:
                return "counted as worst"
            case Missing.SKIPPED:
                return "left out"
            case Missing.UNSCORED:
                return "so there is no score"


class MissingDomain(StrEnum):
    """How a domain without any answer counts."""

    WORST = "worst"
    SKIPPED = "skip_for_that_model"
    DROPPED = "drop_domain_for_all_models"


class ForceFieldRule(ReleasePart):
    """How errors of energy, force and virial are combined.

    Args:
        cap: the highest value that a normalised error counts; None: no limit.
        floor: the lowest value that it counts.
        missing: how a missing answer counts: `worst` (the cap) or `unscored`.
        logarithmic_mean_decimals: number of decimals of logarithmic means; None: no rounding.
        columns: by label type, the metric that is scored.
        weights_with_virial: by label type, in a domain with a task that has a virial.
        weights_without_virial: by label type, in any other domain.
    """

    cap: Positive | None = None
    floor: NotNegative = 0.0
    missing: Missing
    logarithmic_mean_decimals: int | None = None
    columns: dict[str, str]
    weights_with_virial: dict[str, NotNegative]
    weights_without_virial: dict[str, NotNegative]
    source: str = ""

    @model_validator(mode="after")
    def _weighs_what_it_scores(self) -> Self:
        for name in ("weights_with_virial", "weights_without_virial"):
            weights: dict[str, float] = getattr(self, name)
            if unknown := set(weights) - set(self.columns):
                raise ValueError(f"{name}: weights for {sorted(unknown)}, which columns does not state")
            if not sum(weights.values()) > 0:
                raise ValueError(f"{name}: the weights sum to zero")
        if self.cap is not None and self.cap < self.floor:
            raise ValueError(f"cap {self.cap} is below floor {self.floor}")
        if self.missing is Missing.SKIPPED:
            raise ValueError("missing must be 'worst' or 'unscored'")
        if self.missing is Missing.WORST and self.cap is None:
            raise ValueError("missing is 'worst', which needs a cap: without one nothing is worst")
        return self

    @property
    def absent(self) -> float:
        """The value of a missing answer; NaN: no score."""
        return self.cap if self.missing is Missing.WORST and self.cap is not None else math.nan

    @property
    def in_words(self) -> str:
        """How a single error is normalised, as text."""
        return _normalising(self.cap, self.floor)


class PropertyRule(ReleasePart):
    """How property errors are combined.

    Args:
        cap: the highest value that a normalised error counts; None: no limit.
        missing: how a column without an answer counts: `worst` (the cap) or `skipped`.
        missing_domain: how a domain without any answer counts.
        divided_by_success_rate: whether a capped error is divided by the share of items that succeeded.
    """

    cap: Positive | None = None
    missing: Missing
    missing_domain: MissingDomain
    divided_by_success_rate: bool = False
    source: str = ""

    @model_validator(mode="after")
    def _has_a_worst(self) -> Self:
        if self.missing is Missing.UNSCORED:
            raise ValueError("missing must be 'worst' or 'skipped'")
        worst = self.missing is Missing.WORST or self.missing_domain is MissingDomain.WORST
        if worst and self.cap is None:
            raise ValueError("missing is 'worst', which needs a cap: without one nothing is worst")
        return self

    @property
    def absent(self) -> float | None:
        """The value of a column without an answer; None: it is left out."""
        return self.cap if self.missing is Missing.WORST else None

    @property
    def absent_domain(self) -> float | None:
        """The value of a domain without an answer; None: it is left out."""
        return self.cap if self.missing_domain is MissingDomain.WORST else None

    @property
    def in_words(self) -> str:
        """How a single error is normalised, as text."""
        return _normalising(self.cap, 0.0)


class EfficiencyRule(ReleasePart):
    """The speed that scores 1, and how a task without a time counts.

    Args:
        reference_us_per_atom: the time that scores 1 [µs/atom].
        missing: `worst` (infinitely slow) or `unscored`.
    """

    reference_us_per_atom: Positive
    missing: Missing = Missing.WORST
    source: str = ""

    @property
    def absent(self) -> float:
        """The efficiency of a task without a time; NaN: no score."""
        return 0.0 if self.missing is Missing.WORST else math.nan


class InstabilityRule(ReleasePart):
    """The drift that scores 0, and the score of a failed run.

    Args:
        tolerances: [eV/atom per `time_unit_ps`], the default first.
        time_unit_ps: the unit of time of slopes and tolerances [ps].
        worst_decades: the score of a failed run [decades].
        clipped: whether a run that did not fail scores at most `worst_decades`.
    """

    tolerances: tuple[Positive, ...] = Field(min_length=1)
    time_unit_ps: Positive = 1.0
    worst_decades: Positive
    clipped: bool = True
    source: str = ""

    @property
    def unit(self) -> str:
        """The unit of the tolerances."""
        return "eV/atom/ps" if self.time_unit_ps == 1.0 else f"eV/atom per {self.time_unit_ps:.4g} ps"


def _normalising(cap: float | None, floor: float) -> str:
    limits = [f"at least {floor:g}"] if floor else []
    limits += [f"at most {cap:g}"] if cap is not None else []
    return ", ".join(["error / baseline", *limits])
