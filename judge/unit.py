"""One unit, a plain function of records in the store: observe in a container, store, measure, store.

Whatever is written is written once, and in this order: observation, end of the attempt, items, result. So after a
crash at any point, what exists says what is still to be done.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from judge.assess import Assessment, assess
from judge.attempts import ClaimedAttempt
from judge.items_file import items_path, pack_items, result_path
from judge.observation_file import read_observation, store_observation
from judge.plan import Unit
from judge.records import End, MetricRecord, Peaks, Provenance, Result
from sandbox.driver import Driver, Image, Question
from sandbox.guest_archive import guest_version
from sandbox.remote import RemoteCalculator
from sandbox.session import Outcome, run_session
from sandbox.verdict import FaultCause, JudgeFault, SubmissionFault, Verdict
from submissions.records import utc_now
from submissions.store import Store
from tasks.dataset import load_dataset, load_structures
from tasks.kind import Observation, Watch
from tasks.measurement import Measurement, Metric
from tasks.predictions import Cause

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Bench:
    """Where a unit is run.

    Args:
        image: to run, or why it cannot be.
        hardware: class of this machine, with the GPU if one is given.
        gpu: UUID; None for the CPU.
    """

    driver: Driver
    image: Image | SubmissionFault
    hardware: str
    gpu: str | None

    @property
    def device(self) -> str:
        """What the calculator is asked to run on."""
        return "cuda" if self.gpu else "cpu"


class Place(NamedTuple):
    """Where things lie, and how strict the judge is."""

    store: Store
    data: Path
    failed_share: float


def observe_unit(unit: Unit, bench: Bench, place: Place, attempt: ClaimedAttempt, progress: Progress) -> End:
    """Asks the model, stores its answers and then the end of the attempt, and returns that end.

    Raises:
        JudgeFault: of this machine; the end is not written.
    """
    # From here to the end of the session nothing of the data set but its structures is read.
    with _kind_at_fault(unit):
        structures = load_structures(place.data / unit.task.dataset)

    def body(remote: RemoteCalculator) -> Observation:
        watch = Watch(time.monotonic, _deadline(unit.limits.task_s), progress, remote.echo)
        with _kind_at_fault(unit):
            return unit.kind.observe(structures, unit.parameters, remote, watch)

    if isinstance(bench.image, SubmissionFault):
        refused = bench.image
        end = _end(attempt, bench, refused.verdict, refused.sentence)
    else:
        question = Question(unit.task.domain, unit.label_set, bench.device, bench.gpu)
        outcome = run_session(bench.driver, bench.image, unit.limits, question, body)
        digest = store_observation(place.store, outcome.value) if outcome.value is not None else None
        end = _end(attempt, bench, outcome.verdict, outcome.sentence, digest, _peaks(outcome))
    attempt.write_end(end)
    return end


def _deadline(task_s: float) -> float:
    """When a task that can end in good order should: a little before the session would be cut off."""
    return time.monotonic() + task_s - min(30.0, 0.05 * task_s)


def _peaks(outcome: Outcome[Observation]) -> Peaks:
    return Peaks(wall_s=outcome.wall_s, startup_s=outcome.startup_s, memory_bytes=outcome.memory_bytes)


def _end(
    attempt: ClaimedAttempt,
    bench: Bench,
    verdict: Verdict,
    sentence: str,
    observation: str | None = None,
    peaks: Peaks | None = None,
) -> End:
    return End(
        owner=attempt.owner,
        ended=utc_now(),
        verdict=verdict,
        sentence=sentence,
        observation=observation,
        peaks=peaks,
        hardware=bench.hardware,
        device=bench.device,
    )


def fault_end(attempt: ClaimedAttempt, fault: JudgeFault, hardware: str) -> End:
    """The end of an attempt that this machine spoilt."""
    return End(owner=attempt.owner, ended=utc_now(), fault=fault.cause, sentence=fault.mend, hardware=hardware)


def measure_unit(unit: Unit, end: End, place: Place) -> Result:
    """What `end` came to, with the labels: stored, and returned. Starts no container.

    Raises:
        JudgeFault: MEASURE, the observation does not fit the data set; STORE.
    """
    key = unit.result_key(end)
    if end.observation is None:
        result = _result(unit, end, key, Assessment(end.verdict or Verdict.CRASHED, end.sentence), None)
    else:
        measurement = _measure(unit, read_observation(place.store, end.observation), place.data)
        failures = measurement.items.failures()
        assessment = assess(len(measurement.items), failures, place.failed_share, end.device == "cuda")
        result = _result(unit, end, key, assessment, measurement)
        items = items_path(unit.submission.id, unit.task.name, key)
        place.store.put(items, pack_items(measurement.items))
    path = result_path(unit.submission.id, unit.task.name, key)
    if place.store.put_if_absent(path, result.model_dump_json(indent=1).encode()):
        return result
    return Result.model_validate_json(place.store.get(path))  # another judge measured the same at the same time


@contextmanager
def _kind_at_fault(unit: Unit) -> Iterator[None]:
    """An error of our own code in a task kind is this judge's fault, and ends this unit only."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RuntimeError) as error:
        text = " ".join(str(error).split())
        name = f"{unit.submission.id} {unit.task.name}"
        raise JudgeFault(FaultCause.MEASURE, f"{name}: {type(error).__name__}: {text}: see it with --debug") from error


