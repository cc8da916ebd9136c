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
    """The term at the end of `names`, benchmark first, in the overall score."""
    found = mlipaudit_score(table, FACTS, variant).overall
    category = found.part(FACTS.benchmarks[names[0]].category)
    assert category is not None
    for name in names:
        category = category.part(name)
        assert category is not None
    return category


def value(table: Table, variant: Variant, *names: str) -> float:
    found = term(table, variant, *names).value
    assert found is not None
    return found


def raw(table: Table, variant: Variant, *names: str) -> RawMetric:
    found = term(table, variant, *names).raw
    assert found is not None
    return found


def rmsds(*values: float | None, n_failed: int = 0) -> Table:
    return {"reference_geometry_stability": {"rmsd": Measured(values, "Å", n_failed)}}


def proteins(rmsd: list[list[float] | None], tm_score: list[list[float] | None]) -> Table:
    return {"folding_stability": {"rmsd": Measured(rmsd, "Å"), "tm_score": Measured(tm_score, "1")}}
