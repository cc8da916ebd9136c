"""Where a number comes from: image, judge, machine, data."""

from __future__ import annotations

import platform
import re
from functools import cache
from importlib import metadata
from pathlib import Path

from judge.plan import Unit
from judge.records import End, Origin, Provenance
from sandbox.driver import Driver
from sandbox.gpu import gpu_driver_version
from sandbox.guest_archive import guest_version
from tasks.kind import Parameters

_COMMIT = re.compile(r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")


def origin(driver: Driver, hardware: str, gpu: str | None, selftest: str) -> Origin:
    """What an attempt that begins now is observed with.

    Args:
        gpu: UUID; None for the CPU.
        selftest: key of the last selftest of this host and engine; empty where there was none.
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
        judge_version=judge_version(),
        judge_commit=judge_commit(),
        selftest=selftest,
    )


def provenance(unit: Unit, end: End) -> Provenance:
    """Where what `end` came to was observed, and with what it is measured."""
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
        seeds=seeds_of(unit.parameters),
        dispersion=f"DFT-D3({d3.functional}, {d3.damping})" if d3 else "",
    )


def seeds_of(parameters: Parameters) -> dict[str, int]:
    """The seeds among the parameters of a task."""
    stated = parameters.model_dump(mode="json")
    return {name: value for name, value in stated.items() if name.endswith("seed") and type(value) is int}


@cache
def judge_version() -> str:
    """The version of this judge."""
    try:
        return metadata.version("lambench-judge")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def judge_commit(root: Path = Path(__file__).parents[1]) -> str:
    """The commit that is checked out at `root`, empty where that is no checkout. Says nothing of changes since."""
    git = root / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="ascii").strip()
        if head.startswith("ref: "):
            head = _resolve(git, head.removeprefix("ref: "))
    except (OSError, UnicodeDecodeError):
        return ""
    return head if _COMMIT.match(head) else ""


def _resolve(git: Path, ref: str) -> str:
    """What `ref` points to: in a file of its own, or among those that were packed."""
    if (git / ref).is_file():
        return (git / ref).read_text(encoding="ascii").strip()
    for line in (git / "packed-refs").read_text(encoding="ascii").splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return commit
    return ""
