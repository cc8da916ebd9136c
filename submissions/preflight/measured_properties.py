"""Compares a model card with the preflight: number of parameters, conservative forces, elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ase import Atoms

from submissions.records import Check, ModelCard, PreflightReport

FORCES = "forces = −∇E"
ROUNDING = 0.05  # a card may say 4.7 million


class ElementCoverage(NamedTuple):
    """Chemical symbols, in the order of their atomic numbers.

    Args:
        answered: elements of the public structures that got an answer.
        unanswered: the other elements of the public structures.
    """

    answered: tuple[str, ...]
    unanswered: tuple[str, ...]


def elements_of(answered: Iterable[Atoms], failed: Iterable[Atoms]) -> ElementCoverage:
    """The elements of structures that got an answer, and the other elements of those that did not."""
    known, others = _numbers(answered), _numbers(failed)
    unanswered = {symbol: number for symbol, number in others.items() if symbol not in known}
    return ElementCoverage(_in_order(known), _in_order(unanswered))


def force_checks(report: PreflightReport) -> tuple[Check, ...]:
    """The checks of forces against the gradient of the energy."""
    return tuple(check for check in report.checks if check.name.startswith(FORCES))


def measured_conservative(report: PreflightReport) -> bool | None:
    """True if forces were the gradient of the energy in all checks; None if that was not checked."""
    passed = [check.passed for check in force_checks(report) if check.passed is not None]
    return all(passed) if passed else None


def measured_elements(report: PreflightReport) -> ElementCoverage | None:
    """The elements of the public structures, by whether they got an answer; None if that was not recorded."""
    if report.answered_elements is None:
        return None
    return ElementCoverage(report.answered_elements, report.unanswered_elements or ())


def parameters_differ(card: ModelCard, report: PreflightReport) -> bool:
    """True if the stated number of parameters differs from the counted one by more than rounding."""
    if card.n_parameters is None or report.n_parameters is None:
        return False
    return abs(card.n_parameters - report.n_parameters) > ROUNDING * report.n_parameters


def element_differences(card: ModelCard, measured: ElementCoverage) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Elements answered but not stated, and elements stated but not answered; none if the card states none."""
    if not card.elements:
        return (), ()
    extra = tuple(symbol for symbol in measured.answered if symbol not in card.elements)
    return extra, tuple(symbol for symbol in measured.unanswered if symbol in card.elements)


def contradictions(card: ModelCard, report: PreflightReport) -> tuple[str, ...]:
    """A sentence for each statement of the card that the preflight contradicts."""
    sentences = []
    if parameters_differ(card, report):
        sentences.append(
            f"The card states {card.n_parameters:,} parameters; counted, they are {report.n_parameters:,}."
        )
    measured = measured_conservative(report)
    if None not in (measured, card.conservative) and measured != card.conservative:
        stated, seen = ("are", "differ from it") if card.conservative else ("are not", "agree with it")
        sentences.append(f"The card states that forces {stated} the gradient of the energy; measured, they {seen}.")
    elements = measured_elements(report)
    if elements:
        extra, lacking = element_differences(card, elements)
        if extra:
            sentences.append(f"The card does not list {' '.join(extra)}, and structures with it were answered.")
        if lacking:
            sentences.append(f"The card lists {' '.join(lacking)}, and no structure with it was answered.")
    return tuple(sentences)


def _numbers(structures: Iterable[Atoms]) -> dict[str, int]:
    """The atomic number of each element in the structures, by symbol."""
    return {s: int(z) for atoms in structures for s, z in zip(atoms.symbols, atoms.numbers, strict=True)}


def _in_order(numbers: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(numbers, key=numbers.__getitem__))
