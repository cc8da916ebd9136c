"""The LAMBench instability: by how many decades the energy drift of constant-energy dynamics exceeds a tolerance.

**Which tolerance.** LAMBench states 5e-4 eV/atom/ps, but its slopes are per 1000 ASE time units (10.18 ps): the
numbers that it compares with 5e-4 are 10.18 times the slope in eV/atom/ps. What its published scores apply is
therefore 5e-4 / 10.18 = 4.9e-5 eV/atom/ps. `as_published` releases compare slopes in LAMBench's own unit with 5e-4;
`corrected` compares slopes in eV/atom/ps with 4.9e-5 by default, and shows the score for the stated 5e-4 beside it.
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
"""1000 Å·√(u/eV), ASE's unit of time: that LAMBench's slopes are per, where it says per ps."""


class RunOutcome(StrEnum):
    """What became of one run."""

    COMPLETED = "completed"
    FAILED = "failed"  # exploded, not finite, an error: the worst score
    UNMEASURED = "not measured"  # ran out of time, or its record is lost: never held against the model as unstable
    MISSING = "missing"  # never answered: the worst score, and not covered


class Run(NamedTuple):
    """One constant-energy trajectory; `slope` of the total energy [eV/atom/ps], of either sign."""

    name: str
    outcome: RunOutcome
    slope: float = math.nan


@dataclass(frozen=True)
class Decades(Scale):
    """max(0, log10(|slope| · time unit / tolerance)), at most `worst` if `clipped`; `worst` where it is infinite.

    Args:
        tolerance: drift that counts as none [eV/atom per time unit]; slopes are of the total energy [eV/atom/ps].
    """

    name = "decades"
    tolerance: float
    time_unit_ps: float
    worst: float
    clipped: bool

    def __call__(self, values: Float) -> Float:
        with np.errstate(divide="ignore"):
            found = np.maximum(np.log10(np.abs(values) * self.time_unit_ps / self.tolerance), 0.0)
        return np.where(np.isinf(found), self.worst, np.minimum(found, self.worst) if self.clipped else found)


def instability_tree(runs: Sequence[Run], rule: InstabilityRule, tolerance: float | None = None) -> Node:
    """The instability of one model; lower is better, 0 to `rule.worst_decades` where the rule clips.

        I = mean over runs of max(0, log10(|dE/dt| / tolerance)),   5 for a run that failed or is missing

    A run that was not measured (it ran out of time) is left out, counted as not covered, and `at_worst` is the score
    with 5 in its place (to order by: being slow must not look stable).

    Args:
        runs: every run that the suite asks for.
        tolerance: in the unit of the rule; the default of the rule where None.

    Raises:
        ScoringError: two runs of one name.

    Source: LAMBench, arXiv:2504.19578, "applicability: stability"; the clip at 5 decades since its release 1.0.
    """
    limit = rule.tolerances[0] if tolerance is None else tolerance
    ordered = sorted(runs)
    for one, other in pairwise(ordered):
        if one.name == other.name:
            raise ScoringError(f"run {one.name}: named twice")
    return _mean_over_runs([_run(run, limit, rule) for run in ordered], limit, rule)


def least_instability(
    drift: float | None, success_rate: float, n_runs: int, rule: InstabilityRule, tolerance: float | None = None
) -> Node:
    """The least instability that fits a published summary; the score itself needs each run.

    max(0, log10 Φ) is convex in log Φ, so that its mean over the runs that succeeded is at least its value at their
    geometric mean drift; a run that failed counts 5.

    Args:
        drift: geometric mean of |dE/dt| [eV/atom/ps] of the runs that succeeded; None where none did, or where it is
            not published: then they may not have drifted at all.
        success_rate: share of runs that succeeded, 0 to 1, maybe rounded; 1 where it is not published.
        n_runs: how many runs there were.

    Raises:
        ScoringError: a share outside 0 to 1.
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
    said, value = "log10(|slope| / tolerance), not below 0", run.slope
    if rule.time_unit_ps != 1.0:
        facts = (*facts, ("time unit [ps]", rule.time_unit_ps))
        said = "log10(|slope| × time unit / tolerance), not below 0"
    match run.outcome:
        case RunOutcome.COMPLETED:
            value = math.inf if math.isnan(run.slope) else run.slope
        case RunOutcome.FAILED:
            said, value = f"failed: counted as {rule.worst_decades:g}", math.inf
        case RunOutcome.UNMEASURED:
            said, value = "not measured: left out", math.nan
        case RunOutcome.MISSING:
            said, value = "no answer: counted as worst", math.nan
    scored = Decades(tolerance, rule.time_unit_ps, rule.worst_decades, rule.clipped)
    raw = RawMetric(run.name, "slope", None if math.isnan(value) else value, "eV/atom/ps", facts)
    leaf = Leaf(raw, scored, left_out=run.outcome is RunOutcome.UNMEASURED)
    return Node(run.name, said, leaf=leaf, unit=run.name)
