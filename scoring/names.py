"""The scores of the leaderboard in the order in which they are shown: key, label, scheme and direction of each.

`judge/view/assets.py` gives the same table to the pages' scripts, as `scores.js`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

LAMBENCH, ML_PEG, MLIPAUDIT = "lambench", "ml-peg", "mlipaudit"
SCHEMES: Mapping[str, str] = {LAMBENCH: "LAMBench", ML_PEG: "ML-PEG", MLIPAUDIT: "MLIPAudit"}
"""Labels by the key of a scheme. The overall score of a scheme, if it has one, has the same key."""

FORCE_FIELD, PROPERTY_ERROR = "force_field", "property_error"
EFFICIENCY, INSTABILITY = "efficiency", "instability"
COMPATIBLE = "mlipaudit-compatible"


class Variant(StrEnum):
    """`AS_PUBLISHED` computes what a scheme's authors print; in `CORRECTED` no model gains by failing."""

    AS_PUBLISHED = "as_published"
    CORRECTED = "corrected"


class ScoreName(NamedTuple):
    """The names of a score and how to read it.

    Args:
        option: its name for `judge explain --score`.
        measures: the quantities that it is an error of; empty if it is no error.
        counts: the noun for the parts of its mean, in the singular.
        by_label_type: True: its tree has label types above the tasks; False: metrics below the tasks.
        from_times: whether it is computed from times. Times have two digits, and compare within a class of hardware.
        resampled: whether it has intervals.
    """

    key: str
    label: str
    scheme: str
    option: str
    lower_is_better: bool = False
    measures: str = ""
    counts: str = "task"
    by_label_type: bool = False
    from_times: bool = False
    resampled: bool = True


SCORES: Mapping[str, ScoreName] = {
    score.key: score
    for score in (
        ScoreName(
            FORCE_FIELD,
            "Force-field error",
            LAMBENCH,
            "force-field",
            lower_is_better=True,
            measures="forces and energies",
            by_label_type=True,
        ),
        ScoreName(PROPERTY_ERROR, "Property error", LAMBENCH, "property", lower_is_better=True, measures="properties"),
        ScoreName(EFFICIENCY, "Efficiency", LAMBENCH, "efficiency", from_times=True),
        ScoreName(INSTABILITY, "Instability", LAMBENCH, "instability", lower_is_better=True, counts="run"),
        ScoreName(ML_PEG, "ML-PEG", ML_PEG, "ml-peg"),
        ScoreName(MLIPAUDIT, "MLIPAudit", MLIPAUDIT, "mlipaudit"),
        ScoreName(COMPATIBLE, "MLIPAudit, compatible benchmarks", MLIPAUDIT, "mlipaudit-compatible", resampled=False),
    )
}

ERRORS = (FORCE_FIELD, PROPERTY_ERROR)
"""The scores that are errors relative to a trivial model's. Models are ranked by the first, then by the second."""


def of_scheme(scheme: str) -> tuple[str, ...]:
    """The keys of a scheme's scores."""
    return tuple(key for key, score in SCORES.items() if score.scheme == scheme)


def instability_at(tolerance: float) -> str:
    """The key of the instability at a tolerance other than the release's first."""
    return f"{INSTABILITY}-{tolerance:g}"
