"""The world of a test: settings, a store, data sets, a suite, and submissions of the process driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any, Self

from rich.console import Console

from judge.cli.main import main
from judge.config import JudgeSettings
from judge.data.testset import read_testset
from judge.evaluation.evaluate import Summary, evaluate
from judge.evaluation.machine import Machine
from judge.evaluation.observe import UnitStorage
from judge.evaluation.plan import Circumstances, TaskUnits, Unit, make_plan
from judge.evaluation.request import Request
from judge.evaluation.runner import Runner
from judge.evaluation.unit_report import UnitReport
from judge.evaluation.work_plan import make_units
from judge.records.attempts import DeathWatch, read_histories, read_history
from judge.records.probe_secret import order_secret
from judge.records.records import Result
from judge.records.results import load_results
from judge.workspace import Workspace
from sandbox.driver import Image
from sandbox.drivers.process_driver import ProcessDriver
from sandbox.guest_archive import guest_version
from sandbox.limits import Limits
from sandbox.rundir import RunDir
from submissions.progress import Reporter
from submissions.records import (
    ImageRecord,
    ModelCard,
    PreflightReport,
    StatedLabelSet,
    Submission,
    submission_id,
    utc_now,
)
from submissions.store.local import LocalStore
from tasks.kind import Kind, Parameters
from tasks.suites.suite import Task, load_suite
from tests.world.commands import ROOT, run_in_process
from tests.world.small_data import EMT_FOLDER, SUITE, save_frames

FILES = {
    "store": "store",
    "data": "data",
    "run_dir": "run",
    "site_dir": "site",
    "suite": "small.toml",
    "key_file": "signing.key",
    "log": "judge.jsonl",
    "publish_to": "public",
}
"""Settings that name a file or a folder of the world, relative to its root."""
QUICK = {
    "driver": "process",
    "allow_process": True,
    "beat_s": 0.2,
    "dead_after_s": 2.0,
    "limits": {"startup_s": 30, "message_s": 30, "cpus": 1},
}


@dataclass
class World:
    """The folder and the settings of a test that judges.

    Args:
        root: a folder with a short path, because the paths of its sockets have at most 107 bytes.
        more: settings that differ from those of other worlds.
    """

    root: Path
    more: dict[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def store(self) -> LocalStore:
        return LocalStore(self.root / "store")

    @property
    def stated_settings(self) -> dict[str, Any]:
        """The settings as `judge.toml` states them."""
        return {**FILES, **QUICK, **self.more}

    @property
    def settings(self) -> JudgeSettings:
        """The settings with absolute paths, so that they hold in any working directory."""
        stated = self.stated_settings
        own_files = {name: str(self.root / file) for name, file in FILES.items() if stated[name] == file}
        return JudgeSettings(**{**stated, **own_files})

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.settings)

    def with_settings(self, **more: Any) -> Self:
        """The same world with other settings."""
        return replace(self, more={**self.more, **more})

    def write_settings(self, **more: Any) -> None:
        """Writes `judge.toml` for commands; `more` are further settings in it."""
        stated = {**self.stated_settings, **more}
        tables = {name: value for name, value in stated.items() if isinstance(value, dict)}
        lines = [_toml(name, value) for name, value in stated.items() if name not in tables]
        for name, table in tables.items():
            lines += [f"[{name}]", *(_toml(key, value) for key, value in table.items())]
        (self.root / "judge.toml").write_text("\n".join([*lines, ""]))

    def folder(self, name: str, code: str | None = None) -> Path:
        """A submission's folder; `code` is its calculator; None: EMT."""
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

    def record(self, name: str, image: Image, card: ModelCard | None = None) -> Submission:
        """A submission of `image`, recorded without a preflight."""
        card = card or ModelCard(name=name, label_sets={"Inorganic Materials": StatedLabelSet(name="EMT")})
        submission = Submission(
            id=submission_id(name, image.id),
            created=utc_now(),
            card=card,
            image=ImageRecord(reference=image.reference, id=image.id, driver=image.driver, trainer=image.trainer),
            preflight=PreflightReport(checks=()),
        )
        key = f"submissions/{submission.id}/submission.json"
        assert self.store.put_if_absent(key, submission.model_dump_json().encode())
        return submission

    def evaluate(self, **request: object) -> tuple[Summary, str]:
        """The summary of `judge evaluate` with this request, in this process, and its output."""
        output = StringIO()
        reporter = Reporter(Console(file=output, width=200))
        return evaluate(self.workspace, Request(**request), reporter), output.getvalue()  # type: ignore[arg-type]

    def unit(self, submission: Submission, kind: Kind, limits: Limits | None = None, **task: Any) -> Unit:
        """The unit of `submission` and a task of `kind` on the data set copper; `task` has further fields of it."""
        parameters: Parameters = task.pop("parameters", None) or kind.parameters()
        fields: dict[str, Any] = {
            "name": kind.name.replace("_", "-"),
            "kind": kind.name,
            "dataset": "copper@1",
            "domain": "Inorganic Materials",
            "model_domain": "Inorganic Materials",
            "time_limit_s": 60.0,
            **task,
        }
        chosen = Task(parameters=parameters, **fields)
        testset = read_testset(self.settings.data, chosen.dataset)
        common = self._circumstances(limits)
        return TaskUnits(chosen, kind, testset, common).unit(submission)

    def _circumstances(self, limits: Limits | None = None) -> Circumstances:
        secret = order_secret(self.store)
        return Circumstances(guest_version(), limits or self.settings.limits, "this machine", secret=secret)

    def run_unit(self, unit: Unit, retry_held: bool = False, with_parts: bool = True) -> UnitReport:
        """Observes and measures `unit` as `judge evaluate` does, in this process.

        Args:
            with_parts: its trainings are run before it.
        """
        machine = Machine(
            open_sandbox=lambda: ProcessDriver(RunDir(self.settings.run_dir)),
            hardware=lambda gpu: "this machine",
            gpus=(),
            say=lambda line: None,
        )
        units = [*(unit.parts if with_parts else ()), unit]
        histories = {each.prefix: read_history(self.store, each.prefix) for each in units}
        plan = make_plan(units, histories, self.store.exists, retry_held)
        return self._runner(machine, retry_held).run(plan)[-1]

    def run_plan_on(self, machine: Machine, *submissions: Submission) -> list[UnitReport]:
        """Judges `submissions` in all tasks of the suite on `machine`, in this process."""
        suite = load_suite(self.settings.suite)
        testsets = {task.dataset: read_testset(self.settings.data, task.dataset) for task in suite.tasks}
        units = make_units(list(submissions), suite.tasks, testsets, self._circumstances())
        histories = read_histories(self.store, [submission.id for submission in submissions])
        return self._runner(machine).run(make_plan(units, histories, self.store.exists))

    def _runner(self, machine: Machine, retry_held: bool = False) -> Runner:
        return Runner(
            place=UnitStorage(self.store, self.settings.data),
            machine=machine,
            reporter=Reporter(Console(file=StringIO())),
            beat_s=0.2,
            watch=DeathWatch(self.store, 2.0),
            retry_held=retry_held,
        )

    def judged_apart(self, **environment: str) -> LocalStore:
        """A store of its own in which the same submissions are judged by one process.

        Args:
            environment: settings that differ, as variables.
        """
        apart = self.root / "apart"
        shutil.rmtree(apart, ignore_errors=True)
        for folder in ("submissions", "secrets"):
            if (self.root / "store" / folder).exists():
                shutil.copytree(self.root / "store" / folder, apart / folder)
        status, _, err = self.run("evaluate", "--all", LAMBENCH_STORE=str(apart), **environment)
        assert status == 0, err
        return LocalStore(apart)

    def results(self) -> list[Result]:
        """The current results."""
        ids = sorted({key.split("/")[1] for key in self.store.list("submissions/")})
        return load_results(self.store, ids)

    def command(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """A process of `judge` with these arguments, started in this world."""
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

    def run_json(self, *arguments: str) -> tuple[int, object]:
        """Exit status of `judge … --json`, and its parsed standard output."""
        status, out, err = self.run(*arguments, "--json")
        assert "Traceback" not in err
        return status, json.loads(out)

    def run_here(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """The same as `run`, in this process."""
        return run_in_process(main, "judge", arguments, self.root, environment)

    def run_json_here(self, *arguments: str) -> tuple[int, Any]:
        """The same as `run_json`, in this process."""
        status, out, _ = self.run_here(*arguments, "--json")
        return status, json.loads(out)


def _toml(name: str, value: object) -> str:
    return f"{name} = {json.dumps(value, default=str)}"


def small_world(root: Path, copper_shift: float = 0.0, nickel_shift: float = 0.0) -> World:
    """A world with the two small data sets and their suite; the shifts are errors of their forces [eV/Å]."""
    save_frames(root / "data", "Cu", "copper", shift=copper_shift)
    save_frames(root / "data", "Ni", "nickel", shift=nickel_shift)
    (root / "small.toml").write_text(SUITE)
    return World(root)
