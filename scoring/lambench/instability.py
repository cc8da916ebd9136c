"""The LAMBench instability: by how many decades the energy drift of constant-energy dynamics exceeds a tolerance.

**Which tolerance.** LAMBench states 5e-4 eV/atom/ps, but its slopes are per 1000 ASE time units (10.18 ps): the
numbers that it compares with 5e-4 are 10.18 times the slope in eV/atom/ps. The tolerance behind its published scores is
therefore 5e-4 / 10.18 = 4.9e-5 eV/atom/ps. `as_published` releases compare slopes in LAMBench's unit with 5e-4.
`corrected` compares slopes in eV/atom/ps with 4.9e-5 by default, and also shows the score for the stated 5e-4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scoring.errors import ScoringError
from scoring.lambench.rules import InstabilityRule
from scoring.tree import Float, Leaf, Node, RawMetric, Scale

LAMBENCH_TIME_UNIT_PS = 10.180505710759414
"""1000 Å·√(u/eV), ASE's unit of time. LAMBench's slopes are per this time, though it states them per ps."""


class RunOutcome(StrEnum):
    """The outcome of one run."""

    COMPLETED = "completed"
    FAILED = "failed"  # exploded, not finite, an error: the worst score
    UNMEASURED = "not measured"  # ran out of time, or its record is lost: left out
    MISSING = "missing"  # not answered: the worst score, and not covered


class Run(NamedTuple):
    """One constant-energy trajectory; `slope` of the total energy [eV/atom/ps], of either sign."""

    name: str
    outcome: RunOutcome
    slope: float = math.nan


@dataclass(frozen=True)
class Decades(Scale):
    """max(0, log10(|slope| · time unit / tolerance)), at most `worst` if `clipped`; `worst` if it is infinite.

    Args:
        tolerance: the largest drift that scores 0 [eV/atom per time unit]; slopes are of the total energy [eV/atom/ps].
    """

    name = "decades"
    tolerance: float
    time_unit_ps: float
    worst: float
    clipped: bool

    def __call__(self, values: Float) -> Float:
        with np.errstate(divide="ignore"):
            decades = np.maximum(np.log10(np.abs(values) * self.time_unit_ps / self.tolerance), 0.0)
        return np.where(np.isinf(decades), self.worst, np.minimum(decades, self.worst) if self.clipped else decades)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.worst if self.clipped else np.inf


def instability_tree(runs: Sequence[Run], rule: InstabilityRule, tolerance: float | None = None) -> Node:
    """The instability of one model; lower is better, 0 to `rule.worst_decades` if the rule clips.

        I = mean over runs of max(0, log10(|dE/dt| / tolerance)),   5 for a run that failed or is missing

    A run that was not measured (it ran out of time) is left out and not covered. `at_worst` is the score with 5 in its
    place; models are ranked by it, since a slow model must not look stable.

    Args:
        runs: every run of the suite.
        tolerance: in the unit of the rule; None: the rule's default.

    Raises:
        ScoringError: two runs have one name.

    Source: LAMBench, arXiv:2504.19578, "applicability: stability"; the clip at 5 decades as in its commit 1f20803, not
    in its release 0.3.1.
    """
    limit = rule.tolerances[0] if tolerance is None else tolerance
    ordered = sorted(runs)
    for run, following in pairwise(ordered):
        if run.name == following.name:
            raise ScoringError(f"run {run.name}: named twice")
    return _mean_over_runs([_run(run, limit, rule) for run in ordered], limit, rule)


def least_instability(
    drift: float | None, success_rate: float, n_runs: int, rule: InstabilityRule, tolerance: float | None = None
) -> Node:
    """The lowest instability that agrees with a published summary; the score itself needs each run.

    max(0, log10 Φ) is convex in log Φ. So its mean over the runs that succeeded is at least its value at their
    geometric mean drift. A failed run counts 5.

    Args:
        drift: geometric mean of |dE/dt| [eV/atom/ps] of the runs that succeeded; None if none did, or if it is not
            published: then the drift may be 0.
        success_rate: share of runs that succeeded, 0 to 1, possibly rounded; 1 if it is not published.
        n_runs: the number of runs.

    Raises:
        ScoringError: the share is not from 0 to 1.
    """
    if not 0 <= success_rate <= 1:
        raise ScoringError(f"nve_md: success_rate: {success_rate} is not a share from 0 to 1")
    limit = rule.tolerances[0] if tolerance is None else tolerance
    n_succeeded = round(success_rate * n_runs)
    parts = []
    if n_succeeded:
        run = _run(Run("runs that succeeded", RunOutcome.COMPLETED, drift or 0.0), limit, rule)
        parts.append(Node(run.name, run.rule, n_succeeded, leaf=run.leaf, unit=run.unit))
    if n_runs > n_succeeded:
        run = _run(Run("runs that failed", RunOutcome.FAILED), limit, rule)
        parts.append(Node(run.name, run.rule, n_runs - n_succeeded, leaf=run.leaf, unit=run.unit))
    return _mean_over_runs(parts, limit, rule)


def _mean_over_runs(parts: Sequence[Node], tolerance: float, rule: InstabilityRule) -> Node:
    return Node(
        "Instability",
        f"mean over runs, tolerance {tolerance:g} {rule.unit}",
        parts=tuple(parts),
        absent=rule.worst_decades,
        pool=True,
        source=rule.source,
    )


def _run(run: Run, tolerance: float, rule: InstabilityRule) -> Node:
    facts: tuple[tuple[str, float | str], ...] = (("tolerance", tolerance),)
    text, value = "log10(|slope| / tolerance), not below 0", run.slope
    if rule.time_unit_ps != 1.0:
        facts = (*facts, ("time unit [ps]", rule.time_unit_ps))
        text = "log10(|slope| × time unit / tolerance), not below 0"
    match run.outcome:
        case RunOutcome.COMPLETED:
            value = math.inf if math.isnan(run.slope) else run.slope
        case RunOutcome.FAILED:
            text, value = f"failed: counted as {rule.worst_decades:g}", math.inf
        case RunOutcome.UNMEASURED:
            text, value = "not measured: left out", math.nan
        case RunOutcome.MISSING:
            text, value = "no answer: counted as worst", math.nan
    scale = Decades(tolerance, rule.time_unit_ps, rule.worst_decades, rule.clipped)
    raw = RawMetric(run.name, "slope", None if math.isnan(value) else value, "eV/atom/ps", facts)
    leaf = Leaf(raw, scale, left_out=run.outcome is RunOutcome.UNMEASURED)
    return Node(run.name, text, leaf=leaf, unit=run.name)
