"""The preflight: its findings for models with known answers, and its messages to authors."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ase import Atoms
from ase.calculators.calculator import Calculator
from ase.calculators.emt import EMT

from sandbox.verdict import SubmissionFault, Verdict
from submissions.card.file import read_card
from submissions.preflight.batches import answered_order, batch_difference, batch_structures
from submissions.preflight.gradients import GradientComparison, compare_forces, energy_noise
from submissions.preflight.log import MAX_BYTES, log_path, printable_end, read_log
from submissions.preflight.preflight import measure_model
from submissions.preflight.probes import AnswerDifference, charge_and_spin, invariances
from submissions.preflight.public_structures import public_structures
from submissions.records import PreflightReport, Submission, submission_id
from submissions.store.local import LocalStore
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tests.world.author_machine import run_here

EXAMPLES = Path(__file__).parents[3] / "submissions" / "examples"
HOSTILE = Path(__file__).parents[2] / "hostile"


def model(calculator: Any = None) -> InProcessCalculator:
    return InProcessCalculator(calculator or EMT())


def copper() -> Atoms:
    return public_structures()["copper crystal"]


class Twisted(EMT):
    """Forces that are no gradient: each atom's force is turned a little."""

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        super().calculate(atoms, list(properties), list(system_changes))
        self.results["forces"] = self.results["forces"] @ np.array([[1, 0.05, 0], [-0.05, 1, 0], [0, 0, 1]])


class Anisotropic(EMT):
    """An energy that depends on where the axes point."""

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        super().calculate(atoms, list(properties), list(system_changes))
        self.results["energy"] += 1e-2 * float(np.sum(self.results["forces"][:, 0] ** 2))


class Charged(Calculator):
    """An energy that is the charge plus a tenth of the multiplicity."""

    implemented_properties = ("energy", "forces")

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        energy = atoms.info.get("charge", 0) + 0.1 * atoms.info.get("spin", 0)
        self.results = {"energy": energy, "forces": np.zeros((len(atoms), 3))}


def forces_compared(calculator: Any = None) -> GradientComparison:
    examined = model(calculator)
    return compare_forces(examined, copper(), 4, energy_noise(examined, copper()))


def test_emt_is_conservative_and_twisted_emt_is_not() -> None:
    assert forces_compared().agrees is True
    twisted = forces_compared(Twisted())
    assert twisted.agrees is False
    assert twisted.errors.min() > 1e-3
    assert len(twisted.errors) >= 3


@pytest.mark.parametrize(("answered", "noise"), [(np.inf, 0.0), (np.nan, np.nan), (0.0, np.nan)])
def test_what_cannot_be_measured_is_not_called_conservative(answered: float, noise: float) -> None:
    compared = GradientComparison(np.array([answered]), np.array([[1.0]]), np.array([noise]), "eV/Å")
    assert compared.agrees is not True
    assert "inf" not in compared.words()
    assert "nan" not in compared.words()


def test_a_constant_energy_with_no_forces_is_not_called_conservative() -> None:
    compared = forces_compared(Charged())
    assert compared.agrees is None
    assert compared.words() == "not measured: all are zero, and the energy is constant"


@pytest.mark.parametrize(("noise", "agrees"), [(1e-6, True), (1e-2, None), (1e-9, False)])
def test_an_agreement_that_noise_explains_is_none(noise: float, agrees: bool | None) -> None:
    difference = 0.99e-3 if noise == 1e-6 else 5e-3
    compared = GradientComparison(np.ones(2), np.full((1, 2), 1.0 + difference), np.array([noise]), "eV/Å")
    assert compared.agrees is agrees


def test_invariances() -> None:
    assert all(
        change.energy < 1e-10 and (change.forces or 0.0) < 1e-9 for change in invariances(model(), copper()).values()
    )
    turned = invariances(model(Anisotropic()), copper())
    assert turned["rotation"].energy > 1e-4
    assert turned["translation"].energy < 1e-10


def test_batches_agree_with_single_frames() -> None:
    assert batch_difference(model(), [copper(), public_structures()["water"]]) == AnswerDifference(0.0, 0.0)
    checks = {check.name: check for check in measure_model(model()).checks}
    assert checks["batch against single"].passed


