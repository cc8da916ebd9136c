"""How far the runs of a kind got and how they ended, for figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tasks.metrics.measurement import Items
from tasks.structures.predictions import Cause

TO_THE_END = "to the end"
# The metric of a task whose page shows a curve of survival.
SURVIVAL = "survival_percent"
_WORDS = {
    Cause.NONE: TO_THE_END,
    Cause.ERROR: "error of the model",
    Cause.NON_FINITE: "NaN or infinite",
    Cause.OVER_TIME: "out of time",
    Cause.NO_FORCES: "no force acted",
}


class RunProgress(NamedTuple):
    """How far a run got; of several replicas, the one that ended first.

    Args:
        name: of its system.
        share: of the whole run, 0 to 1.
        ended_ps: the time until which it was sound [ps].
        cause: NONE if it was sound to its end.
        has_backbone: whether `backbone_maps` of the kind has any of it.
    """

    name: str
    share: float
    ended_ps: float
    cause: Cause
    has_backbone: bool = False


@dataclass(frozen=True)
class ProgressOfRuns:
    """The runs of a kind.

    Args:
        runs: of the stored items of a task with these parameters.
        words: for causes that mean something of their own in these runs.
    """

    runs: Callable[[Items, Any], Sequence[RunProgress]] = field(repr=False)
    words: Mapping[Cause, str] = field(default_factory=dict)

    def word(self, cause: Cause) -> str:
        """How a run of this cause ended, for readers: one of a closed list."""
        return self.words.get(cause) or _WORDS.get(cause) or cause.word
