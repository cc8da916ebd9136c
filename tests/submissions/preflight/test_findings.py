"""The findings of the preflight about models with one fault each, through the process driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.driver import Question
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from sandbox.verdict import Verdict
from sandbox.wire.session import run_session
from submissions.preflight.measured_properties import measured_conservative
from submissions.preflight.preflight import measure_model, measured_report
from submissions.preflight.table import preflight_table
from submissions.preflight.task_outlook import task_outlook
from submissions.records import Check, PreflightReport
from submissions.tables import table_console
from tests.submissions.preflight.faulty_models import FAULTS

FORCES, STRESS, BATCH = "forces = −∇E, copper crystal", "stress = dE/dε, copper crystal", "batch against single"
ETHANOL_FORCES = "forces = −∇E, ethanol"
LATTICE, TWICE = "lattice vectors, copper crystal", "twice the size, copper crystal"
INVARIANCES = ("invariances, copper crystal", "invariances, ethanol")
TWICE_ETHANOL = "twice the size, ethanol"


class Examiner:
    """Examines models in processes of their own, as `run_preflight` does before it times larger structures."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._driver = ProcessDriver(RunDir(folder / "run"))

    def report(self, fault: str) -> PreflightReport:
        model = self._folder / "model"
        model.mkdir(exist_ok=True)
        (model / "calculator.py").write_text(FAULTS[fault])
        image = self._driver.resolve(f"{model}?python={sys.executable}")
        outcome = run_session(
            self._driver,
            image,
            Limits(),
            Question(),
            lambda remote: measured_report(remote, measure_model(remote)),
        )
        assert outcome.verdict is Verdict.OK, outcome
        assert outcome.value is not None
        return outcome.value

    def checks(self, fault: str) -> dict[str, Check]:
        return {check.name: check for check in self.report(fault).checks}


@pytest.fixture(scope="module")
def examiner() -> Iterator[Examiner]:
    with TemporaryDirectory(prefix="lambench-") as folder:
        yield Examiner(Path(folder))


def test_a_model_without_a_fault_has_no_finding(examiner: Examiner) -> None:
    checks = examiner.checks("none")
    assert not [check for check in checks.values() if check.passed is False]
    assert checks[FORCES].passed
    assert checks[ETHANOL_FORCES].passed
    assert checks[STRESS].passed
    assert checks[LATTICE].passed
    assert checks[TWICE].passed
    assert checks[TWICE_ETHANOL].passed
    assert checks[BATCH].passed
    assert not {"structures", "stress", "stress symmetry", "charge and spin"} & checks.keys()


# Other rows that a fault changes, too.
EFFECTS = {
    "forces turned": set(INVARIANCES),
    "everything per atom": {TWICE, TWICE_ETHANOL},
}


@pytest.mark.parametrize(
    ("fault", "rows", "words"),
    [
        ("stress in GPa", (STRESS,), "looks like GPa;"),
        ("stress of opposite sign", (STRESS,), "looks like the opposite sign;"),
        ("stress in kbar of opposite sign", (STRESS,), "looks like kbar, and the opposite sign;"),
        ("stress in another order", (STRESS,), "the order xx yy zz xy yz xz in place of xx yy zz yz xz xy;"),
        ("stress as a virial", (STRESS,), "looks like a virial, not divided by the volume;"),
        ("stress is zero", (STRESS,), "differs by"),
        ("forces of opposite sign", (FORCES, ETHANOL_FORCES), "looks like the opposite sign;"),
        ("forces in kcal/mol/Å", (FORCES, ETHANOL_FORCES), "looks like kcal/mol/Å;"),
        ("an energy per atom", (FORCES, ETHANOL_FORCES, STRESS, TWICE, TWICE_ETHANOL), "looks like an energy per atom"),
        ("everything per atom", (TWICE,), "looks like an energy per atom: two cells have the energy of one"),
        ("everything per atom", (TWICE_ETHANOL,), "an energy per atom: two molecules far apart have the energy of one"),
        ("stress with the sign of det(cell)", (LATTICE,), "stress changes where two lattice vectors are exchanged"),
        ("stress with the sign of det(cell)", (LATTICE,), "stress changes where a lattice vector is inverted"),
        ("stress from the lengths of the vectors", (LATTICE,), "where a lattice vector is added to another"),
        ("left-handed cells refused", (LATTICE,), "the model fails where two lattice vectors are exchanged"),
        ("forces turned", (FORCES, ETHANOL_FORCES), "differs by"),
        ("no stress returned", ("stress",), "declares stress but returned none for 2 periodic cells"),
        (
            "stress that is not symmetric",
            ("stress symmetry",),
            "the stress matrix is not symmetric, by up to 0.02 eV/Å³",
        ),
        ("no stress for slabs", ("stress",), "declares stress but returned none for 1 of 2 periodic cells"),
        ("NaN for stress", ("stress",), "declares stress but returned none for 2 periodic cells"),
        ("a batch in reverse order", (BATCH,), "the order of a batch is not kept: answer 1 is that of structure 3"),
        ("positions changed", ("structures",), "changes positions of the structure that it gets"),
        ("positions changed in a batch", ("structures",), "changes positions of the structure that it gets"),
        ("the cell changed", ("structures",), "changes cell of the structure that it gets"),
    ],
)
def test_a_fault_is_named_in_its_rows_and_in_no_other(
    examiner: Examiner, fault: str, rows: tuple[str, ...], words: str
) -> None:
    checks = examiner.checks(fault)
    for row in rows:
        assert checks[row].passed is False, checks[row]
        assert words in checks[row].value, checks[row]
    others = {name for name, check in checks.items() if check.passed is False} - set(rows)
    assert others <= EFFECTS.get(fault, set())


