"""SAIBench's findings beside ours: each by hand, found again, not found again, and not measured."""

from __future__ import annotations

import pytest

from judge.disclosure.public_learning import PublicTraining, SeedErrors
from judge.pages.tasks.saibench_findings import (
    Agreement,
    best_member,
    by_member,
    easiest_and_hardest,
    extreme,
    falls_in_proportion,
    late_gain,
    longer_is_better,
    lowest_on_hydrogen,
    not_steady,
    small_energy,
    worst_of_both,
)
from tasks.kinds.cross_molecule import MOLECULES, CrossMolecule, CrossMoleculeParameters
from tasks.learning.windows import Window

WHOLE, EARLY, LATE = Window(0, 90), Window(0, 30), Window(60, 90)


def test_the_energy_with_few_frames() -> None:
    assert small_energy({200: 3.9, 400: 9.0}) == ("3.90 meV/atom", True)
    assert small_energy({200: 4.0}) == ("4.00 meV/atom", False)
    assert small_energy({400: 1.0}) is None


def test_a_power_law_is_a_falling_line() -> None:
    line = {n: 1000 * n**-0.5 for n in (200, 400, 1000)}
    assert falls_in_proportion(line) == ("slope −0.50, R² 1.0", True)
    assert falls_in_proportion({**line, 15_000: 500.0}) == falls_in_proportion(line)  # only up to 1,000
    rising = falls_in_proportion({n: n**0.5 for n in (200, 400, 1000)})
    assert rising is not None
    assert not rising[1]
    zigzag = falls_in_proportion({200: 10.0, 400: 1.0, 600: 10.0, 1000: 1.0})
    assert zigzag is not None
    assert not zigzag[1]
    assert falls_in_proportion({200: 3.0, 1000: 1.0}) is None
    assert falls_in_proportion({200: 3.0, 400: 2.0, 600: 1.0}) is None  # not up to 1,000


def test_late_frames_gain_less() -> None:
    errors = {200: 60.0, 400: 40.0, 1000: 20.0, 15_000: 10.0}
    assert late_gain(errors) == ("10.0 against 20.0 meV/Å", True)
    assert late_gain({**errors, 15_000: -5.0}) == ("25.0 against 20.0 meV/Å", False)
    assert late_gain({**errors, 15_000: 0.0}) is None  # equal in the digits shown
    assert late_gain({n: errors[n] for n in (200, 400, 1000)}) is None


def test_hydrogen_is_lowest() -> None:
    assert lowest_on_hydrogen({"C": 30.0, "H": 12.0, "O": 25.0}) == ("C 30.0, H 12.0, O 25.0 meV/Å", True)
    found = lowest_on_hydrogen({"C": 3.0, "H": 12.0})
    assert found is not None
    assert not found[1]
    assert lowest_on_hydrogen({"C": 3.0}) is None
    assert lowest_on_hydrogen({"C": 3.0, "H": 3.0}) is None


def test_the_best_and_the_worst_stretch() -> None:
    errors = {EARLY: 50.0, WHOLE: 20.0, LATE: 10.0}
    assert extreme(errors, LATE, min) == ("60–90 % with 10.0 meV/Å", True)
    assert extreme(errors, WHOLE, min) == ("60–90 % with 10.0 meV/Å; 0–90 % has 20.0", False)
    assert extreme({EARLY: 50.0, LATE: 10.0}, WHOLE, min) is None
    assert extreme({**errors, WHOLE: 10.0}, LATE, min) is None  # which of the two is not known
    assert worst_of_both(errors, errors) == (
        "0–30 % with 50.0 meV/Å. With 15,000 frames: 0–30 % with 50.0 meV/Å",
        True,
    )
    assert worst_of_both(errors, {}) is None
    other = worst_of_both(errors, {EARLY: 1.0, WHOLE: 2.0})
    assert other is not None
    assert not other[1]


def test_longer_stretches_are_better_with_one_exception() -> None:
    few = {Window(0, 30): 9.0, Window(0, 45): 8.0, Window(15, 45): 6.0, Window(15, 60): 7.0}
    many = {Window(0, 30): 5.0, Window(0, 45): 4.0, Window(15, 45): 3.0, Window(15, 60): 2.0}
    assert longer_is_better(few, many) == ("3 of 3 pairs; the exception is found", True)
    regular = {**few, Window(15, 60): 5.0}
    assert longer_is_better(regular, many) == ("3 of 3 pairs; the exception is not found", False)
    assert longer_is_better(few, {**many, Window(0, 45): 6.0}) == ("2 of 3 pairs; the exception is found", False)
    assert longer_is_better(few, {}) is None
    assert longer_is_better(few, {**many, Window(0, 45): 5.0}) is None


def test_the_similarity_is_not_steady() -> None:
    assert not_steady([0.91, 0.95, 0.93]) == ("0.9100, 0.9500, 0.9300", True)
    assert not_steady([0.91, 0.93, 0.95]) == ("0.9100, 0.9300, 0.9500", False)
    assert not_steady([1.0, 1.0, 1.0]) is None  # to two digits nothing can be told
    assert not_steady([0.9, 0.8]) is None


def test_the_easiest_and_the_hardest_molecule() -> None:
    errors = {"toluene": 10.0, "naphthalene": 12.0, "aspirin": 20.0, "malonaldehyde": 40.0}
    assert easiest_and_hardest(errors) == (
        "toluene 10.0, naphthalene 12.0, aspirin 20.0, malonaldehyde 40.0 meV/Å",
        True,
    )
    other = easiest_and_hardest({**errors, "aspirin": 50.0})
    assert other is not None
    assert not other[1]
    assert easiest_and_hardest({**errors, "aspirin": 12.0}) is None
    assert easiest_and_hardest({"toluene": 1.0, "malonaldehyde": 2.0}) is None


def of_sets(errors: dict[tuple[str, str], float]) -> list[PublicTraining]:
    """Trainings on sets, by set and unseen molecule with the force error on hydrogen [meV/Å]."""
    parameters = CrossMoleculeParameters(sets=tuple({members: None for members, _ in errors}), seeds=(1,))
    trainings = {each.name.partition("-")[0]: each for each in CrossMolecule().trainings(parameters)}
    return [
        PublicTraining("", trainings[members], MOLECULES[asked].group, {}, {"H": SeedErrors(mev / 1000, None, 1, 0)})
        for (members, asked), mev in errors.items()
    ]


def test_members_are_compared_on_the_same_molecules() -> None:
    """On c the errors are 1/2 and 3/2 of their mean 20; on e both are the mean, though larger."""
    trainings = of_sets({("a", "c"): 10.0, ("b", "c"): 30.0, ("a", "e"): 100.0, ("b", "e"): 100.0})
    groups = {short: molecule.group for short, molecule in MOLECULES.items()}
    relative = by_member(trainings, groups, "H")
    assert relative == pytest.approx({"aspirin": 0.75, "ethanol": 1.25})
    assert best_member(relative, "aspirin") == ("aspirin with 0.75", True)
    assert best_member(relative, "ethanol") == ("aspirin with 0.75; ethanol has 1.2", False)
    assert best_member(relative, "naphthalene") is None
    assert by_member(trainings, groups, "O") == {}
    failed = [replace_error(each) for each in trainings]
    assert by_member(failed, groups, "H") == {}


def replace_error(training: PublicTraining) -> PublicTraining:
    """The same without a model."""
    return training._replace(of_element={"H": SeedErrors(None, None, 1, 1)})


def test_words_of_the_result() -> None:
    assert [each.value for each in Agreement] == ["agrees", "does not agree", "not measured"]
