"""What a preflight measured of what a model card states: parameters, whether forces are a gradient, elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ase import Atoms

from submissions.records import Check, ModelCard, PreflightReport

FORCES = "forces = −∇E"
ROUNDED = 0.05  # a card may say 4.7 million


class Elements(NamedTuple):
    """Chemical symbols, each in the order of their atomic numbers.

    Args:
        answered: of the public structures that got an answer.
        unanswered: of the others, as far as no answered structure has them.
    """

    answered: tuple[str, ...]
    unanswered: tuple[str, ...]


def elements_of(answered: Iterable[Atoms], failed: Iterable[Atoms]) -> Elements:
    """The elements of structures that were answered, and of those that were not."""
    known, others = _numbers(answered), _numbers(failed)
    return Elements(_in_order(known), _in_order({s: number for s, number in others.items() if s not in known}))


def force_checks(report: PreflightReport) -> tuple[Check, ...]:
    """The checks of forces against the gradient of the energy."""
    return tuple(check for check in report.checks if check.name.startswith(FORCES))


def measured_conservative(report: PreflightReport) -> bool | None:
    """Whether forces were the gradient of the energy wherever that was looked at; None where it was not."""
    found = [check.passed for check in force_checks(report) if check.passed is not None]
    return all(found) if found else None


def measured_elements(report: PreflightReport) -> Elements | None:
    """The elements of the public structures, by whether they were answered; None where that is not recorded."""
    if report.answered_elements is None:
        return None
    return Elements(report.answered_elements, report.unanswered_elements or ())


def parameters_differ(card: ModelCard, report: PreflightReport) -> bool:
    """Whether the stated number of parameters is not even a rounded form of the one that was counted."""
    if card.n_parameters is None or report.n_parameters is None:
        return False
    return abs(card.n_parameters - report.n_parameters) > ROUNDED * report.n_parameters


def element_differences(card: ModelCard, measured: Elements) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Elements answered and not stated, and those stated and not answered; none where the card states none."""
    if not card.elements:
        return (), ()
    extra = tuple(symbol for symbol in measured.answered if symbol not in card.elements)
    return extra, tuple(symbol for symbol in measured.unanswered if symbol in card.elements)


def contradictions(card: ModelCard, report: PreflightReport) -> tuple[str, ...]:
    """A sentence for each statement of the card that the preflight measured otherwise."""
    found = []
    if parameters_differ(card, report):
        found.append(f"The card states {card.n_parameters:,} parameters; counted, they are {report.n_parameters:,}.")
    measured = measured_conservative(report)
    if None not in (measured, card.conservative) and measured != card.conservative:
        stated, seen = ("are", "differ from it") if card.conservative else ("are not", "agree with it")
        found.append(f"The card states that forces {stated} the gradient of the energy; measured, they {seen}.")
    elements = measured_elements(report)
    if elements:
        extra, lacking = element_differences(card, elements)
        if extra:
            found.append(f"The card does not list {' '.join(extra)}, and structures with it were answered.")
        if lacking:
            found.append(f"The card lists {' '.join(lacking)}, and no structure with it was answered.")
    return tuple(found)


def _numbers(structures: Iterable[Atoms]) -> dict[str, int]:
    """Of each element in them, its atomic number."""
    return {s: int(z) for atoms in structures for s, z in zip(atoms.symbols, atoms.numbers, strict=True)}


def _in_order(numbers: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(numbers, key=numbers.__getitem__))