def _measure(unit: Unit, observation: Observation, data: Path) -> Measurement:
    with _kind_at_fault(unit):
        dataset = load_dataset(data / unit.task.dataset)
        return unit.kind.measure(observation, dataset, unit.parameters, unit.measured_label_set)


def _result(unit: Unit, end: End, key: str, assessment: Assessment, measurement: Measurement | None) -> Result:
    failures = measurement.items.failures() if measurement else {}
    return Result(
        submission=unit.submission.id,
        task=unit.task.name,
        kind=unit.kind.name,
        domain=unit.task.domain,
        observation_key=unit.observation_key,
        result_key=key,
        measured=utc_now(),
        verdict=assessment.verdict,
        sentence=assessment.sentence,
        label_set=unit.label_set or "",
        label_set_declared=unit.declared,
        metrics={name: _metric(metric) for name, metric in measurement.metrics.items()} if measurement else {},
        n_items=len(measurement.items) if measurement else 0,
        failures={Cause(cause).name: count for cause, count in failures.items()},
        peaks=end.peaks,
        provenance=_provenance(unit, end),
    )


def _metric(metric: Metric) -> MetricRecord:
    """The metric as stored. JSON has no NaN: a number that is none is absent."""
    record = MetricRecord(value=None, unit=metric.unit, n_items=metric.n_items, n_failed=metric.n_failed)
    numbers = {name: getattr(metric, name) for name in ("value", "charged", "baseline", "failure_cost")}
    finite = {
        name: float(number) if number is not None and abs(number) < float("inf") else None
        for name, number in numbers.items()
    }
    return record.model_copy(update=finite)


def judge_version() -> str:
    """The version of this judge."""
    try:
        return metadata.version("lambench-judge")
    except metadata.PackageNotFoundError:
        return "unknown"


def _provenance(unit: Unit, end: End) -> Provenance:
    return Provenance(
        image_id=unit.submission.image.id,
        contract=unit.submission.contract,
        guest=guest_version(),
        judge_version=judge_version(),
        driver=unit.submission.image.driver,
        host=platform.node(),
        hardware=end.hardware,
        device=end.device,
        dataset=unit.task.dataset,
        frames_sha256=unit.testset.frames_sha256,
        labels_sha256=unit.testset.labels_sha256,
        observation=end.observation,
        observe_version=unit.kind.observe_version,
        measure_version=unit.kind.measure_version,
        limits={name: float(value) for name, value in unit.limits.model_dump().items()},
    )
