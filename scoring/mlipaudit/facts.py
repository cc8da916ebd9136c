"""The facts of one release of MLIPAudit: benchmarks, metrics, thresholds, and slips.

A slip is a place where MLIPAudit's program differs from its documentation.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from scoring.errors import ScoringError
from scoring.mlipaudit.soft_threshold import Direction, Rule
from scoring.names import Variant
from scoring.release_files import ReleasePart, first_fault

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1)]

KCAL_PER_MOL_PER_EV = 1.602176634e-19 * 6.02214076e23 / 4184
"""Exact: elementary charge and Avogadro's number of the SI of 2019, the thermochemical calorie."""

CONVERSIONS = {("kcal/mol", "eV"): 1 / KCAL_PER_MOL_PER_EV, ("eV", "kcal/mol"): KCAL_PER_MOL_PER_EV}


class FrameAverage(StrEnum):
    """How the frames of a trajectory are combined."""

    MEAN = "mean"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"


class ByGroup(StrEnum):
    """How items in groups are combined; all groups have the same weight."""

    SCORES = "scores averaged"
    VALUES = "values averaged, failed left out"


class ReferenceTime(ReleasePart):
    """The time of one energy and its forces that is held against a model's: `ms` + `ms_per_atom` × atoms."""

    ms: Positive
    ms_per_atom: Positive

    def of(self, n_atoms: float) -> float:
        """[ms] of a structure."""
        return self.ms + self.ms_per_atom * n_atoms


class AuditMetric(ReleasePart):
    """How one metric of a benchmark is scored.

    Args:
        unit: of the values.
        threshold: t; None if the value is a score already.
        threshold_unit: None: the unit of the values.
        at_most: the largest possible value; None: no limit.
        over_frames: items are trajectories, combined in this way; None: items are numbers.
        by_group: items belong to groups, e.g. residues to their type; None: they do not.
        one_failure_is_all: True: one failed item makes the whole metric 0.
        one_nan_is_all: True: one item that the model answered with NaN does.
        one_error_is_all: True: one item for which the model raised does.
        one_set_is_all: True: a set of items of which all failed does.
        as_seen: True: values as the program sees them (`Measured.seen`).
        leaves_out_unsupported: True: items with unsupported elements are left out; False: they count 0.
        alpha: how steeply scores fall; None: as in the whole release.
        reference_time: values are times over this.
        outside: values are distances from this range of a quantity, 0 within it.
    """

    unit: Text
    source: Text
    threshold: Positive | None = None
    threshold_unit: Text | None = None
    rule: Rule = Rule.SOFT_THRESHOLD
    larger_is_better: bool = False
    at_most: Positive | None = None
    over_frames: FrameAverage | None = None
    by_group: ByGroup | None = None
    one_failure_is_all: bool = False
    one_nan_is_all: bool = False
    one_error_is_all: bool = False
    one_set_is_all: bool = False
    as_seen: bool = False
    leaves_out_unsupported: bool = False
    alpha: Positive | None = None
    reference_time: ReferenceTime | None = None
    outside: tuple[Positive, Positive] | None = None

    @model_validator(mode="after")
    def _can_be_scored(self) -> Self:
        if (self.threshold is None) != (self.rule is Rule.SCORE):
            raise ValueError(f"threshold: rule '{self.rule}' takes {'none' if self.rule is Rule.SCORE else 'one'}")
        if self.rule is Rule.SCORE and self.at_most != 1:
            raise ValueError("at_most: a score is at most 1")
        if self.larger_is_better and self.rule is not Rule.SOFT_THRESHOLD:
            raise ValueError(f"larger_is_better: rule '{self.rule}' has no such form")
        if self.limit_unit != self.unit and (self.unit, self.limit_unit) not in CONVERSIONS:
            raise ValueError(f"threshold_unit: '{self.unit}' does not convert to '{self.limit_unit}'")
        if self.outside is not None and self.outside[0] >= self.outside[1]:
            raise ValueError(f"outside: {self.outside[0]:g} is not below {self.outside[1]:g}")
        return self

    @property
    def limit_unit(self) -> str:
        """The unit in which values are compared with the threshold."""
        return self.threshold_unit or self.unit

    @property
    def direction(self) -> Direction:
        """Which values are good."""
        return Direction.LARGER_IS_BETTER if self.larger_is_better else Direction.SMALLER_IS_BETTER

    @property
    def factor(self) -> float:
        """The factor from the unit of the values to the unit of the threshold."""
        return 1.0 if self.limit_unit == self.unit else CONVERSIONS[self.unit, self.limit_unit]


