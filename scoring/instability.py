"""The LAMBench instability: by how many decades the energy drift of constant-energy dynamics exceeds a tolerance.

**Which tolerance.** LAMBench states 5e-4 eV/atom/ps, but its slopes are per 1000 ASE time units (10.18 ps): the
numbers that it compares with 5e-4 are 10.18 times the slope in eV/atom/ps. What its published scores apply is
therefore 5e-4 / 10.18 = 4.9e-5 eV/atom/ps. That one is the default here, because a run then scores what LAMBench
would have given it; the score for the stated 5e-4 stands beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from scoring.release import InstabilityRule
from scoring.term import Term, mean


class Fate(StrEnum):
    """What became of one run."""

    COMPLETED = "completed"
    FAILED = "failed"  # exploded, not finite, an error: the worst score
    UNMEASURED = "not measured"  # ran out of time, or its record is lost: never held against the model as unstable
    MISSING = "missing"  # never answered: the worst score, and not covered


class Run(NamedTuple):
    """One constant-energy trajectory; `slope` of the total energy [eV/atom/ps], of either sign."""

    name: str
    fate: Fate
    slope: float = math.nan


def decades(slope: float, tolerance: float, worst: float) -> float:
    """clip(log10(|slope| / tolerance), 0, worst); `worst` where the slope is not a number.

    Args:
        slope: of the total energy [eV/atom/ps].
        tolerance: drift that counts as none [eV/atom/ps].
    """
    drift = abs(slope)
    if not drift < math.inf:  # NaN loses
        return worst
    if drift <= tolerance:
        return 0.0
    return min(math.log10(drift / tolerance), worst)


def instability(runs: Sequence[Run], rule: InstabilityRule, tolerance: float | None = None) -> Term:
    """The instability of one model; lower is better, 0 to `rule.worst_decades`.

        I = mean over runs of clip(log10(|dE/dt| / tolerance), 0, 5),   5 for a run that failed or is missing

    A run that was not measured (it ran out of time) is left out, counted as not covered, and `at_worst` is the score
    with 5 in its place (to order by: being slow must not look stable).

    Args:
        runs: every run that the suite asks for.
        tolerance: [eV/atom/ps]; the default of the rule where None.

    Source: LAMBench, arXiv:2504.19578, "applicability: stability"; the clip at 5 decades is this judge's.
    """
    limit = rule.tolerances_ev_per_atom_ps[0] if tolerance is None else tolerance
    worst = rule.worst_decades
    parts = tuple(_run(run, limit, worst) for run in sorted(runs))
    covered = sum(part.covered for part in parts)
    kept = [
        worst if part.value is None else part.value
        for part, run in zip(parts, sorted(runs), strict=True)
        if run.fate is not Fate.UNMEASURED
    ]
    value = mean(kept) if covered else None
    n_unmeasured = len(parts) - len(kept)
    at_worst = mean([*kept, *[worst] * n_unmeasured]) if n_unmeasured and covered else None
    return Term(
        "Instability", value, f"mean over runs, tolerance {limit:g} eV/atom/ps", covered, len(parts),
        at_worst=at_worst, parts=parts,
    )  # fmt: skip


def _run(run: Run, tolerance: float, worst: float) -> Term:
    match run.fate:
        case Fate.COMPLETED:
            return Term(run.name, decades(run.slope, tolerance, worst), "log10(|slope| / tolerance)", 1, 1)
        case Fate.FAILED:
            return Term(run.name, worst, "failed: counted as worst", 1, 1)
        case Fate.UNMEASURED:
            return Term(run.name, None, "not measured: left out", 0, 1)
        case Fate.MISSING:
            return Term(run.name, None, "no answer: counted as worst", 0, 1)
