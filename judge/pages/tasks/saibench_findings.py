"""What SAIBench found (arXiv:2308.05999), beside what the trainings of one model found: pure functions.

SAIBench states most findings in words. Each finding here says which numbers are compared. A finding is not measured if
the task lacks one of the trainings that it is about, if a training left no model with any seed, or if two numbers that
must be told apart are equal in the digits that are public.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from judge.disclosure.public_learning import PublicTraining
from judge.figures.learning import LearnedModel, error_of, milli
from judge.figures.time_windows import errors_by_window, similarity_by_window
from judge.figures.unseen_molecules import members_of, short_names_of
from judge.view.formatting import number
from tasks.kinds.cross_molecule import CrossMolecule
from tasks.kinds.learned_models import ENERGY, FORCE, LEARNED
from tasks.kinds.sample_efficiency import SampleEfficiency
from tasks.kinds.time_extrapolation import TimeExtrapolation
from tasks.learning.windows import Window

FEW, MANY = 1000, 15_000  # frames
SMALLEST, SECOND = 200, 400
ENERGY_LIMIT = 4.0  # meV/atom
STRAIGHT = 0.9
"""R² from which points lie on a line."""

EASIEST, HARDEST = ("naphthalene", "toluene"), "malonaldehyde"
BEST_MEMBERS = {"H": "naphthalene", "C": "toluene", "O": "salicylic"}

Errors = Mapping[int, float]
"""By number of frames [meV/Å or meV/atom]."""


class Agreement(StrEnum):
    """Whether a finding is found again."""

    AGREES = "agrees"
    DIFFERS = "does not agree"
    UNKNOWN = "not measured"


class PaperFinding(NamedTuple):
    """A finding of SAIBench beside ours.

    Args:
        paper: what it says.
        meaning: which numbers are compared.
        ours: the same numbers of one model; empty if they are not known.
    """

    paper: str
    meaning: str
    ours: str
    agreement: Agreement


Answer = tuple[str, bool] | None
"""Our numbers in words, and whether they agree; None if they are not known."""


def findings_of(model: LearnedModel) -> tuple[PaperFinding, ...]:
    """The findings about the kind of the model's task."""
    by_kind: Mapping[str, Callable[[LearnedModel], tuple[PaperFinding, ...]]] = {
        SampleEfficiency.name: sample_findings,
        TimeExtrapolation.name: time_findings,
        CrossMolecule.name: molecule_findings,
    }
    find = by_kind.get(model.line.task.kind)
    return find(model) if find else ()


def _finding(paper: str, meaning: str, answer: Answer) -> PaperFinding:
    if answer is None:
        return PaperFinding(paper, meaning, "", Agreement.UNKNOWN)
    return PaperFinding(paper, meaning, answer[0], Agreement.AGREES if answer[1] else Agreement.DIFFERS)


def sample_findings(model: LearnedModel) -> tuple[PaperFinding, ...]:
    """Those about learning curves."""
    force, energy = (
        {t.training.n_frames: v for t in model.trainings if (v := _mean(t, stem)) is not None}
        for stem in (FORCE, ENERGY)
    )
    return (
        _finding(
            "Energies are below 4 meV/atom from 200 frames on.",
            "Energy MAE at n = 200 below 4 meV/atom.",
            small_energy(energy),
        ),
        _finding(
            "Errors fall in proportion up to 1,000 frames.",
            "Force MAE over n on logarithmic axes, up to n = 1,000: a line (R² at least 0.9) that falls.",
            falls_in_proportion(force),
        ),
        _finding(
            "From 1,000 to 15,000 frames less is gained than from 200 to 400.",
            "Fall of the force MAE from n = 1,000 to 15,000 smaller than from 200 to 400.",
            late_gain(force),
        ),
        _finding(
            "Force errors are lowest on hydrogen.",
            "Force MAE by element, mean over all trainings: lowest for H.",
            lowest_on_hydrogen(_by_element(model)),
        ),
    )


def small_energy(energy: Errors) -> Answer:
    """Whether the energy error [meV/atom] is below SAIBench's at the smallest number of frames."""
    value = energy.get(SMALLEST)
    return None if value is None else (f"{number(value)} meV/atom", value < ENERGY_LIMIT)