class Benchmark(ReleasePart):
    """One benchmark: the mean of its metrics is its score.

    Args:
        elements_per_item: True: single items with unsupported elements are left out, so that the benchmark is never
            incompatible as a whole.
    """

    title: Text
    category: Text
    elements_per_item: bool = False
    metrics: dict[Text, AuditMetric] = Field(min_length=1)


class Override(ReleasePart):
    """Fields of an `AuditMetric` in which MLIPAudit's program differs from its documentation."""

    threshold_unit: Text | None = None
    rule: Rule | None = None
    larger_is_better: bool | None = None
    over_frames: FrameAverage | None = None
    by_group: ByGroup | None = None
    one_failure_is_all: bool | None = None
    one_nan_is_all: bool | None = None
    one_error_is_all: bool | None = None
    one_set_is_all: bool | None = None
    as_seen: bool | None = None
    leaves_out_unsupported: bool | None = None


class Slip(ReleasePart):
    """One place where MLIPAudit's program differs from its documentation, and what `corrected` does."""

    name: Text
    benchmark: Text
    metrics: tuple[Text, ...] = Field(min_length=1)
    text: Text
    corrected: Text
    source: Text
    as_published: Override


class MlipAuditFacts(ReleasePart):
    """One release: its benchmarks with their thresholds, and its slips."""

    name: Text
    title: Text
    source: Text
    alpha: Positive
    benchmarks: dict[Text, Benchmark] = Field(min_length=1)
    slips: tuple[Slip, ...] = ()

    @model_validator(mode="after")
    def _slips_fit(self) -> Self:
        names = [slip.name for slip in self.slips]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"slips: '{name}' is named twice")
        seen: set[tuple[str, str, str]] = set()
        for slip in self.slips:
            if not slip.as_published.model_fields_set:
                raise ValueError(f"slips: '{slip.name}': as_published: changes nothing")
            for metric in slip.metrics:
                keys = {(slip.benchmark, metric, field) for field in slip.as_published.model_fields_set}
                if seen & keys:
                    raise ValueError(f"slips: '{slip.name}': as_published: {sorted(seen & keys)[0]} has been changed")
                seen |= keys
                self._check_slip(slip, metric)
        return self

    def _check_slip(self, slip: Slip, metric: str) -> None:
        if metric not in self._metrics(slip.benchmark):
            raise ValueError(f"slips: '{slip.name}': metrics: {slip.benchmark} has no '{metric}'")
        try:
            self.metric(slip.benchmark, metric, Variant.AS_PUBLISHED)
        except ValidationError as error:
            raise ValueError(f"slips: '{slip.name}': {first_fault(error)}") from None

    def _metrics(self, benchmark: str) -> dict[str, AuditMetric]:
        facts = self.benchmarks.get(benchmark)
        return {} if facts is None else facts.metrics

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories, in the order of the benchmarks."""
        return tuple(dict.fromkeys(benchmark.category for benchmark in self.benchmarks.values()))

    def metric(self, benchmark: str, metric: str, variant: Variant) -> AuditMetric:
        """How a metric of a benchmark is scored in a variant.

        Raises:
            ScoringError: there is no such metric.
        """
        stated = self._metrics(benchmark).get(metric)
        if stated is None:
            known = ", ".join(self._metrics(benchmark) or self.benchmarks)
            raise ScoringError(f"{self.name}: {benchmark}: metric '{metric}' is not known; one of {known}")
        changes: dict[str, object] = {}
        for slip in self.slips_of(benchmark, metric, variant):
            changes |= slip.as_published.model_dump(exclude_unset=True)
        return AuditMetric.model_validate(stated.model_dump() | changes) if changes else stated

    def slips_of(self, benchmark: str, metric: str, variant: Variant) -> tuple[Slip, ...]:
        """The slips that a metric has in a variant; none in `corrected`."""
        if variant is Variant.CORRECTED:
            return ()
        return tuple(slip for slip in self.slips if slip.benchmark == benchmark and metric in slip.metrics)
