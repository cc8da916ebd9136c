"""Makes the store of a leaderboard with many different models within a minute, as a judge would have written it.

`python -m benchmarks.large_board --root DIR --models 200 --tasks 40`. Models and numbers are invented; they are the
same on every machine, except for the hardware class. They say nothing about any real model. The kinds themselves
measure the metrics. Observations are named but not stored: a site is built without them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path

import numpy as np

from benchmarks.board_answers import make_case, observe, ready
from benchmarks.board_models import BEGIN, Model, make_model
from benchmarks.board_tasks import (
    MOLECULES,
    chosen_templates,
    dataset_at,
    generator,
    save_datasets,
    suite_toml,
    toml_lines,
)
from judge.config import JudgeSettings
from judge.data.testset import TestSet, read_testset
from judge.evaluation.measure import remeasure
from judge.evaluation.plan import Unit
from judge.evaluation.request import circumstances
from judge.evaluation.work_plan import make_units
from judge.records.decisions import DecisionEvent, EventKind
from judge.records.hardware import hardware_class
from judge.records.items_file import items_path, result_path
from judge.records.observation_file import observation_path, pack
from judge.records.probe_secret import order_secret
from judge.records.records import Claim, End, Origin, Peaks
from judge.records.signing import SigningKey
from sandbox.guest_archive import guest_version
from sandbox.verdict import Verdict
from submissions.preflight.log import log_path
from submissions.store.local import LocalStore
from tasks.suites.suite import Suite, load_suite

GPU = "GPU NVIDIA H100 80GB HBM3"
SPOILT = (
    (Verdict.TIME_LIMIT, "The task was not finished within its time."),
    (Verdict.UNSUPPORTED, "The model does not know the elements of this task."),
    (Verdict.MEMORY_LIMIT, "The container was killed at its memory limit."),
    (Verdict.GPU_MEMORY_LIMIT, "The model ran out of the GPU's memory."),
    (Verdict.CRASHED, "The container ended with exit status 139: see its log."),
)


def make_large_board(root: Path, n_models: int, n_tasks: int) -> JudgeSettings:
    """The settings of a judge below `root`, whose suite of `n_tasks` is done for `n_models`. `root` must be empty."""
    settings = JudgeSettings(
        store=str(root / "store"),
        data=root / "data",
        suite=str(root / "large.toml"),
        key_file=root / "keys" / "signing.key",
        log=root / "log" / "judge.jsonl",
        run_dir=root / "run",
        site_dir=root / "site",
        publish_to=str(root / "public"),
    )
    templates = chosen_templates(n_tasks)
    save_datasets(settings.data, templates)
    Path(settings.suite).write_text(suite_toml(templates))
    names = ("store", "data", "run_dir", "site_dir", "suite", "key_file", "log", "publish_to")
    (root / "judge.toml").write_text("".join(toml_lines({name: str(getattr(settings, name)) for name in names})))
    settings.key_file.parent.mkdir()
    key = SigningKey.create(settings.key_file)
    models = [make_model(number, n_models) for number in range(n_models)]
    with ProcessPoolExecutor(cpu_count(), get_context("fork")) as workers:
        chunk = max(1, n_models // 16)
        for _ in workers.map(partial(_write_model, settings), models, chunksize=chunk):
            pass
    for number, kind in ((n_models // 3, EventKind.WITHDRAWN), (n_models // 2, EventKind.DISQUALIFIED)):
        if n_models >= 20:
            _take_out(settings, key, models[number], kind)
    return settings


def _write_model(settings: JudgeSettings, model: Model) -> None:
    """Writes all records of a model."""
    key, suite = SigningKey.load(settings.key_file), load_suite(settings.suite)
    submission = model.submission
    _write(settings, f"submissions/{submission.id}/submission.json", submission.model_dump_json(indent=1).encode())
    if model.log:
        _write(settings, log_path(submission.id), model.log.encode())
    for unit in _units(settings, suite, model):
        for name, data in _records_of(settings, model, unit, key):
            _write(settings, name, data)


def _units(settings: JudgeSettings, suite: Suite, model: Model) -> list[Unit]:
    """The units of a model that were judged."""
    common = circumstances(settings, (), order_secret(LocalStore(Path(settings.store))))
    if model.on_gpu:
        common = replace(common, hardware=GPU)
    testsets = {task.dataset: _testset(settings.data, task.dataset) for task in suite.tasks}
    units = make_units([model.submission], suite.tasks, testsets, common)
    rng = generator("units", model.number)
    match model.outcome.word:
        case "empty":
            return []
        case "single":
            return units[:1]
        case "partial":
            return [unit for unit in units if rng.uniform() < 0.8]
    return units


@cache
def _testset(data: Path, name: str) -> TestSet:
    return read_testset(data, name)


@cache
def _hardware(cpus: int) -> str:
    return hardware_class(cpus, None)


def _records_of(settings: JudgeSettings, model: Model, unit: Unit, key: SigningKey) -> Iterator[tuple[str, bytes]]:
    """The records of a unit, by key."""
    rng = generator("attempt", model.number, unit.task.name)
    began = model.submission.created + timedelta(minutes=int(rng.integers(0, 900)))
    hardware = GPU if model.on_gpu else _hardware(settings.limits.cpus)
    verdict, sentence, share = _spoilt(model, unit, rng)
    dataset = dataset_at(settings.data, unit.task.dataset)
    packed = b""
    if verdict is None:
        observation = observe(make_case(model, unit, dataset, share))
        packed = pack(observation.arrays, dict(observation.notes))
    end = _end(model, hardware, began, verdict or Verdict.OK, sentence, rng)
    digest = sha256(packed).hexdigest() if packed else None
    end = end.model_copy(update={"observation": digest})
    store = _InMemory({observation_path(digest): packed} if digest else {})
    measured = remeasure(ready(unit), end, store, lambda: dataset)  # type: ignore[arg-type]
    when = {"measured": end.ended + timedelta(seconds=2)}
    signed = key.sign(measured.result.model_copy(update=when))
    claim = Claim(owner=end.owner, host=end.origin.host, started=began)
    place = (unit.submission.id, unit.task.name, signed.result_key)
    yield f"{unit.prefix}1/claim.json", claim.model_dump_json(indent=1).encode()
    yield f"{unit.prefix}1/beat.json", json.dumps({"owner": end.owner, "count": 1}).encode()
    yield f"{unit.prefix}1/end.json", end.model_dump_json(indent=1).encode()
    if measured.items is not None:
        yield items_path(*place), measured.items
    yield result_path(*place), signed.model_dump_json(indent=1).encode()


def _spoilt(model: Model, unit: Unit, rng: np.random.Generator) -> tuple[Verdict | None, str, float]:
    """The verdict that ended the attempt, or None; its sentence; the share of items that fail."""
    word, drawn = model.outcome.word, rng.uniform()
    if word == "failed":
        return Verdict.STARTUP_FAILED, "The model did not load: see its log.", 0.0
    if word == "molecules" and unit.task.domain != MOLECULES:
        return *SPOILT[1], 0.0
    if word == "spoilt" and drawn < 0.15:
        return (None, "", 0.8) if drawn < 0.03 else (*SPOILT[int(drawn * 1e6) % len(SPOILT)], 0.0)
    return None, "", 0.0 if rng.uniform() < 0.7 else 0.03


class _InMemory(LocalStore):
    """A store of these objects, in memory."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        self._objects = objects

    def get(self, key: str) -> bytes:
        return self._objects[key]

    def exists(self, key: str) -> bool:
        return key in self._objects