def falls_in_proportion(force: Errors) -> Answer:
    """Whether log error over log n is a falling line up to `FEW` frames; at least three points are needed."""
    few = {n: error for n, error in force.items() if n <= FEW and error > 0}
    if len(few) < 3 or max(few) < FEW:
        return None
    x, y = np.log10(list(few)), np.log10(list(few.values()))
    slope, offset = np.polyfit(x, y, 1)
    rest, spread = float(((y - slope * x - offset) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    straight = 1 - rest / spread if spread > 0 else 0.0
    words = f"slope {number(float(slope), 2)}, R² {number(straight, 2)}"
    return words, bool(slope < 0) and straight >= STRAIGHT


def late_gain(force: Errors) -> Answer:
    """Whether the error [meV/Å] falls less from `FEW` to `MANY` frames than from the smallest number to the second."""
    wanted = [force.get(n) for n in (FEW, MANY, SMALLEST, SECOND)]
    known = [value for value in wanted if value is not None]
    if len(known) < len(wanted):
        return None
    late, early = known[0] - known[1], known[2] - known[3]
    if late == early:
        return None
    return f"{number(late)} against {number(early)} meV/Å", late < early


def lowest_on_hydrogen(by_element: Mapping[str, float]) -> Answer:
    """Whether hydrogen has the lowest error [meV/Å]."""
    lowest = min(by_element.values(), default=0.0)
    if "H" not in by_element or len(by_element) < 2 or _tied(by_element, lowest):
        return None
    words = ", ".join(f"{symbol} {number(value)}" for symbol, value in by_element.items())
    return f"{words} meV/Å", min(by_element, key=lambda symbol: by_element[symbol]) == "H"


def time_findings(model: LearnedModel) -> tuple[PaperFinding, ...]:
    """Those about stretches of time."""
    few, many = (_known(errors_by_window(model, size)) for size in (FEW, MANY))
    similarity = list(similarity_by_window(model).values())
    best, worst = "The stretch with the lowest force MAE.", "The stretch with the highest force MAE, for both."
    return (
        _finding("With 1,000 frames the latest stretch is best, 60–90 %.", best, extreme(few, Window(60, 90), min)),
        _finding("With 15,000 frames the whole is best, 0–90 %.", best, extreme(many, Window(0, 90), min)),
        _finding("The earliest stretch is worst, 0–30 %.", worst, worst_of_both(few, many)),
        _finding(
            "From one start, longer stretches are better, except from 15 % on with 1,000 frames.",
            "Pairs of stretches with one start and the next length: the longer one has the lower force MAE.",
            longer_is_better(few, many),
        ),
        _finding(
            "The similarity to the last tenth does not rise steadily with time.",
            "Mean cosine of SOAP vectors of the shortest stretches, in the order of time.",
            not_steady(similarity),
        ),
    )


def extreme(errors: Mapping[Window, float], expected: Window, which: Callable[..., Window]) -> Answer:
    """Whether `expected` has the lowest or the highest error [meV/Å]."""
    if expected not in errors or len(errors) < 2:
        return None
    chosen = which(errors, key=lambda window: errors[window])
    if _tied(errors, errors[chosen]):
        return None
    words = f"{chosen.label} with {number(errors[chosen])} meV/Å"
    if chosen != expected:
        words += f"; {expected.label} has {number(errors[expected])}"
    return words, chosen == expected


def worst_of_both(few: Mapping[Window, float], many: Mapping[Window, float]) -> Answer:
    """Whether the earliest stretch is the worst for both numbers of frames."""
    answers = [extreme(errors, Window(0, 30), max) for errors in (few, many)]
    known = [answer for answer in answers if answer is not None]
    if len(known) < len(answers):
        return None
    return ". With 15,000 frames: ".join(words for words, _ in known), all(agrees for _, agrees in known)


def longer_is_better(few: Mapping[Window, float], many: Mapping[Window, float]) -> Answer:
    """Whether the longer of two stretches with one start is better, but for start 15 % with `FEW` frames."""
    if not few or not many:
        return None
    pairs = [(size, a, b, errors) for size, errors in ((FEW, few), (MANY, many)) for a, b in _neighbours(errors)]
    expected = [each for each in pairs if (each[0], each[1].start) != (FEW, 15)]
    excepted = [each for each in pairs if (each[0], each[1].start) == (FEW, 15)]
    if not expected or not excepted or any(errors[a] == errors[b] for _, a, b, errors in pairs):
        return None
    better = sum(errors[b] < errors[a] for _, a, b, errors in expected)
    broken = any(errors[b] >= errors[a] for _, a, b, errors in excepted)
    exception = "the exception is found" if broken else "the exception is not found"
    return f"{better} of {len(expected)} pairs; {exception}", better == len(expected) and broken


def not_steady(similarity: Sequence[float]) -> Answer:
    """Whether the similarity falls anywhere."""
    if len(similarity) < 3:
        return None
    falls = any(later < earlier for earlier, later in pairwise(similarity))
    if not falls and len({*similarity}) < len(similarity):
        return None
    return ", ".join(number(value, 4) for value in similarity), falls


def molecule_findings(model: LearnedModel) -> tuple[PaperFinding, ...]:
    """Those about unseen molecules."""
    groups = {short: group for group, short in short_names_of(model).items()}
    by_molecule = _by_molecule(model.trainings)
    hard = _finding(
        "Toluene and naphthalene are the easiest unseen molecules, malonaldehyde is the hardest.",
        "Force MAE on each unseen molecule, mean over the sets that were learned from.",
        easiest_and_hardest(by_molecule),
    )
    words = {"H": "hydrogen", "C": "carbon", "O": "oxygen"}
    names = {"naphthalene": "naphthalene", "toluene": "toluene", "salicylic": "salicylic acid"}
    members = (
        _finding(
            f"For {words[symbol]}, {names[group]} in the set helps most.",
            f"Force MAE on {symbol} / its mean on the same unseen molecule, mean over sets with a member: lowest.",
            best_member(by_member(model.trainings, groups, symbol), group),
        )
        for symbol, group in BEST_MEMBERS.items()
    )
    return (hard, *members)


def easiest_and_hardest(by_molecule: Mapping[str, float]) -> Answer:
    """Whether SAIBench's two molecules have the lowest errors [meV/Å], and its third one the highest."""
    if not {*EASIEST, HARDEST} <= by_molecule.keys():
        return None
    order = sorted(by_molecule, key=lambda group: by_molecule[group])
    if by_molecule[order[1]] == by_molecule[order[2]] or _tied(by_molecule, by_molecule[order[-1]]):
        return None
    words = ", ".join(f"{group} {number(by_molecule[group])}" for group in order)
    return f"{words} meV/Å", set(order[:2]) == set(EASIEST) and order[-1] == HARDEST


def best_member(relative: Mapping[str, float], expected: str) -> Answer:
    """Whether `expected` is the member with the lowest relative error."""
    if expected not in relative or len(relative) < 2:
        return None
    best = min(relative, key=lambda group: relative[group])
    if _tied(relative, relative[best]):
        return None
    words = f"{best} with {number(relative[best], 2)}"
    if best != expected:
        words += f"; {expected} has {number(relative[expected], 2)}"
    return words, best == expected


def by_member(trainings: Sequence[PublicTraining], groups: Mapping[str, str], symbol: str) -> dict[str, float]:
    """By member of the sets, the mean relative error on atoms of an element over the sets that have the member.

    An error is relative to the mean error on the same unseen molecule over all sets, since molecules differ more than
    sets do.

    Args:
        groups: of the molecules, by short name.
    """
    errors = {
        (members_of(each), each.molecule): value
        for each in trainings
        if (value := _mean(each, FORCE, symbol)) is not None
    }
    of_molecule: dict[str, list[float]] = defaultdict(list)
    for (_, molecule), error in errors.items():
        of_molecule[molecule].append(error)
    relative: dict[str, list[float]] = defaultdict(list)
    for (members, molecule), error in errors.items():
        mean = _average(of_molecule[molecule])
        if mean > 0 and len(of_molecule[molecule]) > 1:
            for short in members:
                relative[groups.get(short, short)].append(error / mean)
    return {group: _average(values) for group, values in relative.items()}


def _by_molecule(trainings: Sequence[PublicTraining]) -> dict[str, float]:
    errors: dict[str, list[float]] = defaultdict(list)
    for each in trainings:
        value = _mean(each, FORCE)
        if value is not None:
            errors[each.molecule].append(value)
    return {molecule: _average(values) for molecule, values in errors.items()}


def _by_element(model: LearnedModel) -> dict[str, float]:
    """The force error [meV/Å] by element over all trainings."""
    parts = model.line.result.parts if model.line.result else ()
    values = {part.name: milli(part.value) for part in parts if (part.by, part.metric) == ("element", LEARNED[FORCE])}
    return {symbol: value for symbol, value in values.items() if value is not None}


def _known(errors: Mapping[Window, float | None]) -> dict[Window, float]:
    """The errors [meV/Å]; empty if one of them is not known, since then none can be called the best."""
    found = {window: value for window, error in errors.items() if (value := milli(error)) is not None}
    return found if len(found) == len(errors) else {}


def _neighbours(errors: Mapping[Window, float]) -> list[tuple[Window, Window]]:
    """Stretches with one start and the next length."""
    return [(a, b) for a, b in pairwise(sorted(errors)) if a.start == b.start]


def _mean(training: PublicTraining, stem: str, symbol: str = "") -> float | None:
    error = error_of(training, stem, symbol)
    value = milli(error.mean) if error else None
    return value if value is not None and math.isfinite(value) else None


def _tied(values: Mapping[Any, float], value: float) -> bool:
    """Whether more than one of the values is this one."""
    return sum(each == value for each in values.values()) > 1


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values)