def test_a_batch_has_three_structures_whose_sizes_neither_rise_nor_fall() -> None:
    public = list(public_structures().values())
    for structures in (public, public[:1], [public_structures()["water"]], [public[1], public[2]], public[3:5]):
        sizes = [len(atoms) for atoms in batch_structures(structures)]
        assert len(set(sizes)) == 3
        assert sizes not in (sorted(sizes), sorted(sizes, reverse=True))
        assert sizes[::-1] != sizes
    water = batch_structures([public_structures()["water"]])
    apart = model().compute(Frames.from_atoms(water), ("energy",)).energy
    assert apart == pytest.approx([2 * apart[2], 3 * apart[2], apart[2]])


class Unordered(EMT):
    """Answers a batch in an order of its own. Forces get the shape that each place needs."""

    def __init__(self, order: Callable[[list[int]], list[int]]) -> None:
        super().__init__()
        self.order = order

    def compute_batch(self, batch: list[Atoms], properties: tuple[str, ...]) -> list[dict[str, Any] | Exception]:
        answers = [self._alone(atoms) for atoms in batch]
        if any(isinstance(answer, Exception) for answer in answers):
            return answers
        ordered = [answers[i] for i in self.order([len(atoms) for atoms in batch])]
        return [
            {**answer, "forces": np.resize(answer["forces"], (len(atoms), 3))}  # type: ignore[dict-item, index]
            for atoms, answer in zip(batch, ordered, strict=True)
        ]

    def _alone(self, atoms: Atoms) -> dict[str, Any] | Exception:
        try:
            self.calculate(atoms, ["energy", "forces"])
        except NotImplementedError as error:
            return error
        return dict(self.results)


@pytest.mark.parametrize(
    "order",
    [
        lambda sizes: list(range(len(sizes)))[::-1],
        lambda sizes: sorted(range(len(sizes)), key=lambda i: sizes[i]),
        lambda sizes: sorted(range(len(sizes)), key=lambda i: -sizes[i]),
        lambda sizes: [*range(1, len(sizes)), 0],
    ],
    ids=["reversed", "smallest first", "largest first", "shifted"],
)
def test_answers_of_a_batch_in_another_order_are_reported(order: Callable[[list[int]], list[int]]) -> None:
    mixed = model(Unordered(order))
    assert not batch_difference(mixed, batch_structures(list(public_structures().values())[:1])).is_small
    checks = {check.name: check for check in measure_model(mixed).checks}
    assert checks["batch against single"].passed is False


def test_energies_in_order_are_not_called_disordered() -> None:
    structures = batch_structures(list(public_structures().values()))
    assert answered_order(model(Charged()), structures) == ()  # all its energies are equal


def test_charge_and_spin() -> None:
    assert charge_and_spin(model()) == {"charge": "ignores charge", "spin": "ignores multiplicity"}
    seen = charge_and_spin(model(Charged()))
    assert seen["charge"].startswith("sees charge")
    assert seen["spin"] == "sees multiplicity (ΔE 0.2 eV)"


def test_a_direct_force_model_is_reported_and_not_refused() -> None:
    checks = {check.name: check for check in measure_model(model(Twisted())).checks}
    assert checks["forces = −∇E, copper crystal"].passed is False
    assert not checks["forces = −∇E, copper crystal"].gating


class PerAtom(EMT):
    """Takes four milliseconds for a call, and one more for each atom."""

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        time.sleep(4e-3 + 1e-3 * len(atoms))
        super().calculate(atoms, list(properties), list(system_changes))


@pytest.mark.alone
def test_what_each_structure_takes_is_recorded() -> None:
    timings = measure_model(model(PerAtom())).timings
    public = public_structures()
    known = [public[name] for name in ("copper crystal", "water", "ethanol", "platinum slab")]
    assert [timing.n_atoms for timing in timings] == [len(atoms) for atoms in known]
    densities = [len(atoms) / atoms.get_volume() if atoms.pbc.all() else 0.0 for atoms in known]
    assert [timing.density for timing in timings] == pytest.approx(densities)
    for timing in timings:
        assert timing.seconds >= 4e-3 + 1e-3 * timing.n_atoms
        assert timing.seconds < 0.05 + 2e-3 * timing.n_atoms


def test_a_report_from_before_there_were_timings_is_read() -> None:
    assert PreflightReport.model_validate_json('{"checks": [], "batch": true}').timings == ()


