"""Makes a store of many results within minutes, as a judge would have written them. Its files are not synced.

Every submission is judged at every task of one suite: a claim, a beat and an end of each attempt, a signed result and
its items table. All submissions give the same answers, so only one is measured. Each has its own keys.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
from ase.calculators.emt import EMT

from benchmarks.frames import copper
from judge.config import JudgeSettings
from judge.data.testset import read_testset
from judge.evaluation.measure import remeasure
from judge.evaluation.plan import Unit
from judge.evaluation.provenance import provenance
from judge.evaluation.request import circumstances
from judge.evaluation.work_plan import make_units
from judge.records.items_file import items_path, result_path
from judge.records.observation_file import store_observation
from judge.records.probe_secret import order_secret
from judge.records.records import Claim, End, Origin, Peaks, Result
from judge.records.signing import SigningKey
from sandbox.guest_archive import guest_version
from sandbox.verdict import Verdict
from submissions.records import (
    Check,
    ImageRecord,
    ModelCard,
    PreflightReport,
    StatedLabelSet,
    Submission,
    Timing,
    submission_id,
)
from submissions.store.local import LocalStore
from tasks.datasets.card import Card, LabelSet, Table
from tasks.datasets.dataset import Dataset, load_dataset, save_dataset
from tasks.kind import Watch
from tasks.model.calculator import InProcessCalculator
from tasks.structures.frames import Frames
from tasks.structures.predictions import Labels
from tasks.suites.suite import load_suite

BEGIN = datetime(2025, 1, 1, tzinfo=UTC)
DATASETS = ("cold", "warm")
TASK = """
[[tasks]]
name = "{name}"
kind = "labelled_frames"
dataset = "{dataset}@1"
domain = "Inorganic Materials"
time_limit_s = {limit}
"""


def make_large_store(root: Path, n_submissions: int, n_tasks: int) -> JudgeSettings:
    """The settings of a judge below `root`, whose suite of `n_tasks` is done for `n_submissions`."""
    settings = JudgeSettings(
        store=str(root / "store"),
        data=root / "data",
        suite=str(root / "large.toml"),
        key_file=root / "signing.key",
        log=root / "judge.jsonl",
        run_dir=root / "run",
        site_dir=root / "site",
        publish_to=str(root / "public"),
    )
    for number, name in enumerate(DATASETS):
        _save_dataset(settings.data, name, seed=number)
    tasks = [TASK.format(name=f"task-{i:02d}", dataset=DATASETS[i % 2], limit=600 + i) for i in range(n_tasks)]
    (root / "large.toml").write_text('name = "large"\nversion = "1"\ntitle = "Many tasks"\n' + "".join(tasks))
    names = ("store", "data", "run_dir", "site_dir", "suite", "key_file", "log", "publish_to")
    (root / "judge.toml").write_text(
        "".join(f"{name} = {json.dumps(str(getattr(settings, name)))}\n" for name in names)
    )
    key = SigningKey.create(settings.key_file)
    suite = load_suite(settings.suite)
    common = circumstances(settings, (), order_secret(LocalStore(Path(settings.store))))
    testsets = {task.dataset: read_testset(settings.data, task.dataset) for task in suite.tasks}
    submissions = [_submission(number) for number in range(n_submissions)]
    ends: dict[str, End] = {}
    measured: dict[str, tuple[Result, bytes]] = {}
    for unit in make_units(submissions[:1], suite.tasks, testsets, common):
        ends[unit.task.name] = end = _observe(unit, settings, common.hardware)
        result, items = remeasure(unit, end, LocalStore(Path(settings.store)), lambda u=unit: _dataset(settings, u))  # type: ignore[misc]
        measured[unit.task.name] = (result, items or b"")
    for number, submission in enumerate(submissions):
        _write(settings, f"submissions/{submission.id}/submission.json", submission.model_dump_json(indent=1).encode())
        for unit in make_units([submission], suite.tasks, testsets, common):
            for name, data in _records_of(unit, ends[unit.task.name], *measured[unit.task.name], key, number):
                _write(settings, name, data)
    return settings


def _records_of(
    unit: Unit, end: End, result: Result, items: bytes, key: SigningKey, number: int
) -> Iterator[tuple[str, bytes]]:
    """The records of a unit, by key."""
    began = BEGIN + timedelta(minutes=number)
    dated_end = end.model_copy(update={"ended": began})
    place = (unit.submission.id, unit.task.name, unit.result_key(dated_end))
    fields = {
        "submission": unit.submission.id,
        "observation_key": unit.observation_key,
        "result_key": place[2],
        "measured": began + timedelta(seconds=1),
        "provenance": provenance(unit, dated_end),
    }
    claim = Claim(owner=end.owner, host=end.origin.host, started=began)
    yield f"{unit.prefix}1/claim.json", claim.model_dump_json(indent=1).encode()
    yield f"{unit.prefix}1/beat.json", json.dumps({"owner": end.owner, "count": 1}).encode()
    yield f"{unit.prefix}1/end.json", dated_end.model_dump_json(indent=1).encode()
    yield items_path(*place), items
    yield result_path(*place), key.sign(result.model_copy(update=fields)).model_dump_json(indent=1).encode()


def _write(settings: JudgeSettings, key: str, data: bytes) -> None:
    path = Path(settings.store) / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _observe(unit: Unit, settings: JudgeSettings, hardware: str) -> End:
    """The end of an attempt with EMT, without a container."""
    structures = _dataset(settings, unit).structures
    observation = unit.kind.observe(structures, unit.parameters, InProcessCalculator(EMT()), Watch(time.monotonic))
    return End(
        owner="boot/pid:[1]/1/1/00000000",
        ended=BEGIN,
        verdict=Verdict.OK,
        phase="finished",
        observation=store_observation(LocalStore(Path(settings.store)), observation),
        peaks=Peaks(wall_s=12.5, startup_s=1.5, memory_bytes=2**30),
        origin=Origin(host="host", driver="docker", hardware=hardware, device="cpu", guest=guest_version()),
    )


def _dataset(settings: JudgeSettings, unit: Unit) -> Dataset:
    return load_dataset(settings.data / unit.task.dataset)


def _submission(number: int) -> Submission:
    """A submission after its preflight."""
    name = f"model {number:05d}"
    image = f"sha256:{sha256(name.encode()).hexdigest()}"
    checks = tuple(
        Check(name=check, passed=True, value="as it should be")
        for check in ("starts", "answers", "invariant", "F = −∇E", "σ = dE/dε", "speed", "elements", "charges")
    )
    card = ModelCard(
        name=name,
        version="1.0",
        authors=("A. Author", "B. Author"),
        license="MIT",
        n_parameters=number,
        label_sets={"Inorganic Materials": StatedLabelSet(name="EMT", dispersion=False)},
    )
    return Submission(
        id=submission_id(name, image),
        created=BEGIN + timedelta(minutes=number),
        card=card,
        image=ImageRecord(reference=f"registry/{name}:latest", id=image, architecture="amd64", size_bytes=10**9),
        preflight=PreflightReport(checks=checks, timings=(Timing(n_atoms=8, seconds=0.01),), startup_s=1.5),
    )


def _save_dataset(data: Path, name: str, seed: int) -> None:
    """Six rattled cells of copper, with labels of EMT."""
    rng, structures = np.random.default_rng(seed), []
    for _ in range(6):
        atoms = copper(4)
        atoms.positions += rng.normal(0, 0.05, atoms.positions.shape)
        atoms.calc = EMT()
        structures.append(atoms)
    labels = Labels(
        np.array([atoms.get_potential_energy() for atoms in structures]),
        np.concatenate([atoms.get_forces() + 0.01 for atoms in structures]),
        np.array([atoms.get_stress() for atoms in structures]),
    )
    ids = tuple(f"{name}-{i}" for i in range(len(structures)))
    card = Card(
        name=name,
        version="1",
        title=f"Rattled copper, {name}",
        domain="Inorganic Materials",
        periodic=True,
        public_since="2026",
        default_label_set="EMT",
        label_sets={"EMT": LabelSet(theory="ASE's EMT", dispersion=False)},
    )
    table = Table(id=ids, group=(name,) * len(ids), cluster=ids)
    save_dataset(Dataset(card, Frames.from_atoms(structures), table, {"EMT": labels}), data)
