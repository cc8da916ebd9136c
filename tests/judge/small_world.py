"""A small world to judge in: two data sets, a suite, a store, and EMT as a submission of the process driver."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ase import Atoms
from ase.build import bulk
from ase.calculators.emt import EMT
from rich.console import Console

from judge.cli.main import main
from judge.config import JudgeSettings
from judge.data.testset import read_testset
from judge.evaluation.evaluate import Summary, evaluate
from judge.evaluation.machine import Machine
from judge.evaluation.observe import Place
from judge.evaluation.plan import Circumstances, Unit, make_plan, make_unit
from judge.evaluation.request import Request
from judge.evaluation.runner import Runner
from judge.evaluation.unit_report import UnitReport
from judge.evaluation.work_plan import make_units, plan_from_store
from judge.records.attempts import DeathWatch, read_history
from judge.records.records import Result
from judge.records.results import load_results
from judge.workspace import Workspace
from sandbox.driver import Image
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest_archive import guest_version
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from submissions.progress import Reporter
from submissions.records import ImageRecord, LabelSet, ModelCard, PreflightReport, Submission, submission_id, utc_now
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, Table
from tasks.datasets.card import LabelSet as Theory
from tasks.datasets.dataset import Dataset, save_dataset
from tasks.kind import Kind, Parameters
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tasks.suites.suite import Task, load_suite

ROOT = Path(__file__).parents[2]
EMT_FOLDER = ROOT / "submissions" / "examples" / "emt"

SLOW_EMT = """
import time
from ase.calculators.emt import EMT

class SlowEMT(EMT):
    def calculate(self, *args, **kwargs):
        time.sleep({seconds})
        super().calculate(*args, **kwargs)

def make_calculator():
    return SlowEMT()
"""

SUITE = """
name = "small"
version = "1"
title = "A small suite"

[[tasks]]
name = "copper"
kind = "labelled_frames"
dataset = "copper@1"
domain = "Inorganic Materials"
time_limit_s = 60

