"""One number of a task, and one number of a part of its items. Without numpy, so that listing results stays fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

# The note of a result that names its references of equal standing.
EQUAL_REFERENCES = "references of equal standing"
# How far above the uncertainty of the references an error may lie, relative to it: one of two references, rounded as it
# is stored and fitted to energies again, would else lie farther from their mean than itself.
ROUNDING = 1e-3


@dataclass(frozen=True)
class Metric:
    """One number of a task, with its number of items; stored unchanged in `judge.records.records.Result`.

    Args:
        value: over the items that succeeded; None if none did.
        unit: in the field's notation (`meV/atom`), empty for a pure number.
        charged: the penalised value: every error is clipped at `failure_cost`, and a failed item counts
            `failure_cost`. A model never improves it by failing. None if the metric has no such law (a count, a time).
        baseline: the same metric of the trivial model (composition only, or zero); None if there is none.
        failure_cost: of one failed item, in `unit`.
        n_items: the number of items.
        n_failed: the number of failed items.
        reference_uncertainty: the error that a model may have and still be as good as the references: how far those of
            equal standing lie from their mean, or the uncertainty that is stated of them; None: it is not known. It is
            not stored where it is not known: results from before keep their bytes.
    """

    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    charged: float | None = None
    baseline: float | None = None
    failure_cost: float | None = None
    reference_uncertainty: Annotated[float | None, Field(exclude_if=lambda value: value is None)] = None
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @property
    def at_reference_uncertainty(self) -> bool:
        """Whether the model cannot be told from the references, failures penalised."""
        value = self.value if self.charged is None else self.charged
        return value is not None and at_most(value, self.reference_uncertainty)

    @property
    def counted(self) -> float | None:
        """The penalised value as corrected scores count it: no error counts less than the references' own."""
        within = self.charged is not None and at_most(self.charged, self.reference_uncertainty)
        return self.reference_uncertainty if within else self.charged


def at_most(value: float, uncertainty: float | None) -> bool:
    """Whether an error is not above the uncertainty of the references, but for rounding; False if it is not known."""
    return uncertainty is not None and value <= uncertainty * (1 + ROUNDING)


@dataclass(frozen=True)
class MetricPart:
    """A metric over a part of the items: one element, or one group. Stored unchanged, like `Metric`.

    Args:
        by: `element` or `group`; `training`, with all its seeds; `window`, a stretch of time.
        name: of that.
        metric: name of the whole metric.
        value: over the items that succeeded; None if none did.
    """

    by: str
    name: str
    metric: str
    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
