"""Decides whether dispersion is added to a model's answers: only if the labels have it and the card says that the
model has not.
"""

from __future__ import annotations

from typing import NamedTuple

from submissions.records import StatedLabelSet
from tasks.datasets.card import D3, LabelSet


class Correction(NamedTuple):
    """The dispersion that is added to a model's answers.

    Args:
        d3: None if nothing is added.
        note: a sentence for the result; may be empty.
    """

    d3: D3 | None = None
    note: str = ""


NOTHING_ADDED = Correction()


def correction_of(theory: LabelSet | None, declared: StatedLabelSet | None) -> Correction:
    """The dispersion that is added to the answers of a model.

    Args:
        theory: of the labels that the task is measured with; None if there are none, or its kind uses none.
        declared: the statement of the submission's card about its energies in this domain; None if there is none.
    """
    if theory is None:
        return NOTHING_ADDED
    if declared is None or declared.dispersion is None:
        if not theory.dispersion:
            return NOTHING_ADDED
        return Correction(None, "The submission does not say whether its energies have dispersion: none was added.")
    if theory.dispersion == declared.dispersion:
        return NOTHING_ADDED
    if declared.dispersion:
        return Correction(None, "The model's energies have dispersion and the labels have none: it was left as it is.")
    if theory.d3 is None:
        note = "The labels have dispersion and the model has none; the data set states no D3 for them: none was added."
        return Correction(None, note)
    d3 = theory.d3
    return Correction(d3, f"DFT-D3({d3.functional}, {d3.damping}) was added by the judge: the model has no dispersion.")
