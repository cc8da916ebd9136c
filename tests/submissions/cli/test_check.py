"""`lambench-submit check`: the subject is recognised and named, and a receipt states the result."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import docker
import pytest
from ase.data import chemical_symbols
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from judge.pages.models.model_card import card_lines
from sandbox.guest_archive import guest_version
from sandbox.verdict import Verdict
from submissions.cli.main import main
from submissions.preflight.measured_properties import (
    contradictions,
    elements_of,
    measured_conservative,
    measured_elements,
    parameters_differ,
)
from submissions.preflight.public_structures import public_structures
from submissions.preflight.table import preflight_table
from submissions.records import Check, ModelCard, PreflightReport
from submissions.requests import Receipt
from submissions.settings import RECEIPT_FILE

EMT = "from ase.calculators.emt import EMT\n\n\ndef make_calculator(device, domain=None):\n    return EMT()\n"

# What stands for PyTorch: the guest looks for the modules of whatever is called so.
FAKE_TORCH = """
class nn:
    class Module:
        numel = staticmethod(lambda: 12)
        data_ptr = staticmethod(lambda: 1)
        def parameters(self):
            return [self]

class cuda:
    is_available = staticmethod(lambda: False)

def with_model(calculator):
    calculator.models = {"only": nn.Module()}
    return calculator
"""


class Said(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Everything, in one line."""
        return " ".join(f"{self.out} {self.err}".split())