def _end(
    model: Model, hardware: str, began: datetime, verdict: Verdict, sentence: str, rng: np.random.Generator
) -> End:
    seconds = float(np.exp(rng.uniform(3, 8)))
    return End.model_validate(
        {
            "owner": "boot/pid:[1]/1/1/00000000",
            "ended": began,
            "verdict": verdict,
            "sentence": sentence,
            "phase": "finished" if verdict is Verdict.OK else "task",
            "peaks": Peaks(wall_s=seconds, startup_s=seconds / 50, memory_bytes=int(rng.uniform(1, 8) * 2**30)),
            "origin": Origin(
                host="judge-1",
                driver="docker",
                engine="docker 27 runc 1.2 linux 6.8",
                hardware=hardware,
                device="cuda" if model.on_gpu else "cpu",
                guest=guest_version(),
                judge_version="0.1.0",
            ),
        }
    )


def _take_out(settings: JudgeSettings, key: SigningKey, model: Model, kind: EventKind) -> None:
    time = BEGIN + timedelta(days=700)
    reason = (
        "Its authors asked for it." if kind is EventKind.WITHDRAWN else "It answered otherwise where it was watched."
    )
    event = DecisionEvent(kind=kind, submission=model.submission.id, time=time, who=key.public, reason=reason)
    name = f"submissions/{model.submission.id}/events/{time:%Y%m%dT%H%M%S.%fZ}-{kind}-{model.number:08x}.json"
    _write(settings, name, key.sign(event).model_dump_json(indent=1).encode())


def _write(settings: JudgeSettings, key: str, data: bytes) -> None:
    path = Path(settings.store) / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Makes the leaderboard that the command line describes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="an empty folder, or none")
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=40)
    stated = parser.parse_args(arguments)
    stated.root.mkdir(parents=True, exist_ok=True)
    make_large_board(stated.root.absolute(), stated.models, stated.tasks)
    print(f"{stated.models} models × {stated.tasks} tasks: cd {stated.root} && judge site build")


if __name__ == "__main__":
    main()
