"""The provenance of a number: image, judge, machine, data."""

from __future__ import annotations

import platform

from judge.evaluation.plan import Unit
from judge.records.content_keys import parameters_hash
from judge.records.records import End, Origin, Provenance
from judge.version import judge_commit, judge_version
from sandbox.driver import Driver
from sandbox.drivers.gpu import gpu_driver_version
from sandbox.guest_archive import guest_version, training_guest_version
from tasks.kind import Parameters


def origin(driver: Driver, hardware: str, gpu: str | None, selftest: str) -> Origin:
    """The machine and the software of an attempt that starts now.

    Args:
        gpu: UUID; None for the CPU.
        selftest: key of the last selftest of this host and engine; empty if there was none.
    """
    return Origin(
        host=platform.node(),
        driver=driver.name,
        engine=driver.engine,
        gpu=gpu or "",
        gpu_driver=gpu_driver_version() if gpu else "",
        hardware=hardware,
        device="cuda" if gpu else "cpu",
        guest=guest_version(),
        training_guest=training_guest_version(),
        judge_version=judge_version(),
        judge_commit=judge_commit(),
        selftest=selftest,
    )


def provenance(unit: Unit, end: End) -> Provenance:
    """The provenance of the result of an attempt: how it was observed, and how it is measured."""
    d3 = unit.correction.d3
    return Provenance(
        image_id=unit.submission.image.id,
        contract=unit.submission.contract,
        origin=end.origin,
        measured_with=" ".join(part for part in (judge_version(), judge_commit()) if part),
        dataset=unit.task.dataset,
        frames_sha256=unit.testset.frames_sha256,
        labels_sha256=unit.testset.labels_sha256,
        observation=end.observation,
        observe_version=unit.kind.observe_version,
        measure_version=unit.kind.measure_version,
        limits={name: float(value) for name, value in unit.limits.model_dump().items()},
        parameters=parameters_hash(unit.parameters),
        seeds=seeds_of(unit.parameters),
        dispersion=f"DFT-D3({d3.functional}, {d3.damping})" if d3 else "",
        resumed=end.resumed,
    )


def seeds_of(parameters: Parameters) -> dict[str, int]:
    """The seeds among the parameters of a task."""
    stated = parameters.model_dump(mode="json")
    return {name: value for name, value in stated.items() if name.endswith("seed") and type(value) is int}
