"""Charge and 2S+1 in `atoms.info`, as the preflight and S22 show them to calculators through the process driver."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from ase import Atoms

from sandbox.driver import Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.remote import RemoteCalculator
from sandbox.wire.session import SessionOutcome, run_session
from submissions.preflight.first_answers import asymmetry_check
from submissions.preflight.preflight import measure_model, measured_report
from submissions.preflight.public_structures import CRYSTALS, SLABS, STATED, in_state, public_structures
from submissions.preflight.states import concerns_state
from submissions.records import PreflightReport
from tests.submissions.s22 import judge_s22

T = TypeVar("T")
CALCULATOR = """
from ase.calculators.emt import EMT

class Mine(EMT):
    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        {line}
        super().calculate(atoms, properties, system_changes)

def make_calculator():
    return Mine()
"""
DEMANDS = 'if not type(atoms.info["charge"]) is type(atoms.info["spin"]) is int: raise TypeError("charge and spin")'
IGNORES = "pass"
FORBIDS = 'if atoms.info: raise ValueError("unexpected keys in info: %s" % sorted(atoms.info))'
UNSUPPORTED = 2  # silicon and rock salt, which EMT does not know


def ask(folder: Path, line: str, question: Callable[[RemoteCalculator], T]) -> SessionOutcome[T]:
    (folder / "calculator.py").write_text(CALCULATOR.format(line=line))
    driver = ProcessDriver(RunDir(folder / "run"))
    image = driver.resolve(f"{folder}?python={sys.executable}")
    return run_session(driver, image, Limits(), Question(domain="Molecules"), question)


def preflight(remote: RemoteCalculator) -> PreflightReport:
    return measured_report(remote, measure_model(remote))


@pytest.mark.parametrize("line", [DEMANDS, IGNORES], ids=["demands both", "ignores them"])
def test_calculators_that_demand_or_ignore_a_state_are_judged_whole(line: str, short_path: Path) -> None:
    checks = {check.name: check for check in _value(ask(short_path, line, preflight)).checks}
    n = len(public_structures())
    assert checks["answers"].value.startswith(f"{n - UNSUPPORTED} of {n} structures; not silicon crystal (unsupported)")
    assert "charge and spin" not in checks
    measurement = _value(ask(short_path, line, judge_s22))
    assert len(measurement.items) == 22
    assert measurement.items.failures() == {}


def test_a_calculator_that_forbids_a_state_is_named_with_what_the_judge_sets(short_path: Path) -> None:
    outcome = ask(short_path, FORBIDS, preflight)
    assert outcome.verdict is Verdict.TOO_MANY_FAILURES
    assert outcome.sentence.startswith(
        "The calculator raised an error on every public structure: see its message below."
    )
    assert 'The judge sets atoms.info["charge"] and atoms.info["spin"] (2S+1) of every structure' in outcome.sentence
    assert "unexpected keys in info: ['charge', 'spin']" in outcome.private


def test_an_error_without_a_word_about_states_still_says_what_the_judge_sets(short_path: Path) -> None:
    outcome = ask(short_path, "if len(atoms): raise RuntimeError('no extra metadata')", preflight)
    assert outcome.verdict is Verdict.TOO_MANY_FAILURES
    assert 'atoms.info["charge"]' in outcome.sentence
    assert 'atoms.info["spin"]' in outcome.sentence


@pytest.mark.parametrize(
    ("error", "concerns"),
    [
        ("KeyError: 'charge'", True),
        ("ValueError: atoms.info must contain both 'charge' and 'spin'", True),
        ("ValueError: unsupported total_charge -1", True),
        ("TypeError: Spin multiplicity must be odd", True),
        ("RuntimeError: discharged informally", False),
        ("NotImplementedError: No EMT-potential for Si", False),
    ],
)
def test_errors_about_states_are_told_from_others(error: str, concerns: bool) -> None:
    assert concerns_state(error) is concerns


def test_every_public_molecule_has_a_state_that_its_electrons_allow() -> None:
    structures = public_structures()
    molecules = {name: atoms for name, atoms in structures.items() if not atoms.pbc.any()}
    assert structures.keys() - molecules.keys() == {*CRYSTALS, *SLABS}
    states = {name: (atoms.info["charge"], atoms.info["spin"]) for name, atoms in molecules.items()}
    assert states == {
        "water": (0, 1),
        "ethanol": (0, 1),
        "hydroxide ion": (-1, 1),
        "ammonium ion": (1, 1),
        "methyl radical": (0, 2),
        "oxygen triplet": (0, 3),
    }
    assert set(STATED) < molecules.keys()
    for name, atoms in molecules.items():
        charge, spin = states[name]
        assert (int(atoms.numbers.sum()) - charge - (spin - 1)) % 2 == 0, name
        assert atoms.get_all_distances()[0, 1:].min() > 0.8


def test_a_state_replaces_what_else_a_structure_says_of_itself() -> None:
    atoms = in_state(Atoms("O2", [[0, 0, 0], [0, 0, 1.2]], magmoms=[1, 1], info={"name": "O2"}), 1, 2)
    assert atoms.info == {"charge": 1, "spin": 2}
    assert not atoms.get_initial_magnetic_moments().any()


def test_a_stress_matrix_that_is_not_symmetric_is_a_row() -> None:
    assert asymmetry_check(1e-9) == asymmetry_check(float("nan")) == ()
    (row,) = asymmetry_check(0.02)
    assert row.passed is False
    assert "by up to 0.02 eV/Å³" in row.value


def _value(outcome: SessionOutcome[T]) -> T:
    assert outcome.verdict is Verdict.OK, outcome
    assert outcome.value is not None
    return outcome.value