class AuthorFolder:
    """An author's folder, and the command run in it, in this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._patch, self._capsys = monkeypatch, capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("LAMBENCH_RUN_DIR", str(folder / ".run"))

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *arguments: str) -> Said:
        self._patch.setattr(sys, "argv", ["lambench-submit", *arguments])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = int(ended.code or 0)
        return Said(status, *self._capsys.readouterr())

    @property
    def receipt(self) -> Receipt:
        return Receipt.read((self.folder / RECEIPT_FILE).read_bytes())


@pytest.fixture
def author(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[AuthorFolder]:
    with tempfile.TemporaryDirectory(prefix="lambench-") as folder:
        yield AuthorFolder(Path(folder), monkeypatch, capsys)


def test_a_module_passes_without_docker_with_a_warning_of_what_was_not_checked(author: AuthorFolder) -> None:
    author.write("models/mine.py", EMT.replace("return", 'print("hello [bold]\\x1b[31m")\n    return'))
    author.write("lambench.toml", 'name = "Mine"\nconservative = false\nelements = ["Cu", "Si"]\n')
    output = author.run("check", "models.mine:make_calculator")
    assert output.status == 0, output
    assert "as a module (" in output.out
    assert "models/mine.py), without Docker" in output.words
    assert "Without Docker it is not checked whether it needs a network" in output.words
    assert "│ hello [bold]\\x1b[31m" in output.out
    assert "\x1b" not in output.out
    assert (
        "The card states that forces are not the gradient of the energy; measured, they agree with it." in output.words
    )
    assert "The card lists Si, and no structure with it was answered." in output.words
    receipt = author.receipt
    assert (receipt.subject, receipt.verdict) == ("models.mine:make_calculator", Verdict.OK)
    assert receipt.digest.startswith("sha256:")
    assert receipt.versions["guest"] == guest_version()
    assert receipt.versions["sandbox"] == "none"
    assert {"lambench-judge", "contract", "python", "numpy", "ase"} <= receipt.versions.keys()


def test_the_digest_is_of_the_factory_s_module_and_json_is_all_that_a_machine_reads(author: AuthorFolder) -> None:
    author.write("torch.py", FAKE_TORCH)
    author.write("calculator.py", f"import torch\n{EMT}".replace("EMT()", "torch.with_model(EMT())"))
    author.write("lambench.toml", 'name = "Mine"\nn_parameters = 1\n')
    author.write("data/large.bin", "x")
    first = json.loads(author.run("check", "calculator:make_calculator", "--json").out)
    assert first["receipt"]["verdict"] == "OK"
    assert {check["name"] for check in first["preflight"]["checks"]} >= {"starts", "answers", "resources"}
    assert first["preflight"]["n_parameters"] == 12
    assert first["preflight"]["answered_elements"] == ["H", "C", "N", "O", "Cu", "Pt"]
    assert first["preflight"]["unanswered_elements"] == ["Na", "Si", "Cl"]
    author.write("data/large.bin", "y")
    author.write("calculator.py", f"raise RuntimeError\n{EMT}")
    output = author.run("check", "calculator:make_calculator", "--json", "--receipt", "other.json")
    second = json.loads(output.out)
    assert output.status == 1
    assert second["receipt"]["digest"] != first["receipt"]["digest"]
    assert second["receipt"] == json.loads((author.folder / "other.json").read_text())
    assert author.receipt.digest == first["receipt"]["digest"]  # the one that was there is left alone


def test_a_factory_with_a_missing_import_is_pointed_to_the_option_python(author: AuthorFolder) -> None:
    author.write("calculator.py", "import heavy_package_of_nobody\n" + EMT)
    output = author.run("check", "calculator:make_calculator")
    assert output.status == 1
    assert "STARTUP_FAILED calculator:make_calculator would not be judged" in output.words
    assert "has no heavy_package_of_nobody: name the Python that has it with --python" in output.words
    assert author.receipt.verdict is Verdict.STARTUP_FAILED
    assert "guest" in author.receipt.versions


def test_a_factory_that_fails_is_shown_with_its_own_words_made_harmless(author: AuthorFolder) -> None:
    author.write(
        "calculator.py", 'def make_calculator():\n    raise ValueError("no [red]weights[/] \\x1b]0;title\\x07")\n'
    )
    output = author.run("check", "calculator:make_calculator", "--module")
    assert output.status == 1
    assert "no [red]weights[/] \\x1b]0;title\\x07" in output.words
    assert "\x1b" not in output.out + output.err


def test_another_python_sees_other_modules(author: AuthorFolder) -> None:
    author.write("elsewhere/far_away.py", "def make_calculator():\n    raise ValueError\n")
    wrapper = author.folder / "its-python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH="{author.folder}/elsewhere" exec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o755)
    assert "There is no module 'far_away'" in author.run("check", "far_away:make_calculator", "--module").words
    output = author.run("check", "far_away:make_calculator", "--python", str(wrapper))
    assert "elsewhere/far_away.py" in output.words
    assert "STARTUP_FAILED far_away:make_calculator" in output.words


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("nowhere:make", "--module"), 1, "There is no module 'nowhere' in this folder"),
        (("loud.inner:make", "--module"), 1, "cannot be found: ValueError: on the way"),
        (("quiet.inner:make", "--module"), 1, "There is no module 'quiet.inner'"),
        (("ase:make", "--module", "--python", "no-such-python"), 1, "There is no Python 'no-such-python'"),
        (("image:tag-1", "--module"), 2, "image:tag-1: name a module as module:factory"),
        (("a:b", "--module", "--image"), 2, "--image and --module exclude each other"),
        (("calculator:make_calculator", "--receipt", "no/such/folder.json"), 2, "cannot be written"),
        (("calculator:make_calculator", "--card", "none.toml"), 2, "there is no such file"),
    ],
)
def test_what_cannot_be_is_one_line_and_leaves_no_receipt(
    author: AuthorFolder, arguments: tuple[str, ...], status: int, words: str
) -> None:
    author.write("calculator.py", EMT)
    author.write("loud/__init__.py", 'raise ValueError("on the way")\n')
    author.write("quiet/__init__.py", 'print("imported\\0here")\n')
    output = author.run("check", *arguments)
    assert output.status == status, output
    assert words in output.words
    assert "Traceback" not in output.words
    assert not (author.folder / RECEIPT_FILE).exists()


def test_without_an_engine_the_remedy_is_one_that_check_has(
    author: AuthorFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    output = author.run("check", "my-model:1.0")
    assert output.status == 3
    assert "set DOCKER_HOST, or check module:factory, which needs none" in output.words
    assert "--driver" not in output.words


@pytest.mark.docker
def test_a_name_that_is_a_module_and_an_image_is_asked_about(author: AuthorFolder, images: docker.DockerClient) -> None:
    name = "lambench_of_two_minds"
    author.write(f"{name}.py", "def latest():\n    raise ValueError\n")
    images.images.get("lambench/emt:latest").tag(name, "latest")
    try:
        doubt = author.run("check", f"{name}:latest")
        module = author.run("check", f"{name}:latest", "--module")
    finally:
        images.images.remove(f"{name}:latest")
    assert doubt.status == 2
    assert "is a module here and an image too: say --module or --image" in doubt.words
    assert module.status == 1
    assert "as a module" in module.words


@pytest.mark.docker
def test_a_subject_that_is_neither_module_nor_image_is_refused(
    author: AuthorFolder, engine: docker.DockerClient
) -> None:
    output = author.run("check", "nowhere_to_be:found")
    assert output.status == 1
    assert "There is no module 'nowhere_to_be'" in output.words
    assert "There is no image 'nowhere_to_be:found'" in output.words


def report(*checks: Check) -> PreflightReport:
    return PreflightReport(checks=checks)


@given(st.lists(st.sampled_from([True, False, None]), max_size=4))
def test_forces_count_as_a_gradient_where_every_look_says_so(results: list[bool | None]) -> None:
    checks = [Check(name=f"forces = −∇E, {n}", passed=passed, value="") for n, passed in enumerate(results)]
    known = [passed for passed in results if passed is not None]
    measured = measured_conservative(report(Check(name="starts", passed=True, value=""), *checks))
    assert measured is (all(known) if known else None)


@given(st.sets(st.sampled_from(list(public_structures()))))
def test_each_element_of_the_public_structures_is_answered_or_not(failed: set[str]) -> None:
    structures = public_structures()
    measured = elements_of(
        [atoms for name, atoms in structures.items() if name not in failed], [structures[name] for name in failed]
    )
    answered = {s for name, atoms in structures.items() if name not in failed for s in atoms.get_chemical_symbols()}
    every = {s for atoms in structures.values() for s in atoms.get_chemical_symbols()}
    assert set(measured.answered) == answered
    assert set(measured.unanswered) == every - answered
    for symbols in measured:
        assert list(symbols) == sorted(symbols, key=chemical_symbols.index)


def test_a_report_from_before_elements_were_recorded_says_nothing_of_them() -> None:
    """Its sentence is no record, since the public structures may change."""
    answers = Check(name="answers", passed=True, value="6 of 6 structures", gating=True)
    assert measured_elements(report(answers)) is None
    assert contradictions(ModelCard(name="m", elements=("H",)), report(answers)) == ()


@pytest.mark.parametrize(
    ("stated", "counted", "differ"),
    [(None, 7, False), (7, None, False), (412_525, 412_525, False), (4_700_000, 4_688_656, False), (1, 100, True)],
)
def test_a_rounded_number_of_parameters_is_no_contradiction(
    stated: int | None, counted: int | None, differ: bool
) -> None:
    card, seen = ModelCard(name="m", n_parameters=stated), PreflightReport(checks=(), n_parameters=counted)
    assert parameters_differ(card, seen) is differ
    assert bool(contradictions(card, seen)) is differ
    assert card_lines(card, seen)[0].differ is differ
    assert (card_lines(card, seen)[0].measured == "not measured") is (counted is None)


def test_nothing_in_the_table_of_a_preflight_moves_a_cursor() -> None:
    screen = StringIO()
    console = Console(file=screen, width=200, force_terminal=True, color_system=None)
    bad = "x\x1b[2J[red]"
    console.print(preflight_table(bad, report(Check(name=bad, passed=None, value=bad))))
    shown = screen.getvalue()
    assert "\x1b[2J" not in shown
    assert shown.count("x\\x1b[2J[red]") == 3


def test_a_card_that_says_what_was_measured_contradicts_nothing() -> None:
    forces = Check(name="forces = −∇E, water", passed=True, value="")
    every = ("H", "C", "O", "Na", "Si", "Cl", "Cu", "Pt", "U")
    seen = PreflightReport(checks=(forces,), answered_elements=every[:-1], unanswered_elements=())
    assert contradictions(ModelCard(name="m", conservative=True, elements=every), seen) == ()
    assert contradictions(ModelCard(name="m"), seen) == ()
    assert contradictions(ModelCard(name="m", conservative=False, elements=every), report()) == ()
    assert len(contradictions(ModelCard(name="m", conservative=False), report(forces))) == 1
    assert len(contradictions(ModelCard(name="m", elements=("H",)), seen)) == 1
