"""Facts of a model that stand beside its scores: size, training data, licence, level of theory and date."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from judge.ranking.leaderboard import Row
from judge.view.escaping import words
from judge.view.formatting import NONE, parameters


class FactColumn(NamedTuple):
    """A column of facts; `key` is that of js/columns.js."""

    key: str
    label: str


FACT_COLUMNS = (
    FactColumn("parameters", "Parameters"),
    FactColumn("training", "Training data"),
    FactColumn("license", "Licence"),
    FactColumn("level", "Level of theory"),
    FactColumn("submitted", "Submitted"),
)


def facts_of(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of `FACT_COLUMNS`; a dash if the author does not state it.

    A number of parameters that the judge counted is preferred to a stated one.
    """
    submission, card = row.submission, row.submission.card
    counted = submission.preflight.n_parameters
    levels = dict.fromkeys(labels.name for labels in card.label_sets.values())
    return (
        parameters(card.n_parameters if counted is None else counted),
        ", ".join(training.name for training in card.training) or NONE,
        card.license or NONE,
        ", ".join(levels) or NONE,
        f"{submission.created:%Y-%m-%d}",
    )


def fact_cells(row: Row) -> Markup:
    """The facts as cells of the ranking."""
    cells = (
        f'<td role="cell" class="fact" data-label="{column.label}"><bdi class="number">{words(text)}</bdi></td>'
        for column, text in zip(FACT_COLUMNS, facts_of(row), strict=True)
    )
    return Markup("".join(cells))


def no_fact_cells() -> Markup:
    """The cells of a row that is not a submission."""
    return Markup("".join(f'<td role="cell" class="fact"><bdi class="number">{NONE}</bdi></td>' for _ in FACT_COLUMNS))
