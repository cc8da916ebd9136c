"""The judge's stored records: claims, ends and results. Each is written once."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import AwareDatetime, Field

from sandbox.verdict import FaultCause, Verdict
from submissions.records import Fields, Record, Upgrades
from tasks.metrics.metric import Metric, MetricPart


class Claim(Record):
    """`attempts/<id>/<task>/<observation_key>/<n>/claim.json`: a judge works on this attempt.

    Args:
        owner: identity of the process that holds the claim, see `judge.records.process_identity`.
    """

    schema_version: Literal[1] = 1
    owner: str
    host: str
    started: AwareDatetime


class Peaks(Record):
    """The time and memory that an attempt used."""

    wall_s: float
    startup_s: float | None = None
    memory_bytes: int | None = None


class Origin(Record):
    """The machine and the software by which an attempt was observed.

    Args:
        engine: that ran the container, with versions of runtime and kernel; a selftest is valid for one engine. Empty
            for a process.
        gpu: UUID; empty for the CPU.
        gpu_driver: version of the GPU's driver.
        hardware: class within which timings are compared.
        device: that the calculator was asked to run on.
        training_guest: version of the guest of trainings; empty if it was not recorded.
        selftest: key in the store of the last selftest of this host and engine; empty if there was none.
    """

    host: str = ""
    driver: str = ""
    engine: str = ""
    gpu: str = ""
    gpu_driver: str = ""
    hardware: str = ""
    device: str = ""
    guest: str = ""
    training_guest: str = ""
    judge_version: str = ""
    judge_commit: str = ""
    selftest: str = ""


_ORIGIN = ("host", "driver", "hardware", "device", "guest", "judge_version", "judge_commit")


def _end_2(fields: Fields) -> Fields:
    """Version 2: hardware and device moved into `origin`."""
    moved = {name: fields[name] for name in _ORIGIN if name in fields}
    kept = {name: value for name, value in fields.items() if name not in _ORIGIN}
    return {**kept, "schema_version": 2, "origin": moved}


def _end_3(fields: Fields) -> Fields:
    """Version 3: an end says whether its observation was resumed."""
    return {**fields, "schema_version": 3}


def _end_4(fields: Fields) -> Fields:
    """Version 4: an end names the model that a trainer left."""
    return {**fields, "schema_version": 4}


def _end_5(fields: Fields) -> Fields:
    """Version 5: an end names the shards or trainings that it joins; the origin names the guest of trainings."""
    return {**fields, "schema_version": 5}


class End(Record):
    """`…/<n>/end.json`: the end of an attempt. Exactly one of `verdict` and `fault` is set.

    Args:
        model: sha256 of what a trainer left, see `judge.records.model_file`; None if nothing was trained.
        parts: observation keys of the shards or trainings that are joined in it; empty for other units.
        resumed: whether the observation went on from where an interrupted one had come to.
        phase: the last phase that the attempt reached, see `sandbox.evidence.Phase`; empty if it is not known.
        culprit: the faulty resource of a fault, if other attempts may fail because of it: `gpu UUID` or `dataset NAME`.
    """

    upgrades: ClassVar[Upgrades] = {1: _end_2, 2: _end_3, 3: _end_4, 4: _end_5}
    schema_version: Literal[5] = 5
    owner: str
    ended: AwareDatetime
    verdict: Verdict | None = None
    fault: FaultCause | None = None
    sentence: str = ""
    phase: str = ""
    culprit: str = ""
    observation: str | None = None
    model: str | None = None
    parts: tuple[str, ...] = ()
    peaks: Peaks | None = None
    resumed: bool = False
    origin: Origin = Origin()


class Provenance(Record):
    """The provenance of a result.

    Args:
        origin: of the observation.
        measured_with: version and commit of the judge that measured.
        parameters: `judge.records.content_keys.parameters_hash` of the task's; empty if it was not recorded.
        seeds: by name, of all random draws of the observation.
        resumed: as in the end.
    """

    image_id: str
    contract: int
    origin: Origin
    measured_with: str = ""
    dataset: str
    frames_sha256: str
    labels_sha256: str = ""
    observation: str | None = None
    observe_version: int
    measure_version: int
    limits: dict[str, float]
    parameters: str = ""
    seeds: dict[str, int] = Field(default_factory=dict)
    dispersion: str = ""
    resumed: bool = False


class Signature(Record):
    """The signature of a record: ed25519 (RFC 8032) over its canonical JSON, see `judge.records.signing`.

    Args:
        key: the public key, 64 hexadecimal digits.
        value: 128 hexadecimal digits.
    """

    key: str = Field(pattern=r"^[0-9a-f]{64}$")
    value: str = Field(pattern=r"^[0-9a-f]{128}$")


def _result_2(fields: Fields) -> Fields:
    """Version 2: the origin moved into `provenance.origin`; items have a hash, and results a signature."""
    provenance = fields["provenance"]
    moved = {name: provenance[name] for name in _ORIGIN if name in provenance}
    kept = {name: value for name, value in provenance.items() if name not in _ORIGIN}
    return {**fields, "schema_version": 2, "provenance": {**kept, "origin": moved}}


def _result_3(fields: Fields) -> Fields:
    """Version 3: the provenance says whether the observation was resumed."""
    return {**fields, "schema_version": 3}


def _result_4(fields: Fields) -> Fields:
    """Version 4: the provenance has a hash of the task's parameters; the origin names the guest of trainings."""
    return {**fields, "schema_version": 4}


class Result(Record):
    """`results/<id>/<task>/<result_key>.json`: one row of the leaderboard.

    Args:
        round: of judging this task; 0 for the first.
        n_items: rows of the items table; from the plan if the attempt ended before there was a table.
        failures: number of failed items, by the name of `tasks.structures.predictions.Cause`.
        parts: metrics of one element or group each.
        notes: the judge's own sentences, by subject.
        phase: as in the end.
        items_sha256: of the items table beside the result; empty if there is none, or if it was not recorded.
        signature: by the judge that measured; None if it had no key.
    """

    upgrades: ClassVar[Upgrades] = {1: _result_2, 2: _result_3, 3: _result_4}
    schema_version: Literal[4] = 4
    submission: str
    task: str
    kind: str
    domain: str
    observation_key: str
    result_key: str
    round: int = Field(0, ge=0)
    measured: AwareDatetime
    verdict: Verdict
    sentence: str = ""
    label_set: str = ""
    label_set_declared: bool = False
    metrics: dict[str, Metric] = Field(default_factory=dict)
    n_items: int = 0
    failures: dict[str, int] = Field(default_factory=dict)
    parts: tuple[MetricPart, ...] = ()
    notes: dict[str, str] = Field(default_factory=dict)
    phase: str = ""
    peaks: Peaks | None = None
    items_sha256: str = ""
    provenance: Provenance
    signature: Signature | None = None