class Nan(Charged):
    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        super().calculate(atoms)
        self.results["energy"] = float("nan")


class Short(Charged):
    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        super().calculate(atoms)
        self.results["forces"] = np.zeros(3)


class Transposed(Charged):
    """Right for a molecule of three atoms alone."""

    def calculate(self, atoms=None, properties=("energy",), system_changes=()):
        super().calculate(atoms)
        self.results["forces"] = np.zeros((3, len(atoms)))


@pytest.mark.parametrize(
    ("calculator", "verdict"),
    [(Nan(), Verdict.NON_FINITE), (Short(), Verdict.WRONG_SHAPE), (Transposed(), Verdict.WRONG_SHAPE)],
)
def test_what_refuses(calculator: Calculator, verdict: Verdict) -> None:
    with pytest.raises(SubmissionFault) as caught:
        measure_model(model(calculator))
    assert caught.value.verdict is verdict


@pytest.mark.parametrize("quantity", ["energy", "forces"])
def test_a_quantity_that_is_not_finite_is_named(quantity: str) -> None:
    class NotFinite(Charged):
        def calculate(self, atoms=None, properties=("energy",), system_changes=()):
            super().calculate(atoms)
            self.results[quantity] = self.results[quantity] + float("nan")

    with pytest.raises(SubmissionFault, match=f"in the {quantity} of every public structure"):
        measure_model(model(NotFinite()))


def test_ids_are_plain_and_tell_the_image() -> None:
    assert submission_id("MACE-MP 0 (α)", "sha256:" + "ab" * 32) == "mace-mp-0-abababababab"
    assert submission_id("模型", "sha256:" + "ab" * 32) == "model-abababababab"


@pytest.mark.parametrize("name", ["emt", "lennard_jones", "xtb", "chgnet"])
def test_the_examples_have_good_cards(name: str) -> None:
    assert read_card(EXAMPLES / name / "lambench.toml").label_sets


