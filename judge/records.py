"""What the judge writes down: claims, ends and results. Written once, under a name that says what it is."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from sandbox.verdict import FaultCause, Verdict
from submissions.records import Record


class Claim(Record):
    """`attempts/<id>/<task>/<observation_key>/<n>/claim.json`: a judge is at work on this."""

    schema_version: Literal[1] = 1
    owner: str
    host: str
    started: AwareDatetime


class Peaks(Record):
    """What the attempt used."""

    wall_s: float
    startup_s: float | None = None
    memory_bytes: int | None = None


class End(Record):
    """`…/<n>/end.json`: what the attempt came to. Exactly one of `verdict` and `fault` is set."""

    schema_version: Literal[1] = 1
    owner: str
    ended: AwareDatetime
    verdict: Verdict | None = None
    fault: FaultCause | None = None
    sentence: str = ""
    observation: str | None = None
    peaks: Peaks | None = None
    hardware: str = ""
    device: str = ""


class MetricRecord(Record):
    """`tasks.measurement.Metric`, as stored."""

    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0
    charged: float | None = None
    baseline: float | None = None
    failure_cost: float | None = None


class PartRecord(Record):
    """`tasks.measurement.Part`, as stored: a metric over a part of the items."""

    by: str
    name: str
    metric: str
    value: float | None
    unit: str
    n_items: int
    n_failed: int = 0


class Provenance(Record):
    """Where a number comes from."""

    image_id: str
    contract: int
    guest: str
    judge_version: str
    judge_commit: str = ""
    driver: str
    host: str
    hardware: str
    device: str
    dataset: str
    frames_sha256: str
    labels_sha256: str = ""
    observation: str | None = None
    observe_version: int
    measure_version: int
    limits: dict[str, float]
    dispersion: str = ""


class Result(Record):
    """`results/<id>/<task>/<result_key>.json`: one row of the leaderboard.

    Args:
        n_items: rows of the items table; where the verdict ended the attempt before there was one, what the plan knows.
        failures: of these items, by the name of `tasks.predictions.Cause`.
        parts: the metrics of one element or group each.
        notes: by subject, sentences of ours.
    """

    schema_version: Literal[1] = 1
    submission: str
    task: str
    kind: str
    domain: str
    observation_key: str
    result_key: str
    measured: AwareDatetime
    verdict: Verdict
    sentence: str = ""
    label_set: str = ""
    label_set_declared: bool = False
    metrics: dict[str, MetricRecord] = Field(default_factory=dict)
    n_items: int = 0
    failures: dict[str, int] = Field(default_factory=dict)
    parts: tuple[PartRecord, ...] = ()
    notes: dict[str, str] = Field(default_factory=dict)
    peaks: Peaks | None = None
    provenance: Provenance
