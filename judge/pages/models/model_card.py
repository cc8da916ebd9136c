"""The fields of a model card, as the author states them and as the judge measured them."""

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
PRECISION = "single_precision"  # metric of physicality
_FORCES = {True: "the gradient of the energy", False: "predicted directly", None: NOT_STATED}
_FORCES_MEASURED = {
    True: "agree with the gradient of the energy",
    False: "differ from the gradient of the energy",
    None: NOT_MEASURED,
}
_DISPERSION = {True: "in the energies", False: "not in the energies", None: NOT_STATED}
_WITH = {True: ", dispersion included", False: ", without dispersion", None: ""}


class CardLine(NamedTuple):
    """One field of a card.

    Args:
        differ: whether the statement contradicts the measurement.
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
    measured = measured_conservative(report)
    forces = CardLine(
        "Forces",
        _FORCES[card.conservative],
        _FORCES_MEASURED[measured],
        differ=None not in (measured, card.conservative) and measured != card.conservative,
    )
    return (
        parameters,
        forces,
        _elements(card, report),
        CardLine("Dispersion", _DISPERSION[card.dispersion], NOT_MEASURED),
        _awareness("Charge", "charge awareness", report),
        _awareness("Spin", "spin awareness", report),
    )


def judged_lines(card: ModelCard, tasks: Sequence[TaskLine]) -> tuple[CardLine, ...]:
    """The fields that only the evaluation can measure: precision, the level of theory in each domain, the hardware."""
    stated = {str(domain): labels for domain, labels in card.label_sets.items()}
    domains = dict.fromkeys((*(line.task.model_domain for line in tasks), *stated))
    lines = [
        CardLine(f"Level of theory, {domain}", _labels(stated.get(domain)), _label_sets_of(domain, tasks))
        for domain in domains
    ]
    return (_precision(card, tasks), *lines, CardLine("Hardware", card.hardware or NOT_STATED, _ran_on(tasks)))


def _elements(card: ModelCard, report: PreflightReport) -> CardLine:
    stated = " ".join(card.elements) or NOT_STATED
    measured = measured_elements(report)
    if measured is None:
        return CardLine("Elements", stated, NOT_MEASURED)
    words = f"answered {' '.join(measured.answered)}"
    if measured.unanswered:
        words += f"; no answer with {' '.join(measured.unanswered)}"
    return CardLine("Elements", stated, words, differ=any(element_differences(card, measured)))


def _precision(card: ModelCard, tasks: Sequence[TaskLine]) -> CardLine:
    """A model that states double precision, and answers all structures in single precision, differs."""
    stated = card.precision or NOT_STATED
    found = [line.result.metrics.get(PRECISION) for line in tasks if line.result is not None]
    shares = [metric.value for metric in found if metric is not None and metric.value is not None]
    if not shares:
        return CardLine("Precision", stated, NOT_MEASURED)
    share = max(shares)
    measured = {1.0: "all answers in single precision", 0.0: "answers finer than single precision"}
    words = measured.get(share, f"{100.0 * share:.0f} % of the answers in single precision")
    return CardLine("Precision", stated, words, differ=card.precision == "float64" and share == 1.0)


def _awareness(name: str, check: str, report: PreflightReport) -> CardLine:
    """A card has no field for this: whether the energy of O₂ depends on its charge or spin in the preflight."""
    return CardLine(name, NOT_STATED, next((c.value for c in report.checks if c.name == check), NOT_MEASURED))


def _labels(stated: StatedLabelSet | None) -> str:
    return NOT_STATED if stated is None else f"{stated.name}{_WITH[stated.dispersion]}"


def _label_sets_of(domain: str, tasks: Sequence[TaskLine]) -> str:
    """`judged against PBE in 3 tasks, RPBE in 1 task`."""
    labelled = [line for line in tasks if line.task.model_domain == domain and line.task.traits.labelled]
    sets = Counter(line.result.label_set for line in labelled if line.result is not None and line.result.label_set)
    names = ", ".join(f"{name} in {count(n, 'task')}" for name, n in sorted(sets.items()))
    return f"judged against {names}" if names else "not judged against labels"


def _ran_on(tasks: Sequence[TaskLine]) -> str:
    """`timed on GPU NVIDIA H100 80GB HBM3`, and the other hardware classes."""
    timed_by_class: dict[str, bool] = {}
    for line in tasks:
        if line.result is not None:
            name = line.result.provenance.origin.hardware or "unnamed hardware"
            timed_by_class[name] = timed_by_class.get(name, False) or line.task.traits.times
    clauses = [f"{'timed' if timed else 'ran'} on {name}" for name, timed in sorted(timed_by_class.items())]
    return "; ".join(clauses) or "not judged yet"
