"""Scores of a synthetic release of five domains."""

from __future__ import annotations

from scoring.lambench.published import TableModel
from tests.scoring.published_tables import FIVE, GENERAL, Json, scored


def model_scores(config: Json = FIVE, table: Json = GENERAL, *, corrected: bool = False) -> TableModel:
    return scored(config, {"general": table}, corrected=corrected)["general"]


def ff_domains(scores: TableModel) -> dict[str, float | None]:
    return {part.name: part.value for part in scores.scores["force_field"].parts}


def pc_domains(scores: TableModel) -> dict[str, float | None]:
    return {part.name: part.value for part in scores.scores["property_error"].parts}