[[tasks]]
name = "nickel"
kind = "labelled_frames"
dataset = "nickel@1"
domain = "Inorganic Materials"
time_limit_s = 60
"""


def rattled(element: str, n_frames: int, seed: int) -> list[Atoms]:
    """Cells of eight atoms of `element`, each rattled and strained on its own."""
    rng = np.random.default_rng(seed)
    frames = []
    for _ in range(n_frames):
        atoms = bulk(element, cubic=True).repeat((2, 1, 1))
        atoms.set_cell(atoms.cell * rng.uniform(0.97, 1.03), scale_atoms=True)
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape)
        frames.append(atoms)
    return frames


def labelled(element: str, n_frames: int) -> list[Atoms]:
    """The same with the energies and forces of EMT."""
    frames = rattled(element, n_frames, seed=1)
    for atoms in frames:
        atoms.calc = EMT()
        atoms.get_potential_energy()
    return frames


def save_frames(data: Path, element: str, name: str, n_frames: int = 6, shift: float = 0.0, citation: str = "") -> None:
    """Writes `name`@1 with labels of EMT, each force off by `shift` [eV/Å]; takes the place of an earlier one."""
    structures = rattled(element, n_frames, seed=len(name))
    energy, forces, stress = [], [], []
    for atoms in structures:
        atoms.calc = EMT()
        energy.append(atoms.get_potential_energy())
        forces.append(atoms.get_forces() + shift)
        stress.append(atoms.get_stress())
    card = Card(
        name=name,
        version="1",
        title=f"Rattled {name}",
        domain="Inorganic Materials",
        periodic=True,
        citation=citation,
        public_since="2026",  # so that each structure is asked about once
        default_label_set="EMT",
        label_sets={"EMT": Theory(theory="ASE's EMT", dispersion=False)},
    )
    ids = tuple(f"{name}-{i}" for i in range(n_frames))
    table = Table(id=ids, group=(name,) * n_frames, cluster=ids)
    labels = Labels(np.array(energy), np.concatenate(forces), np.array(stress))
    shutil.rmtree(data / f"{name}@1", ignore_errors=True)
    save_dataset(Dataset(card, Frames.from_atoms(structures), table, {"EMT": labels}), data)


@dataclass
class World:
    """Where a test judges."""

    root: Path

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.root / "store")

    @property
    def settings(self) -> JudgeSettings:
        return JudgeSettings(
            store=str(self.root / "store"),
            data=self.root / "data",
            run_dir=self.root / "run",
            site_dir=self.root / "site",
            suite=str(self.root / "small.toml"),
            driver="process",
            allow_process=True,
            limits=Limits(startup_s=30, message_s=30, cpus=1),
            beat_s=0.2,
            dead_after_s=2.0,
            key_file=self.root / "signing.key",
            log=self.root / "judge.jsonl",
            publish_to=str(self.root / "public"),
        )

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.settings)

    def write_settings(self, driver: str = "process") -> None:
        """The same settings as a file, for commands."""
        (self.root / "judge.toml").write_text(
            f'store = "store"\ndata = "data"\nrun_dir = "run"\nsite_dir = "site"\nsuite = "small.toml"\n'
            f'driver = "{driver}"\nallow_process = true\nbeat_s = 0.2\ndead_after_s = 2.0\n'
            'key_file = "signing.key"\nlog = "judge.jsonl"\npublish_to = "public"\n'
            "[limits]\nstartup_s = 30\nmessage_s = 30\ncpus = 1\n"
        )

    def folder(self, name: str, code: str | None = None) -> Path:
        """A submission's folder; `code` is its calculator, EMT for none."""
        folder = self.root / name
        folder.mkdir()
        if code is None:
            shutil.copy(EMT_FOLDER / "calculator.py", folder)
        else:
            (folder / "calculator.py").write_text(code)
        return folder

    def submit(self, name: str, code: str | None = None, python: Path | None = None) -> Submission:
        """A submission of the process driver, recorded without a preflight."""
        driver = ProcessDriver(RunDir(self.root / "run"))
        folder = self.folder(name, code)
        return self.record(name, driver.resolve(f"{folder}?python={python}" if python else str(folder)))

    def record(self, name: str, image: Image) -> Submission:
        """A submission of `image`, recorded without a preflight."""
        submission = Submission(
            id=submission_id(name, image.id),
            created=utc_now(),
            card=ModelCard(name=name, label_sets={"Inorganic Materials": LabelSet(name="EMT")}),
            image=ImageRecord(reference=image.reference, id=image.id, driver=image.driver),
            preflight=PreflightReport(checks=()),
        )
        key = f"submissions/{submission.id}/submission.json"
        assert self.store.put_if_absent(key, submission.model_dump_json().encode())
        return submission

    def evaluate(self, **request: object) -> tuple[Summary, str]:
        """What `judge evaluate` does, in this process, and what it says."""
        said = StringIO()
        reporter = Reporter(Console(file=said, width=200))
        return evaluate(self.workspace, Request(**request), reporter), said.getvalue()  # type: ignore[arg-type]

    def unit(self, submission: Submission, kind: Kind, limits: Limits | None = None, **task: Any) -> Unit:
        """`submission` at a task of `kind`, any kind, on the copper."""
        parameters: Parameters = task.pop("parameters", None) or kind.parameters()
        stated: dict[str, Any] = {
            "name": kind.name.replace("_", "-"),
            "kind": kind.name,
            "dataset": "copper@1",
            "domain": "Inorganic Materials",
            "model_domain": "Inorganic Materials",
            "time_limit_s": 60.0,
            **task,
        }
        chosen = Task(parameters=parameters, **stated)
        testset = read_testset(self.settings.data, chosen.dataset)
        common = Circumstances(guest_version(), limits or self.settings.limits, "this machine")
        return make_unit(submission, chosen, kind, testset, common)

    def run_unit(self, unit: Unit, retry_held: bool = False) -> UnitReport:
        """Observes and measures `unit` as `judge evaluate` does, in this process."""
        runner = Runner(
            place=Place(self.store, self.settings.data),
            machine=Machine(
                open_sandbox=lambda: ProcessDriver(RunDir(self.settings.run_dir)),
                hardware=lambda gpu: "this machine",
                gpus=(),
                say=lambda line: None,
            ),
            reporter=Reporter(Console(file=StringIO())),
            beat_s=0.2,
            watch=DeathWatch(self.store, 2.0),
            retry_held=retry_held,
        )
        history = read_history(self.store, unit.prefix)
        (report,) = runner.run(make_plan([unit], {unit.prefix: history}, self.store.exists, retry_held))
        return report

    def run_plan_on(self, machine: Machine, *submissions: Submission) -> list[UnitReport]:
        """Judges `submissions` at the whole suite on `machine`, in this process."""
        suite = load_suite(self.settings.suite)
        testsets = {task.dataset: read_testset(self.settings.data, task.dataset) for task in suite.tasks}
        common = Circumstances(guest_version(), self.settings.limits, "this machine")
        units = make_units(list(submissions), suite.tasks, testsets, common)
        runner = Runner(
            place=Place(self.store, self.settings.data),
            machine=machine,
            reporter=Reporter(Console(file=StringIO())),
            beat_s=0.2,
            watch=DeathWatch(self.store, 2.0),
        )
        return runner.run(plan_from_store(self.store, units))

    def results(self) -> list[Result]:
        """The results that count."""
        ids = sorted({key.split("/")[1] for key in self.store.list("submissions/")})
        return load_results(self.store, ids)

    def command(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """`judge` with these arguments, started in this world."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        return subprocess.Popen(
            [sys.executable, "-m", "judge.cli.main", *arguments],
            cwd=self.root,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of `judge` with these arguments."""
        process = self.command(*arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def run_here(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """The same in this process, which spares its start: for commands that start no others."""
        out, err, handler = StringIO(), StringIO(), signal.getsignal(signal.SIGTERM)
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            patch.chdir(self.root)
            patch.setattr(sys, "argv", ["judge", *arguments])
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        signal.signal(signal.SIGTERM, handler)
        return int(ended.value.code or 0), out.getvalue(), err.getvalue()

    def run_json_here(self, *arguments: str) -> tuple[int, object]:
        """The same as `run_json`, in this process."""
        status, out, _ = self.run_here(*arguments, "--json")
        return status, json.loads(out)

    def run_json(self, *arguments: str) -> tuple[int, object]:
        """Exit status of `judge … --json`, and what its standard output parses to."""
        status, out, err = self.run(*arguments, "--json")
        assert "Traceback" not in err
        return status, json.loads(out)
