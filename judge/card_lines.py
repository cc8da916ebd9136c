"""What an author states of a model beside what the preflight measured of it, as a reader sees both."""

from __future__ import annotations

from typing import NamedTuple

from judge.present import thousands
from submissions.records import ModelCard, PreflightReport
from submissions.stated import element_differences, measured_conservative, measured_elements, parameters_differ

NOT_STATED, NOT_MEASURED = "not stated", "not measured"
_FORCES = {True: "the gradient of the energy", False: "predicted directly", None: NOT_STATED}
_FORCES_SEEN = {
    True: "agree with the gradient of the energy",
    False: "differ from the gradient of the energy",
    None: NOT_MEASURED,
}


class CardLine(NamedTuple):
    """One field.

    Args:
        differ: whether what is stated and what was measured cannot both be so.
    """

    name: str
    stated: str
    measured: str
    differ: bool = False


def card_lines(card: ModelCard, report: PreflightReport) -> tuple[CardLine, ...]:
    """The fields of which something can be measured, each as stated and as measured."""
    parameters = CardLine(
        "Parameters",
        NOT_STATED if card.n_parameters is None else thousands(card.n_parameters),
        NOT_MEASURED if report.n_parameters is None else f"{thousands(report.n_parameters)}, counted in the model",
        differ=parameters_differ(card, report),
    )
    seen = measured_conservative(report)
    forces = CardLine(
        "Forces",
        _FORCES[card.conservative],
        _FORCES_SEEN[seen],
        differ=None not in (seen, card.conservative) and seen != card.conservative,
    )
    return parameters, forces, _elements(card, report)


def _elements(card: ModelCard, report: PreflightReport) -> CardLine:
    stated = " ".join(card.elements) or NOT_STATED
    measured = measured_elements(report)
    if measured is None:
        return CardLine("Elements", stated, NOT_MEASURED)
    words = f"answered {' '.join(measured.answered)}"
    if measured.unanswered:
        words += f"; no answer with {' '.join(measured.unanswered)}"
    return CardLine("Elements", stated, words, differ=any(element_differences(card, measured)))
