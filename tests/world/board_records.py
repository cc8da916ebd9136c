"""Valid records for the tests of the leaderboard and its pages: a small suite, submissions and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import numpy as np

from judge.records.attempts import unit_prefix
from judge.records.items_file import items_path, pack_items, result_path
from judge.records.records import Claim, End, Origin, Peaks, Provenance, Result
from sandbox.verdict import Verdict
from submissions.records import Check, ImageRecord, ModelCard, PreflightReport, Submission, submission_id
from submissions.store.interface import Store
from tasks.kind import Parameters
from tasks.kinds.registry import KINDS
from tasks.metrics.measurement import Items
from tasks.metrics.metric import Metric
from tasks.structures.predictions import Cause
from tasks.suites.suite import Suite, Task

ENERGY, FORCE, VIRIAL = "energy_rmse_per_atom", "force_rmse", "virial_rmse_per_atom"
NOON = datetime(2025, 3, 4, 12, tzinfo=UTC)


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def task(name: str, kind: str, domain: str, **parameters: Any) -> Task:
    """A task; a kind that is not installed has no parameters."""
    known = KINDS.get(kind)
    return Task(
        name=name,
        kind=kind,
        dataset=f"{name}@1",
        domain=domain,
        model_domain=domain,
        parameters=(known.parameters if known else Parameters).model_validate(parameters),
        time_limit_s=600.0,
    )


SUITE = Suite(
    name="small",
    version="1",
    title="A small suite",
    tasks=(
        task("crystals", "labelled_frames", "Inorganic Materials"),
        task("molecules", "labelled_frames", "Molecules"),
        task("barriers", "energy_differences", "Molecules"),
        task("drift", "nve", "Inorganic Materials"),
        task("speed", "efficiency", "Inorganic Materials"),
    ),
)


def submission(name: str, driver: str = "docker", **card: Any) -> Submission:
    image = f"sha256:{digest(name)}"
    return Submission.model_validate(
        {
            "id": submission_id(name, image),
            "created": NOON + timedelta(seconds=len(name)),
            "card": ModelCard(name=name, **card),
            "image": ImageRecord(reference="model:latest", id=image, driver=driver),
            "preflight": PreflightReport(
                checks=(
                    Check(name="starts", passed=True, value="ready in 2.1 s", gating=True),
                    Check(name="forces = −∇E", passed=False, value="differ by 3e-02 eV/Å"),
                    Check(name="speed", passed=None, value="383 µs/atom"),
                ),
                versions={"ase": "3.26"},
            ),
        }
    )


def error(charged: float | None, unit: str = "eV/atom", baseline: float | None = 1.0, n_failed: int = 0) -> Metric:
    return Metric(
        value=charged, unit=unit, n_items=10, n_failed=n_failed, charged=charged, baseline=baseline, failure_cost=10.0
    )


def timed(microseconds: float, **more: Any) -> Metric:
    stated = {"value": microseconds, "charged": microseconds, "unit": "µs/atom", "n_items": 20, "failure_cost": 1e6}
    return Metric(**{**stated, **more})


def frames_metrics(relative: float, virial: bool = False) -> dict[str, Metric]:
    metrics = {ENERGY: error(relative), FORCE: error(relative, "eV/Å")}
    return metrics | ({VIRIAL: error(relative)} if virial else {})


def good_metrics(relative: float) -> dict[str, dict[str, Metric]]:
    """The metrics of a model whose every error is `relative` of the baseline, by task."""
    return {
        "crystals": frames_metrics(relative, virial=True),
        "molecules": frames_metrics(relative),
        "barriers": {"mae": error(relative, "eV")},
        "drift": {"slope_geomean": Metric(value=1e-6, unit="eV/atom/ps", n_items=2)},
        "speed": {"time_mean": timed(100 / (1 + relative))},
    }


def result(
    model: Submission,
    in_task: Task,
    metrics: Mapping[str, Metric],
    verdict: Verdict = Verdict.OK,
    driver: str = "docker",
    **more: Any,
) -> Result:
    observation = digest(f"observation {model.id} {in_task.name}")
    provenance = Provenance(
        image_id=model.image.id,
        contract=1,
        origin=Origin(
            guest=digest("guest"),
            judge_version="0.1.0",
            driver=driver,
            host="host",
            hardware="x86_64, 2 cores",
            device="cpu",
        ),
        dataset=in_task.dataset,
        frames_sha256=digest("frames"),
        labels_sha256=digest("labels"),
        observation=observation,
        observe_version=1,
        measure_version=1,
        limits={"task_s": 600.0},
    )
    fields = {
        "submission": model.id,
        "task": in_task.name,
        "kind": in_task.kind,
        "domain": in_task.domain,
        "observation_key": digest(f"key {model.id} {in_task.name}"),
        "result_key": digest(f"result {model.id} {in_task.name}"),
        "measured": NOON + timedelta(hours=1),
        "verdict": verdict,
        "metrics": dict(metrics),
        "n_items": 2 if in_task.kind == "nve" else 10,
        "peaks": Peaks(wall_s=12.5, startup_s=1.5, memory_bytes=2**30),
        "provenance": provenance,
    }
    return Result.model_validate({**fields, **more})


def refused(model: Submission, in_task: Task, verdict: Verdict, **more: Any) -> Result:
    """A result without an observation: the session ended before there was one."""
    whole = result(model, in_task, {}, verdict, **{"n_items": 0, **more})
    return whole.model_copy(update={"provenance": whole.provenance.model_copy(update={"observation": None})})


def good_results(model: Submission, relative: float, driver: str = "docker") -> list[Result]:
    metrics = good_metrics(relative)
    return [result(model, each, metrics[each.name], driver=driver) for each in SUITE.tasks]


def runs(slopes: Sequence[float], causes: Sequence[Cause] | None = None) -> Items:
    size = len(slopes)
    words = [f"run {i}" for i in range(size)]
    codes = np.array(causes or [Cause.NONE] * size, np.int8)
    return Items(id=words, group=words, cluster=words, cause=codes, columns={"slope": np.array(slopes)})


def _differences(charged: Mapping[str, float], n_clusters: int) -> Items:
    """Two items of each quantity; one error is smaller than the mean and the other is larger."""
    prefixes = [name.removesuffix("mae") for name in charged if name.endswith("mae") and ":" not in name] or [""]
    of_item = np.repeat(np.arange(len(prefixes)), 2)
    mean = np.array([charged.get(f"{prefix}mae", 0.0) for prefix in prefixes])[of_item]
    columns = {"error": mean * np.tile([0.9, -1.1], len(prefixes))}
    for number, prefix in enumerate(prefixes):
        is_item = (of_item == number).astype(np.float64)
        off = charged.get(f"{prefix}off_percent", 0.0) / 100
        columns |= {f"{prefix}count": is_item, f"{prefix}off": off * is_item}
    words, cause = [f"item {i}" for i in range(len(of_item))], np.where(np.isnan(mean), Cause.ERROR, Cause.NONE)
    clusters = [f"cluster {i % n_clusters}" for i in range(len(words))]
    return Items(id=words, group=words, cluster=clusters, cause=cause.astype(np.int8), columns=columns)


def items_of(result: Result, n_items: int = 10, n_clusters: int = 1) -> Items:
    """Items that give the charged values of a result: some are worse, some are better, and none is at a limit.

    By default all are in one cluster, so that they cannot be resampled.
    """
    if result.kind == "nve":
        return runs([1e-6, -2e-6])
    share = 1.0 + 0.2 * np.cos(np.arange(n_items) * np.pi / (n_items - 1))  # of mean 1
    ones = np.ones(n_items)
    charged = {
        name: np.nan if m.charged is None else m.charged for name, m in result.metrics.items()
    }  # NaN: all failed
    columns: dict[str, np.ndarray] = {}
    match result.kind:
        case "labelled_frames":
            for stem, name in (("energy", ENERGY), ("force", FORCE), ("virial", VIRIAL)):
                square = share * charged.get(name, 0.0) ** 2
                columns |= {f"{stem}_count": ones, f"{stem}_sq": square, f"{stem}_abs": np.sqrt(square)}
        case "energy_differences":
            return _differences(charged, n_clusters)
        case "efficiency":
            columns = {"charged_time": share * charged["time_mean"], "charged_count": ones} if charged else {}
    words, clusters = [f"item {i}" for i in range(n_items)], [f"cluster {i % n_clusters}" for i in range(n_items)]
    return Items(id=words, group=words, cluster=clusters, cause=np.zeros(n_items, np.int8), columns=columns)


def save(store: Store, submissions: Sequence[Submission], results: Sequence[Result]) -> None:
    """Writes the records to the store, as a judge does."""
    for model in submissions:
        store.put(f"submissions/{model.id}/submission.json", model.model_dump_json().encode())
    for each in results:
        prefix = unit_prefix(each.submission, each.task, each.observation_key)
        claim = Claim(owner="test", host="host", started=NOON)
        end = End(owner="test", ended=NOON, verdict=each.verdict, observation=each.provenance.observation)
        store.put(f"{prefix}1/claim.json", claim.model_dump_json().encode())
        store.put(f"{prefix}1/end.json", end.model_dump_json().encode())
        place = (each.submission, each.task, each.result_key)
        store.put(result_path(*place), each.model_dump_json().encode())
        if each.provenance.observation is not None:
            store.put(items_path(*place), pack_items(items_of(each)))