def test_a_batch_in_order_is_ticked(examiner: Examiner) -> None:
    checks = examiner.checks("a batch in order")
    assert checks[BATCH].passed
    assert "whole batches" in checks["starts"].value


def test_what_an_energy_only_model_does_not_offer_is_not_measured(examiner: Examiner) -> None:
    report = examiner.report("energies alone")
    checks = {check.name: check for check in report.checks}
    for row, what in ((FORCES, "forces"), (ETHANOL_FORCES, "forces"), (STRESS, "stress")):
        assert (checks[row].passed, checks[row].value) == (None, f"not measured: the model offers no {what}")
    assert measured_conservative(report) is None
    assert checks[BATCH].passed
    assert checks["invariances, copper crystal"].passed
    assert not [check for check in report.checks if "inf" in check.value or "nan" in check.value]


@pytest.mark.parametrize("fault", ["noise", "sees charge below the noise"])
def test_nothing_is_ticked_where_noise_hides_the_answer(examiner: Examiner, fault: str) -> None:
    checks = examiner.checks(fault)
    for row in (FORCES, ETHANOL_FORCES, STRESS, LATTICE, TWICE, TWICE_ETHANOL, BATCH, *INVARIANCES):
        assert checks[row].passed is None, checks[row]
        assert checks[row].value.startswith("not measured: "), checks[row]
    for row in ("charge awareness", "spin awareness"):
        assert "is within the noise" in checks[row].value, checks[row]
    assert checks["repetition, copper crystal"].passed is False
    assert measured_conservative(PreflightReport(checks=tuple(checks.values()))) is None


def test_structures_that_fail_over_charge_are_named_with_what_the_judge_sets(examiner: Examiner) -> None:
    row = {check.name: check for check in examiner.report("charge -1 in info is an error").checks}["charge and spin"]
    assert row.passed is False
    assert row.value.startswith("hydroxide ion failed over them. ")
    assert 'atoms.info["charge"] and atoms.info["spin"] (2S+1)' in row.value


def test_a_dependence_on_charge_and_spin_above_the_noise_is_seen(examiner: Examiner) -> None:
    checks = examiner.checks("sees charge and spin")
    assert checks["charge awareness"].value.startswith("sees charge (ΔE 1.1 eV)")
    assert checks["spin awareness"].value.startswith("sees multiplicity (ΔE 0.2 eV)")


def test_the_same_structures_are_examined_whatever_a_model_takes(examiner: Examiner) -> None:
    names = [list(examiner.checks(fault)) for fault in ("none", "a slow crystal", "a batch in order")]
    assert names[0] == names[1] == names[2]


def test_the_table_names_the_tasks_that_are_missed_and_why(
    examiner: Examiner, capsys: pytest.CaptureFixture[str]
) -> None:
    report = examiner.report("no stress offered")
    rows = task_outlook(("energy", "forces"), ("copper crystal", "ethanol"), has_trainer=False)
    table_console().print(preflight_table("mine", report.model_copy(update={"checks": (*report.checks, *rows)})))
    shown = " ".join(capsys.readouterr().out.split())
    assert "without stress: elasticity, phonons, thermal conductivity, compression" in shown
    assert "without stress: labelled frames, relaxed structures, physicality" in shown
    assert "26 of 29 in lambench-2026" in shown
    assert "none of kappa103" in shown