class Said(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def submit(*arguments: str, cwd: Path) -> Said:
    """The output of `lambench-submit` in the folder `cwd`, in this process."""
    return Said(*run_here(cwd, {"COLUMNS": "160"}, *arguments))


def test_submitting_a_folder(tmp_path: Path) -> None:
    card = str(EXAMPLES / "emt" / "lambench.toml")
    arguments = [str(EXAMPLES / "emt"), "--driver", "process", "--python", sys.executable, "--card", card]
    checked = submit(*arguments, "--check-only", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert "would be judged" in checked.stdout
    assert not (tmp_path / "var").exists()
    first = submit(*arguments, "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    submission = Submission.model_validate_json(first.stdout)
    assert max(timing.n_atoms for timing in submission.preflight.timings) == 1024
    assert submission.preflight.startup_s
    assert submission.preflight.startup_s > 0
    assert submission.preflight.session_s
    assert submission.preflight.startup_s < submission.preflight.session_s < submission.preflight.startup_s + 5.0
    stored = LocalStore(tmp_path / "var/store").get(f"submissions/{submission.id}/submission.json")
    assert Submission.model_validate_json(stored) == submission
    again = submit(*arguments, cwd=tmp_path)
    assert again.returncode == 0
    assert f"already submitted as {submission.id}" in " ".join(again.stdout.split())
    assert f"It is in the store {tmp_path}/var/store\n" in again.stdout
    other = tmp_path / "other.toml"
    other.write_text('name = "Another name"')
    dropped = submit(*arguments[:-1], str(other), cwd=tmp_path)
    assert dropped.returncode == 1
    assert "was not taken" in " ".join(dropped.stdout.split())


def test_a_folder_that_is_submitted_from_within_stays_the_same_submission(tmp_path: Path) -> None:
    (tmp_path / "calculator.py").write_text("from ase.calculators.emt import EMT as make_calculator\n")
    first = submit(".", "--driver", "process", cwd=tmp_path)
    assert "judge evaluate --all --driver process" in first.stdout
    assert (tmp_path / "var" / "store").is_dir()
    (tmp_path / "lambench-receipt.json").write_text("{}")
    assert "already submitted" in submit(".", "--driver", "process", cwd=tmp_path).stdout
    (tmp_path / "calculator.py").write_text("from ase.calculators.emt import EMT\nmake_calculator = EMT\n")
    assert "is submitted as" in submit(".", "--driver", "process", cwd=tmp_path).stdout


def test_a_refused_folder_is_not_submitted(tmp_path: Path) -> None:
    arguments = [str(HOSTILE), "--driver", "process", "--python", sys.executable, "--calculator", "hostile:nan"]
    refused = submit(*arguments, "--json", cwd=tmp_path)
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["verdict"] == "NON_FINITE"
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "clue"),
    [
        (["/no/such/folder", "--driver", "process"], 1, "IMAGE_INVALID"),
        ([str(HOSTILE), "--driver", "process", "--card", "absent.toml"], 2, "absent.toml"),
        ([str(HOSTILE), "--driver", "process", "--gpu", "GPU-0"], 3, "is not in this machine"),
    ],
)
def test_one_line_for_every_error(tmp_path: Path, arguments: list[str], status: int, clue: str) -> None:
    failed = submit(*arguments, cwd=tmp_path)
    assert failed.returncode == status
    assert clue in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_model_must_start_in_every_domain_that_its_card_declares(tmp_path: Path) -> None:
    folder = tmp_path / "picky"
    folder.mkdir()
    (folder / "calculator.py").write_text(
        "from ase.calculators.emt import EMT\n"
        "def make_calculator(domain):\n"
        "    return {'Inorganic Materials': EMT}[domain]()\n"
    )
    card = tmp_path / "card.toml"
    card.write_text(
        'name = "picky"\n[label_sets."Inorganic Materials"]\nname = "EMT"\n[label_sets.Molecules]\nname = "EMT"\n'
    )
    refused = submit(str(folder), "--driver", "process", "--card", str(card), "--json", cwd=tmp_path)
    assert refused.returncode == 1
    answer = json.loads(refused.stdout)
    assert answer["verdict"] == "STARTUP_FAILED"
    assert answer["sentence"].startswith("For the domain Molecules")


LOUD = """
import sys
from ase.calculators.emt import EMT
print("weights loaded")
print("\\x1b[31mred\\x1b[0m", file=sys.stderr)
def make_calculator():
    return EMT()
"""


def test_the_output_of_the_container_in_the_preflight_is_stored(tmp_path: Path) -> None:
    folder = tmp_path / "loud"
    folder.mkdir()
    (folder / "calculator.py").write_text(LOUD)
    done = submit(str(folder), "--driver", "process", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    submission = Submission.model_validate_json(done.stdout)
    store = LocalStore(tmp_path / "var/store")
    assert sorted(store.get(log_path(submission.id)).splitlines()) == [b"\\x1b[31mred\\x1b[0m", b"weights loaded"]
    assert read_log(store, submission.id).count("\n") == 1


def test_the_end_of_a_long_log_is_kept_in_whole_lines() -> None:
    text = "\n".join(f"line {k} \x07é" for k in range(20_000))
    kept = printable_end(text)
    assert 60_000 < len(kept.encode()) <= MAX_BYTES
    assert kept.endswith("line 19999 \\x07é")
    assert kept.partition("\n")[0].startswith("line 1")
    assert printable_end("a\r\nb\ud800\u202e\n\n") == "a\nb\\ud800\\u202e"
    assert printable_end("é" * MAX_BYTES) == "é" * (MAX_BYTES // 2 - 1)


@pytest.mark.docker
def test_a_folder_is_no_image(tmp_path: Path, images: None) -> None:
    failed = submit(".", "--check-only", cwd=tmp_path)
    assert failed.returncode == 1
    assert "docker build -t NAME ." in " ".join(failed.stderr.split())


@pytest.mark.docker
def test_submitting_an_image(tmp_path: Path, images: None) -> None:
    card = str(EXAMPLES / "emt" / "lambench.toml")
    done = submit("lambench/emt:latest", "--card", card, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    submission = Submission.model_validate_json(done.stdout)
    assert read_log(LocalStore(tmp_path / "var/store"), submission.id) == ""  # EMT says nothing
    assert submission.image.id.startswith("sha256:")
    assert submission.id.endswith(submission.image.id[7:19])
    assert {check.name for check in submission.preflight.checks if check.gating} == {"starts", "answers", "resources"}
