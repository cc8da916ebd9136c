"""What an author states of a model beside what the judge measured of it, as a reader sees both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from judge.ranking.leaderboard import TaskLine
from judge.view.formatting import count, thousands
from submissions.preflight.measured_properties import (
    element_differences,
    measured_conservative,
    measured_elements,
    parameters_differ,
)
from submissions.records import ModelCard, PreflightReport, StatedLabelSet

NOT_STATED, NOT_MEASURED = "not stated", "not measured"
_FORCES = {True: "the gradient of the energy", False: "predicted directly", None: NOT_STATED}
_FORCES_SEEN = {
    True: "agree with the gradient of the energy",
    False: "differ from the gradient of the energy",
    None: NOT_MEASURED,
}
_DISPERSION = {True: "in the energies", False: "not in the energies", None: NOT_STATED}
_WITH = {True: ", dispersion included", False: ", without dispersion", None: ""}


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
    """The fields of a card, each as stated and as measured in the preflight."""
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
    return (
        parameters,
        forces,
        _elements(card, report),
        CardLine("Precision", card.precision or NOT_STATED, NOT_MEASURED),
        CardLine("Dispersion", _DISPERSION[card.dispersion], NOT_MEASURED),
        _awareness("Charge", "charge awareness", report),
        _awareness("Spin", "spin awareness", report),
    )


def judged_lines(card: ModelCard, tasks: Sequence[TaskLine]) -> tuple[CardLine, ...]:
    """The fields that a judging says more of: by domain the labels it was held against, and what it ran on."""
    stated = {str(domain): labels for domain, labels in card.label_sets.items()}
    domains = dict.fromkeys((*(line.task.model_domain for line in tasks), *stated))
    lines = [CardLine(f"Level of theory, {of}", _labels(stated.get(of)), _held_against(of, tasks)) for of in domains]
    return (*lines, CardLine("Hardware", card.hardware or NOT_STATED, _ran_on(tasks)))


def _elements(card: ModelCard, report: PreflightReport) -> CardLine:
    stated = " ".join(card.elements) or NOT_STATED
    measured = measured_elements(report)
    if measured is None:
        return CardLine("Elements", stated, NOT_MEASURED)
    words = f"answered {' '.join(measured.answered)}"
    if measured.unanswered:
        words += f"; no answer with {' '.join(measured.unanswered)}"
    return CardLine("Elements", stated, words, differ=any(element_differences(card, measured)))


def _awareness(name: str, check: str, report: PreflightReport) -> CardLine:
    """A card has no field for it: what the answer for O₂ did when it was asked in other states."""
    return CardLine(name, NOT_STATED, next((c.value for c in report.checks if c.name == check), NOT_MEASURED))


def _labels(stated: StatedLabelSet | None) -> str:
    return NOT_STATED if stated is None else f"{stated.name}{_WITH[stated.dispersion]}"


def _held_against(domain: str, tasks: Sequence[TaskLine]) -> str:
    """`judged against PBE in 3 tasks, RPBE in 1 task`."""
    results = [line.result for line in tasks if line.task.model_domain == domain and line.result is not None]
    sets = Counter(result.label_set for result in results if result.label_set)
    found = ", ".join(f"{name} in {count(n, 'task')}" for name, n in sorted(sets.items()))
    return f"judged against {found}" if found else "not judged against labels"


def _ran_on(tasks: Sequence[TaskLine]) -> str:
    """`timed on GPU NVIDIA H100 80GB HBM3`, and where else it ran."""
    results = [(line.task.traits.times, line.result) for line in tasks if line.result is not None]
    classes: dict[str, set[bool]] = {}
    for times, result in results:
        classes.setdefault(result.provenance.origin.hardware or "unnamed hardware", set()).add(times)
    said = [f"{'timed' if True in timed else 'ran'} on {name}" for name, timed in sorted(classes.items())]
    return "; ".join(said) or "not judged yet"
