"""Tables of measured values, and the terms of their MLIPAudit scores."""

from __future__ import annotations

from scoring.mlipaudit import (
    Measured,
    load_mlipaudit,
    mlipaudit_score,
)
from scoring.names import Variant
from scoring.term import Term
from scoring.tree import RawMetric

FACTS = load_mlipaudit()
PUBLISHED, CORRECTED = Variant.AS_PUBLISHED, Variant.CORRECTED

Table = dict[str, dict[str, Measured]]


def term(table: Table, variant: Variant, *names: str) -> Term:
    """The term below the overall score at the path `names`, which begins with the benchmark."""
    overall = mlipaudit_score(table, FACTS, variant).overall
    part = overall.part(FACTS.benchmarks[names[0]].category)
    assert part is not None
    for name in names:
        part = part.part(name)
        assert part is not None
    return part


def value(table: Table, variant: Variant, *names: str) -> float:
    number = term(table, variant, *names).value
    assert number is not None
    return number


def raw(table: Table, variant: Variant, *names: str) -> RawMetric:
    metric = term(table, variant, *names).raw
    assert metric is not None
    return metric


def rmsds(*values: float | None, n_failed: int = 0) -> Table:
    return {"reference_geometry_stability": {"rmsd": Measured(values, "Å", n_failed)}}


def proteins(rmsd: list[list[float] | None], tm_score: list[list[float] | None]) -> Table:
    return {"folding_stability": {"rmsd": Measured(rmsd, "Å"), "tm_score": Measured(tm_score, "1")}}
